//! Images sampled at positions that another tensor names: PyTorch's `grid_sample`.

use super::indexing::positions::Counts;
use super::promotion::compute_type;
use super::terms::{Term, Terms};
use super::{Error, Graph};
use crate::ir::{Comparison, ElementType, Extent, NanRule, Node, Scalar, ScalarOp, Value};
use ElementType::I64;

/// The interpolation of a sample from pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interpolation {
    /// Four neighbours, weighted by the distance.
    Bilinear,
    /// The nearest pixel, halves to the even one.
    Nearest,
    /// Sixteen neighbours, weighted by cubic polynomials.
    Bicubic,
}

/// The extension of the image beyond its border.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// Zeros.
    Zeros,
    /// The pixel at the border.
    Border,
    /// The image, mirrored again and again.
    Reflection,
}

/// The parameters of sampling an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// The interpolation.
    pub interpolation: Interpolation,
    /// The extension beyond the border.
    pub outside: Outside,
    /// `true` if −1 and 1 name the centres of the corner pixels, otherwise the corners themselves.
    pub aligned: bool,
}

/// The coefficient of the cubic polynomials.
const CUBIC: f64 = -0.75;

/// An image `[N, C, H, W]` of floats sampled at the positions in a grid `[N, rows, columns, 2]` of the same type. Positions are x and y from −1 to 1
/// across the image. The result is `[N, C, rows, columns]`. Each step of the arithmetic is rounded to that type.
///
/// # Errors
/// When the tensors do not fit each other.
pub fn sampled(g: &mut Graph<'_>, image: Value, grid: Value, sampling: Sampling) -> Result<Value, Error> {
    let (shape, place) = (g.extents(image), g.extents(grid));
    let [batch, channels, height, width] = shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let [_, rows, columns, _] = place[..] else { return Err(Error::NoImage { rank: place.len() }) };
    let plane = Plane { extents: [width, height], element: g.element(image), sampling };
    let pixels = g.product(&[rows, columns])?;
    let mut positions = Vec::new();
    for coordinate in 0..2 {
        let one = g.slice_along(grid, 3, Extent::Static(coordinate), Extent::Static(1))?;
        positions.push(g.reshape(one, &[batch, pixels])?);
    }
    let taps = plane.taps(g, &positions)?;
    let area = g.product(&[height, width])?;
    let flat = g.reshape(image, &[batch, channels, area])?;
    let flat = g.transpose(flat, &[0, 2, 1])?;
    let mut operands = Vec::new();
    for &weight in &taps.weights {
        operands.push(g.reshape(weight, &[batch, pixels, Extent::Static(1)])?);
    }
    for &position in &taps.positions {
        operands.push(g.builder.gather(flat, position, 1, 1)?);
    }
    let samples = g.compute(&operands, |terms, x| {
        let (weights, pixels) = x.split_at(taps.weights.len());
        plane.blend(terms, weights, pixels)
    })?;
    let samples = g.transpose(samples, &[0, 2, 1])?;
    g.reshape(samples, &[batch, channels, rows, columns])
}

/// The plane that is sampled, and how; sides as a grid names them, width first.
#[derive(Clone, Copy)]
struct Plane {
    extents: [Extent; 2],
    element: ElementType,
    sampling: Sampling,
}

/// The pixels of a side, as numbers of an expression.
#[derive(Clone, Copy)]
struct Side {
    /// The number of pixels as an integer.
    count: Node,
    /// The number of pixels as a float.
    whole: Node,
    /// The position of the last pixel.
    last: Node,
    /// Half the position of the last pixel.
    middle: Node,
    /// The position of the last pixel in [`Plane::wide`].
    end: Node,
}

/// A pixel along one side that contributes to a sample.
struct Along {
    /// Its position, inside the image.
    position: Node,
    /// Its weight, zero if the image has no such pixel.
    weight: Node,
}

/// The pixels of all samples and their weights.
struct Taps {
    /// The position of each pixel in its plane, row after row.
    positions: Vec<Value>,
    /// The weights of the rows, then of the columns, for cubic polynomials; otherwise one for each pixel.
    weights: Vec<Value>,
}

