//! The right operand as panels: all of k for a panel's output channels, in the order in which products take it.
//!
//! A panel is `[segment][k ÷ step][lanes][step]`, its lanes output channels; the last ones of a group may have fewer. The k of one
//! output is cut into segments of equal length, each padded with zeros to whole steps. Constants are packed at compile time, as narrow as the file stores them. Bytes are widened by the products
//! as they load them; other narrow constants, and tensors that the program computes, fill one panel at a time in scratch or local
//! memory, which is used for all pixels before the next one takes its place.

use super::Argument;
use super::contraction::Form;
use super::cuts::Cuts;
use super::map::row;
use super::sparse::{self, Entries, Places};
use super::weights::{Integers, Weights};
use crate::ir::{Data, ElementType};
use crate::kernel::{BinaryOp, Buffer, BufferKind, ConvertOp, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;

/// How panels are held in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    Floats,
    Halves,
    /// Signed bytes, zero point subtracted.
    Bytes,
    /// Bytes as the file has them; the zero point is subtracted when they are read.
    Offset {
        signed: bool,
        zero_point: i64,
    },
    /// 16 bits, zero point subtracted: where the zero point may be another one when the program runs.
    Wide,
    /// 4-bit integers: a panel's first half in the low four bits, its second half in the high ones.
    Nibbles,
    /// Not packed: the tensor itself.
    Computed {
        element: ElementType,
        zero_point: i64,
    },
}

/// The extents of panels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extents {
    /// Output channels in a group; a panel never crosses groups.
    pub outputs: u64,
    /// The panels of a group.
    pub cuts: Cuts,
    /// Groups.
    pub groups: u64,
    /// Elements of a tap.
    pub per_tap: u64,
    /// Taps of the filter.
    pub filter_taps: u64,
    /// Those that the panels have, in order.
    pub taps: Vec<u64>,
    /// Taps of a segment.
    pub segment_taps: u64,
    /// Elements of k that one product takes.
    pub step: u64,
}

impl Extents {
    /// Segments of one output's k.
    pub fn segments(&self) -> u64 {
        self.taps.len() as u64 / self.segment_taps.max(1)
    }

    /// Elements of a segment.
    pub fn segment(&self) -> u64 {
        self.segment_taps * self.per_tap
    }

    /// Where a segment begins in the k of an output of the right operand, if its taps lie there one behind the other.
    fn start(&self, segment: u64) -> u64 {
        self.taps[(segment * self.segment_taps) as usize] * self.per_tap
    }

    /// Where an element of a segment is in the k of an output of the right operand.
    fn source(&self, segment: u64, k: u64) -> u64 {
        let tap = self.taps[(segment * self.segment_taps + k / self.per_tap) as usize];
        tap * self.per_tap + k % self.per_tap
    }
}

/// A panel to be filled.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// Constants: its first lane among those of the packed panels.
    pub lane: Value,
    /// Constants: where the packed panels begin, see [`Panels::stored_extent`].
    pub base: u64,
    /// A tensor: where the panel's first output begins.
    pub first: Value,
    /// Lanes of the panel.
    pub lanes: u64,
    /// Output channels that it has.
    pub active: u64,
}

/// What the model or the program holds of the right operand, in a kernel.
#[derive(Clone, Copy)]
pub struct Stored {
    /// Its elements, those that are not zero if there are places.
    pub elements: Buffer,
    /// See [`sparse`].
    pub places: Option<Places>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Panels {
    /// Extents.
    pub extents: Extents,
    storage: Storage,
    /// The lane type of the elements that products read, before they widen it.
    lane: Lane,
    filled: bool,
    /// Whether the model holds only the elements that are not zero.
    sparse: bool,
    /// Output channels of a full vector.
    vector: u64,
    machine_bytes: u64,
}

impl Panels {
    /// Panels for products of a form. `open` says that other constants may take the place of the weights.
    pub fn new(weights: &Weights, form: Form, extents: Extents, machine: &Machine, open: bool) -> Self {
        let storage = match weights {
            Weights::Floats(_) => Storage::Floats,
            Weights::Halves(_) => Storage::Halves,
            Weights::Computed { element, zero_point, .. } => Storage::Computed { element: *element, zero_point: *zero_point },
            Weights::Integers(_) if weights.fit_signed_byte(open) && open => Storage::Bytes,
            Weights::Integers(_) if open => Storage::Wide,
            Weights::Integers(Integers { stored: ElementType::I4, zero_point: 0, .. }) => Storage::Nibbles,
            Weights::Integers(_) if weights.fit_signed_byte(open) => Storage::Bytes,
            Weights::Integers(Integers { stored, zero_point, .. }) => {
                Storage::Offset { signed: stored.is_signed_integer(), zero_point: *zero_point }
            }
        };
        let lane = match storage {
            _ if form == Form::Float => Lane::F32,
            Storage::Computed { .. } | Storage::Wide => Lane::I16,
            _ => Lane::I8,
        };
        let filled = matches!(storage, Storage::Halves | Storage::Nibbles | Storage::Computed { .. });
        let vector = u64::from(machine.lanes(4));
        Self { extents, storage, lane, filled, sparse: false, vector, machine_bytes: u64::from(machine.vector_bits / 8) }
    }

