//! RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: rows and columns picked by constant positions, then weighted.

use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, invalid};
use crate::diagnostic::Diagnostic;
use crate::frontend::terms::{Term, Terms};
use crate::ir::{Attribute, Comparison, ElementType, Node, Op, Value};
use ElementType::{F32, I8, I16, I32, I64, U8};

/// Images larger than this are no real model's.
const MAX_EXTENT: i64 = 1 << 16;

/// How positions of the result map to those of the input.
#[derive(Clone, Copy)]
struct Grid {
    align_corners: bool,
    half_pixel_centers: bool,
}

/// The image and the wanted height and width.
fn image_and_size(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, [i32; 2]), Diagnostic> {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    operator.require_known(&input, 1)?;
    let sizes = operator.integers(&list, "sizes")?;
    let [height, width] = sizes[..] else {
        return Err(invalid(311, "there must be a height and a width").expected("2 sizes", sizes.len().to_string()));
    };
    if input.rank() != 4 {
        return Err(invalid(314, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    let extents = [height, width, i64::try_from(input.shape[1]).unwrap_or(0), i64::try_from(input.shape[2]).unwrap_or(0)];
    if extents.iter().any(|n| !(1..=MAX_EXTENT).contains(n)) {
        return Err(invalid(312, "a height or width is out of range").expected(format!("1 to {MAX_EXTENT}"), format!("{extents:?}")));
    }
    Ok((input, [height as i32, width as i32]))
}

/// Slices of a dimension picked by positions.
fn pick(operator: &mut Operator<'_, '_, '_>, value: Value, axis: usize, positions: &[i32]) -> Result<Value, Diagnostic> {
    let count = operator.bounds_of(value)[axis];
    if positions.iter().copied().eq(0..i32::try_from(count).unwrap_or(-1)) {
        return Ok(value);
    }
    let indices = operator.constant_i32(&[positions.len() as u64], positions)?;
    operator.inst(Op::Gather, &[value, indices], vec![Attribute::Int(axis as i64), Attribute::Int(0)])
}

/// RESIZE_NEAREST_NEIGHBOR, positions computed in binary32 as the reference does.
pub(super) fn nearest(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_resize_nearest_neighbor_options().ok_or_else(missing_options)?;
    let (align, half) = (options.align_corners(), options.half_pixel_centers());
    let (input, size) = image_and_size(operator)?;
    let mut value = input.value;
    for (axis, wanted) in [(1, size[0]), (2, size[1])] {
        let extent = input.shape[axis] as i32;
        let scale = if align && wanted > 1 { (extent - 1) as f32 / (wanted - 1) as f32 } else { extent as f32 / wanted as f32 };
        let offset = if half { 0.5 } else { 0.0 };
        let position = |index: i32| {
            let exact = (index as f32 + offset) * scale;
            let rounded = if align { libm::roundf(exact) } else { libm::floorf(exact) } as i32;
            rounded.min(extent - 1).max(0)
        };
        let positions: Vec<i32> = (0..wanted).map(position).collect();
        value = pick(operator, value, axis, &positions)?;
    }
    operator.bind(0, value)
}

/// The two neighbours of each position along a dimension, and the distance from the first.
struct Neighbours<T> {
    low: Vec<i32>,
    high: Vec<i32>,
    distance: Vec<T>,
}

/// Neighbours in binary32.
fn float_neighbours(extent: i32, wanted: i32, grid: Grid) -> Neighbours<f32> {
    let aligned = grid.align_corners && wanted > 1;
    let scale = if aligned { (extent - 1) as f32 / (wanted - 1) as f32 } else { extent as f32 / wanted as f32 };
    let mut neighbours = Neighbours { low: vec![], high: vec![], distance: vec![] };
    for index in 0..wanted {
        let exact = if grid.half_pixel_centers { (index as f32 + 0.5) * scale - 0.5 } else { index as f32 * scale };
        let low = (libm::floorf(exact) as i32).clamp(0, extent - 1);
        neighbours.low.push(low);
        neighbours.high.push((libm::ceilf(exact) as i32).clamp(0, extent - 1));
        neighbours.distance.push(exact - low as f32);
    }
    neighbours
}

/// Neighbours with ten fractional bits.
fn integer_neighbours(extent: i32, wanted: i32, grid: Grid) -> Neighbours<i32> {
    let aligned = grid.align_corners && wanted > 1;
    let (from, to) = if aligned { (extent - 1, wanted - 1) } else { (extent, wanted) };
    let scale = ((i64::from(from) << 10) + i64::from(to / 2)) / i64::from(to);
    let mut neighbours = Neighbours { low: vec![], high: vec![], distance: vec![] };
    for index in 0..i64::from(wanted) {
        let exact = if grid.half_pixel_centers { index * scale + scale / 2 - (1 << 9) } else { index * scale };
        let clamp = |position: i64| position.clamp(0, i64::from(extent) - 1) as i32;
        let low = clamp(exact / (1 << 10));
        neighbours.low.push(low);
        neighbours.high.push(clamp((exact + (1 << 10) - 1) / (1 << 10)));
        neighbours.distance.push((exact - (i64::from(low) << 10)) as i32);
    }
    neighbours
}

/// The four pixels around each position, low and high row by low and high column.
fn corners<T>(
    operator: &mut Operator<'_, '_, '_>,
    input: Value,
    rows: &Neighbours<T>,
    columns: &Neighbours<T>,
) -> Result<Vec<Value>, Diagnostic> {
    let mut corners = Vec::new();
    for row in [&rows.low, &rows.high] {
        let picked = pick(operator, input, 1, row)?;
        for column in [&columns.low, &columns.high] {
            corners.push(pick(operator, picked, 2, column)?);
        }
    }
    Ok(corners)
}

/// RESIZE_BILINEAR: f32 and uint8 in binary32, int8 and int16 in integers.
pub(super) fn bilinear(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_resize_bilinear_options().ok_or_else(missing_options)?;
    let grid = Grid { align_corners: options.align_corners(), half_pixel_centers: options.half_pixel_centers() };
    if grid.align_corners && grid.half_pixel_centers {
        return Err(invalid(313, "align_corners and half_pixel_centers exclude each other"));
    }
    let (input, size) = image_and_size(operator)?;
    let element = input.element();
    let (height, width) = (size[0] as u64, size[1] as u64);
    let extents = [input.shape[1] as i32, input.shape[2] as i32];
    let integer = match element {
        F32 | U8 => false,
        I8 | I16 => true,
        _ => return Err(operator.type_error(&[element])),
    };
    let mut operands;
    if integer {
        let (rows, columns) = (integer_neighbours(extents[0], size[0], grid), integer_neighbours(extents[1], size[1], grid));
        operands = corners(operator, input.value, &rows, &columns)?;
        operands.push(operator.constant_i32(&[1, height, 1, 1], &rows.distance)?);
        operands.push(operator.constant_i32(&[1, 1, width, 1], &columns.distance)?);
    } else {
        let (rows, columns) = (float_neighbours(extents[0], size[0], grid), float_neighbours(extents[1], size[1], grid));
        operands = corners(operator, input.value, &rows, &columns)?;
        operands.push(operator.constant_f32(&[1, height, 1, 1], &rows.distance)?);
        operands.push(operator.constant_f32(&[1, 1, width, 1], &columns.distance)?);
    }
    let distance = if integer { I32 } else { F32 };
    let mut terms = Terms::new(&[element, element, element, element, distance, distance]);
    let x = if integer { weighted_integers(&mut terms, element)? } else { weighted_floats(&mut terms, element)? };
    let value = operator.map(&operands, terms.finish(x))?;
    operator.bind(0, value)
}

/// Inputs 0 to 3 weighted by their distances, inputs 4 and 5; `one` is the distance between neighbours. The products are summed in
/// the reference's order.
fn weighted(terms: &mut Terms, wide: ElementType, one: Node) -> Term {
    let (down, right) = (terms.input_as(4, wide), terms.input_as(5, wide));
    let (up, left) = (terms.sub(one, down)?, terms.sub(one, right)?);
    let mut sum = None;
    for (corner, vertical, horizontal) in [(0, up, left), (2, down, left), (1, up, right), (3, down, right)] {
        let x = terms.input_as(corner, wide);
        let x = terms.mul(x, vertical)?;
        let x = terms.mul(x, horizontal)?;
        sum = Some(match sum {
            Some(sum) => terms.add(sum, x)?,
            None => x,
        });
    }
    Ok(sum.unwrap_or(one))
}

fn weighted_floats(terms: &mut Terms, element: ElementType) -> Term {
    let one = terms.f32(1.0);
    let sum = weighted(terms, F32, one)?;
    if element == F32 {
        return Ok(sum);
    }
    let half = terms.f32(0.5);
    let x = terms.add(sum, half)?;
    Ok(terms.convert(x, element))
}

fn weighted_integers(terms: &mut Terms, element: ElementType) -> Term {
    // 8-bit pixels times two distances of ten bits fit 32 bits, also a little outside the image.
    let wide = if element == I8 { I32 } else { I64 };
    let number = |terms: &mut Terms, n: i64| terms.constant(crate::ir::Scalar::int(wide, n));
    let one = number(terms, 1 << 10);
    let sum = weighted(terms, wide, one)?;
    let (zero, above, below, divisor) = (number(terms, 0), number(terms, 1 << 19), number(terms, -(1 << 19)), number(terms, 1 << 20));
    let positive = terms.compare(Comparison::Greater, sum, zero)?;
    let nudge = terms.select(positive, above, below)?;
    let x = terms.add(sum, nudge)?;
    let x = terms.div(x, divisor)?;
    Ok(terms.convert(x, element))
}