impl Plane {
    fn taps(&self, g: &mut Graph<'_>, positions: &[Value]) -> Result<Taps, Error> {
        let counts = Counts::new(g, &self.extents, I64)?;
        let operands = [positions, &counts.operands].concat();
        let elements: Vec<ElementType> = operands.iter().map(|&value| g.element(value)).collect();
        let mut terms = Terms::new(&elements);
        let measured: Vec<Node> = (2..operands.len()).map(|i| terms.input(i)).collect();
        let (mut sides, mut columns) = (Vec::new(), None);
        for d in 0..2 {
            let (x, count) = (terms.input(d), counts.node(&mut terms, &measured, d));
            let side = self.side(&mut terms, d, count)?;
            columns = columns.or(Some(side.count));
            sides.push(self.along(&mut terms, side, x)?);
        }
        let width = columns.ok_or(Error::WindowTooLarge)?;
        let (mut results, mut weights) = (Vec::new(), Vec::new());
        for row in &sides[1] {
            for column in &sides[0] {
                let line = terms.mul(row.position, width)?;
                results.push(terms.add(line, column.position)?);
                if !self.separate() {
                    weights.push(terms.mul(row.weight, column.weight)?);
                }
            }
        }
        if self.separate() {
            weights.extend(sides.iter().rev().flatten().map(|pixel| pixel.weight));
        }
        let pixels = results.len();
        results.append(&mut weights);
        let mut positions = g.map_many(&operands, terms.finish_many(results))?;
        let weights = positions.split_off(pixels);
        Ok(Taps { positions, weights })
    }

    /// Tests whether samples are blended along rows first, and then along columns.
    fn separate(&self) -> bool {
        self.sampling.interpolation == Interpolation::Bicubic
    }

    /// A sample from weights and pixels in the layout of [`Taps`].
    fn blend(&self, terms: &mut Terms, weights: &[Node], pixels: &[Node]) -> Result<Node, Error> {
        if !self.separate() {
            return weighted(terms, weights, pixels);
        }
        let (rows, columns) = weights.split_at(weights.len() / 2);
        let sums = pixels.chunks_exact(columns.len()).map(|row| weighted(terms, columns, row)).collect::<Result<Vec<_>, _>>()?;
        weighted(terms, rows, &sums)
    }

    /// The numbers for side `d`, which has `count` pixels.
    fn side(&self, terms: &mut Terms, d: usize, count: Node) -> Result<Side, Error> {
        if let Some(n) = self.extents[d].as_static() {
            let [whole, last, middle] = [n as f64, n as f64 - 1.0, (n as f64 - 1.0) / 2.0].map(|x| self.number(terms, x));
            let end = terms.constant(Scalar::float(self.wide(), n as f64 - 1.0));
            return Ok(Side { count, whole, last, middle, end });
        }
        let (one, half) = (terms.constant(Scalar::float(self.wide(), 1.0)), self.number(terms, 0.5));
        let wide = terms.convert(count, self.wide());
        let end = terms.sub(wide, one)?;
        let (whole, last) = (terms.convert(wide, self.element), terms.convert(end, self.element));
        Ok(Side { count, whole, last, middle: terms.mul(last, half)?, end })
    }

    fn number(&self, terms: &mut Terms, x: f64) -> Node {
        terms.constant(Scalar::float(self.element, x))
    }

    /// The type that holds every position of a pixel. One of 16 bits does not.
    fn wide(&self) -> ElementType {
        compute_type(self.element)
    }

    /// The pixels of a sample along a side.
    fn along(&self, terms: &mut Terms, side: Side, named: Node) -> Result<Vec<Along>, Error> {
        let exact = self.exact(terms, side, named)?;
        match self.sampling.interpolation {
            Interpolation::Nearest => {
                let exact = self.brought_inside(terms, side, exact)?;
                let nearest = terms.op(ScalarOp::RoundEven, &[exact])?;
                let one = self.number(terms, 1.0);
                Ok(vec![self.pixel(terms, side, nearest, one)?])
            }
            Interpolation::Bilinear => {
                let exact = self.brought_inside(terms, side, exact)?;
                let low = terms.op(ScalarOp::Floor, &[exact])?;
                let one = self.number(terms, 1.0);
                let high = terms.add(low, one)?;
                let (before, after) = (terms.sub(high, exact)?, terms.sub(exact, low)?);
                Ok(vec![self.pixel(terms, side, low, before)?, self.pixel(terms, side, high, after)?])
            }
            Interpolation::Bicubic => {
                let low = terms.op(ScalarOp::Floor, &[exact])?;
                let distance = terms.sub(exact, low)?;
                let mut pixels = Vec::new();
                let first = terms.convert(low, self.wide());
                for (offset, weight) in [-1.0, 0.0, 1.0, 2.0].into_iter().zip(self.cubic_weights(terms, distance)?) {
                    let offset = terms.constant(Scalar::float(self.wide(), offset));
                    let position = terms.add(first, offset)?;
                    let position = if self.sampling.outside == Outside::Reflection {
                        let position = terms.convert(position, self.element);
                        self.reflected(terms, side, position)?
                    } else {
                        position
                    };
                    pixels.push(self.pixel(terms, side, position, weight)?);
                }
                Ok(pixels)
            }
        }
    }

