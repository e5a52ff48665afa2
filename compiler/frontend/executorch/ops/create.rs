//! Tensors from nothing but a shape.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{ElementType, Extent, IndexOperation, Scalar, ScalarOp, Value};
use crate::operators::complex::is_complex;
use crate::operators::promotion::{Number, Operand, float_type};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::full.out", |c| filled(c, Size::List, c.number(1)?)),
    ("aten::full_like.out", |c| filled(c, Size::Like, c.number(1)?)),
    ("aten::fill.Scalar_out", |c| filled(c, Size::Like, c.number(1)?)),
    ("aten::fill.Tensor_out", filled_with_element),
    ("aten::zeros.out", |c| filled(c, Size::List, Number::Int(0))),
    ("aten::ones.out", |c| filled(c, Size::List, Number::Int(1))),
    ("aten::empty.out", |c| filled(c, Size::List, Number::Int(0))),
    ("aten::empty_permuted.out", |c| filled(c, Size::List, Number::Int(0))),
    ("dim_order_ops::_empty_dim_order.out", |c| filled(c, Size::List, Number::Int(0))),
    ("aten::scalar_tensor.out", scalar),
    ("aten::arange.out", |c| range(c, None, 0, None)),
    ("aten::arange.start_out", |c| range(c, Some(0), 1, Some(2))),
];

/// The source of the shape: argument 0 as a list of sizes, or as a tensor with this shape.
enum Size {
    List,
    Like,
}

fn filled(c: &mut Call<'_, '_, '_>, size: Size, number: Number) -> Outcome {
    let shape = match size {
        Size::Like => c.shape_of(0)?,
        Size::List => c.sizes(0)?,
    };
    let element = c.out_form(c.out())?.element;
    let one = one_number(c, number, element)?;
    let y = c.graph().broadcast(one, &shape)?;
    c.finish(y)
}

/// A number as a tensor of a type; a complex one has no imaginary part.
fn one_number(c: &mut Call<'_, '_, '_>, number: Number, element: ElementType) -> Result<Value, Fault> {
    let real = c.graph().scalar(number.to_scalar(element.part()))?;
    if is_complex(element) { c.cast(real, element) } else { Ok(real) }
}

/// (self, value): the one element of a tensor, in the shape of another.
fn filled_with_element(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (shape, value) = (c.shape_of(0)?, c.tensor(1)?);
    let one = c.reshape(value, &[])?;
    let y = c.graph().broadcast(one, &shape)?;
    c.finish(y)
}

fn scalar(c: &mut Call<'_, '_, '_>) -> Outcome {
    let element = c.out_form(c.out())?.element;
    let y = match c.operand(0)? {
        Operand::Number(number) => one_number(c, number, element)?,
        Operand::Tensor(value) => c.reshape(value, &[])?,
    };
    c.finish(y)
}

/// start, start + step, … below end. They are the positions of arguments; `None` stands for a start of 0 or a step of 1.
fn range(c: &mut Call<'_, '_, '_>, start: Option<usize>, end: usize, step: Option<usize>) -> Outcome {
    let numbers = [start, Some(end), step].map(|argument| argument.map(|index| c.number(index)));
    if numbers.iter().flatten().any(Result::is_err) {
        return range_of_integers(c, start, end, step);
    }
    let [start, end, step] = numbers.map(|number| number.and_then(Result::ok));
    let (start, end, step) = (start.unwrap_or(Number::Int(0)), end.unwrap_or(Number::Int(0)), step.unwrap_or(Number::Int(1)));
    let out = c.out_form(c.out())?;
    let [first, last, by] = [start, end, step].map(Number::as_f64);
    let count = ((last - first) / by).ceil();
    if !(0.0..=(1u64 << 40) as f64).contains(&count) {
        return Err(Fault::invalid("the range has no end").expected("a step towards the end", format!("{first} to {last} by {by}")));
    }
    let whole = out.element.is_integer() && [start, end, step].iter().all(|n| !matches!(n, Number::Double(_)));
    let ty = if whole { ElementType::I64 } else { float_type(out.element) };
    let positions = c.graph().iota(Extent::Static(count as u64), ElementType::I64)?;
    let y = c.map(&[positions], |b, n| {
        let (start, step) = (b.constant(start.to_scalar(ty)), b.constant(step.to_scalar(ty)));
        let position = b.convert(n[0], ty);
        let product = b.op(ScalarOp::Mul, &[position, step])?;
        let sum = b.op(ScalarOp::Add, &[product, start])?;
        Ok(b.convert(sum, out.element))
    })?;
    c.finish(y)
}

/// A range whose start or end is known only at run time.
fn range_of_integers(c: &mut Call<'_, '_, '_>, start: Option<usize>, end: usize, step: Option<usize>) -> Outcome {
    let element = c.out_form(c.out())?.element;
    let step = step.map_or(Ok(1), |index| c.int(index))?;
    let divisor = u64::try_from(step).ok().filter(|&step| step > 0);
    let divisor = divisor.ok_or_else(|| Fault::unsupported("a range of run-time extent needs a positive step"))?;
    let first = start.map_or(Ok(Whole::Known(0)), |index| c.whole(index))?;
    let last = c.whole(end)?;
    let (from, to) = (c.index(first)?, c.index(last)?);
    let length = c.graph().compute_integer(IndexOperation::Subtract, to, from)?;
    let length = c.extent(Whole::Index(length))?;
    let count = c.graph().ceil_div(length, Extent::Static(divisor))?;
    let positions = c.graph().iota(count, ElementType::I64)?;
    let start = c.graph().extent_tensor(Extent::Value(from), ElementType::I64)?;
    let y = c.map(&[positions, start], |b, n| {
        let step = b.constant(Scalar::int(ElementType::I64, step));
        let product = b.op(ScalarOp::Mul, &[n[0], step])?;
        let sum = b.op(ScalarOp::Add, &[product, n[1]])?;
        Ok(b.convert(sum, element))
    })?;
    c.finish(y)
}
