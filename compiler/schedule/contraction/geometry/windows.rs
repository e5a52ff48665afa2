//! The geometry of contractions: extents, windows, and the order in which rows are computed.

use super::image_sizes::{Numbers, Sizes};
use super::long_row::{JoinedRows, LongRow};
use super::phases::{Axis, Phases};
use crate::fuse::ChannelPlanes;
use crate::kernel::KernelBuilder;
use crate::schedule::arguments::Arguments;
use crate::schedule::quantity::{Number, Quantity};

/// The geometry of a convolution over [batch, planes, rows, width, channels]. A matrix product is one row with a 1×1 window.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Number of images.
    pub batch: u64,
    /// Outermost of three spatial dimensions.
    pub planes: Planes,
    /// Loops over matrix products with different right operands; empty if all rows use the same one.
    pub matrices: Vec<Matrices>,
    /// Rows and width of the input.
    pub input_size: [u64; 2],
    /// Channels of the input.
    pub channels: u64,
    /// Rows and width of the output.
    pub output_size: [u64; 2],
    /// Channels of the output.
    pub outputs: u64,
    /// Rows and width of the window.
    pub window: [u64; 2],
    /// Layout of the input if its channels are not innermost: [images, channels, rows, columns].
    pub channel_planes: Option<ChannelPlanes>,
    /// Batch and sizes, if some are known only at run time. The numbers above are then their bounds.
    pub sizes: Option<Sizes>,
    /// Long row whose sections replace the rows of windows. The starts of input rows then have the distance that those of the output need, and
    /// their padding is pixels of their neighbours.
    pub sections: Option<LongRow>,
    /// Rows of the image that are computed as one row, which is then the output's row.
    pub joined: Option<JoinedRows>,
    /// Strides.
    pub strides: [u64; 2],
    /// Taps of planes, rows and columns.
    pub phases: [Phases; 3],
    /// Groups.
    pub groups: u64,
}

/// The outermost of three spatial dimensions; one plane if there are fewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planes {
    /// Planes of the input.
    pub input: u64,
    /// Planes of the output.
    pub output: u64,
    /// Planes of the window.
    pub window: u64,
    /// Step between windows.
    pub stride: u64,
}

impl Planes {
    /// A single plane.
    pub const ONE: Self = Self { input: 1, output: 1, window: 1, stride: 1 };
}

/// A loop over matrix products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrices {
    /// Number of products.
    pub count: u64,
    /// Elements from one left matrix to the next; 0 if it repeats.
    pub left: u64,
    /// Elements from one right matrix to the next; 0 if it repeats.
    pub right: u64,
}

impl Geometry {
    /// Returns the number of products in one output element.
    pub fn per_output(&self) -> u64 {
        self.planes.window * self.window[0] * self.window[1] * (self.channels / self.groups)
    }

    /// Returns the number of output pixels, of all images.
    pub fn pixels(&self) -> u64 {
        let [rows, width] = self.output_size;
        let of_plane = self.sections.map_or(rows.saturating_mul(width), |row| row.output);
        self.batch.saturating_mul(self.planes.output).saturating_mul(of_plane)
    }

    /// Returns the number of windows along a dimension, of the phase that has most. The dimensions are planes, rows and columns.
    pub fn windows(&self, dimension: usize) -> u64 {
        self.phases[dimension].list.iter().map(|phase| phase.count).max().unwrap_or(0)
    }

    /// Returns the number of multiply-accumulates, padded taps included.
    pub fn multiply_accumulates(&self) -> u64 {
        let factors = [self.pixels(), self.outputs, self.per_output()];
        self.matrices.iter().map(|m| m.count).chain(factors).fold(1, u64::saturating_mul)
    }