    /// These panels; without their zeros, if the file leaves out those of the weights and what remains is smaller. Other constants cannot
    /// take the place of such weights.
    pub fn without_zeros(mut self, weights: &Weights, open: bool) -> Self {
        if matches!(self.storage, Storage::Floats | Storage::Halves | Storage::Bytes) && !open {
            let lanes = self.extents.groups * self.extents.cuts.total();
            let size = u64::from(self.stored_lane().bytes());
            self.sparse = weights.sparse_elements().is_some_and(|n| sparse::bytes(n, size, lanes) < size * weights.len());
            self.filled |= self.sparse;
        }
        self
    }

    /// Adds the elements that are not zero to those of the panels before; nothing where the model holds them all.
    fn add_entries(&self, packed: &[u8], entries: &mut Entries) {
        let size = self.stored_lane().bytes() as usize;
        let mut rest = packed;
        for _ in 0..self.extents.groups {
            for lanes in self.extents.cuts.all() {
                let (panel, behind) = rest.split_at(self.elements_of(lanes) as usize * size);
                entries.push(panel, size, lanes);
                rest = behind;
            }
        }
    }

    /// Elements of one output's k in the right operand.
    pub fn per_output(&self) -> u64 {
        self.extents.filter_taps * self.extents.per_tap
    }

    /// Elements of a segment with its padding.
    pub fn padded(&self) -> u64 {
        self.extents.segment().next_multiple_of(self.extents.step)
    }

    /// Elements of one lane of a panel.
    pub fn lane_elements(&self) -> u64 {
        self.extents.segments() * self.padded()
    }

    /// Elements of a panel of so many lanes.
    fn elements_of(&self, lanes: u64) -> u64 {
        self.lane_elements() * lanes
    }

    /// Elements of the widest panel.
    pub fn elements(&self) -> u64 {
        self.elements_of(self.extents.cuts.widest())
    }

    /// Elements of the panels of a group.
    pub fn group_elements(&self) -> u64 {
        self.elements_of(self.extents.cuts.total())
    }

    /// Whether products read panels that the kernel fills, one at a time, and not the model's.
    pub fn are_filled(&self) -> bool {
        self.filled
    }

    /// The lane type of what products read.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Bytes of the panel that the kernel fills.
    pub fn filled_bytes(&self) -> u64 {
        self.elements() * u64::from(self.lane.bytes())
    }

    /// The lane type of what the model holds.
    pub fn stored_lane(&self) -> Lane {
        match self.storage {
            Storage::Floats => Lane::F32,
            Storage::Halves | Storage::Wide => Lane::I16,
            Storage::Bytes | Storage::Offset { .. } | Storage::Nibbles => Lane::I8,
            Storage::Computed { element: ElementType::F32, .. } => Lane::F32,
            Storage::Computed { element: ElementType::F16, .. } => Lane::I16,
            Storage::Computed { .. } => Lane::I8,
        }
    }

