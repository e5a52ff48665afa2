//! Arithmetic on numbers: shapes and counters. Numbers known at compile time are computed here and leave no instruction.

use super::super::fault::Fault;
use super::super::memory::{ByteRange, Content};
use super::super::translate::{Number, Register};
use super::Translate;
use super::call::Call;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::sym_size.int", size),
    ("aten::sym_numel", elements),
    ("aten::_local_scalar_dense", element),
    ("executorch_prim::add.Scalar", |c| integers_or_floats(c, i64::checked_add, |a, b| a + b)),
    ("executorch_prim::sub.Scalar", |c| integers_or_floats(c, i64::checked_sub, |a, b| a - b)),
    ("executorch_prim::mul.Scalar", |c| integers_or_floats(c, i64::checked_mul, |a, b| a * b)),
    ("executorch_prim::floordiv.Scalar", |c| integers_or_floats(c, floor_divide, |a, b| (a / b).floor())),
    ("executorch_prim::floordiv.int", |c| integers_or_floats(c, floor_divide, |a, b| (a / b).floor())),
    ("executorch_prim::mod.Scalar", |c| integers_or_floats(c, modulo, |a, b| a - b * (a / b).floor())),
    ("executorch_prim::mod.int", |c| integers_or_floats(c, modulo, |a, b| a - b * (a / b).floor())),
    ("executorch_prim::sym_max.Scalar", |c| integers_or_floats(c, |a, b| Some(a.max(b)), f64::max)),
    ("executorch_prim::sym_min.Scalar", |c| integers_or_floats(c, |a, b| Some(a.min(b)), f64::min)),
    ("executorch_prim::truediv.Scalar", |c| set(c, 2, Number::Double(c.double(0)? / c.double(1)?))),
    ("executorch_prim::eq.Scalar", |c| compare(c, |o| o.is_eq())),
    ("executorch_prim::gt.Scalar", |c| compare(c, |o| o.is_gt())),
    ("executorch_prim::lt.Scalar", |c| compare(c, |o| o.is_lt())),
    ("executorch_prim::ge.Scalar", |c| compare(c, |o| o.is_ge())),
    ("executorch_prim::le.Scalar", |c| compare(c, |o| o.is_le())),
    ("executorch_prim::neg.Scalar", negative),
    ("executorch_prim::sym_not.Scalar", |c| set(c, 1, Number::Bool(!c.flag(0)?))),
    ("executorch_prim::sym_ite.Scalar", |c| set(c, 3, c.number(if c.flag(0)? { 1 } else { 2 })?)),
    ("executorch_prim::sym_float.Scalar", |c| set(c, 1, Number::Double(c.double(0)?))),
    ("executorch_prim::sym_int.Scalar", |c| whole(c, f64::trunc)),
    ("executorch_prim::ceil.Scalar", |c| whole(c, f64::ceil)),
    ("executorch_prim::round.Scalar", |c| whole(c, f64::round_ties_even)),
    ("executorch_prim::trunc.Scalar", |c| whole(c, f64::trunc)),
    ("executorch_prim::et_copy_index.tensor", copy_index),
];

/// Sets the register of an argument to a number.
fn set(c: &mut Call<'_, '_, '_>, index: usize, number: Number) -> Outcome {
    let register = c.register(index)?;
    if matches!(c.translator.environment.registers[register], Register::Tensor(_)) {
        return Err(Fault::invalid(format!("argument {index} is of the wrong kind")).expected("a number", "a tensor"));
    }
    c.translator.environment.registers[register] = Register::Number(number);
    Ok(())
}

fn overflow() -> Fault {
    Fault::invalid("the arithmetic on shapes overflows or divides by zero")
}

