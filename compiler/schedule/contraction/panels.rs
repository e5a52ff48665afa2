//! The right operand as panels: all of k for a panel's output channels, in the order in which products take it.
//!
//! Panels lie in strips. A strip is `[segment][k ÷ step][lanes][step]`, its lanes output channels; the last ones of a group may have
//! fewer. Alone, a machine has a strip for each panel; where several CPU levels read the same weights, all have strips of 16 channels, and a
//! panel is several strips or a part of one ([`Width`]). The k of one output is cut into segments of equal length, each padded with
//! zeros to whole steps. Constants are packed at compile time, as narrow as the file stores them. Bytes are widened by the products as they load them; other narrow constants, and tensors that the program computes, fill one panel at a time in scratch or local
//! memory, which is used for all pixels before the next one takes its place.

use super::cuts::{Cut, Width};
use super::form::Form;
use super::sparse;
use super::strips::Strips;
use super::weights::{Integers, Weights};
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, KernelBuilder, Lane, Value};
use crate::machine::Machine;
use crate::schedule::elementwise::lanes::widen;

/// How panels are held in the model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Storage {
    Floats,
    /// Constants that become binary32 as panels are filled or products load them.
    Narrow(ElementType),
    /// Signed bytes, zero point subtracted.
    Bytes,
    /// Signed bytes: what is left of integers when a number is taken from them.
    Moved {
        by: i64,
        /// Whether it is taken from the zeros of padding too.
        everywhere: bool,
    },
    /// Bytes as the file has them; the zero point is subtracted when they are read.
    Offset {
        signed: bool,
        zero_point: i64,
    },
    /// 16 bits, zero point subtracted: where the zero point may be another one when the program runs.
    Wide,
    /// Integers that share bytes: of a strip, the first part in the low bits and the others in those above. Strips that do not fill whole bytes so
    /// have more bits an integer than the file.
    Packed {
        stored: ElementType,
        /// Subtracted when they are read.
        zero_point: i64,
        bits: u8,
    },
    /// Not packed: the tensor itself.
    Computed {
        element: ElementType,
        zero_point: i64,
    },
}

/// The extents of panels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Extents {
    /// The strips of the output channels of a group; a strip never crosses groups.
    pub strips: Strips,
    /// Groups.
    pub groups: u64,
    /// Elements of a tap.
    pub per_tap: u64,
    /// Taps of the filter.
    pub filter_taps: u64,
    /// Those that the panels have, in order. One after the filter's stands for zeros.
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

    /// Elements of a segment with its padding.
    fn padded(&self) -> u64 {
        self.segment().next_multiple_of(self.step)
    }

    /// Packed integers of a type in these panels.
    fn packed(&self, stored: ElementType, zero_point: i64) -> Storage {
        let of_lane = self.segments() * self.padded();
        let fills_bytes = |bits: u64| self.strips.all().all(|lanes| (of_lane * lanes * bits).is_multiple_of(8));
        // Lanes are even, so that four bits always fill bytes.
        let bits = if fills_bytes(stored.bits().into()) { stored.bits() as u8 } else { 4 };
        Storage::Packed { stored, zero_point, bits }
    }

    /// Where a segment begins in the k of an output of the right operand, if its taps lie there one after the other.
    pub fn start(&self, segment: u64) -> u64 {
        self.taps[(segment * self.segment_taps) as usize] * self.per_tap
    }

    /// Where an element of a segment is in the k of an output of the right operand.
    pub fn source(&self, segment: u64, k: u64) -> u64 {
        let tap = self.taps[(segment * self.segment_taps + k / self.per_tap) as usize];
        tap * self.per_tap + k % self.per_tap
    }
}

