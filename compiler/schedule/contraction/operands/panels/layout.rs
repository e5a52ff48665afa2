//! The right operand as panels: all of k for a panel's output channels, in the order in which products take it.
//!
//! Panels are in strips. A strip is `[segment][k ÷ step][lanes][step]`; its lanes are output channels, and the last strips of a group may have
//! fewer. For a single machine, a strip is a panel. If several CPU levels read the same weights, strips have 16 channels, and a panel is
//! several strips or a part of one ([`Width`]). The k of an output is divided into segments of equal length, each padded with zeros to whole
//! steps. Constants are packed at compile time, as narrow as the file stores them. Products widen bytes as they load them. Other narrow
//! constants, and tensors that the program computes, fill one panel at a time in scratch or local memory. Each is used for all pixels before
//! the next one replaces it.

use super::cuts::{Cut, Width};
use super::sparse;
use super::storage::{Row, Storage};
use super::strips::Strips;
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, KernelBuilder, Lane, Value};
use crate::machine::Machine;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::weights::Weights;
use crate::schedule::elementwise::lanes::widen;

/// The extents of panels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Extents {
    /// Strips of the output channels of a group. A strip never crosses groups.
    pub strips: Strips,
    /// Number of groups.
    pub groups: u64,
    /// Elements of a tap.
    pub per_tap: u64,
    /// Number of taps in the filter.
    pub filter_taps: u64,
    /// Taps of the panels, in order. The number after the filter's last tap stands for zeros.
    pub taps: Vec<u64>,
    /// Taps of a segment.
    pub segment_taps: u64,
    /// Elements of k in one product.
    pub step: u64,
}

impl Extents {
    /// Returns the number of segments in an output's k.
    pub fn segments(&self) -> u64 {
        self.taps.len() as u64 / self.segment_taps.max(1)
    }

    /// Returns the elements of a segment.
    pub fn segment(&self) -> u64 {
        self.segment_taps * self.per_tap
    }

    /// Returns the elements of a segment with its padding.
    fn padded(&self) -> u64 {
        self.segment().next_multiple_of(self.step)
    }

    /// Tests whether strips of elements of some bits fill whole bytes.
    fn fills_bytes(&self, bits: u64) -> bool {
        let of_lane = self.segments() * self.padded();
        self.strips.all().all(|lanes| (of_lane * lanes * bits).is_multiple_of(8))
    }

    /// Returns the start of a segment in the k of an output of the right operand, if its taps are contiguous there.
    pub fn start(&self, segment: u64) -> u64 {
        self.taps[(segment * self.segment_taps) as usize] * self.per_tap
    }

    /// Returns the place of an element of a segment in the k of an output of the right operand.
    pub fn source(&self, segment: u64, k: u64) -> u64 {
        let tap = self.taps[(segment * self.segment_taps + k / self.per_tap) as usize];
        tap * self.per_tap + k % self.per_tap
    }
}

/// The panels of a right operand.
#[derive(Clone, Debug)]
pub struct Panels {
    /// Extents.
    pub extents: Extents,
    pub(in crate::schedule::contraction) storage: Storage,
    /// The lane type of the elements that products read, before they widen it.
    pub(in crate::schedule::contraction) lane: Lane,
    filled: bool,
    /// `true` if the model holds only the elements that are not zero.
    pub(in crate::schedule::contraction) sparse: bool,
    /// Number of elements in an element of the buffer: 2 if products read bytes in pairs and separate them.
    joined: u64,
    /// Output channels of a full vector.
    pub(in crate::schedule::contraction) vector: u64,
    pub(in crate::schedule::contraction) machine_bytes: u64,
}

/// Lanes of a vector, and the number of them that are in the panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveLanes {
    /// Number of lanes.
    pub lanes: u16,
    /// Number of the first lanes that are loaded.
    pub active: u16,
}

impl ActiveLanes {
    /// Returns lanes that are all loaded.
    pub fn all(lanes: u16) -> Self {
        Self { lanes, active: lanes }
    }
}

impl Panels {
    /// Makes panels for products of a form. `open` states that other constants may replace the weights.
    pub fn new(weights: &Weights, form: Form, extents: Extents, machine: &Machine, open: bool) -> Self {
        let storage = Storage::of(weights, form, open, |bits| extents.fills_bytes(bits));
        let (joined, lane, filled) = (form.products(), storage.read_lane(form), storage.row().is_filled);
        let vector = u64::from(machine.lanes(4));
        Self { extents, storage, lane, filled, sparse: false, joined, vector, machine_bytes: u64::from(machine.vector_bytes()) }
    }

    /// Leaves out zeros, if the file leaves out the zeros of the weights and the rest is smaller. Other constants cannot replace such weights.
    pub fn without_zeros(mut self, weights: &Weights, open: bool) -> Self {
        if matches!(self.storage, Storage::Floats | Storage::Narrow(ElementType::F16) | Storage::Bytes) && !open {
            let lanes = self.extents.groups * self.extents.strips.total();
            let size = u64::from(self.stored_lane().bytes());
            self.sparse = weights.sparse_elements().is_some_and(|n| sparse::bytes(n, size, lanes) < size * weights.len());
            self.filled |= self.sparse;
        }
        self
    }

    /// Subtracts the number of moved weights from padding, too. The correction of a sum is then the number times the sum of all its elements.
    pub fn moved_everywhere(mut self) -> Self {
        if let Storage::Moved { everywhere, .. } = &mut self.storage {
            *everywhere = true;
        }
        self
    }

