//! The kernel of a direct convolution: its needs of memory, its buffers and its description.

use super::hoisted::hoisted_for;
use crate::kernel::{Buffer, BufferKind, KernelBuilder, Lane, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::contraction::direct::{DirectSchedule, Ranges};
use crate::schedule::contraction::geometry::image_sizes::Numbers;
use crate::schedule::contraction::geometry::needs;
use crate::schedule::contraction::geometry::places::Image;
use crate::schedule::contraction::operands::moved::Lacking;
use crate::schedule::contraction::operands::panels::cuts::Cuts;
use crate::schedule::contraction::operands::panels::filling::Stored;
use crate::schedule::contraction::rows::staging::Ring;
use crate::schedule::contraction::table::rounds::unrolled_segments;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::Hoisted;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::unsupported::Unsupported;

impl Schedule for DirectSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let mut needs = needs::requirements(self.cx, (&self.work, &self.element_wise), self.staging.as_ref(), !self.are_filled());
        needs.if_staged.extend(self.if_staged);
        needs.shorter = self.shorter;
        needs.scratch.extend(self.column_words().map(|words| words * u64::from(Lane::I32.bytes())));
        needs.may_share.extend(self.overwritten_by_tiles());
        if self.are_filled() {
            let lane = self.phases.iter().map(|phase| u64::from(phase.panels.lane().bytes())).max().unwrap_or(0);
            needs.scratch.push(self.matrices_apart() * self.filled_elements() * lane);
        }
        needs.scratch.extend(self.windows.map(|windows| windows.elements()));
        needs.dividing(|shared| self.ranges(shared).map(Ranges::extent))
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        Ok(vec![lower(self, shared)?])
    }
}

/// State of the kernel that is being written.
pub(in crate::schedule::contraction) struct Lowering<'a> {
    pub schedule: &'a DirectSchedule<'a>,
    /// The dimension that is divided, with the first and the end of the range, if these are parameters.
    pub(in crate::schedule::contraction) range: Option<(Ranges, Value, Value)>,
    pub(in crate::schedule::contraction) numbers: Numbers,
    pub(in crate::schedule::contraction) arguments: Arguments,
    /// Ring or input from which the pixels are read.
    pub pixels: Ring,
    pub input: Buffer,
    /// Copied windows.
    pub windows: Option<Buffer>,
    /// Stored right operand, and the panels that products read: the stored ones, or one that the kernel fills.
    pub(in crate::schedule::contraction) stored: Stored,
    pub weights: Buffer,
    pub initial: Option<Buffer>,
    /// Corrections of the pixels' sums.
    pub(in crate::schedule::contraction) lacking: Option<Lacking>,
    /// Words of a tile's pixels, for [`Form::PixelPairs`].
    pub(in crate::schedule::contraction) columns: Option<Buffer>,
    /// Starts of a window's segments, if the segments are not unrolled.
    pub(in crate::schedule::contraction) starts: Option<Buffer>,
    pub element_wise: ElementWise<'a>,
    /// Panels of a group.
    pub(in crate::schedule::contraction) cuts: Cuts,
    /// Values loaded before the loops, for each number of lanes in a panel.
    pub(in crate::schedule::contraction) hoisted: Vec<(u64, Vec<Option<Hoisted>>)>,
}

/// Lowers a schedule.
pub(in crate::schedule::contraction) fn lower(schedule: &DirectSchedule<'_>, shared: &[Pair]) -> Result<Lowered, Unsupported> {
    let mut b = KernelBuilder::new(schedule.name());
    let range = schedule.ranges(shared).map(|ranges| {
        let (first, end) = b.divide_all(ranges.extent());
        (ranges, first, end)
    });
    let lowering = Lowering { range, ..Lowering::new(schedule, &mut b, shared)? };
    if let Some(staging) = &schedule.staging {
        b.rounds(true, |b| staging.prepare(b, &schedule.work, lowering.pixels));
    }
    b.independent(schedule.keeps_nothing());
    lowering.matrices(&mut b)?;
    let staged = match schedule.staging.as_ref().map(|staging| staging.chunk) {
        Some(Some(_)) => ", staged chunks",
        Some(None) if schedule.work.geometry.joined.is_some() => ", staged images",
        Some(None) if schedule.work.geometry.sections.is_some() => ", staged sections",
        Some(None) if schedule.work.geometry.channel_planes.is_some() => ", staged rows of planes",
        Some(None) => ", staged rows",
        None => "",
    };
    let panels = match (lowering.stored.places, schedule.are_filled()) {
        (Some(_), _) => ", sparse panels",
        (None, true) => ", filled panels",
        (None, false) => "",
    };
    let description = format!(
        "products of {}, {} pixels x {} channels at a time, unrolled {} times{staged}{panels}",
        schedule.form,
        schedule.tile.pixels,
        lowering.cuts,
        schedule.phases.first().map_or(0, |phase| phase.unroll),
    );
    let multiply_accumulates = schedule.work.geometry.multiply_accumulates();
    Ok(Lowered { multiply_accumulates, ..Lowered::new(b.finish(), lowering.arguments, description) })
}