    /// All panels with their zeros; `None` for a tensor that the program computes.
    fn packed(&self, weights: &Weights) -> Option<Vec<u8>> {
        if matches!(weights, Weights::Computed { .. }) {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.packed_bytes());
        // An element of so many bytes as it is in the file.
        let mut copied = |data: &Data, size: usize| {
            let file = data.bytes();
            self.visit(|i| match i {
                Some(i) => bytes.extend_from_slice(&file[i * size..][..size]),
                None => bytes.resize(bytes.len() + size, 0),
            });
        };
        match (weights, self.storage) {
            (Weights::Floats(data), _) => copied(data, 4),
            (Weights::Halves(data), _) => copied(data, 2),
            (Weights::Integers(integers), Storage::Offset { zero_point, .. }) => {
                self.visit(|i| bytes.push((i.map_or(0, |i| i64::from(integers.value(i))) + zero_point) as u8));
            }
            (Weights::Integers(integers), Storage::Wide) => {
                self.visit(|i| bytes.extend(i.map_or(0, |i| integers.value(i)).to_le_bytes()));
            }
            (Weights::Integers(integers), _) => self.visit(|i| bytes.push(i.map_or(0, |i| integers.value(i)) as u8)),
            (Weights::Computed { .. }, _) => return None,
        }
        Some(if self.storage == Storage::Nibbles { self.nibbles(&bytes) } else { bytes })
    }

    /// Bytes of all panels before 4-bit integers are joined.
    fn packed_bytes(&self) -> usize {
        let size = match self.storage {
            Storage::Floats => 4,
            Storage::Halves | Storage::Wide => 2,
            _ => 1,
        };
        (self.group_elements() * self.extents.groups) as usize * size
    }

    fn nibbles(&self, mut bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(bytes.len() / 2);
        for _ in 0..self.extents.groups {
            for lanes in self.extents.cuts.all() {
                let (panel, rest) = bytes.split_at(self.elements_of(lanes) as usize);
                let (low, high) = panel.split_at(panel.len() / 2);
                packed.extend(low.iter().zip(high).map(|(l, h)| l & 15 | h << 4));
                bytes = rest;
            }
        }
        packed
    }

    /// The position in the right operand of every packed element, in order; `None` in padding.
    fn visit(&self, mut element: impl FnMut(Option<usize>)) {
        let Extents { outputs, groups, step, .. } = self.extents;
        let segment = self.extents.segment();
        for group in 0..groups {
            let mut first_output = 0;
            for lanes in self.extents.cuts.all() {
                for s in 0..self.extents.segments() {
                    for k in (0..self.padded()).step_by(step as usize) {
                        for output in first_output..first_output + lanes {
                            let first = (group * outputs + output) * self.per_output();
                            for k in k..k + step {
                                let inside = output < outputs && k < segment;
                                element(inside.then(|| (first + self.extents.source(s, k)) as usize));
                            }
                        }
                    }
                }
                first_output += lanes;
            }
        }
    }

    /// A vector of weights as products of the form take them.
    pub fn load(&self, b: &mut KernelBuilder, form: Form, buffer: Buffer, index: Value, offset: i64, lanes: u16) -> Value {
        let raw = b.load(buffer, index, offset, lanes);
        if form == Form::Signed16 && self.lane == Lane::I8 { self.to_16_bits(b, raw) } else { raw }
    }

    fn to_16_bits(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let (signed, zero_point) = match self.storage {
            Storage::Offset { signed, zero_point } => (signed, zero_point),
            Storage::Computed { element, zero_point } => (element.is_signed_integer(), zero_point),
            _ => (true, 0),
        };
        let wide = b.convert(if signed { ConvertOp::SignExtend } else { ConvertOp::ZeroExtend }, raw, Lane::I16);
        if zero_point == 0 {
            return wide;
        }
        let ty = b.ty(wide);
        let zero_point = b.int(ty, zero_point);
        b.sub(wide, zero_point)
    }

    /// How far the panels of another part of the same weights are behind these: elements as the model holds them; lanes, if it leaves out
    /// zeros.
    pub fn stored_extent(&self) -> u64 {
        if self.sparse {
            return self.extents.cuts.total() * self.extents.groups;
        }
        let elements = self.group_elements() * self.extents.groups;
        if self.storage == Storage::Nibbles { elements / 2 } else { elements }
    }

