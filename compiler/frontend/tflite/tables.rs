//! ONE_HOT, EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, MATRIX_DIAG and MATRIX_SET_DIAG.

use super::error::{invalid, missing_options};
use super::filter;
use super::operator::{Lowered, Operand, Operator};
use super::tensor::Blocks;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Extent, Reduction, Scalar, Search, Value};
use crate::operators::terms::Terms;
use ElementType::{Bool, F16, F32, I2, I4, I8, I32, I64, U8};

/// ONE_HOT: one number where the position along the new axis is the index, another elsewhere.
pub(super) fn one_hot(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(4..=4, 1..=1)?;
    let options = operator.record.builtin_options_as_one_hot_options().ok_or_else(missing_options)?;
    let (indices, depth, on, off) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?, operator.input(3)?);
    if !matches!(indices.element(), I32 | I64) || on.element() != off.element() || on.element().is_packed() {
        return Err(operator.type_error(&[indices.element(), on.element(), off.element()]));
    }
    if on.elements() != 1 || off.elements() != 1 {
        return Err(invalid(codes::SHAPES_DIFFER, "the numbers on and off must be one each"));
    }
    let axis = operator.axis(i64::from(options.axis()), indices.rank() + 1)?;
    let mut column = indices.extents.clone();
    column.insert(axis, Extent::Static(1));
    let mut along = vec![Extent::Static(1); column.len()];
    along[axis] = one_hot_depth(operator, &depth, axis)?;
    let column = operator.reshape_to(indices.value, &column)?;
    let along = operator.graph().positions(&along, axis, indices.element())?;
    let (on_value, off_value) = (operator.reshape(on.value, &[])?, operator.reshape(off.value, &[])?);
    let mut terms = Terms::new(&[indices.element(), indices.element(), on.element(), on.element()]);
    let (index, position, yes, no) = (terms.input(0), terms.input(1), terms.input(2), terms.input(3));
    let hot = terms.compare(Comparison::Equal, index, position)?;
    let number = terms.select(hot, yes, no)?;
    let value = operator.map(&[column, along, on_value, off_value], terms.finish(number))?;
    operator.bind(0, value)
}

/// The number of classes, which may be computed.
fn one_hot_depth(operator: &mut Operator<'_, '_, '_>, depth: &Operand, axis: usize) -> Result<Extent, Diagnostic> {
    let bounds = super::shape::output_bounds(operator);
    match operator.extent_list(depth, "depths", bounds.get(axis..).unwrap_or_default())?[..] {
        [depth] => {
            depth.extent().ok_or_else(|| invalid(codes::OPTION_RANGE, "the depth is negative").expected("0 or more", depth.to_string()))
        }
        ref list => Err(invalid(codes::SHAPES_DIFFER, "there must be one depth").expected("1", list.len().to_string())),
    }
}

fn gather_rows(operator: &mut Operator<'_, '_, '_>, table: Value, ids: Value) -> Result<Value, Diagnostic> {
    Ok(operator.builder().gather(table, ids, 0, 0)?)
}

/// EMBEDDING_LOOKUP: rows of a table by number. A quantized table gives real numbers, by one scale, one a row or one a block of a row. Its zero point
/// is ignored.
pub(super) fn embedding_lookup(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (ids, table, output) = (operator.any_input(0)?, operator.input(1)?, operator.output(0)?);
    let plain = table.element() == output.element && !table.element().is_packed();
    let quantized = matches!(table.element(), I8 | U8 | I4 | I2) && matches!(output.element, F32 | F16);
    if ids.element() != I32 || !(plain || quantized) {
        return Err(operator.type_error(&[ids.element(), table.element(), output.element]));
    }
    if ids.rank() != 1 || table.rank() < 2 {
        let found = format!("{:?} of {:?}", ids.shape, table.shape);
        return Err(invalid(codes::RANK, "numbers and table do not fit").expected("a list, and a table of rows", found));
    }
    let rows = gather_rows(operator, table.value, ids.value)?;
    if plain {
        return operator.bind(0, rows);
    }
    if let Some(blocks) = table.info.blocks {
        return rows_of_blocks(operator, &ids, &table, rows, blocks);
    }
    let scales = table.info.quantization.as_ref().map(|q| (q.scales.clone(), q.axis));
    let missing =
        || invalid(codes::QUANTIZATION_MISSING, "the tensor has no quantization").about_tensor(&table.info.name).expected("scales", "none");
    let (scales, axis) = scales.ok_or_else(missing)?;
    if scales.len() > 1 && (axis != 0 || scales.len() as u64 != table.shape[0]) {
        let found = format!("{} scales along dimension {axis}", scales.len());
        return Err(invalid(codes::SCALE_COUNT, "the scales do not fit the rows")
            .about_tensor(&table.info.name)
            .expected("one, or one a row", found));
    }
    let mut column = vec![Extent::Static(1); table.rank()];
    let list = operator.constant_f32(&[scales.len() as u64], &scales)?;
    let scale = if scales.len() == 1 {
        list
    } else {
        column[0] = ids.extents[0];
        gather_rows(operator, list, ids.value)?
    };
    let scale = operator.reshape_to(scale, &column)?;
    let value = scaled(operator, rows, scale, output.element)?;
    operator.bind(0, value)
}

