//! Images under another size: rows and columns picked by positions, then weighted. Positions follow from the extents of the image and of the
//! result; where both are known, they are constants.
//!
//! Numerics differ in where the source of a position lies ([`Grid`], [`Step`]) and how the neighbours are blended ([`Blend`], [`separable`]).

use super::terms::{Term, Terms};
use super::{Error, Graph};
use crate::ir::scalar::ExpressionError;
use crate::ir::{Comparison, ElementType, Extent, Node, ScalarOp, Value};
use ElementType::{F32, I8, I32, I64};

/// The mapping of positions of the result to positions of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// `true` if the centres of the corner elements coincide.
    pub align_corners: bool,
    /// `true` if elements lie at the centres of their squares.
    pub half_pixel_centers: bool,
}

/// The blending of the four neighbours of a position. Their products are summed corner by corner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blend {
    /// Arithmetic in binary32; integers are rounded half up.
    Floats,
    /// Arithmetic in integers. Distances have ten fractional bits, and halves round away from zero. Extents have at most 17 bits.
    Integers,
}

/// One dimension: `from` elements of the input become `to` of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Along {
    /// The dimension.
    pub dimension: usize,
    /// Elements of the image.
    pub from: Extent,
    /// Elements of the result.
    pub to: Extent,
}

impl Along {
    /// Evaluates an expression over the two extents and `operands`, one tensor a result. Results are constants if everything is static.
    fn compute(
        self,
        g: &mut Graph<'_>,
        operands: &[Value],
        expression: impl FnOnce(&mut Terms, [Node; 2]) -> Result<Vec<Node>, ExpressionError>,
    ) -> Result<Vec<Value>, Error> {
        let mut values = vec![g.extent_tensor(self.from, I32)?, g.extent_tensor(self.to, I32)?];
        values.extend(operands);
        let elements: Vec<ElementType> = values.iter().map(|&value| g.element(value)).collect();
        let mut terms = Terms::new(&elements);
        let extents = [terms.input(0), terms.input(1)];
        let results = expression(&mut terms, extents)?;
        let results = g.map_many(&values, terms.finish_many(results))?;
        results.into_iter().map(|value| g.settled(value)).collect()
    }

    /// 0, 1, 2, … up to the last position of the result.
    fn indices(self, g: &mut Graph<'_>) -> Result<Value, Error> {
        g.iota(self.to, I32)
    }

