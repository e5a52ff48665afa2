//! GATHER_ND, SCATTER_ND, SPARSE_TO_DENSE, DYNAMIC_UPDATE_SLICE and REVERSE_SEQUENCE: elements at places that are computed.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Combination, Comparison, ElementType, Extent, Reduction, Scalar, Scatter, Value};
use crate::operators::terms::Terms;
use ElementType::{I4, I16, I32, I64};

/// A tensor of one number everywhere.
pub(super) fn filled(operator: &mut Operator<'_, '_, '_>, shape: &[u64], number: Scalar) -> Result<Value, Diagnostic> {
    let one = operator.constant(number.element(), &[], number.to_bytes())?;
    Ok(operator.builder().broadcast(one, extents(shape))?)
}

/// 0, 1, 2, … along an axis of a shape.
pub(super) fn positions(
    operator: &mut Operator<'_, '_, '_>,
    shape: &[u64],
    axis: usize,
    element: ElementType,
) -> Result<Value, Diagnostic> {
    Ok(operator.builder().iota(extents(shape), axis, element)?)
}

/// Slices of `target` along its first axis combined with those of `updates`.
pub(super) fn scatter(
    operator: &mut Operator<'_, '_, '_>,
    [target, indices, updates]: [Value; 3],
    combination: Combination,
    skips_negative: bool,
) -> Result<Value, Diagnostic> {
    let scatter = Scatter { axis: 0, batch: 0, combination, skips_negative };
    Ok(operator.builder().scatter([target, indices, updates], scatter)?)
}

/// The product of extents that belong to one shape of the file.
fn product(extents: &[u64]) -> Result<u64, Diagnostic> {
    let product = extents.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    product.ok_or_else(|| invalid(codes::TOO_MANY_ELEMENTS, "a shape has too many elements"))
}

/// Integers as `i32` or `i64`.
pub(super) fn index_type(operator: &mut Operator<'_, '_, '_>, indices: &Operand) -> Result<Value, Diagnostic> {
    match indices.element() {
        I32 | I64 => Ok(indices.value),
        I16 => {
            let mut terms = Terms::new(&[I16]);
            let index = terms.input_as(0, I32);
            operator.map(&[indices.value], terms.finish(index))
        }
        other => Err(operator.type_error(&[other])),
    }
}

/// Indices of `[…, N]` as positions along the first N dimensions taken as one; the reference kernels check these positions, not the
/// components.
fn flat_positions(operator: &mut Operator<'_, '_, '_>, indices: &Operand, dimensions: &[u64]) -> Result<Value, Diagnostic> {
    let components = indices.shape.last().copied().unwrap_or(1);
    let outer = &indices.extents[..indices.rank().saturating_sub(1)];
    let count = operator.graph().product(outer)?;
    let value = index_type(operator, indices)?;
    if components == 1 {
        return operator.reshape_to(value, &[count]);
    }
    if components == 0 {
        let zero = operator.constant(I32, &[], vec![0; 4])?;
        return operator.broadcast_to(zero, &[count]);
    }
    let mut strides = Vec::new();
    for d in 0..dimensions.len() {
        strides.extend(product(&dimensions[d + 1..])?.to_le_bytes());
    }
    let strides = operator.constant(I64, &[components], strides)?;
    let element = operator.builder().tensor(value).element;
    let value = operator.reshape_to(value, &[count, Extent::Static(components)])?;
    let mut terms = Terms::new(&[element, I64]);
    let (index, stride) = (terms.input_as(0, I64), terms.input(1));
    let part = terms.mul(index, stride)?;
    let parts = operator.map(&[value, strides], terms.finish(part))?;
    let sums = operator.builder().reduce(parts, Reduction::Sum, vec![1])?;
    operator.reshape_to(sums, &[count])
}

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
    let (input, indices) = (operator.input(0)?, operator.any_input(1)?);
    operator.require_known(&indices, indices.rank().saturating_sub(1))?;
    if input.element() == I4 {
        return Err(operator.type_error(&[input.element()]));
    }
    let count = components(&indices, input.rank())?;
    let (named, rest) = input.shape.split_at(count);
    let positions = flat_positions(operator, &indices, named)?;
    let rows = operator.reshape(input.value, &[product(named)?, product(rest)?])?;
    let value = operator.builder().gather(rows, positions, 0, 0)?;
    let shape = [&indices.extents[..indices.rank() - 1], &extents(rest)[..]].concat();
    let value = operator.reshape_to(value, &shape)?;
    operator.bind(0, value)
}

