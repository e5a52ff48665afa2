//! Panels in scratch or local memory, which the kernel fills one at a time in the order of its products. They hold a tensor that the program
//! computes, or constants that products cannot widen as they load them.

use super::cuts::Width;
use super::layout::Panels;
use super::sparse::{self, Places, Strip};
use super::storage::Storage;
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::elementwise::packed::{Packed, PackedFormat};
use crate::schedule::loops::row;
use crate::schedule::movement::turn::turned;
use crate::schedule::route::Route;

/// A panel to be filled.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// First lane of the panel's strips among all lanes. For constants.
    pub lane: Value,
    /// Start of the packed panels, see [`Panels::stored_extent`]. For constants.
    pub base: u64,
    /// Start of the panel's first output. For a tensor.
    pub first: Value,
    /// Width of the panel.
    pub width: Width,
    /// Number of output channels in the panel.
    pub active: u64,
    /// Start of the panel in the buffer; `None` is the start of the buffer.
    pub at: Option<Value>,
}

impl Filled {
    /// Returns the place of a panel's element in the buffer.
    fn place(&self, b: &mut KernelBuilder, element: Value) -> Value {
        self.at.map_or(element, |at| b.add(at, element))
    }
}

/// The right operand in a kernel, as the model or the program holds it.
#[derive(Clone, Copy)]
pub struct Stored {
    /// Buffer of its elements. If there are `places`, it has only those that are not zero.
    pub elements: Buffer,
    /// Places of the non-zero elements; see [`sparse`].
    pub places: Option<Places>,
}

impl Panels {
    /// Fills the strips of a panel at the start of `to`.
    pub fn fill(&self, b: &mut KernelBuilder, stored: Stored, to: Buffer, panel: &Filled) {
        let buffers = Route { from: stored.elements, to };
        if let Some(places) = stored.places {
            return self.fill_from_entries(b, buffers, places, panel);
        }
        match self.storage {
            Storage::Computed { .. } => self.fill_from_tensor(b, buffers, panel),
            Storage::Packed { stored, zero_point, bits } => self.fill_from_packed(b, buffers, panel, (stored, zero_point, bits)),
            Storage::Narrow(_) => self.fill_from_narrow(b, buffers, panel),
            // Products read these layouts directly.
            Storage::Floats | Storage::Bytes | Storage::Moved { .. } | Storage::Offset { .. } | Storage::Wide => {}
        }
    }

    fn fill_from_entries(&self, b: &mut KernelBuilder, buffers: Route<Buffer>, places: Places, panel: &Filled) {
        let Width { lanes, strip } = panel.width;
        let vector = (self.machine_bytes / u64::from(self.lane.bytes())) as u16;
        for first in (0..lanes.max(strip)).step_by(strip as usize) {
            let lane = b.scale_index(panel.lane, 1, (panel.base + first) as i64);
            let target = (first * self.lane_elements()) as i64;
            let strip = Strip { lane, lanes: strip, at: panel.at, offset: target, elements: self.elements_of(strip) };
            sparse::fill(b, buffers, places, strip, vector);
        }
    }

    fn fill_from_narrow(&self, b: &mut KernelBuilder, buffers: Route<Buffer>, panel: &Filled) {
        let source = b.scale_index(panel.lane, self.lane_elements() as i64, panel.base as i64);
        self.widen_all(b, buffers, (source, panel.at), self.filled_elements(&[panel.width]));
    }

    /// Fills all panels at once, if the buffer has the layout of the stored panels. They are stored from `base` on, and begin at `at` in `to`.
    /// So strips that several cuts share are filled once, and no two rounds write the same place. Returns false, and does nothing, for other
    /// layouts.
    pub fn fill_all(&self, b: &mut KernelBuilder, stored: Stored, to: Buffer, (base, at): (u64, Value)) -> bool {
        let is_stored_so = matches!(self.storage, Storage::Narrow(_)) && stored.places.is_none();
        if is_stored_so {
            let source = b.index(base as i64);
            self.widen_all(b, Route { from: stored.elements, to }, (source, Some(at)), self.all_elements());
        }
        is_stored_so
    }

    /// Widens consecutive elements.
    fn widen_all(&self, b: &mut KernelBuilder, Route { from, to }: Route<Buffer>, (source, at): (Value, Option<Value>), elements: u64) {
        let lanes = (self.machine_bytes / u64::from(self.stored_lane().bytes())) as u16;
        row(b, elements, lanes, |b, i, active| {
            let index = b.add(source, i);
            let raw = b.load_active(from, index, 0, lanes, active);
            let value = self.to_float(b, raw);
            let place = at.map_or(i, |at| b.add(at, i));
            b.store_active(to, place, 0, value, active);
        });
    }

