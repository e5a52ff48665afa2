//! Arithmetic on numbers: shapes and counters. Numbers known at compile time are computed here and leave no instruction.

use super::super::fault::Fault;
use super::super::memory::{ByteRange, Content};
use super::super::program::Form;
use super::super::registers::Register;
use super::super::translate::Row;
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{Comparison, ElementType, ExpressionBuilder, Extent, IndexOperation, Interval, NanRule, Node, ScalarOp, Value, list_text};
use crate::operators::extents;
use crate::operators::promotion::Number;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::sym_size.int", size),
    ("aten::sym_numel", elements),
    ("aten::_local_scalar_dense", element),
    ("executorch_prim::add.Scalar", |c| integers_or_floats(c, &ADD)),
    ("executorch_prim::sub.Scalar", |c| integers_or_floats(c, &SUB)),
    ("executorch_prim::mul.Scalar", |c| integers_or_floats(c, &MUL)),
    ("executorch_prim::floordiv.Scalar", |c| integers_or_floats(c, &FLOORDIV)),
    ("executorch_prim::floordiv.int", |c| integers_or_floats(c, &FLOORDIV)),
    ("executorch_prim::mod.Scalar", |c| integers_or_floats(c, &MOD)),
    ("executorch_prim::mod.int", |c| integers_or_floats(c, &MOD)),
    ("executorch_prim::sym_max.Scalar", |c| integers_or_floats(c, &MAX)),
    ("executorch_prim::sym_min.Scalar", |c| integers_or_floats(c, &MIN)),
    ("executorch_prim::truediv.Scalar", divide),
    ("executorch_prim::eq.Scalar", |c| compare(c, |o| o.is_eq(), Comparison::Equal)),
    ("executorch_prim::gt.Scalar", |c| compare(c, |o| o.is_gt(), Comparison::Greater)),
    ("executorch_prim::lt.Scalar", |c| compare(c, |o| o.is_lt(), Comparison::Less)),
    ("executorch_prim::ge.Scalar", |c| compare(c, |o| o.is_ge(), Comparison::GreaterEqual)),
    ("executorch_prim::le.Scalar", |c| compare(c, |o| o.is_le(), Comparison::LessEqual)),
    ("executorch_prim::neg.Scalar", negative),
    ("executorch_prim::sym_not.Scalar", |c| set(c, 1, Number::Bool(!c.flag(0)?))),
    ("executorch_prim::sym_ite.Scalar", |c| set(c, 3, c.number(if c.flag(0)? { 1 } else { 2 })?)),
    ("executorch_prim::sym_float.Scalar", float),
    ("executorch_prim::sym_int.Scalar", |c| whole(c, f64::trunc, ScalarOp::Trunc)),
    ("executorch_prim::ceil.Scalar", |c| whole(c, f64::ceil, ScalarOp::Ceil)),
    ("executorch_prim::round.Scalar", |c| whole(c, f64::round_ties_even, ScalarOp::RoundEven)),
    ("executorch_prim::trunc.Scalar", |c| whole(c, f64::trunc, ScalarOp::Trunc)),
    ("executorch_prim::et_copy_index.tensor", copy_index),
];

const ADD: Arithmetic =
    Arithmetic { whole: i64::checked_add, real: |a, b| a + b, index: IndexOperation::Add, float: |b, n| Ok(b.op(ScalarOp::Add, n)?) };
const SUB: Arithmetic =
    Arithmetic { whole: i64::checked_sub, real: |a, b| a - b, index: IndexOperation::Subtract, float: |b, n| Ok(b.op(ScalarOp::Sub, n)?) };
const MUL: Arithmetic =
    Arithmetic { whole: i64::checked_mul, real: |a, b| a * b, index: IndexOperation::Multiply, float: |b, n| Ok(b.op(ScalarOp::Mul, n)?) };
const FLOORDIV: Arithmetic = Arithmetic {
    whole: floor_divide,
    real: |a, b| (a / b).floor(),
    index: IndexOperation::FloorDivide,
    float: |b, n| {
        let quotient = b.op(ScalarOp::Div, n)?;
        Ok(b.op(ScalarOp::Floor, &[quotient])?)
    },
};
const MOD: Arithmetic = Arithmetic {
    whole: modulo,
    real: |a, b| a - b * (a / b).floor(),
    index: IndexOperation::Remainder,
    float: |b, n| {
        let quotient = b.op(ScalarOp::Div, n)?;
        let floor = b.op(ScalarOp::Floor, &[quotient])?;
        let product = b.op(ScalarOp::Mul, &[n[1], floor])?;
        Ok(b.op(ScalarOp::Sub, &[n[0], product])?)
    },
};
const MAX: Arithmetic = Arithmetic {
    whole: |a, b| Some(a.max(b)),
    real: f64::max,
    index: IndexOperation::Maximum,
    float: |b, n| Ok(b.op(ScalarOp::Max(NanRule::Ignore), n)?),
};
const MIN: Arithmetic = Arithmetic {
    whole: |a, b| Some(a.min(b)),
    real: f64::min,
    index: IndexOperation::Minimum,
    float: |b, n| Ok(b.op(ScalarOp::Min(NanRule::Ignore), n)?),
};

