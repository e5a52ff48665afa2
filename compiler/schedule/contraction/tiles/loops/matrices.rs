//! Loops over matrix products. Rows are staged and panels are filled before the products that read them.

use super::lowering::Lowering;
use super::places::{Bases, Built, PanelPlace, WindowRow};
use crate::kernel::{KernelBuilder, Value};
use crate::schedule::contraction::direct::{PhasePanels, Ranges};
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::panels::cuts::Cut;
use crate::schedule::contraction::operands::panels::filling::Filled;
use crate::schedule::contraction::rows::preparation::Preparation;
use crate::schedule::contraction::rows::staged_rows::{self, ImagePlace};
use crate::schedule::loops;

impl Lowering<'_> {
    /// Writes all matrix products: one loop for each broadcast dimension.
    pub(in crate::schedule::contraction) fn matrices(&self, b: &mut KernelBuilder) -> Built {
        let zero = b.index(0);
        let bases = Bases { left: zero, right: zero, pixel: zero, number: zero };
        if self.schedule.preparation == Preparation::InRounds {
            return self.matrix_loop(b, 0, bases, &Self::product_of_matrices);
        }
        // Everything is staged and filled before the first product.
        if self.schedule.staging.is_some() {
            self.matrix_loop(b, 0, bases, &Self::copy_image)?;
        }
        if self.schedule.are_filled() {
            self.matrix_loop(b, 0, bases, &Self::fill)?;
        }
        self.matrix_loop(b, 0, bases, &Self::all_products)
    }

    /// Stages all rows of a matrix product.
    fn copy_image(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        let numbers = &self.numbers;
        let Some(staging) = &self.schedule.staging else { return Ok(()) };
        numbers.batch.repeat(b, |b, image| {
            let first = numbers.image_elements.scale(b, image);
            let first = b.add(first, bases.left);
            let number = self.image_number(b, bases, image);
            staged_rows::stage_image(b, self.image(), staging, (self.input, self.pixels), ImagePlace { first, number });
        });
        Ok(())
    }

    /// Fills all panels of a matrix product.
    fn fill(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        for phase in &self.schedule.phases {
            let first = b.scale_index(bases.number, self.schedule.filled_elements() as i64, phase.filled as i64);
            if phase.panels.fill_all(b, self.stored, self.weights, (phase.base, first)) {
                continue;
            }
            self.all_panels(b, |b, panel| {
                let at = self.filled_at(b, phase, panel, bases.number);
                self.fill_panel(b, phase, panel, bases, Some(at));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Computes a matrix product whose rows are staged and whose panels are filled.
    fn all_products(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        self.rows(b, bases, 0, |b, at| {
            for phase in &self.schedule.phases {
                self.output_row(b, phase, at, |b, row| {
                    if self.schedule.form == Form::PixelPairs {
                        return self.row_of_pairs(b, phase, row);
                    }
                    self.find_lacking(b, phase, row);
                    self.all_panels(b, |b, panel| self.panel(b, phase, row, panel))
                })?;
            }
            Ok(())
        })
    }

    /// Returns the start of a panel in the buffer of all filled ones, for a matrix product.
    pub(in crate::schedule::contraction) fn filled_at(
        &self,
        b: &mut KernelBuilder,
        phase: &PhasePanels,
        at: PanelPlace,
        number: Value,
    ) -> Value {
        let (lane, _) = self.panel_start(b, phase, at);
        let product = b.scale_index(number, self.schedule.filled_elements() as i64, phase.filled as i64);
        let panel = b.scale_index(lane, phase.panels.lane_elements() as i64, 0);
        b.add(product, panel)
    }

    fn fill_panel(&self, b: &mut KernelBuilder, phase: &PhasePanels, panel: PanelPlace, bases: Bases, at: Option<Value>) {
        let channel = self.first_channel(b, panel);
        let first = b.scale_index(channel, phase.panels.per_output() as i64, 0);
        let first = b.add(first, bases.right);
        let (lane, _) = self.panel_start(b, phase, panel);
        let Cut { width, active, .. } = panel.cut;
        let filled = Filled { lane, base: phase.base, first, width, active, at };
        phase.panels.fill(b, self.stored, self.weights, &filled);
    }

    fn matrix_loop(
        &self,
        b: &mut KernelBuilder,
        depth: usize,
        bases: Bases,
        body: &dyn Fn(&Self, &mut KernelBuilder, Bases) -> Built,
    ) -> Built {
        let geometry = &self.schedule.work.geometry;
        let Some(matrices) = geometry.matrices.get(depth) else { return body(self, b, bases) };
        let inner: u64 = geometry.matrices[depth + 1..].iter().map(|m| m.count).product();
        let pixels = inner * geometry.output_size[0] * geometry.output_size[1];
        let of_one = |b: &mut KernelBuilder, i: Value| {
            let number = if self.schedule.preparation == Preparation::InRounds {
                bases.number
            } else {
                let outer = b.scale_index(bases.number, matrices.count as i64, 0);
                b.add(outer, i)
            };
            let mut at = |base: Value, step: u64| {
                let offset = b.scale_index(i, step as i64, 0);
                b.add(base, offset)
            };
            let (left, right) = (at(bases.left, matrices.left), at(bases.right, matrices.right));
            let bases = Bases { left, right, pixel: at(bases.pixel, pixels), number };
            self.matrix_loop(b, depth + 1, bases, body)
        };
        match self.range {
            Some((Ranges::Matrices { dimension, .. }, first, end)) if dimension == depth => loops::for_values(b, first..end, 1, of_one),
            _ => loops::for_range(b, 0..matrices.count as i64, 1, of_one),
        }
    }

    fn product_of_matrices(&self, b: &mut KernelBuilder, bases: Bases) -> Built {
        let phases = &self.schedule.phases;
        if !self.schedule.are_filled() {
            return self.all_products(b, bases);
        }
        let staged = self.rows_of_all();
        if staged > 0 {
            self.rows(b, bases, 0, |_, _| Ok(()))?;
        }
        // Rows share a filled panel, which they only read. A table of starts is of one loop over rows.
        let is_one_loop = phases.len() * self.cuts.bodies() == 1;
        let apart = self.schedule.staging.is_none() && (self.starts.is_none() || is_one_loop);
        for phase in phases {
            self.all_panels(b, |b, panel| {
                self.fill_panel(b, phase, panel, bases, None);
                let row = |b: &mut KernelBuilder, at: &WindowRow| self.output_row(b, phase, at, |b, row| self.panel(b, phase, row, panel));
                b.rounds(apart, |b| self.rows(b, bases, staged, row))
            })?;
        }
        Ok(())
    }
}