fn floor_divide(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a.checked_rem(b)? != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn modulo(a: i64, b: i64) -> Option<i64> {
    let remainder = a.checked_rem(b)?;
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
}

fn integers_or_floats(c: &mut Call<'_, '_, '_>, whole: fn(i64, i64) -> Option<i64>, real: fn(f64, f64) -> f64) -> Outcome {
    let number = match (c.number(0)?, c.number(1)?) {
        (Number::Double(a), b) => Number::Double(real(a, b.as_f64())),
        (a, Number::Double(b)) => Number::Double(real(a.as_f64(), b)),
        _ => Number::Int(whole(c.int(0)?, c.int(1)?).ok_or_else(overflow)?),
    };
    set(c, 2, number)
}

fn compare(c: &mut Call<'_, '_, '_>, test: fn(std::cmp::Ordering) -> bool) -> Outcome {
    let order = match (c.number(0)?, c.number(1)?) {
        (Number::Double(_), _) | (_, Number::Double(_)) => c.double(0)?.partial_cmp(&c.double(1)?),
        _ => Some(c.int(0)?.cmp(&c.int(1)?)),
    };
    set(c, 2, Number::Bool(order.is_some_and(test)))
}

fn negative(c: &mut Call<'_, '_, '_>) -> Outcome {
    let number = match c.number(0)? {
        Number::Double(x) => Number::Double(-x),
        _ => Number::Int(c.int(0)?.checked_neg().ok_or_else(overflow)?),
    };
    set(c, 1, number)
}

fn whole(c: &mut Call<'_, '_, '_>, round: fn(f64) -> f64) -> Outcome {
    let number = match c.number(0)? {
        Number::Double(x) => {
            let rounded = round(x);
            let beyond = 2f64.powi(63);
            if !(-beyond..beyond).contains(&rounded) {
                return Err(overflow());
            }
            Number::Int(rounded as i64)
        }
        other => other,
    };
    set(c, 1, number)
}

fn size(c: &mut Call<'_, '_, '_>) -> Outcome {
    let shape = c.out_form(0)?.shape;
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no sizes"))?;
    set(c, 2, Number::Int(extent as i64))
}

fn elements(c: &mut Call<'_, '_, '_>) -> Outcome {
    let count = c.out_form(0)?.elements();
    set(c, 1, Number::Int(count.min(i64::MAX as u64) as i64))
}

/// The number in a tensor of one element, known when the program runs.
fn element(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let x = c.reshape(x, &[])?;
    let register = c.register(1)?;
    let form = super::super::program::Form::row_major(c.element(x), vec![]);
    let Content::Defined(definition) = c.translator.content(x, form) else { return Err(Fault::Consequence) };
    c.translator.environment.registers[register] = Register::Loaded(definition);
    Ok(())
}

/// (destination, source, index): the source written at an index of the first dimension, which grows to hold it.
fn copy_index(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (source, index) = (c.tensor(1)?, c.int(2)?);
    let register = c.register(0)?;
    let mut handle = c.translator.handle(register)?.clone();
    let shape = c.shape(source)?;
    let rows = u64::try_from(index).ok().and_then(|i| i.checked_add(1)).ok_or_else(|| Fault::invalid("the index is negative"))?;
    if handle.form.shape.get(1..) != Some(&shape[..]) || c.element(source) != handle.form.element || handle.form.layout.order().is_some() {
        return Err(Fault::invalid("the source does not fit the destination").expected(format!("{:?}", handle.form), format!("{shape:?}")));
    }
    handle.form.shape[0] = rows;
    let (bound, form) = (c.translator.bound_of(register), handle.form.clone());
    if bound.is_some_and(|bytes| form.bytes() > bytes) {
        return Err(Fault::invalid("the index is out of range").expected(format!("at most {bound:?} bytes"), form.bytes().to_string()));
    }
    let Some(range) = handle.range() else { return Err(Fault::invalid("an operator writes to a constant")) };
    let row = super::super::program::Form::row_major(form.element, shape);
    let start = range.end - row.bytes();
    let content = c.translator.content(source, row);
    c.translator.environment.memory.write(ByteRange { start, ..range }, content);
    c.translator.environment.registers[register] = Register::Tensor(handle);
    Ok(())
}
