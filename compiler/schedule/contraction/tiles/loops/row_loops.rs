//! Loops over rows of windows, and the output rows of each phase.

use super::lowering::Lowering;
use super::places::{Bases, Built, OutputRow, Segments, WindowRow};
use crate::kernel::{BinaryOp, CompareOp, KernelBuilder, Value};
use crate::schedule::contraction::direct::{PhasePanels, Ranges};
use crate::schedule::contraction::geometry::places::RowPlace;
use crate::schedule::contraction::rows::preparation::Preparation;
use crate::schedule::contraction::rows::staged_rows::{self, RowPhases};
use crate::schedule::loops::if_then;
use crate::schedule::quantity::Number;

impl Lowering<'_> {
    /// Returns the number of rows to stage before all panels, if all windows are in one row of windows, or else 0. These rows are then staged
    /// once instead of for each panel.
    pub(in crate::schedule::contraction) fn rows_of_all(&self) -> u64 {
        let geometry = &self.schedule.work.geometry;
        let is_one = geometry.batch == 1
            && matches!(self.window_planes(), Number::Known(1))
            && matches!(self.window_rows(), Number::Known(1))
            && geometry.matrices.is_empty();
        let whole = self.schedule.staging.as_ref().filter(|staging| is_one && staging.chunk.is_none());
        whole.map_or(0, |_| geometry.rows_reached())
    }

    /// Repeats a body for every row of windows, and stages what it reads. The first `staged` rows are staged already.
    pub(in crate::schedule::contraction) fn rows(
        &self,
        b: &mut KernelBuilder,
        bases: Bases,
        staged: u64,
        mut body: impl FnMut(&mut KernelBuilder, &WindowRow) -> Built,
    ) -> Built {
        let numbers = &self.numbers;
        numbers.batch.repeat(b, |b, image| {
            let first = numbers.image_elements.scale(b, image);
            let first = b.add(first, bases.left);
            let pixel = numbers.output_pixels.scale(b, image);
            let pixel = b.add(pixel, bases.pixel);
            self.window_planes().repeat(b, |b, plane| {
                let zero = b.index(0);
                let (start, end) = match self.range {
                    Some((Ranges::Rows(_), first, end)) => (first, end),
                    _ => (zero, self.window_rows().value(b)),
                };
                let staged = b.index(staged as i64);
                let mut outcome = Ok(());
                let ring = self.first_ring(b, bases, image);
                let place = RowPlace { image: first, plane, y: zero, staged, ring };
                let buffers = (self.input, self.pixels);
                let (image, staging, preparation) = (self.image(), self.schedule.staging.as_ref(), self.schedule.preparation);
                staged_rows::for_rows(b, image, preparation, staging, buffers, (place, start..end), |b, place| {
                    outcome = body(b, &WindowRow { place: *place, pixel, product: bases.number });
                });
                outcome
            })
        })
    }

    /// Returns the first ring of an image, if all rows are staged.
    fn first_ring(&self, b: &mut KernelBuilder, bases: Bases, image: Value) -> Value {
        let geometry = &self.schedule.work.geometry;
        if self.schedule.preparation == Preparation::InRounds {
            return bases.number;
        }
        let number = self.image_number(b, bases, image);
        b.scale_index(number, geometry.phases[0].padded(geometry.planes.input) as i64, 0)
    }

    /// Returns the number of an image among those of all matrix products.
    pub(in crate::schedule::contraction) fn image_number(&self, b: &mut KernelBuilder, bases: Bases, image: Value) -> Value {
        let number = b.scale_index(bases.number, self.schedule.work.geometry.batch as i64, 0);
        b.add(number, image)
    }

    /// Returns the number of planes of windows, of the phase that has most.
    fn window_planes(&self) -> Number {
        self.windows(0)
    }

    /// Returns the number of rows of windows, of the phase that has most.
    fn window_rows(&self) -> Number {
        self.windows(1)
    }

    fn windows(&self, dimension: usize) -> Number {
        let geometry = &self.schedule.work.geometry;
        if geometry.sizes.is_some() { self.numbers.output[dimension] } else { Number::Known(geometry.windows(dimension) as i64) }
    }

    /// Runs `body` for the output row of a phase at a row of windows, if it has one.
    pub(in crate::schedule::contraction) fn output_row(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: &WindowRow,
        body: impl FnOnce(&mut KernelBuilder, &OutputRow) -> Built,
    ) -> Built {
        let geometry = &self.schedule.work.geometry;
        let [planes, rows, columns] = &phase.axes;
        let mut inside = None;
        for (phase, d, number) in [(planes, 0, at.place.plane), (rows, 1, at.place.y)] {
            if phase.count < geometry.windows(d) {
                let count = b.index(phase.count as i64);
                let within = b.compare(CompareOp::Less, number, count);
                inside = Some(inside.map_or(within, |other| b.binary(BinaryOp::And, other, within)));
            }
        }
        let row = |b: &mut KernelBuilder| {
            let starts = staged_rows::window_rows(b, self.image(), self.schedule.staging.as_ref(), &at.place, RowPhases { planes, rows });
            let segments = self.segments(b, phase, starts);
            let plane = b.scale_index(at.place.plane, geometry.phases[0].step as i64, planes.first as i64);
            let row = self.numbers.output[1].scale(b, plane);
            let row = b.scale_index(row, 1, rows.first as i64);
            let y = b.scale_index(at.place.y, geometry.phases[1].step as i64, 0);
            let row = b.add(row, y);
            let pixel = self.numbers.output[2].scale(b, row);
            let pixel = b.scale_index(pixel, 1, columns.first as i64);
            let pixel = b.add(pixel, at.pixel);
            let width = match geometry.sections {
                Some(row) => row.width(b, at.place.y, columns, geometry.phases[2].step),
                None if geometry.sizes.is_some() => self.numbers.output[2],
                None => Number::Known(columns.count as i64),
            };
            let segments = self.copied(b, segments, columns, width);
            body(b, &OutputRow { segments, product: at.product, pixel, width })
        };
        match inside {
            None => row(b),
            Some(inside) => if_then(b, inside, row),
        }
    }

    /// Returns the elements from one tap of a row to the next.
    pub fn tap_step(&self) -> i64 {
        let geometry = &self.schedule.work.geometry;
        (geometry.phases[2].dilation * geometry.channels) as i64
    }

    fn segments(&self, b: &mut KernelBuilder, phase: &PhasePanels, rows: Vec<Value>) -> Segments {
        let Some(table) = self.starts else { return Segments::Rows(rows) };
        let taps = if self.schedule.by_tap() { phase.axes[2].taps.len() as i64 } else { 1 };
        for (number, row) in rows.into_iter().enumerate() {
            // An array that rounds fill in order belongs to what is around their loop.
            b.rounds(false, |b| {
                b.for_range(0, taps, 1, |b, tap| {
                    let start = b.scale_index(tap, self.tap_step(), 0);
                    let start = b.add(start, row);
                    let in_fours = self.schedule.form.starts_in_fours();
                    let start = if in_fours { b.shift(BinaryOp::ShiftRightUnsigned, start, 2) } else { start };
                    b.store(table, tap, number as i64 * taps, start);
                });
            });
        }
        Segments::Table(table)
    }
}
