//! Pooling and resizing of images, channels last.

use super::run::{Datum, Run};
use super::subgraph::{Node, Pooling, Window};
use super::sums::windows;
use crate::frontend::executorch::fault::Fault;
use crate::ir::{ElementType, Extent, Reduction, Search, Summation, Value};
use crate::operators::activation::Activation;
use crate::operators::pooling::{self, Counts, Divisor, Means, Quotient};
use crate::operators::quantize::nearest_step;
use crate::operators::reduction::{Axes, mean, position, reduce};
use crate::operators::resize::{Along, Between, Step, separable};
use crate::operators::{Error, extents};
use ElementType::{F32, I32};

impl Run<'_, '_> {
    /// An image as it is stored, or in binary32.
    fn image(&mut self, input: usize, as_stored: bool) -> Result<Value, Fault> {
        let value = if as_stored { self.tensor(input)? } else { self.real(input)? };
        match self.graph().rank(value) {
            4 => Ok(value),
            rank => Err(Fault::invalid("needs an image").expected("4 dimensions", rank.to_string())),
        }
    }

    pub(super) fn pool(&mut self, node: &Node, pooling: Pooling, window: &Window, input: usize) -> Result<(), Fault> {
        match pooling {
            Pooling::Max => {
                let image = self.image(input, true)?;
                let is_single = self.graph().element(image) == F32;
                let value = if is_single {
                    pooling::max_of_nines(self.graph(), image, &windows(window))?
                } else {
                    pooling::max(self.graph(), image, &windows(window), Search::Max)?
                };
                self.finish_moved(node, value, input)
            }
            Pooling::Average => {
                let image = self.image(input, false)?;
                let means = self.means(input)?;
                let mut value = pooling::average(self.graph(), image, &windows(window), &means)?;
                if self.affine(node.output).is_none() {
                    // The kernel clamps by x86's maximum, which of a NaN and a bound gives the bound.
                    let low = node.clamp.map_or(f32::NEG_INFINITY, |clamp| clamp.low);
                    value = self.graph().compute::<Error>(&[value], |terms, x| {
                        let low = terms.f32(low);
                        Ok(terms.max(low, x[0])?)
                    })?;
                }
                self.finish_real(node, value)
            }
        }
    }

    /// Means of windows of singles are XNNPACK's to the bit. Its kernels of halves are other ones.
    fn means(&self, input: usize) -> Result<Means, Fault> {
        let is_single = self.element(input)? == F32;
        let (summation, quotient) =
            if is_single { (Summation::Nines, Quotient::Reciprocal) } else { (Summation::Rows, Quotient::Float(Activation::NONE)) };
        Ok(Means { accumulator: F32, summation, divisor: Divisor::Inside, counts: Counts::Sides, quotient, result: F32 })
    }

    /// The largest element of each window and its position in it, row by row; windows lie side by side.
    pub(super) fn largest_of(&mut self, node: &Node, size: [u64; 2], input: usize, index: usize) -> Result<(), Fault> {
        let image = self.image(input, true)?;
        let g = self.graph();
        let &[batch, rows, columns, channels] = &g.extents(image)[..] else { return Err(Fault::Consequence) };
        if size.contains(&0) {
            return Err(Fault::invalid("a window has no taps"));
        }
        let down = g.floor_div(rows, Extent::Static(size[0]))?;
        let across = g.floor_div(columns, Extent::Static(size[1]))?;
        let [high, wide] = size.map(Extent::Static);
        let covered = [g.mul(down, high)?, g.mul(across, wide)?];
        let whole = g.slice(image, &extents(&[0; 4]), &[batch, covered[0], covered[1], channels], &[1; 4])?;
        let split = g.reshape(whole, &[batch, down, high, across, wide, channels])?;
        let taps_last = g.transpose(split, &[0, 1, 3, 5, 2, 4])?;
        let taps = Extent::Static(size[0].checked_mul(size[1]).ok_or(Error::WindowTooLarge)?);
        let windows = g.reshape(taps_last, &[batch, down, across, channels, taps])?;
        let positions = position(g, windows, Search::Max, 4, I32)?;
        let largest = reduce(g, windows, Reduction::Max, &[4], Axes::Dropped)?;
        self.set(index, Datum::Tensor(positions));
        self.finish_moved(node, largest, input)
    }

    /// The mean of each channel.
    pub(super) fn mean(&mut self, node: &Node, input: usize, keeps_dimensions: bool) -> Result<(), Fault> {
        let axes = [1, 2];
        let shape = if keeps_dimensions { Axes::Kept } else { Axes::Dropped };
        let Some(from) = self.affine(input) else {
            let image = self.image(input, false)?;
            let value = mean(self.graph(), image, &axes, shape)?;
            return self.finish_real(node, value);
        };
        let image = self.image(input, true)?;
        let (to, output) = self.integer_output(node)?;
        let g = self.graph();
        let sides = g.extents(image);
        let count = g.product(&sides[1..3])?;
        let centred = g.compute::<Error>(&[image], |terms, x| {
            let (x, zero_point) = (terms.convert(x[0], I32), terms.i32(from.zero_point));
            Ok(terms.sub(x, zero_point)?)
        })?;
        let sums = reduce(g, centred, Reduction::Sum, &axes, shape)?;
        let ratio = from.scale / to.scale;
        let mut operands = vec![sums];
        if count.as_static().is_none() {
            operands.push(g.extent_tensor(count, I32)?);
        }
        let value = g.compute::<Error>(&operands, |terms, x| {
            let (sum, zero_point) = (terms.convert(x[0], F32), terms.f32(output.zero_point as f32));
            let factor = match count.as_static() {
                Some(count) => terms.f32(ratio * (1.0 / count as f32)),
                None => {
                    let (count, one, ratio) = (terms.convert(x[1], F32), terms.f32(1.0), terms.f32(ratio));
                    let share = terms.div(one, count)?;
                    terms.mul(ratio, share)?
                }
            };
            let scaled = terms.mul(sum, factor)?;
            // XNNPACK rounds after it adds the zero point: halves go to the even one of these integers.
            let moved = terms.add(scaled, zero_point)?;
            let result = nearest_step(terms, moved, 0, output.bounds)?;
            Ok(terms.convert(result, output.element))
        })?;
        self.set(node.output, Datum::Tensor(value));
        Ok(())
    }

    pub(super) fn resize(&mut self, node: &Node, size: [u64; 2], aligned: bool, input: usize) -> Result<(), Fault> {
        let image = self.image(input, false)?;
        let shape = self.extents(image);
        if size.contains(&0) || size.iter().any(|&n| n > 1 << 20) {
            return Err(Fault::invalid("a side of an image is out of range").expected("1 to 2^20", format!("{size:?}")));
        }
        let step = if aligned { Step::Corners } else { Step::Ratio };
        let side = |d: usize| (Along { dimension: d + 1, from: shape[d + 1], to: Extent::Static(size[d]) }, step);
        let value = separable(self.graph(), image, &[side(1), side(0)], Between::Difference)?;
        self.finish_real(node, value)
    }
}
