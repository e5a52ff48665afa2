//! Loops over panels of output channels, and over the tiles of a row.

use super::lowering::Lowering;
use super::places::{Built, OutputRow, PanelOperands, PanelPlace, TilePlace, TileStart};
use crate::kernel::{KernelBuilder, Value};
use crate::schedule::contraction::direct::{PhasePanels, Ranges};
use crate::schedule::contraction::operands::panels::cuts::Cut;
use crate::schedule::contraction::rows::preparation::Preparation;
use crate::schedule::loops;

impl Lowering<'_> {
    /// Repeats a body for every panel of every group, or for the panels of the range.
    pub(in crate::schedule::contraction) fn all_panels(
        &self,
        b: &mut KernelBuilder,
        mut body: impl FnMut(&mut KernelBuilder, PanelPlace) -> Built,
    ) -> Built {
        b.rounds(self.schedule.has_panels_apart(), |b| {
            if let Some((Ranges::Panels(_), first, end)) = self.range {
                let group = b.index(0);
                return self.cuts.for_range(b, first..end, |b, cut| body(b, PanelPlace { group, cut }));
            }
            loops::for_range(b, 0..self.schedule.work.geometry.groups as i64, 1, |b, group| {
                self.cuts.for_each(b, |b, cut| body(b, PanelPlace { group, cut }))
            })
        })
    }

    /// Returns the first output channel of a panel.
    pub(in crate::schedule::contraction) fn first_channel(&self, b: &mut KernelBuilder, at: PanelPlace) -> Value {
        let first = b.scale_index(at.group, self.schedule.outputs_per_group() as i64, 0);
        b.add(first, at.cut.first)
    }

    /// Returns the first lane of a panel's strips among those of a phase. The second value is the panel's start in the buffer, relative to its
    /// strips.
    pub(in crate::schedule::contraction) fn panel_start(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: PanelPlace,
    ) -> (Value, Value) {
        let group = b.scale_index(at.group, phase.panels.extents.strips.total() as i64, 0);
        let (strip, element) = phase.panels.start(b, at.cut);
        (b.add(group, strip), element)
    }

    /// Computes one panel of a group, for all pixels of a row.
    pub(in crate::schedule::contraction) fn panel(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        row: &OutputRow,
        at: PanelPlace,
    ) -> Built {
        let schedule = self.schedule;
        let work = &schedule.work;
        let geometry = &work.geometry;
        let own = self.panel_operands(b, phase, row, at);
        let beside = at.cut.beside(b).map(|cut| {
            let at = PanelPlace { cut, ..at };
            (self.panel_operands(b, phase, row, at), cut)
        });
        let lead = if schedule.windows.is_some() { 0 } else { phase.axes[2].lead * geometry.channels };
        let input_channel = b.scale_index(at.group, (geometry.channels / geometry.groups) as i64, lead as i64);
        let body = |b: &mut KernelBuilder, (x, first): (Value, u64), count: u64| {
            let offset = match geometry.joined {
                Some(_) => b.index(geometry.window_offset(first) as i64),
                None => b.scale_index(x, schedule.pixel_step() as i64, 0),
            };
            let offset = b.add(offset, input_channel);
            let step = b.scale_index(x, geometry.phases[2].step as i64, 0);
            let pixel = b.add(row.pixel, step);
            let place = |PanelOperands { channel, weights, initial }, Cut { width, active, .. }: Cut, beside| TilePlace {
                phase,
                width,
                active,
                segments: &row.segments,
                offset,
                first,
                x,
                pixel,
                channel,
                weights,
                initial,
                beside,
            };
            let beside = beside.map(|(operands, cut)| Box::new(place(operands, cut, None)));
            self.tile(b, &place(own, at.cut, beside), count)
        };
        if geometry.joined.is_none() {
            return b.rounds(!schedule.has_chunks(), |b| row.width.tiles(b, schedule.tile.pixels, |b, x, count| body(b, (x, 0), count)));
        }
        let (all, step) = (geometry.windows(2), schedule.tile.pixels);
        (0..all).step_by(step as usize).try_for_each(|first| {
            let x = b.index(first as i64);
            body(b, (x, first), step.min(all - first))
        })
    }

    /// Returns the place of the tile at a pixel of a row, alone in its panel.
    pub(in crate::schedule::contraction) fn tile_place<'p>(
        &self,
        b: &mut KernelBuilder,
        (phase, row): (&'p PhasePanels, &'p OutputRow),
        TileStart { x, offset }: TileStart,
        at: PanelPlace,
    ) -> TilePlace<'p> {
        let PanelOperands { channel, weights, initial } = self.panel_operands(b, phase, row, at);
        let step = b.scale_index(x, self.schedule.work.geometry.phases[2].step as i64, 0);
        let pixel = b.add(row.pixel, step);
        let Cut { width, active, .. } = at.cut;
        TilePlace { phase, width, active, segments: &row.segments, offset, first: 0, x, pixel, channel, weights, initial, beside: None }
    }

    /// Returns the places of a panel's channels, weights and initial sums.
    fn panel_operands(&self, b: &mut KernelBuilder, phase: &PhasePanels, row: &OutputRow, at: PanelPlace) -> PanelOperands {
        let channel = self.first_channel(b, at);
        let (lane, element) = self.panel_start(b, phase, at);
        let weights = if phase.panels.are_filled() && self.schedule.preparation == Preparation::Ahead {
            let panel = self.filled_at(b, phase, at, row.product);
            b.add(panel, element)
        } else if phase.panels.are_filled() {
            element
        } else {
            let strips = b.scale_index(lane, phase.panels.in_buffer(phase.panels.lane_elements()), phase.panels.in_buffer(phase.base));
            b.add(strips, element)
        };
        let initial = b.scale_index(at.group, phase.panels.extents.strips.total() as i64, phase.initial as i64);
        PanelOperands { channel, weights, initial: b.add(initial, at.cut.first) }
    }
}
