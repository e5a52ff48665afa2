//! GATHER_ND, SCATTER_ND, SPARSE_TO_DENSE, DYNAMIC_UPDATE_SLICE and REVERSE_SEQUENCE: elements at places that are computed.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Combination, ElementType, Extent, Scalar};
use crate::operators::indexing::{boxes, picked, placed, sequences};
use ElementType::{I16, I32, I64};

/// The number of dimensions that an index of `[…, N]` names, at most `rank`.
fn components(indices: &Operand, rank: usize) -> Result<usize, Diagnostic> {
    let found = indices.shape.last().copied().and_then(|n| usize::try_from(n).ok()).filter(|&n| n <= rank);
    found.ok_or_else(|| {
        let expected = format!("a last dimension of at most {rank}");
        invalid(codes::SHAPES_DIFFER, "the indices do not fit the rank").expected(expected, format!("{:?}", indices.shape))
    })
}

/// GATHER_ND
pub(super) fn gather_nd(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, indices) = (operator.any_input(0)?, operator.any_input(1)?);
    operator.require_known(&indices, indices.rank().saturating_sub(1))?;
    if input.element().is_packed() {
        return Err(operator.type_error(&[input.element()]));
    }
    if !matches!(indices.element(), I16 | I32 | I64) {
        return Err(operator.type_error(&[indices.element()]));
    }
    components(&indices, input.rank())?;
    let value = picked::slices(operator.graph(), input.value, indices.value)?;
    operator.bind(0, value)
}

/// The shape of a result from an operand: a constant, or computed from extents.
fn given_shape(operator: &mut Operator<'_, '_, '_>, list: &Operand) -> Result<Vec<Extent>, Diagnostic> {
    let bounds = super::shape::output_bounds(operator);
    let numbers = operator.extent_list(list, "shapes", &bounds)?;
    let shape: Option<Vec<Extent>> = numbers.iter().map(|number| number.extent()).collect();
    shape.ok_or_else(|| {
        invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative")
            .about_tensor(&list.info.name)
            .expected("0 or more", format!("{numbers:?}"))
    })
}

/// SCATTER_ND: updates that meet are added.
pub(super) fn scatter_nd(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (indices, mut updates, list) = (operator.any_input(0)?, operator.any_input(1)?, operator.input(2)?);
    operator.require_known(&indices, indices.rank().saturating_sub(1))?;
    let shape = given_shape(operator, &list)?;
    let element = updates.element();
    if !matches!(indices.element(), I32 | I64) || element.is_packed() || element == ElementType::C64 {
        return Err(operator.type_error(&[indices.element(), element]));
    }
    let count = components(&indices, shape.len())?;
    let wanted = [&indices.extents[..indices.rank() - 1], &shape[count..]].concat();
    if updates.rank() != wanted.len() || !operator.require_first(&mut updates, &wanted)? {
        let expected = format!("{wanted:?}");
        return Err(invalid(codes::SHAPES_DIFFER, "the updates do not fit the indices").expected(expected, format!("{:?}", updates.shape)));
    }
    let zero = operator.graph().scalar(Scalar::from_bits(element, 0))?;
    let operands = [indices.value, updates.value];
    let value = placed::slices(operator.graph(), zero, &shape, operands, Combination::Sum)?;
    operator.bind(0, value)
}

/// SPARSE_TO_DENSE: the last of several values for one element stays.
pub(super) fn sparse_to_dense(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(4..=4, 1..=1)?;
    let (mut indices, list) = (operator.any_input(0)?, operator.input(1)?);
    let (mut values, default) = (operator.any_input(2)?, operator.input(3)?);
    let shape = given_shape(operator, &list)?;
    if !matches!(indices.element(), I32 | I64) || values.element().is_packed() || values.element() != default.element() {
        return Err(operator.type_error(&[indices.element(), values.element(), default.element()]));
    }
    if indices.rank() < 2 {
        let count = operator.graph().product(&indices.extents)?;
        let column = operator.reshape_to(indices.value, &[count, Extent::Static(1)])?;
        indices = operator.operand(column, indices.info);
    }
    let fits = indices.rank() == 2 && indices.extents[1] == Extent::Static(shape.len() as u64) && default.elements() == 1;
    if !fits || values.rank() > 1 || values.rank() == 1 && !operator.require_first(&mut values, &indices.extents[..1])? {
        let found = format!("indices {:?}, values {:?}", indices.shape, values.shape);
        return Err(
            invalid(codes::SHAPES_DIFFER, "indices and values do not fit the result").expected(format!("those of {shape:?}"), found)
        );
    }
    let background = operator.reshape(default.value, &[1])?;
    let count = operator.extents_of(indices.value)[0];
    let updates = operator.broadcast_to(values.value, &[count])?;
    let operands = [indices.value, updates];
    let value = placed::slices(operator.graph(), background, &shape, operands, Combination::Set)?;
    operator.bind(0, value)
}

/// DYNAMIC_UPDATE_SLICE: a box written into a tensor; its start is moved so far that the box lies inside.
pub(super) fn dynamic_update_slice(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (input, update, start) = (operator.any_input(0)?, operator.any_input(1)?, operator.input(2)?);
    if !matches!(start.element(), I32 | I64) || input.element() != update.element() || input.element().is_packed() {
        return Err(operator.type_error(&[input.element(), update.element(), start.element()]));
    }
    let rank = input.rank();
    let inside = update.rank() == rank && update.shape.iter().zip(&input.shape).all(|(small, large)| small <= large);
    if !inside || start.shape != [rank as u64] {
        let found = format!("{:?} at {} numbers in {:?}", update.shape, start.elements(), input.shape);
        return Err(
            invalid(codes::SHAPES_DIFFER, "the box does not fit the tensor").expected("a box of at most the tensor's extents", found)
        );
    }
    let mut within = update.extents.clone();
    for (small, &large) in within.iter_mut().zip(&input.extents) {
        *small = operator.graph().min(*small, large)?;
    }
    // A box that is larger when the model runs has another number of elements than the smaller one.
    let update = operator.reshape_to(update.value, &within)?;
    let value = boxes::overwritten(operator.graph(), input.value, update, start.value)?;
    operator.bind(0, value)
}

/// REVERSE_SEQUENCE: reverses the first elements of each sequence, up to its length.
pub(super) fn reverse_sequence(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_reverse_sequence_options().ok_or_else(missing_options)?;
    let (input, mut lengths) = (operator.any_input(0)?, operator.any_input(1)?);
    let sequence = operator.axis(i64::from(options.seq_dim()), input.rank())?;
    let batch = operator.axis(i64::from(options.batch_dim()), input.rank())?;
    if !matches!(lengths.element(), I32 | I64) || input.element().is_packed() {
        return Err(operator.type_error(&[input.element(), lengths.element()]));
    }
    if sequence == batch || lengths.rank() != 1 || !operator.require_first(&mut lengths, &[input.extents[batch]])? {
        let found = format!("dimensions {batch} and {sequence}, lengths {:?}", lengths.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "the sequences do not fit the input").expected("a length for each sequence", found));
    }
    if i32::try_from(input.shape[sequence]).is_err() {
        return Err(unsupported("sequences of 2^31 elements and more are not supported"));
    }
    let value = sequences::reversed(operator.graph(), input.value, lengths.value, sequence, batch)?;
    operator.bind(0, value)
}