/// What is taken from all weights so that they fit signed bytes. Where inputs are signed too, no weight becomes the smallest byte if that can be: 16 bits
/// then hold two products.
fn moved_by(weights: &Weights, form: Form, open: bool) -> Option<i64> {
    if form.is_signed() { weights.moved_above_smallest_byte(open) } else { weights.moved_to_signed_byte(open) }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Panels {
    /// Extents.
    pub extents: Extents,
    pub(super) storage: Storage,
    /// The lane type of the elements that products read, before they widen it.
    pub(super) lane: Lane,
    filled: bool,
    /// Whether the model holds only the elements that are not zero.
    pub(super) sparse: bool,
    /// Elements that an element of the buffer has: bytes that are taken apart are read by two.
    joined: u64,
    /// Output channels of a full vector.
    pub(super) vector: u64,
    pub(super) machine_bytes: u64,
}

impl Panels {
    /// Panels for products of a form. `open` says that other constants may take the place of the weights.
    pub fn new(weights: &Weights, form: Form, extents: Extents, machine: &Machine, open: bool) -> Self {
        let storage = match weights {
            Weights::Floats(_) => Storage::Floats,
            Weights::Narrow { stored, zero_point, .. } if stored.is_packed() => extents.packed(*stored, *zero_point),
            Weights::Narrow { stored, .. } => Storage::Narrow(*stored),
            Weights::Computed { element, zero_point, .. } => Storage::Computed { element: *element, zero_point: *zero_point },
            Weights::Integers(_) if weights.fit_signed_byte(open) && open => Storage::Bytes,
            Weights::Integers(_) if open => Storage::Wide,
            Weights::Integers(Integers { stored, zero_point, .. }) if stored.is_packed() => extents.packed(*stored, *zero_point),
            Weights::Integers(_) if weights.fit_signed_byte(open) => Storage::Bytes,
            Weights::Integers(Integers { stored, zero_point, .. }) => match moved_by(weights, form, open) {
                Some(by) if form.has_excess() => Storage::Moved { by, everywhere: false },
                _ => Storage::Offset { signed: stored.is_signed_integer(), zero_point: *zero_point },
            },
        };
        let joined = form.products();
        let lane = match storage {
            _ if form.is_of_floats() => Lane::F32,
            _ if joined > 1 => Lane::I16,
            Storage::Computed { .. } | Storage::Wide => Lane::I16,
            _ => Lane::I8,
        };
        let filled = matches!(storage, Storage::Narrow(_) | Storage::Packed { .. } | Storage::Computed { .. });
        let vector = u64::from(machine.lanes(4));
        Self { extents, storage, lane, filled, sparse: false, joined, vector, machine_bytes: u64::from(machine.vector_bytes()) }
    }

    /// These panels; without their zeros, if the file leaves out those of the weights and what remains is smaller. Other constants cannot
    /// take the place of such weights.
    pub fn without_zeros(mut self, weights: &Weights, open: bool) -> Self {
        if matches!(self.storage, Storage::Floats | Storage::Narrow(ElementType::F16) | Storage::Bytes) && !open {
            let lanes = self.extents.groups * self.extents.strips.total();
            let size = u64::from(self.stored_lane().bytes());
            self.sparse = weights.sparse_elements().is_some_and(|n| sparse::bytes(n, size, lanes) < size * weights.len());
            self.filled |= self.sparse;
        }
        self
    }

    /// These panels with what is taken from all weights taken from their padding too: a sum then lacks the number times all that it has met.
    pub fn moved_everywhere(mut self) -> Self {
        if let Storage::Moved { everywhere, .. } = &mut self.storage {
            *everywhere = true;
        }
        self
    }

    /// Whether they are constants of 16 bits that are widened to floats.
    pub fn hold_halves(&self) -> bool {
        matches!(self.storage, Storage::Narrow(ElementType::F16 | ElementType::Bf16))
    }

    /// These panels where products widen what they load, if the machine can: none is filled.
    pub fn widened_by_products(mut self, machine: &Machine) -> Self {
        match self.storage {
            Storage::Narrow(ElementType::F16) if !machine.widens_halves => {}
            Storage::Narrow(_) if !self.sparse => (self.filled, self.lane) = (false, self.stored_lane()),
            _ => {}
        }
        self
    }

    /// Elements of one output's k in the right operand.
    pub fn per_output(&self) -> u64 {
        self.extents.filter_taps * self.extents.per_tap
    }

    /// Elements of a segment with its padding.
    pub fn padded(&self) -> u64 {
        self.extents.padded()
    }

    /// Elements of one lane of a panel.
    pub fn lane_elements(&self) -> u64 {
        self.extents.segments() * self.padded()
    }

    /// Elements of a panel of this many lanes.
    pub fn elements_of(&self, lanes: u64) -> u64 {
        self.lane_elements() * lanes
    }

    /// Elements of the strips of the widest of some panels.
    pub fn filled_elements(&self, widths: &[Width]) -> u64 {
        self.elements_of(widths.iter().map(|width| width.lanes.max(width.strip)).max().unwrap_or(0))
    }

    /// Elements of the panels of a group.
    pub fn group_elements(&self) -> u64 {
        self.elements_of(self.extents.strips.total())
    }

    /// Elements of the panels of all groups.
    pub fn all_elements(&self) -> u64 {
        self.extents.groups * self.group_elements()
    }

    /// Elements of the buffer that this many elements are.
    pub fn in_buffer(&self, elements: u64) -> i64 {
        (elements / self.joined) as i64
    }

    /// Where an element of k of a lane is in the buffer, from where its panel begins; k is a multiple of the step.
    pub fn place(&self, width: Width, k: u64, lane: u64) -> i64 {
        let Width { strip, .. } = width;
        self.in_buffer(lane / strip * self.elements_of(strip) + k * strip + lane % strip * self.extents.step)
    }

    /// The first lane of a panel's strips in its group, and where in the buffer the panel begins from where the strips begin.
    pub fn start(&self, b: &mut KernelBuilder, cut: Cut) -> (Value, Value) {
        let (strip, lane) = cut.start(b);
        (strip, b.scale_index(lane, self.in_buffer(self.extents.step), 0))
    }

    /// Whether products read panels that the kernel fills, one at a time, and not the model's.
    pub fn are_filled(&self) -> bool {
        self.filled
    }

    /// The number that is taken from all weights, where one is.
    pub fn moved_by(&self) -> Option<i64> {
        if let Storage::Moved { by, .. } = self.storage { Some(by) } else { None }
    }

    /// The lane type of what products read.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// The lane type of what the model holds.
    pub fn stored_lane(&self) -> Lane {
        match self.storage {
            Storage::Floats => Lane::F32,
            Storage::Narrow(element) if element.bits() == 8 => Lane::I8,
            Storage::Narrow(_) | Storage::Wide => Lane::I16,
            Storage::Bytes | Storage::Moved { .. } if self.joined > 1 => Lane::I16,
            Storage::Bytes | Storage::Moved { .. } | Storage::Offset { .. } | Storage::Packed { .. } => Lane::I8,
            Storage::Computed { element: ElementType::F32, .. } => Lane::F32,
            Storage::Computed { element: ElementType::F16 | ElementType::Bf16, .. } => Lane::I16,
            Storage::Computed { .. } => Lane::I8,
        }
    }

    /// A vector of weights as a product of the form takes them, the first or the second of those that take a group of k.
    pub fn load(
        &self,
        b: &mut KernelBuilder,
        (form, product): (Form, u64),
        buffer: Buffer,
        (index, offset): (Value, i64),
        (lanes, active): (u16, u16),
    ) -> Value {
        let raw = b.load_active(buffer, index, offset, lanes, active);
        if form.is_of_floats() && self.lane != Lane::F32 {
            return self.to_float(b, raw);
        }
        match (form.products(), product) {
            (1, _) => {}
            // Even and odd bytes of 16 bits, their signs repeated.
            (_, 0) => {
                let even = b.shift(BinaryOp::ShiftLeft, raw, 8);
                return b.shift(BinaryOp::ShiftRightSigned, even, 8);
            }
            (_, _) => return b.shift(BinaryOp::ShiftRightSigned, raw, 8),
        }
        if form.is_of_pairs() && self.lane == Lane::I8 { self.to_16_bits(b, raw) } else { raw }
    }

    /// Narrow constants in binary32.
    pub(super) fn to_float(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let Storage::Narrow(element) = self.storage else { return raw };
        let wide = widen(b, raw, element);
        if element.is_integer() { b.convert(ConvertOp::SignedToFloat, wide, Lane::F32) } else { wide }
    }

    pub(super) fn to_16_bits(&self, b: &mut KernelBuilder, raw: Value) -> Value {
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

    /// How far the panels of another part of the same weights are after these: elements as the model holds them; lanes, if it leaves out
    /// zeros.
    pub fn stored_extent(&self) -> u64 {
        if self.sparse {
            return self.extents.strips.total() * self.extents.groups;
        }
        let elements = self.group_elements() * self.extents.groups;
        if let Storage::Packed { bits, .. } = self.storage { elements * u64::from(bits) / 8 } else { elements }
    }
}
