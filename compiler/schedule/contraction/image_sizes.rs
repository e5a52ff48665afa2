//! The sizes of images under sliding windows, some of which may be known only when the kernel runs. Kernels count in [`Numbers`]; where
//! all is known, these are constants.

use crate::ir::{InstData, WindowGeometry};
use crate::kernel::KernelBuilder;
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::unsupported::Unsupported;

/// Sizes that are not all known. Planes stand before rows, and rows before columns; two spatial dimensions are a single plane, one is a single row of it.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Images.
    pub batch: Quantity,
    /// Planes, rows and columns of the input.
    pub input: [Quantity; 3],
    /// Planes, rows and columns of the output.
    pub output: [Quantity; 3],
    /// How much of the padding before the first plane, row and column is not there.
    pub shift: [Quantity; 3],
}

/// The sizes in a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Images.
    pub batch: Number,
    /// Channels of the input.
    pub channels: Number,
    /// Planes, rows and columns of the input.
    pub input: [Number; 3],
    /// Planes, rows and columns of the output.
    pub output: [Number; 3],
    /// How much of the padding before the first plane, row and column is not there.
    pub shift: [Number; 3],
    /// Elements of an input row.
    pub row_elements: Number,
    /// Elements of all rows of a plane of the input.
    pub plane_elements: Number,
    /// Elements of all planes of the input.
    pub image_elements: Number,
    /// Rows of a plane of all images of the output.
    pub output_rows: Number,
    /// Pixels of an image of the output.
    pub output_pixels: Number,
}

impl Sizes {
    /// The sizes of a `conv` or `window`; `None` where all are known and the padding is what the geometry says.
    ///
    /// # Errors
    /// Where there are more than three spatial dimensions.
    pub fn of(cx: &Context<'_>, data: &InstData, geometry: &WindowGeometry) -> Result<Option<Self>, Unsupported> {
        let (input, output) = (cx.quantities(data.operands[0]), cx.quantities(data.results[0]));
        let mut shift: Vec<Quantity> = geometry.shift.iter().map(|&extent| Quantity::of(cx.function.resolved(extent))).collect();
        // Where windows are counted, nothing says how much padding comes last.
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
            _ => Err(Unsupported::new(format!("windows over {spatial} dimensions whose extents are known only when the program runs"))),
        };
        Ok(Some(Self {
            batch: input[0].clone(),
            input: three(&input[1..=spatial], 1)?,
            output: three(&output[1..=spatial], 1)?,
            shift: three(&shift, 0)?,
        }))
    }

    /// Whether the image is known to be one plane, of which none is left out.
    pub fn are_one_plane(&self) -> bool {
        self.input[0].is(1) && self.output[0].is(1) && self.shift[0].is(0)
    }

    /// Sizes that are known.
    pub fn known(batch: u64, input: [u64; 3], output: [u64; 3]) -> Self {
        let known = |n: u64| Quantity::known(i64::try_from(n).unwrap_or(i64::MAX));
        Self { batch: known(batch), input: input.map(known), output: output.map(known), shift: [0; 3].map(known) }
    }

    /// The sizes in a kernel, for images of this many channels. To stand before all loops.
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

/// An index less a number.
pub fn less(b: &mut KernelBuilder, index: crate::kernel::Value, number: Number) -> crate::kernel::Value {
    match number {
        Number::Known(n) => b.scale_index(index, 1, -n),
        Number::Computed(value) => b.sub(index, value),
    }
}