/// Declares the scratch memory of filled panels. `None` if products read weights as they are stored.
fn filled_panel(schedule: &DirectSchedule<'_>, b: &mut KernelBuilder, arguments: &mut Arguments) -> Option<Buffer> {
    let widths = schedule.widths();
    let filled = schedule.phases.iter().map(|phase| &phase.panels).filter(|panels| panels.are_filled());
    let panels = filled.max_by_key(|panels| panels.filled_elements(&widths))?;
    let number = usize::from(schedule.staging.is_some());
    Some(arguments.scratch(b, "panel", number, panels.lane(), schedule.matrices_apart() * schedule.filled_elements()))
}

impl<'a> Lowering<'a> {
    fn new(schedule: &'a DirectSchedule<'a>, b: &mut KernelBuilder, shared: &[Pair]) -> Result<Self, Unsupported> {
        let work = &schedule.work;
        let mut arguments = Arguments::default();
        let panels = schedule.phases.iter().map(|phase| &phase.panels);
        let (input, stored) = needs::declare(&schedule.cx, b, &mut arguments, work, panels, shared)?;
        let mut element_wise = schedule.element_wise.clone();
        let biased = work.bias.is_some() || !element_wise.offsets().is_empty() || schedule.form.has_excess();
        let initial = biased.then(|| {
            let sums = schedule.initial_sums(element_wise.offsets());
            arguments.data(b, "initial", sums.into(), Lane::I32, 64)
        });
        let pixels = match &schedule.staging {
            Some(staging) => staging.declare(b, work, &mut arguments),
            None => Ring::unstaged(input),
        };
        let widths = schedule.widths();
        let weights = filled_panel(schedule, b, &mut arguments).unwrap_or(stored.elements);
        let windows = schedule.windows.map(|windows| {
            let number = usize::from(schedule.staging.is_some()) + usize::from(schedule.are_filled());
            arguments.scratch(b, "windows", number, Lane::I8, windows.elements())
        });
        let segments = schedule.phases.iter().map(|phase| phase.panels.extents.segments()).max().unwrap_or(0);
        let segments = schedule.windows.map_or(segments, |windows| windows.rows);
        let starts = (segments > unrolled_segments(&schedule.cx)).then(|| b.buffer("starts", BufferKind::Local, Lane::I64, segments, 8));
        let lacking = schedule.phases.first().and_then(|phase| Lacking::declare(b, (work, schedule.form), &phase.panels));
        let columns = schedule.declare_columns(b, &mut arguments);
        element_wise.declare(b, &mut arguments, shared)?;
        let cuts = schedule.cuts();
        let lanes = widths.iter().flat_map(|width| {
            let most = neighbours(schedule, &element_wise, width.lanes);
            (0..=most.ilog2()).map(|doubled| width.lanes << doubled)
        });
        let hoisted = hoisted_for(b, &element_wise, lanes);
        let range = None;
        let numbers = work.geometry.numbers(b, &mut arguments);
        Ok(Self {
            schedule,
            range,
            numbers,
            arguments,
            pixels,
            input,
            windows,
            stored,
            weights,
            initial,
            lacking,
            columns,
            starts,
            element_wise,
            cuts,
            hoisted,
        })
    }

    pub(in crate::schedule::contraction) fn image(&self) -> Image<'_> {
        Image { work: &self.schedule.work, numbers: &self.numbers }
    }

    /// Returns the values loaded before the loops for panels of this many lanes.
    pub fn hoisted(&self, lanes: u64) -> &[Option<Hoisted>] {
        self.hoisted.iter().find(|(width, _)| *width == lanes).map_or(&[], |(_, hoisted)| hoisted)
    }

    /// Returns the number of neighbouring pixels that an epilogue takes together.
    pub fn neighbours(&self, lanes: u64) -> u64 {
        neighbours(self.schedule, &self.element_wise, lanes)
    }
}

/// Returns the number of neighbouring pixels that an epilogue takes together. It is above 1 if all channels are one panel, so that pixels are
/// contiguous.
fn neighbours(schedule: &DirectSchedule<'_>, element_wise: &ElementWise<'_>, lanes: u64) -> u64 {
    let (geometry, machine) = (&schedule.work.geometry, schedule.cx.machine);
    let are_whole = geometry.groups == 1 && geometry.outputs == lanes && geometry.phases[2].step == 1 && machine.combines_lanes();
    let most = 1 << schedule.tile.pixels.max(1).ilog2();
    if are_whole { element_wise.neighbours(machine, lanes).min(most) } else { 1 }
}
