//! Sums of the elements under the windows of a row, for weights that are [moved](super::moved).

use super::form::Form;
use crate::ir::ElementType;
use crate::kernel::{Buffer, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;
use crate::schedule::contraction::direct::PhasePanels;
use crate::schedule::contraction::rows::staging::held;
use crate::schedule::contraction::table::rounds::VECTORS_ADDED;
use crate::schedule::contraction::tiles::loops::lowering::Lowering;
use crate::schedule::contraction::tiles::loops::places::{OutputRow, Segments};

impl Lowering<'_> {
    /// Stores the correction of each pixel of a row.
    pub(in crate::schedule::contraction) fn find_lacking(&self, b: &mut KernelBuilder, phase: &PhasePanels, row: &OutputRow) {
        let Some(lacking) = self.lacking else { return };
        let work = &self.schedule.work;
        let geometry = &work.geometry;
        let extents = &phase.panels.extents;
        let chunked = self.schedule.staging.as_ref().is_some_and(|staging| staging.chunk.is_some());
        // Chunks are staged only together with their products, so the input itself is read.
        let (buffer, raw) = if chunked { (self.input, Some(work.element)) } else { (self.pixels.rows, None) };
        let run = Run::new(self.schedule.cx.machine, (buffer, raw), (extents.segment(), self.schedule.form), lacking.by);
        let (step, first) = ((geometry.strides[1] * geometry.channels) as i64, (phase.axes[2].lead * geometry.channels) as i64);
        let find = |b: &mut KernelBuilder, x: Value| {
            let offset = b.scale_index(x, step, first);
            let zero = b.int(Type::vector(Lane::I32, (run.lanes / run.group) as u16), 0);
            let sum = match &row.segments {
                Segments::Rows(rows) => {
                    let taps = extents.segments() / rows.len().max(1) as u64;
                    (0..extents.segments()).fold(zero, |sum, segment| {
                        let start = b.add(rows[(segment / taps) as usize], offset);
                        let start = b.scale_index(start, 1, (segment % taps) as i64 * self.tap_step());
                        run.add(b, start, sum)
                    })
                }
                Segments::Table(table) => {
                    let (start, end) = (b.index(0), b.index(extents.segments() as i64));
                    b.for_carry(start, end, 1, &[zero], |b, segment, sums| {
                        let start = self.start_of(b, *table, segment);
                        let start = b.add(start, offset);
                        vec![run.add(b, start, sums[0])]
                    })[0]
                }
            };
            let sum = b.horizontal(HorizontalOp::Add, sum);
            let sum = run.without_rest(b, sum, extents.segments());
            b.store(lacking.pixels, x, 0, sum);
        };
        // An array that rounds fill in order belongs to what is around their loop.
        b.rounds(false, |b| b.for_range(0, phase.axes[2].count as i64, 1, find));
    }
}

/// Consecutive elements.
struct Run {
    buffer: Buffer,
    /// Element type, if the buffer is the input itself.
    raw: Option<ElementType>,
    elements: u64,
    form: Form,
    /// Elements of a vector. `group` of them belong to a lane of the sums.
    lanes: u64,
    group: u64,
    by: i64,
}

impl Run {
    fn new(machine: &Machine, (buffer, raw): (Buffer, Option<ElementType>), (elements, form): (u64, Form), by: i64) -> Self {
        let bytes = u64::from(machine.vector_bytes());
        // Products of bytes add four elements, products of 16 bits two.
        let group = if form.is_of_bytes() { 4 } else { 2 };
        let most = bytes * group / 4;
        let lanes = elements.next_power_of_two().clamp(most.min(4), most);
        Self { buffer, raw, elements, form, lanes, group, by }
    }

    /// Subtracts the contribution of lanes after the last element from the sum of some segments. There is one if zeros are held as another
    /// number.
    fn without_rest(&self, b: &mut KernelBuilder, sum: Value, segments: u64) -> Value {
        let flips = self.raw.is_some_and(|element| element.is_signed_integer() != self.form.is_signed());
        let rest = self.elements.next_multiple_of(self.lanes) - self.elements;
        if !flips || rest == 0 {
            return sum;
        }
        let zero = if self.form.is_signed() { -128 } else { 128 };
        let surplus = b.int(b.ty(sum), (segments * rest) as i64 * zero * self.by);
        b.sub(sum, surplus)
    }

    /// Adds the elements of a vector, each times the number, to sums.
    fn product(&self, b: &mut KernelBuilder, at: Value, active: u64, sum: Value) -> Value {
        let x = b.load_active(self.buffer, at, 0, self.lanes as u16, active as u16);
        let x = self.raw.map_or(x, |element| held(b, element, self.form, x));
        let number = b.int(b.ty(x), self.by);
        b.dot(self.form.dot(), sum, x, number)
    }

    /// Adds the elements from `start` on, each times the number, to sums.
    fn add(&self, b: &mut KernelBuilder, start: Value, sum: Value) -> Value {
        let rest = self.elements % self.lanes;
        let whole = self.elements - rest;
        let mut sum = sum;
        if whole / self.lanes <= VECTORS_ADDED {
            for first in (0..whole).step_by(self.lanes as usize) {
                let at = b.scale_index(start, 1, first as i64);
                sum = self.product(b, at, self.lanes, sum);
            }
        } else {
            let (zero, end) = (b.index(0), b.index(whole as i64));
            sum = b.for_carry(zero, end, self.lanes as i64, &[sum], |b, i, sums| {
                let at = b.add(start, i);
                vec![self.product(b, at, self.lanes, sums[0])]
            })[0];
        }
        if rest == 0 {
            return sum;
        }
        let at = b.scale_index(start, 1, whole as i64);
        self.product(b, at, rest, sum)
    }
}