    /// Fills the panel at the start of `to`.
    pub fn fill(&self, b: &mut KernelBuilder, stored: Stored, to: Buffer, panel: &Filled) {
        let from = stored.elements;
        if let Some(places) = stored.places {
            let lane = b.scale_index(panel.lane, 1, panel.base as i64);
            let vector = (self.machine_bytes / self.lane.bytes() as u64) as u16;
            return sparse::fill(b, (from, to), places, panel.lanes, (lane, self.elements_of(panel.lanes), vector));
        }
        match self.storage {
            Storage::Computed { .. } => self.fill_from_tensor(b, (from, to), panel),
            Storage::Nibbles => self.fill_from_nibbles(b, (from, to), panel),
            Storage::Halves => self.fill_from_halves(b, (from, to), panel),
            // What products read is what the model holds.
            Storage::Floats | Storage::Bytes | Storage::Offset { .. } | Storage::Wide => {}
        }
    }

    fn fill_from_halves(&self, b: &mut KernelBuilder, (from, to): (Buffer, Buffer), panel: &Filled) {
        let source = b.scale_index(panel.lane, self.lane_elements() as i64, panel.base as i64);
        let lanes = (self.machine_bytes / 2) as u16;
        row(b, self.elements_of(panel.lanes), lanes, |b, i, active| {
            let index = b.add(source, i);
            let raw = b.load_active(from, index, 0, lanes, active);
            let value = b.convert(ConvertOp::HalfToFloat, raw, Lane::F32);
            b.store_active(to, i, 0, value, active);
        });
    }

    fn fill_from_nibbles(&self, b: &mut KernelBuilder, (from, to): (Buffer, Buffer), panel: &Filled) {
        let half = self.elements_of(panel.lanes) / 2;
        let source = b.scale_index(panel.lane, self.lane_elements() as i64, 0);
        let source = b.shift(BinaryOp::ShiftRightSigned, source, 1);
        let source = b.scale_index(source, 1, panel.base as i64);
        let lanes = (self.machine_bytes / 2) as u16;
        row(b, half, lanes, |b, i, active| {
            let index = b.add(source, i);
            let raw = b.load_active(from, index, 0, lanes, active);
            let wide = b.convert(ConvertOp::SignExtend, raw, Lane::I16);
            let low = b.shift(BinaryOp::ShiftLeft, wide, 12);
            let low = b.shift(BinaryOp::ShiftRightSigned, low, 12);
            let high = b.shift(BinaryOp::ShiftRightSigned, wide, 4);
            for (value, offset) in [(low, 0), (high, half as i64)] {
                let value = if self.lane == Lane::I8 { b.convert(ConvertOp::NarrowSigned, value, Lane::I8) } else { value };
                b.store_active(to, i, offset, value, active);
            }
        });
    }

    fn fill_from_tensor(&self, b: &mut KernelBuilder, buffers: (Buffer, Buffer), panel: &Filled) {
        let extents = &self.extents;
        let segment_elements = (self.padded() * panel.lanes) as i64;
        let first = panel.first;
        if extents.taps.iter().copied().eq(0..extents.filter_taps) {
            b.for_range(0, extents.segments() as i64, 1, |b, s| {
                let source = b.scale_index(s, extents.segment() as i64, 0);
                let at = (b.add(source, first), b.scale_index(s, segment_elements, 0));
                self.fill_segment(b, buffers, at, panel);
            });
            return;
        }
        for s in 0..extents.segments() {
            let target = b.index(s as i64 * segment_elements);
            let at = (b.scale_index(first, 1, extents.start(s) as i64), target);
            self.fill_segment(b, buffers, at, panel);
        }
    }

    /// Fills a segment of the panel from the elements of the first output, and of the others, from `source` on.
    fn fill_segment(&self, b: &mut KernelBuilder, buffers: (Buffer, Buffer), (source, target): (Value, Value), panel: &Filled) {
        let lanes = panel.lanes;
        let (block, segment) = (self.vector.min(lanes) * self.extents.step, self.extents.segment());
        let whole = segment / block * block;
        b.for_range(0, whole as i64, block as i64, |b, k| {
            let target_k = b.scale_index(k, lanes as i64, 0);
            let at = (b.add(source, k), b.add(target, target_k));
            self.turn(b, buffers, at, block, panel);
        });
        if segment > whole {
            let at = (b.scale_index(source, 1, whole as i64), b.scale_index(target, 1, (whole * lanes) as i64));
            self.turn(b, buffers, at, segment - whole, panel);
        }
    }