/// A shape that a constant of the file gives.
fn constant_shape(operator: &mut Operator<'_, '_, '_>, list: &Operand) -> Result<Vec<u64>, Diagnostic> {
    let numbers = operator.integers(list, "shapes")?;
    let shape: Result<Vec<u64>, _> = numbers.iter().map(|&n| u64::try_from(n)).collect();
    shape.map_err(|_| {
        invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative")
            .about_tensor(&list.info.name)
            .expected("0 or more", format!("{numbers:?}"))
    })
}

/// SCATTER_ND: updates that meet are added.
pub(super) fn scatter_nd(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (indices, updates, list) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
    let shape = constant_shape(operator, &list)?;
    let element = updates.element();
    if !matches!(indices.element(), I32 | I64) || element == I4 || element == ElementType::C64 {
        return Err(operator.type_error(&[indices.element(), element]));
    }
    let count = components(&indices, shape.len())?;
    let (named, rest) = shape.split_at(count);
    let wanted = [&indices.shape[..indices.rank() - 1], rest].concat();
    if updates.shape != wanted {
        let expected = format!("{wanted:?}");
        return Err(invalid(codes::SHAPES_DIFFER, "the updates do not fit the indices").expected(expected, format!("{:?}", updates.shape)));
    }
    let positions = flat_positions(operator, &indices, named)?;
    let slices = [product(&indices.shape[..indices.rank() - 1])?, product(rest)?];
    let rows = filled(operator, &[product(named)?, slices[1]], Scalar::from_bits(element, 0))?;
    let updates = operator.reshape(updates.value, &slices)?;
    let value = scatter(operator, [rows, positions, updates], Combination::Sum, false)?;
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)
}

/// SPARSE_TO_DENSE: the last of several values for one element stays.
pub(super) fn sparse_to_dense(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(4..=4, 1..=1)?;
    let (mut indices, list) = (operator.input(0)?, operator.input(1)?);
    let (values, default) = (operator.input(2)?, operator.input(3)?);
    let shape = constant_shape(operator, &list)?;
    if !matches!(indices.element(), I32 | I64) || values.element() == I4 || values.element() != default.element() {
        return Err(operator.type_error(&[indices.element(), values.element(), default.element()]));
    }
    if indices.rank() < 2 {
        let shape = [indices.elements(), 1];
        indices.value = operator.reshape(indices.value, &shape)?;
        indices.shape = shape.to_vec();
        indices.extents = extents(&shape);
    }
    let fits = indices.rank() == 2 && indices.shape[1] == shape.len() as u64 && default.elements() == 1;
    if !fits || !(values.rank() == 0 || values.shape == [indices.shape[0]]) {
        let found = format!("indices {:?}, values {:?}", indices.shape, values.shape);
        return Err(
            invalid(codes::SHAPES_DIFFER, "indices and values do not fit the result").expected(format!("those of {shape:?}"), found)
        );
    }
    let positions = flat_positions(operator, &indices, &shape)?;
    let background = operator.reshape(default.value, &[1])?;
    let background = operator.builder().broadcast(background, extents(&[product(&shape)?]))?;
    let updates = operator.builder().broadcast(values.value, extents(&indices.shape[..1]))?;
    let value = scatter(operator, [background, positions, updates], Combination::Set, false)?;
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)
}