    /// Elements of the input from one position to the next, in binary32.
    fn float_scale(self, g: &mut Graph<'_>, align_corners: bool) -> Result<Value, Error> {
        let scale = self.compute(g, &[], |terms, [from, to]| {
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

    /// The number of input elements from one position to the next, with ten fractional bits, rounded.
    fn integer_scale(self, g: &mut Graph<'_>, align_corners: bool) -> Result<Value, Error> {
        let scale = self.compute(g, &[], |terms, [mut from, mut to]| {
            let one = terms.i32(1);
            if align_corners {
                let several = terms.compare(Comparison::Greater, to, one)?;
                let (last_from, last_to) = (terms.sub(from, one)?, terms.sub(to, one)?);
                from = terms.select(several, last_from, from)?;
                to = terms.select(several, last_to, to)?;
            }
            // An empty result has no positions, so any divisor does.
            let (two, unit, to) = (terms.i32(2), terms.i32(1 << 10), terms.max(to, one)?);
            let (from, half) = (terms.mul(from, unit)?, terms.div(to, two)?);
            let sum = terms.add(from, half)?;
            Ok(vec![terms.div(sum, to)?])
        })?;
        Ok(scale[0])
    }

    /// The nearest position of the input to each one of the result, computed in binary32 as the reference does.
    fn nearest(self, g: &mut Graph<'_>, grid: Grid) -> Result<Value, Error> {
        let operands = [self.indices(g)?, self.float_scale(g, grid.align_corners)?];
        let positions = self.compute(g, &operands, |terms, [from, _]| {
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
    fn float_neighbours(self, g: &mut Graph<'_>, grid: Grid) -> Result<Neighbours, Error> {
        let operands = [self.indices(g)?, self.float_scale(g, grid.align_corners)?];
        let found = self.compute(g, &operands, |terms, [from, _]| {
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
        Neighbours::new(g, self, &found)
    }

    /// Neighbours with ten fractional bits. Extents have at most 17 bits, so that no product leaves 32.
    fn integer_neighbours(self, g: &mut Graph<'_>, grid: Grid) -> Result<Neighbours, Error> {
        let operands = [self.indices(g)?, self.integer_scale(g, grid.align_corners)?];
        let found = self.compute(g, &operands, |terms, [from, _]| {
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
        Neighbours::new(g, self, &found)
    }
}

/// A position as an integer, from 0 to the last of this many.
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
    fn new(g: &mut Graph<'_>, along: Along, found: &[Value]) -> Result<Self, Error> {
        let distance = along.spread(g, found[2], 4)?;
        Ok(Self { dimension: along.dimension, low: found[0], high: found[1], distance })
    }
}

/// Slices of a dimension picked by positions.
fn pick(g: &mut Graph<'_>, value: Value, axis: usize, positions: Value) -> Result<Value, Error> {
    let count = g.extents(value)[axis].as_static().and_then(|n| i32::try_from(n).ok());
    let in_order = count.is_some_and(|count| {
        let positions = g.known(positions);
        positions.is_some_and(|bytes| bytes.chunks_exact(4).eq((0..count).map(i32::to_le_bytes)))
    });
    if in_order {
        return Ok(value);
    }
    g.gather(value, positions, axis)
}

/// The nearest element to each position, along each of some dimensions.
///
/// # Errors
/// When extents leave 32 bits.
pub fn nearest(g: &mut Graph<'_>, input: Value, sides: &[Along], grid: Grid) -> Result<Value, Error> {
    let mut value = input;
    for along in sides {
        let positions = along.nearest(g, grid)?;
        value = pick(g, value, along.dimension, positions)?;
    }
    Ok(value)
}

/// The distance between the sources of two neighbouring positions, by PyTorch's rules.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// A number of image elements for one element of the result, given by the model.
    Number(f32),
    /// The ratio of the image's extent to the result's.
    Ratio,
    /// The ratio of the distances from the first element to the last: corners are aligned.
    Corners,
}

impl Along {
    /// The number of image elements for one element of the result, in binary32.
    fn step(self, g: &mut Graph<'_>, step: Step) -> Result<Value, Error> {
        match step {
            Step::Number(step) => g.scalar(crate::ir::Scalar::f32(step)),
            Step::Ratio => self.float_scale(g, false),
            Step::Corners => {
                let steps = self.compute(g, &[], |terms, [from, to]| {
                    let one = terms.i32(1);
                    let (last_from, last_to) = (terms.sub(from, one)?, terms.sub(to, one)?);
                    let (last_from, last_to) = (terms.convert(last_from, F32), terms.convert(last_to, F32));
                    let (between, none) = (terms.div(last_from, last_to)?, terms.f32(0.0));
                    let several = terms.compare(Comparison::Greater, to, one)?;
                    Ok(vec![terms.select(several, between, none)?])
                })?;
                Ok(steps[0])
            }
        }
    }

    /// Element ⌊i × step⌋ of the image for each i of the result.
    fn stepped(self, g: &mut Graph<'_>, step: Step) -> Result<Value, Error> {
        let operands = [self.indices(g)?, self.step(g, step)?];
        let positions = self.compute(g, &operands, |terms, [from, _]| {
            let (index, step) = (terms.input_as(2, F32), terms.input(3));
            let exact = terms.mul(index, step)?;
            let position = terms.op(ScalarOp::Floor, &[exact])?;
            Ok(vec![within(terms, position, from)?])
        })?;
        Ok(positions[0])
    }

    /// The two neighbours of each position, and the distance from the first, in binary32. Centres lie on each other, and the source of i is at least 0,
    /// unless corners do.
    fn stepped_neighbours(self, g: &mut Graph<'_>, step: Step, between: Between) -> Result<[Value; 3], Error> {
        let operands = [self.indices(g)?, self.step(g, step)?];
        let found = self.compute(g, &operands, |terms, [from, _]| {
            let (index, scale, half) = (terms.input_as(2, F32), terms.input(3), terms.f32(0.5));
            let (zero, one, whole) = (terms.f32(0.0), terms.i32(1), terms.f32(1.0));
            let exact = match (step, between) {
                (Step::Corners, _) => terms.mul(index, scale)?,
                (_, Between::Shares) => {
                    let centre = terms.add(index, half)?;
                    let exact = terms.mul(centre, scale)?;
                    terms.sub(exact, half)?
                }
                (_, Between::Difference) => {
                    let (first, exact) = (terms.mul(scale, half)?, terms.mul(index, scale)?);
                    let first = terms.sub(first, half)?;
                    terms.add(exact, first)?
                }
            };
            let source = terms.max(exact, zero)?;
            let low = within(terms, source, from)?;
            let next = terms.add(low, one)?;
            let last = terms.sub(from, one)?;
            let high = terms.min(next, last)?;
            let start = terms.convert(low, F32);
            let distance = terms.sub(source, start)?;
            let distance = terms.max(distance, zero)?;
            Ok(vec![low, high, terms.min(distance, whole)?])
        })?;
        Ok([found[0], found[1], found[2]])
    }

    /// Numbers along the dimension, shaped to broadcast over a tensor of a rank.
    fn spread(self, g: &mut Graph<'_>, numbers: Value, rank: usize) -> Result<Value, Error> {
        let mut shape = vec![Extent::Static(1); rank];
        shape[self.dimension] = self.to;
        g.reshape(numbers, &shape)
    }
}

/// The element ⌊i × step⌋ for each position i, along some dimensions.
///
/// # Errors
/// When extents leave 32 bits.
pub fn stepped(g: &mut Graph<'_>, input: Value, sides: &[(Along, Step)]) -> Result<Value, Error> {
    let mut value = input;
    for &(along, step) in sides {
        let positions = along.stepped(g, step)?;
        value = pick(g, value, along.dimension, positions)?;
    }
    Ok(value)
}

/// The formulas for positions, and for the value between two neighbours at distance d from the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// PyTorch: (i + ½) × step − ½; low × (1 − d) + high × d.
    Shares,
    /// XNNPACK: i × step + (½ × step − ½); low + (high − low) × d.
    Difference,
}

/// Linear interpolation between two neighbours, one dimension after the other.
///
/// # Errors
/// When extents leave 32 bits, or elements are no floats.
pub fn separable(g: &mut Graph<'_>, input: Value, sides: &[(Along, Step)], between: Between) -> Result<Value, Error> {
    let (mut value, element, rank) = (input, g.element(input), g.rank(input));
    for &(along, step) in sides {
        let [low, high, distance] = along.stepped_neighbours(g, step, between)?;
        let (low, high) = (pick(g, value, along.dimension, low)?, pick(g, value, along.dimension, high)?);
        let distance = along.spread(g, distance, rank)?;
        value = g.compute(&[low, high, distance], |terms, x| {
            let weight = terms.convert(x[2], element);
            if between == Between::Difference {
                let apart = terms.sub(x[1], x[0])?;
                let part = terms.mul(apart, weight)?;
                return Ok(terms.add(x[0], part)?);
            }
            let one = terms.constant(crate::ir::Scalar::float(element, 1.0));
            let rest = terms.sub(one, weight)?;
            let (left, right) = (terms.mul(x[0], rest)?, terms.mul(x[1], weight)?);
            Ok::<_, Error>(terms.add(left, right)?)
        })?;
    }
    Ok(value)
}

/// The four pixels around each position, low and high row by low and high column.
fn corners(g: &mut Graph<'_>, input: Value, [rows, columns]: &[Neighbours; 2]) -> Result<Vec<Value>, Error> {
    let mut corners = Vec::new();
    for row in [rows.low, rows.high] {
        let picked = pick(g, input, rows.dimension, row)?;
        for column in [columns.low, columns.high] {
            corners.push(pick(g, picked, columns.dimension, column)?);
        }
    }
    Ok(corners)
}

/// Bilinear interpolation of the four neighbours of each position, along two dimensions.
///
/// # Errors
/// When extents leave 32 bits.
pub fn bilinear(g: &mut Graph<'_>, input: Value, [rows, columns]: [Along; 2], grid: Grid, blend: Blend) -> Result<Value, Error> {
    let element = g.element(input);
    let integer = blend == Blend::Integers;
    let neighbours = if integer {
        [rows.integer_neighbours(g, grid)?, columns.integer_neighbours(g, grid)?]
    } else {
        [rows.float_neighbours(g, grid)?, columns.float_neighbours(g, grid)?]
    };
    let mut operands = corners(g, input, &neighbours)?;
    operands.extend(neighbours.map(|along| along.distance));
    let distance = if integer { I32 } else { F32 };
    let mut terms = Terms::new(&[element, element, element, element, distance, distance]);
    let x = if integer { weighted_integers(&mut terms, element)? } else { weighted_floats(&mut terms, element)? };
    g.map(&operands, terms.finish(x))
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

#[cfg(test)]
mod tests;