    /// Brings `count` elements of k of every output into the order of the panel: squares of output channels × steps of k are turned
    /// around their diagonal in registers.
    fn turn(&self, b: &mut KernelBuilder, (from, to): (Buffer, Buffer), (source, target): (Value, Value), count: u64, panel: &Filled) {
        let (step, &Filled { lanes, active, .. }) = (self.extents.step, panel);
        let vector = self.vector.min(lanes);
        let block = (vector * step) as u16;
        for first in (0..lanes).step_by(vector as usize) {
            let rows: Vec<Value> = (first..first + vector)
                .map(|output| {
                    if output >= active {
                        let ty = Type::vector(self.lane, block);
                        return if self.lane == Lane::F32 { b.float(ty, 0.0) } else { b.int(ty, 0) };
                    }
                    let raw = b.load_active(from, source, (output * self.per_output()) as i64, block, count as u16);
                    self.converted(b, raw, count as u16)
                })
                .collect();
            let columns = turned(b, rows, step as u16);
            for (k, column) in columns.into_iter().enumerate().take(count.div_ceil(step) as usize) {
                b.store(to, target, ((k as u64 * lanes + first) * step) as i64, column);
            }
        }
    }

    /// Elements of a tensor as the panel holds them; behind the first `count` are zeros.
    fn converted(&self, b: &mut KernelBuilder, raw: Value, count: u16) -> Value {
        let Storage::Computed { element, zero_point } = self.storage else { return raw };
        match element {
            ElementType::F16 => b.convert(ConvertOp::HalfToFloat, raw, Lane::F32),
            ElementType::F32 => raw,
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

/// A square of as many vectors as each has units of `unit` lanes, turned around its diagonal: interleaving the first half of the
/// vectors with the second, as often as the number of vectors can be halved.
fn turned(b: &mut KernelBuilder, mut vectors: Vec<Value>, unit: u16) -> Vec<Value> {
    let count = vectors.len();
    let all = count as u16 * unit;
    let interleaved = |first: u16| -> Vec<u16> {
        let units = first..first + count as u16 / 2;
        units.flat_map(|u| [u * unit, all + u * unit]).flat_map(|start| start..start + unit).collect()
    };
    for _ in 0..count.ilog2() {
        let half = count / 2;
        let pairs: Vec<[Value; 2]> = (0..half).map(|i| [vectors[i], vectors[i + half]]).collect();
        vectors = pairs
            .into_iter()
            .flat_map(|[x, y]| [b.shuffle(x, y, interleaved(0)), b.shuffle(x, y, interleaved(count as u16 / 2))])
            .collect();
    }
    vectors
}

/// Declares what the model or the program holds of the right operand, the panels of all parts, and adds the arguments.
pub fn declare<'p>(
    b: &mut KernelBuilder,
    parts: impl Iterator<Item = &'p Panels>,
    weights: &Weights,
    arguments: &mut Vec<Argument>,
) -> Stored {
    let (mut packed, mut entries) = (Vec::new(), None);
    let mut lane = Lane::I8;
    for panels in parts {
        lane = panels.stored_lane();
        let more = panels.packed(weights).unwrap_or_default();
        if panels.sparse {
            panels.add_entries(&more, entries.get_or_insert_with(Entries::default));
        } else if packed.is_empty() {
            // The first panels, which mostly are all, are taken as they are.
            packed = more;
        } else {
            packed.extend(more);
        }
    }
    if let Weights::Computed { tensor, count, .. } = weights {
        arguments.push(Argument::Tensor(*tensor));
        return Stored { elements: b.buffer("weights", BufferKind::Input, lane, *count, lane.bytes()), places: None };
    }
    let packed = entries.as_mut().map_or(packed, |entries| std::mem::take(&mut entries.elements));
    let elements = b.buffer("weights", BufferKind::Input, lane, packed.len() as u64 / u64::from(lane.bytes()), 64);
    arguments.push(Argument::Data(packed.into()));
    Stored { elements, places: entries.map(|entries| entries.declare(b, arguments)) }
}