/// DYNAMIC_UPDATE_SLICE: a box written into a tensor; its start is moved so far that the box lies inside.
pub(super) fn dynamic_update_slice(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (input, update, start) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
    if !matches!(start.element(), I32 | I64) || input.element() != update.element() || input.element() == I4 {
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
    // Trailing dimensions that the box covers are written as slices; the position in the others is one index.
    let covered = (0..rank).rev().take_while(|&d| update.shape[d] == input.shape[d]).count();
    let named = rank - covered;
    let positions = box_positions(operator, &input.shape[..named], &update.shape[..named], &start)?;
    let row = product(&input.shape[named..])?;
    let rows = operator.reshape(input.value, &[product(&input.shape[..named])?, row])?;
    let count = product(&update.shape[..named])?;
    let updates = operator.reshape(update.value, &[count, row])?;
    let value = scatter(operator, [rows, positions, updates], Combination::Set, false)?;
    let value = operator.reshape(value, &input.shape)?;
    operator.bind(0, value)
}

/// The row-major positions in a shape of the elements of a box, which starts at the first numbers of a tensor.
fn box_positions(operator: &mut Operator<'_, '_, '_>, shape: &[u64], size: &[u64], start: &Operand) -> Result<Value, Diagnostic> {
    let rank = shape.len();
    let mut operands = Vec::new();
    for d in 0..rank {
        let first = vec![Extent::Static(d as u64)];
        let number = operator.builder().slice(start.value, first, extents(&[1]), vec![1])?;
        let mut along = vec![1; rank];
        along[d] = size[d];
        operands.extend([number, positions(operator, &along, d, I64)?]);
    }
    let types: Vec<ElementType> = (0..rank).flat_map(|_| [start.element(), I64]).collect();
    let mut terms = Terms::new(&types);
    let mut sum = terms.i64(0);
    for d in 0..rank {
        let (number, offset) = (terms.input_as(2 * d, I64), terms.input(2 * d + 1));
        let (zero, last, stride) = (terms.i64(0), terms.i64((shape[d] - size[d]) as i64), terms.i64(product(&shape[d + 1..])? as i64));
        let number = terms.max(number, zero)?;
        let number = terms.min(number, last)?;
        let number = terms.add(number, offset)?;
        let part = terms.mul(number, stride)?;
        sum = terms.add(sum, part)?;
    }
    if rank == 0 {
        return filled(operator, &[1], Scalar::int(I64, 0));
    }
    let value = operator.map(&operands, terms.finish(sum))?;
    operator.reshape(value, &[product(size)?])
}

/// REVERSE_SEQUENCE: the first elements of each sequence, as many as its length, the other way round.
pub(super) fn reverse_sequence(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_reverse_sequence_options().ok_or_else(missing_options)?;
    let (input, lengths) = (operator.input(0)?, operator.input(1)?);
    let sequence = operator.axis(i64::from(options.seq_dim()), input.rank())?;
    let batch = operator.axis(i64::from(options.batch_dim()), input.rank())?;
    if !matches!(lengths.element(), I32 | I64) || input.element() == I4 {
        return Err(operator.type_error(&[input.element(), lengths.element()]));
    }
    if sequence == batch || lengths.shape != [input.shape[batch]] {
        let found = format!("dimensions {batch} and {sequence}, lengths {:?}", lengths.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "the sequences do not fit the input").expected("a length for each sequence", found));
    }
    let (count, extent) = (input.shape[batch], input.shape[sequence]);
    if i32::try_from(extent).is_err() {
        return Err(unsupported("sequences of 2^31 elements and more are not supported"));
    }
    let order = reversed_order(operator, &lengths, count, extent)?;
    // Sequences stand in dimension 1 after their number, as `gather` wants them.
    let rest = (0..input.rank()).filter(|&d| d != batch && d != sequence);
    let permutation: Vec<usize> = [batch, sequence].into_iter().chain(rest).collect();
    let mut inverse = vec![0; permutation.len()];
    permutation.iter().enumerate().for_each(|(i, &d)| inverse[d] = i);
    let is_identity = permutation.iter().enumerate().all(|(i, &d)| i == d);
    let mut value = input.value;
    if !is_identity {
        value = operator.builder().transpose(value, permutation)?;
    }
    value = operator.builder().gather(value, order, 1, 1)?;
    if !is_identity {
        value = operator.builder().transpose(value, inverse)?;
    }
    operator.bind(0, value)
}

/// For each sequence, the position that each of its elements comes from.
fn reversed_order(operator: &mut Operator<'_, '_, '_>, lengths: &Operand, count: u64, extent: u64) -> Result<Value, Diagnostic> {
    let column = operator.reshape(lengths.value, &[count, 1])?;
    let along = positions(operator, &[1, extent], 1, lengths.element())?;
    let mut terms = Terms::new(&[lengths.element(); 2]);
    let (length, position) = (terms.input(0), terms.input(1));
    let one = terms.constant(Scalar::int(lengths.element(), 1));
    let last = terms.sub(length, one)?;
    let mirrored = terms.sub(last, position)?;
    let inside = terms.compare(Comparison::Less, position, length)?;
    let source = terms.select(inside, mirrored, position)?;
    operator.map(&[column, along], terms.finish(source))
}
