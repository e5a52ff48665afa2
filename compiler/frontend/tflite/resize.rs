//! RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: rows and columns picked by positions, then weighted. Positions follow from the extents of
//! the image and of the result; where both are known, they are constants.

use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, invalid};
use super::shape::output_bounds;
use crate::diagnostic::Diagnostic;
use crate::ir::scalar::ExpressionError;
use crate::ir::{Comparison, ElementType, Extent, Node, ScalarOp, Value};
use crate::operators::terms::{Term, Terms};
use ElementType::{F32, I8, I16, I32, I64, U8};

/// Images larger than this are no real model's.
const MAX_EXTENT: u64 = 1 << 16;

/// How positions of the result map to those of the input.
#[derive(Clone, Copy)]
struct Grid {
    align_corners: bool,
    half_pixel_centers: bool,
}

/// The image and the wanted height and width.
fn image_and_size(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, [Extent; 2]), Diagnostic> {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    // The list is of dimensions 1 and 2 of the result.
    let bounds = output_bounds(operator);
    let sizes = operator.extent_list(&list, "sizes", &bounds[1..3])?;
    let [height, width] = sizes[..] else {
        return Err(invalid(311, "there must be a height and a width").expected("2 sizes", sizes.len().to_string()));
    };
    if input.rank() != 4 {
        return Err(invalid(314, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    let wanted = [height, width].map(|size| size.extent().unwrap_or(Extent::Static(0)));
    let extents = [wanted[0], wanted[1], input.extents[1], input.extents[2]];
    let largest = extents.map(|extent| u64::try_from(operator.interval(extent).high).unwrap_or(0));
    if largest.iter().any(|n| !(1..=MAX_EXTENT).contains(n)) {
        return Err(invalid(312, "a height or width is out of range").expected(format!("1 to {MAX_EXTENT}"), format!("{largest:?}")));
    }
    Ok((input, wanted))
}

/// One dimension: `from` elements of the input become `to` of the result.
#[derive(Clone, Copy)]
struct Along {
    dimension: usize,
    from: Extent,
    to: Extent,
}

impl Along {
    /// Rows and columns.
    fn both(input: &Operand, wanted: [Extent; 2]) -> [Self; 2] {
        [0, 1].map(|d| Self { dimension: d + 1, from: input.extents[d + 1], to: wanted[d] })
    }

    /// Tensors of the results of an expression over `operands` and, before these, the two extents. Constants where all is known.
    fn compute(
        self,
        operator: &mut Operator<'_, '_, '_>,
        operands: &[Value],
        expression: impl FnOnce(&mut Terms, [Node; 2]) -> Result<Vec<Node>, ExpressionError>,
    ) -> Result<Vec<Value>, Diagnostic> {
        let mut values = Vec::new();
        for extent in [self.from, self.to] {
            values.push(match extent {
                Extent::Static(n) => operator.constant_i32(&[], &[i32::try_from(n).unwrap_or(i32::MAX)])?,
                Extent::Value(index) => operator.builder().index_tensor(index, I32)?,
            });
        }
        values.extend(operands);
        let elements: Vec<ElementType> = values.iter().map(|&value| operator.lowering.graph.builder.tensor(value).element).collect();
        let mut terms = Terms::new(&elements);
        let extents = [terms.input(0), terms.input(1)];
        let results = expression(&mut terms, extents)?;
        let results = operator.builder().map_many(&values, terms.finish_many(results))?;
        results.into_iter().map(|value| Ok(operator.graph().settled(value)?)).collect()
    }

    /// 0, 1, 2, … up to the last position of the result.
    fn indices(self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        Ok(operator.builder().iota(vec![self.to], 0, I32)?)
    }

    /// Elements of the input from one position to the next, in binary32.
    fn float_scale(self, operator: &mut Operator<'_, '_, '_>, align_corners: bool) -> Result<Value, Diagnostic> {
        let scale = self.compute(operator, &[], |terms, [from, to]| {
            let quotient = |terms: &mut Terms, [from, to]: [Node; 2]| {
                let (from, to) = (terms.convert(from, F32), terms.convert(to, F32));
                terms.div(from, to)
            };
            let whole = quotient(terms, [from, to])?;
            if !align_corners {
                return Ok(vec![whole]);
            }
            let one = terms.i32(1);
            let (last_from, last_to) = (terms.sub(from, one)?, terms.sub(to, one)?);
            let between = quotient(terms, [last_from, last_to])?;
            let several = terms.compare(Comparison::Greater, to, one)?;
            Ok(vec![terms.select(several, between, whole)?])
        })?;
        Ok(scale[0])
    }

    /// The same with ten fractional bits, rounded.
    fn integer_scale(self, operator: &mut Operator<'_, '_, '_>, align_corners: bool) -> Result<Value, Diagnostic> {
        let scale = self.compute(operator, &[], |terms, [mut from, mut to]| {
            let one = terms.i32(1);
            if align_corners {
                let several = terms.compare(Comparison::Greater, to, one)?;
                let (last_from, last_to) = (terms.sub(from, one)?, terms.sub(to, one)?);
                from = terms.select(several, last_from, from)?;
                to = terms.select(several, last_to, to)?;
            }
            // No position of a result without any is asked for.
            let (two, unit, to) = (terms.i32(2), terms.i32(1 << 10), terms.max(to, one)?);
            let (from, half) = (terms.mul(from, unit)?, terms.div(to, two)?);
            let sum = terms.add(from, half)?;
            Ok(vec![terms.div(sum, to)?])
        })?;
        Ok(scale[0])
    }

    /// The nearest position of the input to each one of the result, computed in binary32 as the reference does.
    fn nearest(self, operator: &mut Operator<'_, '_, '_>, grid: Grid) -> Result<Value, Diagnostic> {
        let operands = [self.indices(operator)?, self.float_scale(operator, grid.align_corners)?];
        let positions = self.compute(operator, &operands, |terms, [from, _]| {
            let mut exact = terms.input_as(2, F32);
            if grid.half_pixel_centers {
                let half = terms.f32(0.5);
                exact = terms.add(exact, half)?;
            }
            let scale = terms.input(3);
            let exact = terms.mul(exact, scale)?;
            let rounding = if grid.align_corners { ScalarOp::RoundAway } else { ScalarOp::Floor };
            let position = terms.op(rounding, &[exact])?;
            Ok(vec![within(terms, position, from)?])
        })?;
        Ok(positions[0])
    }

    /// Neighbours in binary32.
    fn float_neighbours(self, operator: &mut Operator<'_, '_, '_>, grid: Grid) -> Result<Neighbours, Diagnostic> {
        let operands = [self.indices(operator)?, self.float_scale(operator, grid.align_corners)?];
        let found = self.compute(operator, &operands, |terms, [from, _]| {
            let (index, scale, half) = (terms.input_as(2, F32), terms.input(3), terms.f32(0.5));
            let exact = if grid.half_pixel_centers {
                let centre = terms.add(index, half)?;
                let exact = terms.mul(centre, scale)?;
                terms.sub(exact, half)?
            } else {
                terms.mul(index, scale)?
            };
            let (low, high) = (terms.op(ScalarOp::Floor, &[exact])?, terms.op(ScalarOp::Ceil, &[exact])?);
            let (low, high) = (within(terms, low, from)?, within(terms, high, from)?);
            let start = terms.convert(low, F32);
            Ok(vec![low, high, terms.sub(exact, start)?])
        })?;
        Neighbours::new(operator, self, &found)
    }

    /// Neighbours with ten fractional bits. Extents have at most 17 bits, so that no product leaves 32.
    fn integer_neighbours(self, operator: &mut Operator<'_, '_, '_>, grid: Grid) -> Result<Neighbours, Diagnostic> {
        let operands = [self.indices(operator)?, self.integer_scale(operator, grid.align_corners)?];
        let found = self.compute(operator, &operands, |terms, [from, _]| {
            let (index, scale, unit) = (terms.input(2), terms.input(3), terms.i32(1 << 10));
            let mut exact = terms.mul(index, scale)?;
            if grid.half_pixel_centers {
                let (two, half) = (terms.i32(2), terms.i32(1 << 9));
                let centre = terms.div(scale, two)?;
                exact = terms.add(exact, centre)?;
                exact = terms.sub(exact, half)?;
            }
            let most = terms.i32((1 << 10) - 1);
            let above = terms.add(exact, most)?;
            let (low, high) = (terms.div(exact, unit)?, terms.div(above, unit)?);
            let (low, high) = (within(terms, low, from)?, within(terms, high, from)?);
            let start = terms.mul(low, unit)?;
            Ok(vec![low, high, terms.sub(exact, start)?])
        })?;
        Neighbours::new(operator, self, &found)
    }
}

/// A position as an integer, from 0 to the last of so many.
fn within(terms: &mut Terms, position: Node, count: Node) -> Term {
    let (position, zero, one) = (terms.convert(position, I32), terms.i32(0), terms.i32(1));
    let last = terms.sub(count, one)?;
    let position = terms.min(position, last)?;
    terms.max(position, zero)
}

/// The two neighbours of each position along a dimension, and the distance from the first, which broadcasts to the result.
struct Neighbours {
    dimension: usize,
    low: Value,
    high: Value,
    distance: Value,
}

impl Neighbours {
    fn new(operator: &mut Operator<'_, '_, '_>, along: Along, found: &[Value]) -> Result<Self, Diagnostic> {
        let mut shape = [Extent::Static(1); 4];
        shape[along.dimension] = along.to;
        let distance = operator.reshape_to(found[2], &shape)?;
        Ok(Self { dimension: along.dimension, low: found[0], high: found[1], distance })
    }
}

/// Slices of a dimension picked by positions.
fn pick(operator: &mut Operator<'_, '_, '_>, value: Value, axis: usize, positions: Value) -> Result<Value, Diagnostic> {
    let count = operator.extents_of(value)[axis].as_static().and_then(|n| i32::try_from(n).ok());
    let in_order = count.is_some_and(|count| {
        let positions = operator.graph().known(positions);
        positions.is_some_and(|bytes| bytes.chunks_exact(4).eq((0..count).map(i32::to_le_bytes)))
    });
    if in_order {
        return Ok(value);
    }
    Ok(operator.builder().gather(value, positions, axis, 0)?)
}

/// RESIZE_NEAREST_NEIGHBOR
pub(super) fn nearest(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_resize_nearest_neighbor_options().ok_or_else(missing_options)?;
    let grid = Grid { align_corners: options.align_corners(), half_pixel_centers: options.half_pixel_centers() };
    let (input, wanted) = image_and_size(operator)?;
    let mut value = input.value;
    for along in Along::both(&input, wanted) {
        let positions = along.nearest(operator, grid)?;
        value = pick(operator, value, along.dimension, positions)?;
    }
    operator.bind(0, value)
}

/// The four pixels around each position, low and high row by low and high column.
fn corners(operator: &mut Operator<'_, '_, '_>, input: Value, [rows, columns]: &[Neighbours; 2]) -> Result<Vec<Value>, Diagnostic> {
    let mut corners = Vec::new();
    for row in [rows.low, rows.high] {
        let picked = pick(operator, input, rows.dimension, row)?;
        for column in [columns.low, columns.high] {
            corners.push(pick(operator, picked, columns.dimension, column)?);
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
    let (input, wanted) = image_and_size(operator)?;
    let element = input.element();
    let integer = match element {
        F32 | U8 => false,
        I8 | I16 => true,
        _ => return Err(operator.type_error(&[element])),
    };
    let [rows, columns] = Along::both(&input, wanted);
    let neighbours = if integer {
        [rows.integer_neighbours(operator, grid)?, columns.integer_neighbours(operator, grid)?]
    } else {
        [rows.float_neighbours(operator, grid)?, columns.float_neighbours(operator, grid)?]
    };
    let mut operands = corners(operator, input.value, &neighbours)?;
    operands.extend(neighbours.map(|along| along.distance));
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
    // Away from zero at halves: below zero, one less than a half is added before the shift rounds down.
    let (zero, half, less, bits) = (number(terms, 0), number(terms, 1 << 19), number(terms, (1 << 19) - 1), number(terms, 20));
    let negative = terms.compare(Comparison::Less, sum, zero)?;
    let nudge = terms.select(negative, less, half)?;
    let x = terms.add(sum, nudge)?;
    let x = terms.op(ScalarOp::ShiftRight, &[x, bits])?;
    Ok(terms.convert(x, element))
}