    /// The position among the pixels of a coordinate from −1 to 1.
    fn exact(&self, terms: &mut Terms, side: Side, named: Node) -> Term {
        let one = self.number(terms, 1.0);
        let from_zero = terms.add(named, one)?;
        if self.sampling.aligned {
            return terms.mul(from_zero, side.middle);
        }
        let half = self.number(terms, 0.5);
        let scaled = terms.mul(from_zero, side.whole)?;
        let moved = terms.sub(scaled, one)?;
        terms.mul(moved, half)
    }

    /// Maps a position beyond the image to one inside it, unless the image is extended by zeros.
    fn brought_inside(&self, terms: &mut Terms, side: Side, x: Node) -> Term {
        let x = match self.sampling.outside {
            Outside::Zeros => return Ok(x),
            Outside::Border => x,
            Outside::Reflection => self.reflected(terms, side, x)?,
        };
        limited(terms, x, side.last)
    }

    /// A position mirrored at both ends until it is between them: at the centres of the first and the last pixel, or at their borders.
    fn reflected(&self, terms: &mut Terms, side: Side, x: Node) -> Term {
        let (start, span) = if self.sampling.aligned { (0.0, side.last) } else { (-0.5, side.whole) };
        let start = self.number(terms, start);
        let (half, zero) = (self.number(terms, 0.5), self.number(terms, 0.0));
        let from_start = terms.sub(x, start)?;
        let distance = terms.op(ScalarOp::Abs, &[from_start])?;
        let quotient = terms.div(distance, span)?;
        let times = terms.op(ScalarOp::Floor, &[quotient])?;
        let rest = terms.op(ScalarOp::Rem, &[distance, span])?;
        let halves = terms.mul(times, half)?;
        let whole = terms.op(ScalarOp::Floor, &[halves])?;
        let parity = terms.sub(halves, whole)?;
        let even = terms.compare(Comparison::Equal, parity, zero)?;
        let back = terms.sub(span, rest)?;
        let found = terms.select(even, rest, back)?;
        let found = terms.add(found, start)?;
        // Nothing lies between the centres of one pixel.
        let none = terms.compare(Comparison::Equal, span, zero)?;
        terms.select(none, zero, found)
    }

    /// The pixel at a whole position; where the image ends in zeros, one outside has no weight.
    fn pixel(&self, terms: &mut Terms, side: Side, position: Node, weight: Node) -> Result<Along, Error> {
        let position = terms.convert(position, self.wide());
        if self.sampling.outside != Outside::Zeros {
            // Rounding in a 16-bit type move a position beyond the image again.
            let position = limited(terms, position, side.end)?;
            return Ok(Along { position: terms.convert(position, I64), weight });
        }
        let (first, none) = (terms.constant(Scalar::float(self.wide(), 0.0)), self.number(terms, 0.0));
        let above = terms.compare(Comparison::GreaterEqual, position, first)?;
        let below = terms.compare(Comparison::LessEqual, position, side.end)?;
        let inside = terms.op(ScalarOp::And, &[above, below])?;
        let position = terms.select(inside, position, first)?;
        Ok(Along { position: terms.convert(position, I64), weight: terms.select(inside, weight, none)? })
    }

    /// The weights of the pixels at −1, 0, 1 and 2 for a distance from 0.
    fn cubic_weights(&self, terms: &mut Terms, distance: Node) -> Result<[Node; 4], Error> {
        let (one, two) = (self.number(terms, 1.0), self.number(terms, 2.0));
        let (rest, next) = (terms.sub(one, distance)?, terms.add(distance, one)?);
        let last = terms.sub(two, distance)?;
        Ok([self.outer(terms, next)?, self.inner(terms, distance)?, self.inner(terms, rest)?, self.outer(terms, last)?])
    }

