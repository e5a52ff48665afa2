//! Tensors from nothing but a shape.

use super::super::fault::Fault;
use super::super::translate::Number;
use super::Translate;
use super::call::Call;
use crate::ir::{ElementType, ScalarOp};
use crate::operators::extents;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::full.out", |c| filled(c, Size::List, c.number(1)?)),
    ("aten::full_like.out", |c| filled(c, Size::Like, c.number(1)?)),
    ("aten::fill.Scalar_out", |c| filled(c, Size::Like, c.number(1)?)),
    ("aten::zeros.out", |c| filled(c, Size::List, Number::Int(0))),
    ("aten::ones.out", |c| filled(c, Size::List, Number::Int(1))),
    ("aten::empty.out", |c| filled(c, Size::List, Number::Int(0))),
    ("dim_order_ops::_empty_dim_order.out", |c| filled(c, Size::List, Number::Int(0))),
    ("aten::scalar_tensor.out", scalar),
    ("aten::arange.out", |c| range(c, Number::Int(0), c.number(0)?, Number::Int(1))),
    ("aten::arange.start_out", |c| range(c, c.number(0)?, c.number(1)?, c.number(2)?)),
];

/// Where the shape comes from: argument 0 as a list, or as a tensor of that shape.
enum Size {
    List,
    Like,
}

fn filled(c: &mut Call<'_, '_, '_>, size: Size, number: Number) -> Outcome {
    let shape = match size {
        Size::Like => c.out_form(0)?.shape,
        Size::List => {
            let shape: Result<Vec<u64>, _> = c.ints(0)?.into_iter().map(u64::try_from).collect();
            shape.map_err(|_| Fault::invalid("a size is negative"))?
        }
    };
    let element = c.out_form(c.out())?.element;
    let one = c.graph().scalar(number.to_scalar(element))?;
    let y = c.graph().broadcast(one, &extents(&shape))?;
    c.finish(y)
}

fn scalar(c: &mut Call<'_, '_, '_>) -> Outcome {
    let element = c.out_form(c.out())?.element;
    let y = match c.operand(0)? {
        super::call::Operand::Number(number) => c.graph().scalar(number.to_scalar(element))?,
        super::call::Operand::Tensor(value) => c.reshape(value, &[])?,
    };
    c.finish(y)
}

/// start, start + step, … below end.
fn range(c: &mut Call<'_, '_, '_>, start: Number, end: Number, step: Number) -> Outcome {
    let out = c.out_form(c.out())?;
    let [first, last, by] = [start, end, step].map(Number::as_f64);
    let count = ((last - first) / by).ceil();
    if !(0.0..=(1u64 << 40) as f64).contains(&count) {
        return Err(Fault::invalid("the range has no end").expected("a step towards the end", format!("{first} to {last} by {by}")));
    }
    let whole = out.element.is_integer() && [start, end, step].iter().all(|n| !matches!(n, Number::Double(_)));
    let ty = if whole { ElementType::I64 } else { super::call::float_type(out.element) };
    let positions = c.builder().iota(extents(&[count as u64]), 0, ElementType::I64)?;
    let y = c.map(&[positions], |b, n| {
        let (start, step) = (b.constant(start.to_scalar(ty)), b.constant(step.to_scalar(ty)));
        let position = b.convert(n[0], ty);
        let product = b.op(ScalarOp::Mul, &[position, step])?;
        let sum = b.op(ScalarOp::Add, &[product, start])?;
        Ok(b.convert(sum, out.element))
    })?;
    c.finish(y)
}
