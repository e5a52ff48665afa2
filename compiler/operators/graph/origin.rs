//! The origin of a single element of a tensor. It is traced through movement, and through the operands of concatenations and broadcasts.

use super::Graph;
use crate::ir::{ElementType, Extent, InstData, Operation, Scalar, Value};

/// Elements are followed through this many operators.
pub(super) const MAX_DEPTH: usize = 64;

/// An element of a tensor: its position.
pub(super) type ElementPlace = (Value, u64);

/// The origin of an element.
#[allow(clippy::large_enum_variant, reason = "one lives at a time, on the stack")]
pub(super) enum Origin {
    /// An instruction, at a position of its result.
    Result(InstData, u64),
    /// A loop's counter, as an index.
    Counter(Value),
}

/// Follows an element through movement to the instruction that computes it.
pub(super) fn origin(g: &Graph<'_>, mut value: Value, mut position: u64) -> Option<Origin> {
    let function = g.function();
    for _ in 0..MAX_DEPTH {
        if let Some(index) = g.round.counter(value) {
            return Some(Origin::Counter(index));
        }
        let data = &function.insts[function.defining_inst(value)?];
        value = match &data.operation {
            Operation::Reshape(_) => data.operands[0],
            Operation::Slice(slice) => {
                let [Extent::Static(start)] = slice.start[..] else { return None };
                let from = i64::try_from(start).ok()?.checked_add(slice.stride[0].saturating_mul(i64::try_from(position).ok()?))?;
                position = u64::try_from(from).ok()?;
                data.operands[0]
            }
            Operation::Concat(concat) => joined(g, data, concat.axis, &mut position)?,
            Operation::Gather(_) if g.extents(data.operands[0]).len() == 1 => {
                let Origin::Result(indices, at) = origin(g, data.operands[1], position)? else { return None };
                position = u64::try_from(constant_element(g, &indices, at)?.as_i64()).ok()?;
                data.operands[0]
            }
            _ => return Some(Origin::Result(data.clone(), position)),
        };
    }
    None
}

/// The tensor of some joined ones that holds a position, which is then that within it.
fn joined(g: &Graph<'_>, data: &InstData, axis: usize, position: &mut u64) -> Option<Value> {
    let known = |value: Value| g.extents(value).iter().map(|extent| extent.as_static()).collect::<Option<Vec<u64>>>();
    let shape = known(data.results[0])?;
    let inner = shape.get(axis + 1..)?.iter().product::<u64>();
    let (line, within) = (position.checked_div(inner)?, position.checked_rem(inner)?);
    let (outer, mut along) = (line.checked_div(shape[axis])?, line.checked_rem(shape[axis])?);
    for &operand in &data.operands {
        let extent = known(operand)?[axis];
        if along < extent {
            *position = outer.checked_mul(extent)?.checked_add(along)?.checked_mul(inner)?.checked_add(within)?;
            return Some(operand);
        }
        along -= extent;
    }
    None
}

/// The place in an input of an element-wise instruction that is read for an element of its result. `None` if the shapes differ and the input is not a
/// single number.
pub(super) fn place_of(g: &Graph<'_>, data: &InstData, input: usize, position: u64) -> Option<ElementPlace> {
    let value = data.operands[input];
    let shape = g.extents(value);
    if is_one(g, value) {
        return Some((value, 0));
    }
    (shape == g.extents(data.results[0])).then_some((value, position))
}

/// Tests whether a tensor has a single element.
pub(super) fn is_one(g: &Graph<'_>, value: Value) -> bool {
    g.extents(value).iter().all(|&extent| extent == Extent::Static(1))
}

/// An element of a constant, if it is a real number.
pub(super) fn constant_element(g: &Graph<'_>, data: &InstData, position: u64) -> Option<Scalar> {
    let data = &g.builder.module.constants[data.constant()?];
    let element = data.ty.element;
    let numbers = (element.is_integer() || element.is_float() || element == ElementType::Bool) && (8..=64).contains(&element.bits());
    let width = element.bits() as usize / 8;
    let bytes = data.data.bytes().chunks_exact(width.max(1)).nth(usize::try_from(position).ok()?).filter(|_| numbers)?;
    Some(Scalar::from_bytes(element, bytes))
}
