//! Element-wise kernels: one pass over the output, every operand read once.

use super::operands::{Access, ElementWise, Place};
use super::quantity::{Cells, Number, product};
use super::{Argument, Context, Lowered, Requirements, Schedule, Unsupported};
use crate::ir::Value as Tensor;
use crate::kernel::{KernelBuilder, Value};

/// Element-wise work without a root.
pub struct MapSchedule<'a> {
    cx: Context<'a>,
    requirements: Requirements,
}

impl<'a> MapSchedule<'a> {
    /// The schedule of a group without a root.
    ///
    /// # Errors
    /// For shapes and types that no kernel handles.
    pub fn new(cx: Context<'a>) -> Result<Self, Unsupported> {
        let work = ElementWise::new(cx, None)?;
        Ok(Self { cx, requirements: Requirements { may_share: work.shareable(), ..Requirements::default() } })
    }
}

impl Schedule for MapSchedule<'_> {
    fn requirements(&self) -> Requirements {
        self.requirements.clone()
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let mut work = ElementWise::new(self.cx, None)?;
        let mut b = KernelBuilder::new("map");
        let mut arguments: Vec<Argument> = Vec::new();
        work.declare(&mut b, &mut arguments, shared)?;
        // Without per-channel or per-pixel operands the whole output is one row.
        let flat = work.accesses().all(|a| matches!(a, Access::Single | Access::Same));
        let (outer, last) = if flat { (&[][..], work.shape()) } else { work.shape().split_at(work.shape().len().saturating_sub(1)) };
        let (pixels, channels) = (product(outer), product(last));
        let lanes = lanes_for(self.cx, work.smallest_element(), channels.most(&self.cx)?);
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, pixels.extents().chain(channels.extents()));
        let (pixels, channels) = (cells.number(&mut b, &pixels), cells.number(&mut b, &channels));
        let hoisted = work.hoist(&mut b, lanes);
        let mut failure = Ok(());
        let pixels = if matches!(channels, Number::Known(0)) { channels } else { pixels };
        pixels.repeat(&mut b, |b, pixel| {
            let base = channels.scale(b, pixel);
            channels.row(b, lanes, |b, channel, active| {
                let flat = b.add(base, channel);
                let place = Place { pixel, pixel_offset: 0, channel, channel_offset: 0, flat };
                if let Err(error) = work.emit(b, &place, None, &hoisted, lanes, active) {
                    failure = Err(error);
                }
            });
        });
        failure?;
        let description = format!("map {pixels}x{channels} by {lanes}");
        Ok(Lowered { kernel: b.finish(), arguments, description, multiply_accumulates: 0 })
    }
}

/// Lanes for element-wise work on `channels` contiguous elements: full registers of the narrowest element, or fewer when
/// there are not so many.
pub fn lanes_for(cx: Context<'_>, smallest_element: u32, channels: u64) -> u16 {
    let full = cx.machine.lanes(smallest_element).max(2 * cx.machine.lanes(4));
    let needed = u16::try_from(channels.next_power_of_two()).unwrap_or(u16::MAX);
    full.min(needed).max(1)
}

/// A loop over `count` elements by `lanes`, then the rest with fewer active lanes.
pub fn row(b: &mut KernelBuilder, count: u64, lanes: u16, mut body: impl FnMut(&mut KernelBuilder, Value, u16)) {
    let whole = count / u64::from(lanes) * u64::from(lanes);
    b.for_range(0, whole as i64, i64::from(lanes), |b, i| body(b, i, lanes));
    if count > whole {
        let start = b.index(whole as i64);
        body(b, start, (count - whole) as u16);
    }
}
