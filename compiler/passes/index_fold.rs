//! Folding of indices that have a single value.
//!
//! Contract: an index whose interval is a single number is that number, and its extents are static. An index that is stored in a tensor and read back
//! is the index itself.
//! Reshapes, slices, concatenations and integer conversions may lie between. An index tensor of a known index is a constant.

use super::edit::{Edit, Visit, rewrite};
use super::fold_constants;
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        let changed = known_extents(edit, inst);
        let found = match edit.function.insts[inst].op() {
            Op::ExtentOf if measures_parameter(edit, inst) => None,
            Op::ExtentOf => known(edit, inst).or_else(|| forward_extent(edit, inst)),
            Op::IndexBinary => known(edit, inst),
            Op::IndexLoad => load(edit, inst),
            Op::IndexTensor => store(edit, inst),
            _ => None,
        };
        match found {
            Some(values) => Visit::Replace(values),
            None if changed => Visit::Changed,
            None => Visit::Keep,
        }
    })
}

/// Makes extents static if they have a single value.
fn known_extents(edit: &mut Edit<'_>, inst: Inst) -> bool {
    let mut changed = false;
    let data = &edit.function.insts[inst];
    let mut operation = data.operation.clone();
    operation.each_extent(|extent| {
        let interval = edit.function.interval(*extent);
        if let (Extent::Value(_), true, Ok(n)) = (*extent, interval.low == interval.high, u64::try_from(interval.low)) {
            *extent = Extent::Static(n);
            changed = true;
        }
    });
    // An extent that turns out not to fit is an error when the program runs.
    if !changed || edit.infer(&operation, &data.operands).is_err() {
        return false;
    }
    edit.function.insts[inst].operation = operation;
    true
}

fn interval(edit: &Edit<'_>, value: Value) -> Option<Interval> {
    if let Type::Index(interval) = edit.function.values[value].ty { Some(interval) } else { None }
}

fn number(edit: &mut Edit<'_>, n: i64) -> Option<Vec<Value>> {
    Some(vec![edit.insert_one(operators::IndexConstant { value: n }, &[])?])
}

/// An index of one possible value.
fn known(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let interval = interval(edit, data.results[0])?;
    if interval.low == interval.high { number(edit, interval.low) } else { None }
}

fn extent(edit: &Edit<'_>, inst: Inst) -> Option<Extent> {
    let data = &edit.function.insts[inst];
    let Operation::ExtentOf(extent) = &data.operation else { return None };
    edit.function.tensor(data.operands[0]).shape.get(extent.axis).copied()
}

/// Tests whether an instruction takes the extent of a parameter and itself names that extent. It stays even if its value is known, since types name
/// it.
fn measures_parameter(edit: &Edit<'_>, inst: Inst) -> bool {
    extent(edit, inst) == Some(Extent::Value(edit.function.insts[inst].results[0]))
}

/// The extent of a tensor whose type names the index.
fn forward_extent(edit: &Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    if let Extent::Value(v) = extent(edit, inst)? { Some(vec![v]) } else { None }
}

/// A constant for an index tensor of a known index.
fn store(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let interval = interval(edit, data.operands[0])?;
    if interval.low != interval.high {
        return None;
    }
    let Operation::IndexTensor(operators::IndexTensor { element }) = data.operation else { return None };
    let tensor = Tensor { element, shape: vec![], bytes: Scalar::int(element, interval.low).to_bytes() };
    Some(vec![fold_constants::constant(edit, tensor)?])
}

/// The index after a load, when it can only be inside the load's interval.
fn load(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let Operation::IndexLoad(operators::IndexLoad { interval: wanted }) = data.operation else { return None };
    let fits = |have: Interval| wanted.low <= have.low && have.high <= wanted.high;
    match element_of(edit, data.operands[0])? {
        Element::Number(n) if fits(Interval::exactly(n)) => number(edit, n),
        Element::Index(v) if fits(interval(edit, v)?) => Some(vec![v]),
        _ => None,
    }
}

/// The only element of an integer tensor: a number or an index value.
enum Element {
    Number(i64),
    Index(Value),
}

/// Follows the only element of a tensor to its source.
fn element_of(edit: &Edit<'_>, mut value: Value) -> Option<Element> {
    let mut position = 0u64;
    loop {
        let data = edit.definition(value)?;
        match &data.operation {
            Operation::Constant(_) => {
                let constant = &edit.module.constants[edit.constant_of(value)?];
                return constant_element(constant, position).map(Element::Number);
            }
            Operation::IndexTensor(tensor) => {
                // A number that does not fit the tensor's type wraps.
                let (low, high) = tensor.element.integer_range()?;
                let interval = interval(edit, data.operands[0])?;
                let fits = low <= i128::from(interval.low) && i128::from(interval.high) <= high;
                return fits.then_some(Element::Index(data.operands[0]));
            }
            Operation::Reshape(_) => value = data.operands[0],
            Operation::Slice(slice) => {
                position = sliced(edit, data.operands[0], slice, position)?;
                value = data.operands[0];
            }
            Operation::Concat(_) => (value, position) = joined(edit, data, position)?,
            _ => return None,
        }
    }
}

fn constant_element(constant: &ConstantData, position: u64) -> Option<i64> {
    let width = constant.ty.element.bits() as usize / 8;
    if !constant.ty.element.is_integer() || width == 0 {
        return None;
    }
    let chunk = constant.data.bytes().chunks_exact(width).nth(position as usize)?;
    Some(Scalar::from_bytes(constant.ty.element, chunk).as_i64())
}

/// The position in the operand of a one-dimensional slice.
fn sliced(edit: &Edit<'_>, operand: Value, slice: &operators::Slice, position: u64) -> Option<u64> {
    let [extent] = edit.static_shape(operand)?[..] else { return None };
    let start = i64::try_from(slice.start[0].as_static()?).ok()?;
    let from = start.checked_add(slice.stride[0].checked_mul(i64::try_from(position).ok()?)?)?;
    u64::try_from(from).ok().filter(|&n| n < extent)
}

/// The operand of a one-dimensional concatenation that holds a position.
fn joined(edit: &Edit<'_>, data: &InstData, mut position: u64) -> Option<(Value, u64)> {
    for &operand in &data.operands {
        let [extent] = edit.static_shape(operand)?[..] else { return None };
        if position < extent {
            return Some((operand, position));
        }
        position -= extent;
    }
    None
}