    /// Loads the sizes in a kernel. It must precede all loops.
    pub fn numbers(&self, b: &mut KernelBuilder, arguments: &mut Arguments) -> Numbers {
        let sizes = self.sizes.clone().unwrap_or_else(|| {
            let with_planes = |planes: u64, [rows, columns]: [u64; 2]| [planes, rows, columns];
            let input = with_planes(self.planes.input, self.input_size);
            Sizes::known(self.batch, input, with_planes(self.planes.output, self.output_size))
        });
        let numbers = sizes.load(b, arguments, &Quantity::known(self.channels as i64));
        let Some(row) = self.sections else { return numbers };
        let elements = Number::Known((row.input * self.channels) as i64);
        Numbers { plane_elements: elements, image_elements: elements, output_pixels: Number::Known(row.output as i64), ..numbers }
    }

    /// Tests whether taps fall outside the input, or may do so.
    pub fn is_padded(&self) -> bool {
        self.sizes.is_some() || self.phases.iter().any(|p| p.padding_low != 0 || p.padding_high != 0)
    }

    /// Tests whether there is one plane, with a window of one plane.
    pub fn is_one_plane(&self) -> bool {
        self.planes == Planes::ONE && self.sizes.as_ref().is_none_or(Sizes::are_one_plane)
    }

    /// Tests whether planes of a window fall outside the input, or may do so.
    pub fn pads_planes(&self) -> bool {
        let Phases { padding_low, padding_high, .. } = self.phases[0];
        padding_low + padding_high > 0
            || self.sizes.as_ref().is_some_and(|sizes| sizes.input[0].as_known().is_none() || !sizes.shift[0].is(0))
    }

    /// Tests whether neighbouring output positions use the same taps of the filter.
    pub fn is_one_phase(&self) -> bool {
        self.phases.iter().all(|p| p.list.len() == 1 && p.step == 1)
    }

    /// Tests whether every output pixel reads only its own input pixel.
    pub fn is_pointwise(&self) -> bool {
        self.planes.window == 1
            && self.planes.stride == 1
            && self.is_one_phase()
            && self.window == [1, 1]
            && self.strides == [1, 1]
            && !self.is_padded()
    }

    /// Turns the pixels of a pointwise contraction into rows of a length that divides their number.
    pub fn fold_pixels(&mut self, width: u64) {
        let pixels = self.batch * self.planes.input * self.input_size[0] * self.input_size[1];
        (self.batch, self.planes) = (1, Planes::ONE);
        self.input_size = [pixels / width.max(1), width];
        self.output_size = self.input_size;
        self.phases = [1, self.input_size[0], self.input_size[1]].map(pointwise);
    }
}

/// Returns the phases of a dimension with a window of one tap.
pub fn pointwise(extent: u64) -> Phases {
    let axis = Axis { input: extent, output: extent, window: 1, dilation: 1, input_dilation: 1, padding_low: 0, padding_high: 0 };
    Phases::new(&axis)
}

/// Returns the loops over matrix products of broadcast leading dimensions. Neighbouring loops are joined if one stride serves both.
pub(super) fn matrices(left: &[u64], right: &[u64], output: &[u64]) -> Vec<Matrices> {
    let rank = output.len() - 2;
    let steps = |shape: &[u64]| -> Vec<u64> {
        let (leading, matrix) = shape.split_at(shape.len() - 2);
        let mut step = matrix.iter().product();
        let mut steps = vec![0; rank];
        for (d, &extent) in leading.iter().enumerate().rev() {
            steps[rank - leading.len() + d] = if extent == 1 { 0 } else { step };
            step *= extent;
        }
        steps
    };
    let (left, right) = (steps(left), steps(right));
    let mut loops: Vec<Matrices> = Vec::new();
    for d in (0..rank).rev().filter(|&d| output[d] != 1) {
        let outer = Matrices { count: output[d], left: left[d], right: right[d] };
        match loops.first_mut() {
            Some(inner) if outer.left == inner.left * inner.count && outer.right == inner.right * inner.count => inner.count *= outer.count,
            _ => loops.insert(0, outer),
        }
    }
    loops
}