/// Integers times a scale, in binary32, as floats of a type.
fn scaled(operator: &mut Operator<'_, '_, '_>, integers: Value, scale: Value, element: ElementType) -> Result<Value, Diagnostic> {
    let mut terms = Terms::new(&[operator.builder().tensor(integers).element, F32]);
    let (number, factor) = (terms.input_as(0, F32), terms.input(1));
    let real = terms.mul(number, factor)?;
    let real = terms.convert(real, element);
    operator.map(&[integers, scale], terms.finish(real))
}

/// Rows of a table whose rows are cut into blocks with a scale each.
fn rows_of_blocks(operator: &mut Operator<'_, '_, '_>, ids: &Operand, table: &Operand, rows: Value, blocks: Blocks) -> Lowered {
    let output = operator.output(0)?;
    let scales = filter::block_scales(operator, table, blocks)?;
    let (count, depth) = (ids.extents[0], table.shape[1]);
    let integers = operator.graph().unpacked(rows)?;
    let apart = operator.reshape_to(integers, &[count, Extent::Static(depth / blocks.size), Extent::Static(blocks.size)])?;
    let scale = gather_rows(operator, scales, ids.value)?;
    let scale = operator.reshape_to(scale, &[count, Extent::Static(depth / blocks.size), Extent::Static(1)])?;
    let value = scaled(operator, apart, scale, output.element)?;
    let value = operator.reshape_to(value, &[count, Extent::Static(depth)])?;
    operator.bind(0, value)
}

/// HASHTABLE_LOOKUP: rows of a table by key; zeros, and no hit, for a key that is not there.
pub(super) fn hashtable_lookup(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 2..=2)?;
    let (wanted, keys, table, hits) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?, operator.output(1)?);
    if [wanted.element(), keys.element(), hits.element] != [I32, I32, U8] || table.element().is_packed() {
        return Err(operator.type_error(&[wanted.element(), keys.element(), table.element(), hits.element]));
    }
    let count = keys.elements();
    if wanted.rank() != 1 || keys.rank() != 1 || table.shape.first() != Some(&count) || count == 0 {
        let found = format!("{:?} among {:?} for {:?}", wanted.shape, keys.shape, table.shape);
        return Err(invalid(codes::RANK, "keys and table do not fit").expected("lists, and a row for each key", found));
    }
    let each = wanted.extents[0];
    let column = operator.reshape_to(wanted.value, &[each, Extent::Static(1)])?;
    let mut terms = Terms::new(&[I32, I32]);
    let (want, key) = (terms.input(0), terms.input(1));
    let equal = terms.compare(Comparison::Equal, want, key)?;
    let equal = operator.map(&[column, keys.value], terms.finish(equal))?;
    let place = operator.builder().arg_reduce(equal, Search::Max, 1, I32)?;
    let hit = operator.builder().reduce(equal, Reduction::Any, vec![1])?;
    let place = operator.reshape_to(place, &[each])?;
    let rows = gather_rows(operator, table.value, place)?;
    let mut shape = vec![Extent::Static(1); table.rank()];
    shape[0] = each;
    let mask = operator.reshape_to(hit, &shape)?;
    let mut terms = Terms::new(&[Bool, table.element()]);
    let (found, number) = (terms.input(0), terms.input(1));
    let zero = terms.constant(Scalar::from_bits(table.element(), 0));
    let number = terms.select(found, number, zero)?;
    let value = operator.map(&[mask, rows], terms.finish(number))?;
    operator.bind(0, value)?;
    let hit = operator.reshape_to(hit, &[each])?;
    let mut terms = Terms::new(&[Bool]);
    let byte = terms.input_as(0, U8);
    let hit = operator.map(&[hit], terms.finish(byte))?;
    operator.bind(1, hit)
}

