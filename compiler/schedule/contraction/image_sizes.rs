//! The sizes of images under sliding windows, some of which may be known only when the kernel runs. Kernels count in [`Numbers`]; where
//! all is known, these are constants.

use crate::ir::{InstData, WindowGeometry};
use crate::kernel::KernelBuilder;
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::unsupported::Unsupported;

/// Sizes that are not all known. Rows stand before columns; one spatial dimension is a single row.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Images.
    pub batch: Quantity,
    /// Rows and columns of the input.
    pub input: [Quantity; 2],
    /// Rows and columns of the output.
    pub output: [Quantity; 2],
    /// How much of the padding before the first row and column is not there.
    pub shift: [Quantity; 2],
}

/// The sizes in a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Images.
    pub batch: Number,
    /// Rows and columns of the input.
    pub input: [Number; 2],
    /// Rows and columns of the output.
    pub output: [Number; 2],
    /// How much of the padding before the first row and column is not there.
    pub shift: [Number; 2],
    /// Elements of an input row, and of all its rows.
    pub row_elements: Number,
    /// Elements of all rows of the input.
    pub plane_elements: Number,
    /// Rows of all images of the output.
    pub output_rows: Number,
    /// Pixels of an image of the output.
    pub output_pixels: Number,
}

impl Sizes {
    /// The sizes of a `conv` or `window`; `None` where all are known and the padding is what the geometry says.
    ///
    /// # Errors
    /// Where there are more than two spatial dimensions.
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
        let pair = |list: &[Quantity], one: i64| match list {
            [columns] => Ok([Quantity::known(one), columns.clone()]),
            [rows, columns] => Ok([rows.clone(), columns.clone()]),
            _ => Err(Unsupported::new(format!("windows over {spatial} dimensions whose extents are known only when the program runs"))),
        };
        Ok(Some(Self {
            batch: input[0].clone(),
            input: pair(&input[1..=spatial], 1)?,
            output: pair(&output[1..=spatial], 1)?,
            shift: pair(&shift, 0)?,
        }))
    }

    /// Sizes that are known.
    pub fn known(batch: u64, input: [u64; 2], output: [u64; 2]) -> Self {
        let known = |n: u64| Quantity::known(i64::try_from(n).unwrap_or(i64::MAX));
        Self { batch: known(batch), input: input.map(known), output: output.map(known), shift: [0, 0].map(known) }
    }

    /// The sizes in a kernel, for images of this many channels. To stand before all loops.
    pub fn load(&self, b: &mut KernelBuilder, arguments: &mut Arguments, channels: u64) -> Numbers {
        let mut cells = Cells::default();
        let all = [&self.batch].into_iter().chain(&self.input).chain(&self.output).chain(&self.shift);
        cells.load(b, arguments, all.flat_map(Quantity::extents));
        let row = self.input[1].scaled(i64::try_from(channels).unwrap_or(i64::MAX));
        let mut number = |quantity: &Quantity| cells.number(b, quantity);
        Numbers {
            batch: number(&self.batch),
            input: [number(&self.input[0]), number(&self.input[1])],
            output: [number(&self.output[0]), number(&self.output[1])],
            shift: [number(&self.shift[0]), number(&self.shift[1])],
            plane_elements: number(&self.input[0].times(&row)),
            row_elements: number(&row),
            output_rows: number(&self.batch.times(&self.output[0])),
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