/// Sets the register of an argument to a number.
fn set(c: &mut Call<'_, '_, '_>, index: usize, number: Number) -> Outcome {
    let register = c.register(index)?;
    if matches!(c.translator.environment.registers[register], Register::Tensor(_)) {
        return Err(Fault::invalid(format!("argument {index} is of the wrong kind")).expected("a number", "a tensor"));
    }
    c.translator.environment.registers[register] = Register::Number(number);
    Ok(())
}

/// Sets the register of an argument to an integer that is known when the program runs.
fn set_index(c: &mut Call<'_, '_, '_>, index: usize, value: Value) -> Outcome {
    set(c, index, Number::Int(0))?;
    let (register, depth) = (c.register(index)?, c.translator.outer.len());
    c.translator.environment.registers[register] = match c.graph().function().resolved(Extent::Value(value)) {
        Extent::Static(n) => Register::Number(Number::Int(i64::try_from(n).unwrap_or(i64::MAX))),
        Extent::Value(value) => Register::Index(depth, value),
    };
    Ok(())
}

/// Sets the register of an argument to a number that is known when the program runs: a tensor of one element.
fn set_loaded(c: &mut Call<'_, '_, '_>, index: usize, value: Value) -> Outcome {
    set(c, index, Number::Int(0))?;
    let register = c.register(index)?;
    let form = Form::row_major(c.element(value), vec![]);
    let bytes = u64::from(form.element.bits()).div_ceil(8);
    let Content::Defined(definition) = c.translator.content(value, form, bytes) else { return Err(Fault::Consequence) };
    c.translator.environment.registers[register] = Register::Loaded(definition);
    Ok(())
}