    /// Tests whether the panels are 16-bit constants that are widened to floats.
    pub fn hold_halves(&self) -> bool {
        matches!(self.storage, Storage::Narrow(element) if element.is_half())
    }

    /// Lets products widen the constants that they load, if the machine can. The panels are then not filled.
    pub fn widened_by_products(mut self, machine: &Machine) -> Self {
        match self.storage {
            Storage::Narrow(ElementType::F16) if !machine.widens_halves => {}
            Storage::Narrow(_) if !self.sparse => (self.filled, self.lane) = (false, self.stored_lane()),
            _ => {}
        }
        self
    }

    /// Returns the elements of an output's k in the right operand.
    pub fn per_output(&self) -> u64 {
        self.extents.filter_taps * self.extents.per_tap
    }

    /// Returns the elements of a segment with its padding.
    pub fn padded(&self) -> u64 {
        self.extents.padded()
    }

    /// Returns the elements of one lane of a panel.
    pub fn lane_elements(&self) -> u64 {
        self.extents.segments() * self.padded()
    }

    /// Returns the elements of a panel with this many lanes.
    pub fn elements_of(&self, lanes: u64) -> u64 {
        self.lane_elements() * lanes
    }

    /// Returns the elements in the strips of the widest of some panels.
    pub fn filled_elements(&self, widths: &[Width]) -> u64 {
        self.elements_of(widths.iter().map(|width| width.lanes.max(width.strip)).max().unwrap_or(0))
    }

    /// Returns the elements in the panels of a group.
    pub fn group_elements(&self) -> u64 {
        self.elements_of(self.extents.strips.total())
    }

    /// Returns the elements in the panels of all groups.
    pub fn all_elements(&self) -> u64 {
        self.extents.groups * self.group_elements()
    }

    /// Converts a number of elements to a number of the buffer's elements.
    pub fn in_buffer(&self, elements: u64) -> i64 {
        (elements / self.joined) as i64
    }

    /// Returns the place of an element of k of a lane in the buffer, relative to the start of its panel. k is a multiple of the step.
    pub fn place(&self, width: Width, k: u64, lane: u64) -> i64 {
        let Width { strip, .. } = width;
        self.in_buffer(lane / strip * self.elements_of(strip) + k * strip + lane % strip * self.extents.step)
    }

    /// Returns the first lane of a panel's strips in its group, and the start of the panel relative to its strips in the buffer.
    pub fn start(&self, b: &mut KernelBuilder, cut: Cut) -> (Value, Value) {
        let (strip, lane) = cut.start(b);
        (strip, b.scale_index(lane, self.in_buffer(self.extents.step), 0))
    }

    /// Tests whether products read panels that the kernel fills one at a time, instead of the model's.
    pub fn are_filled(&self) -> bool {
        self.filled
    }

    /// Returns the number that is subtracted from all weights, if there is one.
    pub fn moved_by(&self) -> Option<i64> {
        self.storage.moved_by()
    }

    /// Returns the lane type that products read.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Returns the lane type that the model holds.
    pub fn stored_lane(&self) -> Lane {
        match self.storage {
            Storage::Bytes | Storage::Moved { .. } if self.joined > 1 => Lane::I16,
            storage => storage.row().lane,
        }
    }

    /// Loads a vector of weights for a product of the form. `product` is its number among the products of a group of k.
    pub fn load(
        &self,
        b: &mut KernelBuilder,
        (form, product): (Form, u64),
        buffer: Buffer,
        (index, offset): (Value, i64),
        ActiveLanes { lanes, active }: ActiveLanes,
    ) -> Value {
        let raw = b.load_active(buffer, index, offset, lanes, active);
        if form.is_of_floats() && self.lane != Lane::F32 {
            return self.to_float(b, raw);
        }
        match (form.products(), product) {
            (1, _) => {}
            // These are the even and odd bytes of 16 bits, sign-extended.
            (_, 0) => {
                let even = b.shift(BinaryOp::ShiftLeft, raw, 8);
                return b.shift(BinaryOp::ShiftRightSigned, even, 8);
            }
            (_, _) => return b.shift(BinaryOp::ShiftRightSigned, raw, 8),
        }
        if form.is_of_pairs() && self.lane == Lane::I8 { self.to_16_bits(b, raw) } else { raw }
    }

    /// Converts narrow constants to binary32.
    pub(in crate::schedule::contraction) fn to_float(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let Storage::Narrow(element) = self.storage else { return raw };
        let wide = widen(b, raw, element);
        if element.is_integer() { b.convert(ConvertOp::SignedToFloat, wide, Lane::F32) } else { wide }
    }

    pub(in crate::schedule::contraction) fn to_16_bits(&self, b: &mut KernelBuilder, raw: Value) -> Value {
        let Row { signed, zero_point, .. } = self.storage.row();
        let wide = b.convert(if signed { ConvertOp::SignExtend } else { ConvertOp::ZeroExtend }, raw, Lane::I16);
        if zero_point == 0 {
            return wide;
        }
        let ty = b.ty(wide);
        let zero_point = b.int(ty, zero_point);
        b.sub(wide, zero_point)
    }

    /// Returns the distance from these panels to those of another phase of the same weights. It counts elements as the model holds them, or
    /// lanes if zeros are left out.
    pub fn stored_extent(&self) -> u64 {
        if self.sparse {
            return self.extents.strips.total() * self.extents.groups;
        }
        let elements = self.group_elements() * self.extents.groups;
        if let Storage::Packed { bits, .. } = self.storage { elements * u64::from(bits) / 8 } else { elements }
    }
}