    fn fill_from_packed(
        &self,
        b: &mut KernelBuilder,
        Route { from, to }: Route<Buffer>,
        panel: &Filled,
        (stored, zero_point, bits): (ElementType, i64, u8),
    ) {
        let per_byte = u64::from(8 / bits);
        let strip = self.elements_of(panel.width.strip);
        let source = b.scale_index(panel.lane, self.lane_elements() as i64, 0);
        let source = b.shift(BinaryOp::ShiftRightSigned, source, per_byte.ilog2() as u8);
        let source = b.scale_index(source, 1, panel.base as i64);
        let lanes = (self.machine_bytes / u64::from(self.lane.bytes())) as u16;
        for first in (0..self.filled_elements(&[panel.width])).step_by(strip.max(1) as usize) {
            row(b, strip / per_byte, lanes, |b, i, active| {
                let index = b.add(source, i);
                let raw = b.load_active(from, index, (first / per_byte) as i64, lanes, active);
                let packed = Packed::new(b, raw, PackedFormat { is_signed: stored.is_signed_integer(), bits });
                let place = panel.place(b, i);
                for (value, part) in packed.parts(b, raw).into_iter().zip(0..) {
                    let value = packed.signed(b, value);
                    let value = self.taken_from_packed(b, value, zero_point);
                    b.store_active(to, place, (first + part * (strip / per_byte)) as i64, value, active);
                }
            });
        }
    }

    /// Converts signed bytes to the lane type of the panel.
    fn taken_from_packed(&self, b: &mut KernelBuilder, mut value: Value, zero_point: i64) -> Value {
        if zero_point != 0 {
            let zero_point = b.int(b.ty(value), zero_point);
            value = b.sub(value, zero_point);
        }
        match self.lane {
            Lane::I8 => value,
            Lane::F32 => {
                let wide = b.convert(ConvertOp::SignExtend, value, Lane::I32);
                b.convert(ConvertOp::SignedToFloat, wide, Lane::F32)
            }
            lane => b.convert(ConvertOp::SignExtend, value, lane),
        }
    }

    /// Fills a panel from a tensor. Its panels are strips, since no other machine reads them.
    fn fill_from_tensor(&self, b: &mut KernelBuilder, buffers: Route<Buffer>, panel: &Filled) {
        let extents = &self.extents;
        let segment_elements = (self.padded() * panel.width.lanes) as i64;
        let first = panel.first;
        if extents.taps.iter().copied().eq(0..extents.filter_taps) {
            b.for_range(0, extents.segments() as i64, 1, |b, s| {
                let source = b.scale_index(s, extents.segment() as i64, 0);
                let source = b.add(source, first);
                let target = b.scale_index(s, segment_elements, 0);
                let at = Route { from: source, to: panel.place(b, target) };
                self.fill_segment(b, buffers, at, panel);
            });
            return;
        }
        for s in 0..extents.segments() {
            let target = b.index(s as i64 * segment_elements);
            let target = panel.place(b, target);
            let at = Route { from: b.scale_index(first, 1, extents.start(s) as i64), to: target };
            self.fill_segment(b, buffers, at, panel);
        }
    }

    /// Fills a segment of the panel. The elements of the first output begin at `at.from`.
    fn fill_segment(&self, b: &mut KernelBuilder, buffers: Route<Buffer>, at: Route<Value>, panel: &Filled) {
        let lanes = panel.width.lanes;
        let (block, segment) = (self.vector.min(lanes) * self.extents.step, self.extents.segment());
        let whole = segment / block * block;
        b.for_range(0, whole as i64, block as i64, |b, k| {
            let target_k = b.scale_index(k, lanes as i64, 0);
            let next = Route { from: b.add(at.from, k), to: b.add(at.to, target_k) };
            self.turn(b, buffers, next, block, panel);
        });
        if segment > whole {
            let rest = Route { from: b.scale_index(at.from, 1, whole as i64), to: b.scale_index(at.to, 1, (whole * lanes) as i64) };
            self.turn(b, buffers, rest, segment - whole, panel);
        }
    }

    /// Transposes `count` elements of k of every output into the order of the panel. Squares of output channels × steps of k are transposed in
    /// registers.
    fn turn(&self, b: &mut KernelBuilder, Route { from, to }: Route<Buffer>, at: Route<Value>, count: u64, panel: &Filled) {
        let (step, lanes, active) = (self.extents.step, panel.width.lanes, panel.active);
        let vector = self.vector.min(lanes);
        let block = (vector * step) as u16;
        for first in (0..lanes).step_by(vector as usize) {
            let rows: Vec<Value> = (first..first + vector)
                .map(|output| {
                    if output >= active {
                        let ty = Type::vector(self.lane, block);
                        return if self.lane == Lane::F32 { b.float(ty, 0.0) } else { b.int(ty, 0) };
                    }
                    let raw = b.load_active(from, at.from, (output * self.per_output()) as i64, block, count as u16);
                    self.converted(b, raw, count as u16)
                })
                .collect();
            let columns = turned(b, rows, step as u16);
            for (k, column) in columns.into_iter().enumerate().take(count.div_ceil(step) as usize) {
                b.store(to, at.to, ((k as u64 * lanes + first) * step) as i64, column);
            }
        }
    }

    /// Converts elements of a tensor to the form of the panel. Elements after the first `count` become zeros.
    fn converted(&self, b: &mut KernelBuilder, raw: Value, count: u16) -> Value {
        let Storage::Computed { element, zero_point } = self.storage else { return raw };
        match element {
            ElementType::F32 | ElementType::F16 | ElementType::Bf16 => widen(b, raw, element),
            _ => {
                let wide = self.to_16_bits(b, raw);
                let ty = b.ty(wide);
                if zero_point == 0 || count == ty.lanes {
                    return wide;
                }
                let zero = b.int(ty, 0);
                let lanes = (0..ty.lanes).map(|lane| if lane < count { lane } else { ty.lanes + lane }).collect();
                b.shuffle(wide, zero, lanes)
            }
        }
    }
}