/// A matrix whose diagonal is taken from one tensor and the rest from another, or zero.
fn with_diagonal(
    operator: &mut Operator<'_, '_, '_>,
    diagonal: Value,
    rest: Option<&Operand>,
    [rows, columns]: [Extent; 2],
) -> Result<Value, Diagnostic> {
    let element = operator.builder().tensor(diagonal).element;
    let one = Extent::Static(1);
    let (down, across) = (operator.graph().positions(&[rows, one], 0, I32)?, operator.graph().positions(&[one, columns], 1, I32)?);
    let mut terms = Terms::new(&[I32, I32, element, element]);
    let (row, column, number) = (terms.input(0), terms.input(1), terms.input(2));
    let other = if rest.is_some() { terms.input(3) } else { terms.constant(Scalar::from_bits(element, 0)) };
    let on = terms.compare(Comparison::Equal, row, column)?;
    let number = terms.select(on, number, other)?;
    operator.map(&[down, across, diagonal, rest.map_or(diagonal, |rest| rest.value)], terms.finish(number))
}

/// A diagonal spread over all rows of matrices: `[…, rows, 1]`. Rows beyond its length repeat its last element.
fn along_rows(operator: &mut Operator<'_, '_, '_>, diagonal: Value, rows: Extent, length: Extent) -> Result<Value, Diagnostic> {
    let g = operator.graph();
    let (axis, last) = (g.rank(diagonal) - 1, g.extent_tensor(length, I32)?);
    let all = g.iota(rows, I32)?;
    let places = g.compute::<crate::operators::Error>(&[all, last], |terms, x| {
        let one = terms.i32(1);
        let last = terms.sub(x[1], one)?;
        Ok(terms.min(x[0], last)?)
    })?;
    let picked = g.gather(diagonal, places, axis)?;
    let mut shape = g.extents(picked);
    shape.push(Extent::Static(1));
    Ok(g.reshape(picked, &shape)?)
}

/// MATRIX_DIAG
pub(super) fn matrix_diag(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let input = operator.any_input(0)?;
    let Some((&extent, outer)) = input.extents.split_last() else {
        return Err(invalid(codes::RANK, "the input must have a dimension").about_tensor(&input.info.name));
    };
    if input.element().is_packed() {
        return Err(operator.type_error(&[input.element()]));
    }
    let diagonal = operator.reshape_to(input.value, &[outer, &[Extent::Static(1), extent]].concat())?;
    let value = with_diagonal(operator, diagonal, None, [extent, extent])?;
    operator.bind(0, value)
}

/// MATRIX_SET_DIAG
pub(super) fn matrix_set_diag(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, mut diagonal) = (operator.any_input(0)?, operator.any_input(1)?);
    let &[ref outer @ .., rows, columns] = input.extents.as_slice() else {
        return Err(invalid(codes::RANK, "the input must be matrices")
            .about_tensor(&input.info.name)
            .expected("rank 2", format!("{:?}", input.shape)));
    };
    if input.element() != diagonal.element() || input.element().is_packed() {
        return Err(operator.type_error(&[input.element(), diagonal.element()]));
    }
    let length = operator.graph().min(rows, columns)?;
    let wanted = [outer, &[length]].concat();
    if diagonal.rank() != wanted.len() || !operator.require_first(&mut diagonal, &wanted)? {
        let found = format!("{:?}", diagonal.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "the diagonal does not fit the matrices").expected(format!("{wanted:?}"), found));
    }
    let (shape, length) = (operator.extents_of(input.value), operator.extents_of(diagonal.value)[outer.len()]);
    let (outer, sides) = shape.split_at(outer.len());
    // Along the shorter side, so that its position names the element.
    let column = [outer, &[length, Extent::Static(1)]].concat();
    let list = match sides.iter().position(|&side| side == length) {
        Some(0) => operator.reshape_to(diagonal.value, &column)?,
        Some(_) => operator.reshape_to(diagonal.value, &[outer, &[Extent::Static(1), length]].concat())?,
        None => along_rows(operator, diagonal.value, sides[0], length)?,
    };
    let value = with_diagonal(operator, list, Some(&input), [sides[0], sides[1]])?;
    operator.bind(0, value)
}