/// Arithmetic on floats that are known when the program runs.
fn floats(
    c: &mut Call<'_, '_, '_>,
    count: usize,
    operation: impl FnOnce(&mut ExpressionBuilder, &[Node]) -> Result<Node, Fault>,
) -> Outcome {
    let mut operands = Vec::with_capacity(count);
    for i in 0..count {
        operands.push(c.operand(i)?);
    }
    let value = c.map_operands(&operands, ElementType::F64, operation)?;
    set_loaded(c, count, value)
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

/// Arithmetic on numbers known at compile time, and on integers known when the program runs.
struct Arithmetic {
    whole: fn(i64, i64) -> Option<i64>,
    real: fn(f64, f64) -> f64,
    index: IndexOperation,
    float: Floats,
}

/// Arithmetic on floats known when the program runs.
type Floats = fn(&mut ExpressionBuilder, &[Node]) -> Result<Node, Fault>;

fn integers_or_floats(c: &mut Call<'_, '_, '_>, arithmetic: &Arithmetic) -> Outcome {
    if are_run_time_floats(c)? {
        return floats(c, 2, arithmetic.float);
    }
    if let Some([a, b]) = run_time_integers(c)? {
        let result = c.graph().compute_integer(arithmetic.index, a, b)?;
        return set_index(c, 2, result);
    }
    let number = match (c.number(0)?, c.number(1)?) {
        (Number::Double(a), b) => Number::Double((arithmetic.real)(a, b.as_f64())),
        (a, Number::Double(b)) => Number::Double((arithmetic.real)(a.as_f64(), b)),
        _ => Number::Int((arithmetic.whole)(c.int(0)?, c.int(1)?).ok_or_else(overflow)?),
    };
    set(c, 2, number)
}

fn is_known(c: &Call<'_, '_, '_>, index: usize) -> Result<bool, Fault> {
    Ok(matches!(c.state(index)?, Register::Number(_)))
}

fn is_float(c: &Call<'_, '_, '_>, index: usize) -> Result<bool, Fault> {
    Ok(match c.state(index)? {
        Register::Number(Number::Double(_)) => true,
        Register::Loaded(definition) => definition.form.element.is_float(),
        _ => false,
    })
}

/// Tests whether an argument is known only at run time, and one is a float.
fn are_run_time_floats(c: &Call<'_, '_, '_>) -> Result<bool, Fault> {
    Ok(!(is_known(c, 0)? && is_known(c, 1)?) && (is_float(c, 0)? || is_float(c, 1)?))
}

/// Returns both arguments as indices, if at least one is known only at run time and both are integers.
fn run_time_integers(c: &mut Call<'_, '_, '_>) -> Result<Option<[Value; 2]>, Fault> {
    if is_known(c, 0)? && is_known(c, 1)? {
        return Ok(None);
    }
    let mut operands = Vec::with_capacity(2);
    for i in 0..2 {
        let whole = c.whole(i)?;
        operands.push(c.index(whole)?);
    }
    Ok(operands.try_into().ok())
}

fn compare(c: &mut Call<'_, '_, '_>, test: fn(std::cmp::Ordering) -> bool, comparison: Comparison) -> Outcome {
    if are_run_time_floats(c)? {
        let operands = [c.operand(0)?, c.operand(1)?];
        let truth = c.map_operands(&operands, ElementType::F64, |b, n| Ok(b.op(ScalarOp::Compare(comparison), n)?))?;
        return set_loaded(c, 2, truth);
    }
    if let Some(pair) = run_time_integers(c)? {
        return compare_indices(c, pair, comparison);
    }
    let order = match (c.number(0)?, c.number(1)?) {
        (Number::Double(_), _) | (_, Number::Double(_)) => c.double(0)?.partial_cmp(&c.double(1)?),
        _ => Some(c.int(0)?.cmp(&c.int(1)?)),
    };
    set(c, 2, Number::Bool(order.is_some_and(test)))
}

/// A truth value known when the program runs, or before where the intervals of the integers tell.
fn compare_indices(c: &mut Call<'_, '_, '_>, pair: [Value; 2], comparison: Comparison) -> Outcome {
    let [a, b] = pair.map(|index| c.graph().interval(Extent::Value(index)));
    let below = |x: Interval, y: Interval| x.high < y.low;
    let at_most = |x: Interval, y: Interval| x.high <= y.low;
    let known = match comparison {
        Comparison::Equal if below(a, b) || below(b, a) => Some(false),
        Comparison::Greater if below(b, a) => Some(true),
        Comparison::Greater if at_most(a, b) => Some(false),
        Comparison::Less if below(a, b) => Some(true),
        Comparison::Less if at_most(b, a) => Some(false),
        Comparison::GreaterEqual if at_most(b, a) => Some(true),
        Comparison::GreaterEqual if below(a, b) => Some(false),
        Comparison::LessEqual if at_most(a, b) => Some(true),
        Comparison::LessEqual if below(b, a) => Some(false),
        _ => None,
    };
    if let Some(truth) = known {
        return set(c, 2, Number::Bool(truth));
    }
    let mut tensors = Vec::with_capacity(2);
    for index in pair {
        tensors.push(c.graph().extent_tensor(Extent::Value(index), ElementType::I64)?);
    }
    let truth = c.map(&tensors, |b, n| Ok(b.op(ScalarOp::Compare(comparison), n)?))?;
    set_loaded(c, 2, truth)
}

fn divide(c: &mut Call<'_, '_, '_>) -> Outcome {
    match (c.number(0), c.number(1)) {
        (Ok(a), Ok(b)) => set(c, 2, Number::Double(a.as_f64() / b.as_f64())),
        _ => floats(c, 2, |b, n| Ok(b.op(ScalarOp::Div, n)?)),
    }
}

fn float(c: &mut Call<'_, '_, '_>) -> Outcome {
    match c.number(0) {
        Ok(number) => set(c, 1, Number::Double(number.as_f64())),
        Err(_) => floats(c, 1, |_, n| Ok(n[0])),
    }
}

fn negative(c: &mut Call<'_, '_, '_>) -> Outcome {
    if !is_known(c, 0)? {
        if is_float(c, 0)? {
            return floats(c, 1, |b, n| Ok(b.op(ScalarOp::Neg, n)?));
        }
        let whole = c.whole(0)?;
        let index = c.index(whole)?;
        let zero = c.graph().integer(0)?;
        let result = c.graph().compute_integer(IndexOperation::Subtract, zero, index)?;
        return set_index(c, 1, result);
    }
    let number = match c.number(0)? {
        Number::Double(x) => Number::Double(-x),
        _ => Number::Int(c.int(0)?.checked_neg().ok_or_else(overflow)?),
    };
    set(c, 1, number)
}

/// A float as an integer, rounded.
fn whole(c: &mut Call<'_, '_, '_>, round: fn(f64) -> f64, rounding: ScalarOp) -> Outcome {
    if !is_known(c, 0)? {
        return run_time_whole(c, rounding);
    }
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

fn run_time_whole(c: &mut Call<'_, '_, '_>, rounding: ScalarOp) -> Outcome {
    if is_float(c, 0)? {
        let operand = c.operand(0)?;
        let whole = c.map_operands(&[operand], ElementType::F64, |b, n| {
            let rounded = b.op(rounding, n)?;
            Ok(b.convert(rounded, ElementType::I64))
        })?;
        let index = c.loaded(whole)?;
        return set_index(c, 1, index);
    }
    let whole = c.whole(0)?;
    let index = c.index(whole)?;
    set_index(c, 1, index)
}

/// An extent of a tensor.
fn size(c: &mut Call<'_, '_, '_>) -> Outcome {
    let shape = c.shape_of(0)?;
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no sizes"))?;
    set_extent(c, 2, extent)
}

/// The number of elements of a tensor.
fn elements(c: &mut Call<'_, '_, '_>) -> Outcome {
    let shape = c.shape_of(0)?;
    let count = c.graph().product(&shape)?;
    set_extent(c, 1, count)
}

fn set_extent(c: &mut Call<'_, '_, '_>, index: usize, extent: Extent) -> Outcome {
    match c.graph().function().resolved(extent) {
        Extent::Static(n) => set(c, index, Number::Int(n.min(i64::MAX as u64) as i64)),
        Extent::Value(value) => set_index(c, index, value),
    }
}

/// The number in a tensor of one element, known when the program runs.
fn element(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let x = c.reshape(x, &[])?;
    set_loaded(c, 1, x)
}

/// (destination, source, index): the source written at an index of the first dimension, which grows to hold it.
fn copy_index(c: &mut Call<'_, '_, '_>) -> Outcome {
    if let Some(register) = grown_in_round(c)? {
        return grow(c, register);
    }
    let (source, index) = (c.tensor(1)?, c.int(2)?);
    let register = c.register(0)?;
    let mut handle = c.translator.handle(register)?.clone();
    let shape = c.shape(source)?;
    let rows = u64::try_from(index).ok().and_then(|i| i.checked_add(1)).ok_or_else(|| Fault::invalid("the index is negative"))?;
    let fits = handle.form.shape.get(1..) == Some(&extents(&shape)[..]);
    if !fits || c.element(source) != handle.form.element || handle.form.layout.order().is_some() {
        return Err(Fault::invalid("the source does not fit the destination").expected(
            format!("{} rows of {}", handle.form.element, list_text(handle.form.shape.get(1..).unwrap_or_default())),
            format!("{} {}", c.element(source), list_text(&extents(&shape))),
        ));
    }
    handle.form.shape[0] = Extent::Static(rows);
    let row = Form::row_major(handle.form.element, shape);
    handle.bytes = handle.form.known().map_or(u64::MAX, |form| form.bytes());
    let bound = c.translator.bound_of(register);
    if bound.is_some_and(|bytes| handle.bytes > bytes) {
        return Err(Fault::invalid("the index is out of range")
            .expected(format!("at most {} bytes", bound.unwrap_or(0)), format!("{} bytes", handle.bytes)));
    }
    let Some(range) = handle.range() else { return Err(Fault::invalid("an operator writes to a constant")) };
    let start = range.end - row.bytes();
    let content = c.translator.content(source, row.on_extents(), row.bytes());
    c.translator.environment.memory.write(ByteRange { start, ..range }, content);
    c.translator.environment.registers[register] = Register::Tensor(handle);
    Ok(())
}

/// The destination, if the index is the number of the round of a loop that is being translated.
fn grown_in_round(c: &mut Call<'_, '_, '_>) -> Result<Option<usize>, Fault> {
    if !matches!(c.state(2)?, Register::Index(..)) {
        return Ok(None);
    }
    let index = c.whole(2)?;
    let round = c.translator.scope.round.as_ref();
    let is_number = round.is_some_and(|round| index == Whole::Index(c.translator.graph.function().index_root(round.counter)));
    if is_number { c.register(0).map(Some) } else { Ok(None) }
}

/// A row for each round: the loop writes it. Until it is over there is no such tensor.
fn grow(c: &mut Call<'_, '_, '_>, register: usize) -> Outcome {
    let value = c.tensor(1)?;
    let handle = c.translator.handle(register)?;
    let (rank, element) = (handle.form.shape.len(), handle.form.element);
    let is_twice = c.translator.scope.round.iter().flat_map(|round| &round.rows).any(|row| row.register == register);
    if rank != c.rank(value) + 1 || element != c.element(value) || handle.form.layout.order().is_some() || is_twice {
        return Err(Fault::invalid("the source does not fit the destination"));
    }
    c.translator.withdraw(register, Fault::unsupported("reads rows of a tensor in the loop that writes them"));
    if let Some(round) = &mut c.translator.scope.round {
        round.rows.push(Row { register, value });
    }
    Ok(())
}
