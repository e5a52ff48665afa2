//! Sizes of images under sliding windows, some of which may be known only at run time. Kernels use them as [`Numbers`], which are constants if
//! they are known.

use crate::ir::{InstData, WindowGeometry};
use crate::kernel::KernelBuilder;
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::unsupported::Unsupported;

/// Sizes that are not all known. The order is planes, rows, columns. Two spatial dimensions are a single plane, and one is a single row of it.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Number of images.
    pub batch: Quantity,
    /// Planes, rows and columns of the input.
    pub input: [Quantity; 3],
    /// Planes, rows and columns of the output.
    pub output: [Quantity; 3],
    /// Amount of padding that is missing before the first plane, row and column.
    pub shift: [Quantity; 3],
}

/// The sizes in a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Number of images.
    pub batch: Number,
    /// Channels of the input.
    pub channels: Number,
    /// Planes, rows and columns of the input.
    pub input: [Number; 3],
    /// Planes, rows and columns of the output.
    pub output: [Number; 3],
    /// Amount of padding that is missing before the first plane, row and column.
    pub shift: [Number; 3],
    /// Elements of an input row.
    pub row_elements: Number,
    /// Elements of an input plane.
    pub plane_elements: Number,
    /// Elements of an input image.
    pub image_elements: Number,
    /// Number of output rows in one plane of all images.
    pub output_rows: Number,
    /// Number of output pixels of an image.
    pub output_pixels: Number,
}

impl Sizes {
    /// Returns the sizes of a `conv` or `window`. `None` if all are known and the padding is as the geometry states.
    ///
    /// # Errors
    /// [`Unsupported`] if there are more than three spatial dimensions.
    pub fn of(cx: &Context<'_>, data: &InstData, geometry: &WindowGeometry) -> Result<Option<Self>, Unsupported> {
        let (input, output) = (cx.quantities(data.operands[0]), cx.quantities(data.results[0]));
        let mut shift: Vec<Quantity> = geometry.shift.iter().map(|&extent| Quantity::of(cx.function.resolved(extent))).collect();
        // If the number of windows is given, the padding at the end is unknown.
        let counted = !geometry.positions.is_empty();
        if !counted && shift.iter().all(|n| n.is(0)) && input.iter().chain(&output).all(|n| n.as_known().is_some()) {
            return Ok(None);
        }
        let spatial = input.len() - 2;
        shift.resize(spatial, Quantity::known(0));
        let three = |list: &[Quantity], one: i64| match list {
            [columns] => Ok([Quantity::known(one), Quantity::known(one), columns.clone()]),
            [rows, columns] => Ok([Quantity::known(one), rows.clone(), columns.clone()]),
            [planes, rows, columns] => Ok([planes.clone(), rows.clone(), columns.clone()]),
            _ => Err(Unsupported::OpenWindows(spatial)),
        };
        Ok(Some(Self {
            batch: input[0].clone(),
            input: three(&input[1..=spatial], 1)?,
            output: three(&output[1..=spatial], 1)?,
            shift: three(&shift, 0)?,
        }))
    }

    /// Tests whether the image is known to be one plane, without missing padding.
    pub fn are_one_plane(&self) -> bool {
        self.input[0].is(1) && self.output[0].is(1) && self.shift[0].is(0)
    }

    /// Makes known sizes.
    pub fn known(batch: u64, input: [u64; 3], output: [u64; 3]) -> Self {
        let known = |n: u64| Quantity::known(i64::try_from(n).unwrap_or(i64::MAX));
        Self { batch: known(batch), input: input.map(known), output: output.map(known), shift: [0; 3].map(known) }
    }

    /// Loads the sizes in a kernel, for images with these channels. It must precede all loops.
    pub fn load(&self, b: &mut KernelBuilder, arguments: &mut Arguments, channels: &Quantity) -> Numbers {
        let mut cells = Cells::default();
        let all = [&self.batch, channels].into_iter().chain(&self.input).chain(&self.output).chain(&self.shift);
        cells.load(b, arguments, all.flat_map(Quantity::extents));
        let row = self.input[2].times(channels);
        let plane = self.input[1].times(&row);
        let mut number = |quantity: &Quantity| cells.number(b, quantity);
        Numbers {
            batch: number(&self.batch),
            channels: number(channels),
            input: [number(&self.input[0]), number(&self.input[1]), number(&self.input[2])],
            output: [number(&self.output[0]), number(&self.output[1]), number(&self.output[2])],
            shift: [number(&self.shift[0]), number(&self.shift[1]), number(&self.shift[2])],
            image_elements: number(&self.input[0].times(&plane)),
            plane_elements: number(&plane),
            row_elements: number(&row),
            output_rows: number(&self.batch.times(&self.output[1])),
            output_pixels: number(&product(&self.output)),
        }
    }
}

/// Subtracts a number from an index.
pub fn less(b: &mut KernelBuilder, index: crate::kernel::Value, number: Number) -> crate::kernel::Value {
    match number {
        Number::Known(n) => b.scale_index(index, 1, -n),
        Number::Computed(value) => b.sub(index, value),
    }
}
