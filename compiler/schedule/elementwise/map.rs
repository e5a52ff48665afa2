//! Element-wise kernels: one pass over the output, with every operand read once. If a product has a factor for each channel, channels are the
//! outermost loop, so that work on the factor alone is done once.

use super::operands::ElementWise;
use super::positions::{Hoisted, OutputPosition};
use crate::kernel::passes::INVARIANTS;
use crate::kernel::{Active, BinaryOp, CompareOp, KernelBuilder, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::context::Context;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::{Outcome, for_values, if_then};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, nest, product};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use std::ops::Range;

/// Element-wise work without a root.
pub struct MapSchedule<'a> {
    cx: Context<'a>,
    work: ElementWise<'a>,
    /// Number of vectors, if the work is one row of known length and large enough to split among threads.
    vectors: Option<u64>,
}

impl<'a> MapSchedule<'a> {
    /// Makes the schedule of a group without a root.
    ///
    /// # Errors
    /// [`Unsupported`] for shapes and types that no kernel handles.
    pub fn new(cx: Context<'a>) -> Result<Self, Unsupported> {
        let work = ElementWise::new(cx, None)?;
        let all = product(work.shape());
        let elements = all.as_known().and_then(|n| u64::try_from(n).ok()).filter(|_| work.is_flat());
        let worth_it = elements.filter(|n| cx.sharing.is_worth_ranges(n.saturating_mul(work.operations())));
        let vectors = worth_it.map(|n| Ok(n.div_ceil(lanes(cx, &work, &all)?.into()))).transpose()?;
        Ok(Self { cx, work, vectors: vectors.filter(|&vectors| vectors > 1) })
    }
}

/// Returns the lanes of the vectors that compute rows of `channels` elements.
fn lanes(cx: Context<'_>, work: &ElementWise<'_>, channels: &Quantity) -> Result<u16, Unsupported> {
    match work.registers_for_functions() {
        Some(registers) => cx.lanes_for_functions(registers, work.smallest_element(), channels),
        None => Ok(cx.lanes_for(work.smallest_element(), channels.most(cx.function)?)),
    }
}

impl Schedule for MapSchedule<'_> {
    fn requirements(&self) -> Requirements {
        // Each element is read only to compute the element that overwrites it.
        Requirements { may_share: self.work.shareable(), divides: self.vectors, ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut work = self.work.clone();
        let mut b = KernelBuilder::new("map");
        b.independent(true);
        let range = self.vectors.map(|vectors| b.divide_all(vectors));
        let mut arguments = Arguments::default();
        work.declare(&mut b, &mut arguments, shared)?;
        let (outer, last) =
            if work.is_flat() { (&[][..], work.shape()) } else { work.shape().split_at(work.shape().len().saturating_sub(1)) };
        let (pixels, channels) = (product(outer), product(last));
        let lanes = lanes(self.cx, &work, &channels)?;
        let mut cells = Cells::default();
        // A product with an extent of 0 names no other extent.
        cells.load(&mut b, &mut arguments, pixels.extents().chain(channels.extents()).chain(outer.iter().flat_map(Quantity::extents)));
        // Operands with strides need a loop for each dimension.
        let strided = work.follows_dimensions();
        let dimensions: Vec<Number> = if strided { outer.iter().map(|extent| cells.number(&mut b, extent)).collect() } else { vec![] };
        let (pixels, channels) = (cells.number(&mut b, &pixels), cells.number(&mut b, &channels));
        let hoisted = work.hoist(&mut b, lanes);
        let pixels = if matches!(channels, Number::Known(0)) { channels } else { pixels };
        let dimensions = if strided && !matches!(channels, Number::Known(0)) { dimensions } else { vec![pixels] };
        let zero = b.index(0);
        if !strided && self.cx.uses(Technique::ChannelsOutermost) && work.repeats_factors() {
            channels.row(&mut b, lanes, self.cx.machine.masked_lanes, |b, channel, active| {
                column(b, &work, Sizes { pixels, channels }, (channel, &hoisted), (lanes, active))
            })?;
            let description = format!("element-wise over {pixels}x{channels}, {lanes} at a time, channels outermost");
            let kernel = INVARIANTS.after(b.finish());
            return Ok(vec![Lowered::new(kernel, arguments, description)]);
        }
        work.stream(&mut b, shared)?;
        nest(&mut b, &dimensions, (&[], zero), &mut |b, digits, pixel| {
            let hoisted = work.hoist_pixel(b, pixel, digits, &hoisted, lanes);
            let base = channels.scale(b, pixel);
            let vector = |b: &mut KernelBuilder, channel: Value, active: Active| {
                let flat = b.add(base, channel);
                let place = OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
                work.emit(b, &place, None, &hoisted, lanes, active)
            };
            match (range, channels) {
                (Some((first, end)), Number::Known(n)) => {
                    row_part(b, n as u64, lanes, first..end, |b, i, active| vector(b, i, active.into()))
                }
                _ => channels.row(b, lanes, self.cx.machine.masked_lanes, vector),
            }
        })?;
        let description = format!("element-wise over {pixels}x{channels}, {lanes} at a time");
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}

/// Numbers of pixels and of their channels.
#[derive(Clone, Copy)]
struct Sizes {
    pixels: Number,
    channels: Number,
}

/// Computes some channels of all pixels. Operands of the channels are loaded before the loop.
fn column(
    b: &mut KernelBuilder,
    work: &ElementWise<'_>,
    Sizes { pixels, channels }: Sizes,
    (channel, hoisted): (Value, &[Option<Hoisted>]),
    (lanes, active): (u16, Active),
) -> Result<(), Unsupported> {
    let hoisted = work.hoist_channels(b, channel, hoisted, (lanes, active));
    pixels.repeat(b, |b, pixel| {
        let base = channels.scale(b, pixel);
        let flat = b.add(base, channel);
        let place = OutputPosition { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
        work.emit(b, &place, None, &hoisted, lanes, active)
    })
}

/// Runs the vectors of a range of numbers, out of the vectors of `count` elements. The last vector may have fewer active lanes.
fn row_part<R: Outcome>(
    b: &mut KernelBuilder,
    count: u64,
    lanes: u16,
    Range { start: first, end }: Range<Value>,
    mut body: impl FnMut(&mut KernelBuilder, Value, u16) -> R,
) -> R {
    let whole = count / u64::from(lanes);
    let number = b.index(whole as i64);
    let last = b.binary(BinaryOp::SignedMin, end, number);
    let [start, stop] = [first, last].map(|number| b.scale_index(number, lanes.into(), 0));
    let outcome = for_values(b, start..stop, lanes.into(), |b, i| body(b, i, lanes));
    let rest = count - whole * u64::from(lanes);
    if rest == 0 {
        return outcome;
    }
    outcome.then(|| {
        let reached = b.compare(CompareOp::Less, number, end);
        if_then(b, reached, |b| {
            let start = b.scale_index(number, lanes.into(), 0);
            body(b, start, rest as u16)
        })
    })
}