    /// ((a + 2) x − (a + 3)) x² + 1, for x up to 1.
    fn inner(&self, terms: &mut Terms, x: Node) -> Term {
        let (a, b, one) = (self.number(terms, CUBIC + 2.0), self.number(terms, CUBIC + 3.0), self.number(terms, 1.0));
        let sum = terms.mul(a, x)?;
        let sum = terms.sub(sum, b)?;
        let sum = terms.mul(sum, x)?;
        let sum = terms.mul(sum, x)?;
        terms.add(sum, one)
    }

    /// ((a x − 5a) x + 8a) x − 4a, for x from 1 to 2.
    fn outer(&self, terms: &mut Terms, x: Node) -> Term {
        let [a, five, eight, four] = [CUBIC, 5.0 * CUBIC, 8.0 * CUBIC, 4.0 * CUBIC].map(|n| self.number(terms, n));
        let sum = terms.mul(a, x)?;
        let sum = terms.sub(sum, five)?;
        let sum = terms.mul(sum, x)?;
        let sum = terms.add(sum, eight)?;
        let sum = terms.mul(sum, x)?;
        terms.sub(sum, four)
    }
}

/// A position between the first pixel and the last one, which NaN is brought to as well.
fn limited(terms: &mut Terms, x: Node, last: Node) -> Term {
    let zero = terms.constant(Scalar::float(terms.ty(x), 0.0));
    let x = terms.op(ScalarOp::Max(NanRule::Ignore), &[x, zero])?;
    terms.op(ScalarOp::Min(NanRule::Ignore), &[x, last])
}

/// The sum of numbers times weights, in order.
fn weighted(terms: &mut Terms, weights: &[Node], numbers: &[Node]) -> Result<Node, Error> {
    let mut sum = None;
    for (&weight, &number) in weights.iter().zip(numbers) {
        let product = terms.mul(number, weight)?;
        sum = Some(match sum {
            Some(sum) => terms.add(sum, product)?,
            None => product,
        });
    }
    sum.ok_or(Error::WindowTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run_with};

    /// A row of pixels 1, 2, 3 sampled along its middle.
    fn row(interpolation: Interpolation, outside: Outside, aligned: bool, at: &[f32]) -> Vec<f32> {
        let image = Floats::new(&[1, 1, 1, 3], vec![1.0, 2.0, 3.0]);
        let grid = Floats::new(&[1, 1, at.len() as u64, 2], at.iter().flat_map(|&x| [x, 0.0]).collect());
        let sampling = Sampling { interpolation, outside, aligned };
        let known = run_with(&[&image, &grid], &[], &|g, v| sampled(g, v[0], v[1], sampling));
        for open in [&[[1, 2]][..], &[[0, 2]], &[[0, 3]], &[[0, 2], [0, 3]]] {
            assert_eq!(run_with(&[&image, &grid], open, &|g, v| sampled(g, v[0], v[1], sampling)), known, "{open:?}");
        }
        known.numbers
    }

    #[test]
    fn neighbours_are_blended() {
        let at = [-1.0, 0.0, 0.5, 1.0];
        assert_eq!(row(Interpolation::Bilinear, Outside::Zeros, true, &at), [1.0, 2.0, 2.5, 3.0]);
        assert_eq!(row(Interpolation::Bilinear, Outside::Zeros, false, &at), [0.5, 2.0, 2.75, 1.5]);
        assert_eq!(row(Interpolation::Nearest, Outside::Zeros, true, &[-1.0, 0.6, 3.0]), [1.0, 3.0, 0.0]);
        assert_eq!(row(Interpolation::Bicubic, Outside::Border, true, &at)[..2], [1.0, 2.0]);
    }

    #[test]
    fn what_lies_beyond_is_zero_the_border_or_the_mirrored_image() {
        let at = [-2.0, 2.0];
        assert_eq!(row(Interpolation::Nearest, Outside::Zeros, true, &at), [0.0, 0.0]);
        assert_eq!(row(Interpolation::Nearest, Outside::Border, true, &at), [1.0, 3.0]);
        for aligned in [false, true] {
            row(Interpolation::Bilinear, Outside::Reflection, aligned, &[-2.5, -0.4, 1.2]);
            row(Interpolation::Bicubic, Outside::Reflection, aligned, &[-2.5, -0.4, 1.2]);
        }
        assert_eq!(row(Interpolation::Nearest, Outside::Reflection, true, &at), [2.0, 2.0]);
    }
}
