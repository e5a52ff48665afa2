//! The representation of panels in the model, and what it is in memory.

use crate::ir::ElementType;
use crate::kernel::Lane;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::contraction::operands::types::Operand;
use crate::schedule::contraction::operands::weights::{Integers, Weights};

/// The representation of panels in the model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::schedule::contraction) enum Storage {
    Floats,
    /// Constants that become binary32 as panels are filled or products load them.
    Narrow(ElementType),
    /// Signed bytes, zero point subtracted.
    Bytes,
    /// Signed bytes: integers from which a number is subtracted.
    Moved {
        by: i64,
        /// `true` if the number is subtracted from the zeros of padding, too.
        everywhere: bool,
    },
    /// Bytes as the file has them. The zero point is subtracted when they are read.
    Offset {
        signed: bool,
        zero_point: i64,
    },
    /// 16 bits, zero point subtracted, for zero points that may change at run time.
    Wide,
    /// Integers that share bytes. The first part of a strip is in the low bits, and the other parts are above it. If strips would not fill
    /// whole bytes, integers have more bits than in the file.
    Packed {
        stored: ElementType,
        /// Zero point, subtracted when integers are read.
        zero_point: i64,
        bits: u8,
    },
    /// Not packed: the tensor itself.
    Computed {
        element: ElementType,
        zero_point: i64,
    },
}

/// Memory of a representation.
pub(super) struct Row {
    /// Lane of an element, or of several that share it.
    pub lane: Lane,
    /// Bits of an element.
    pub bits: u64,
    /// `true` if kernels fill panels with it, one at a time.
    pub is_filled: bool,
    /// `true` if bytes are signed.
    pub signed: bool,
    /// Zero point, subtracted as elements are read.
    pub zero_point: i64,
}

impl Row {
    fn of(lane: Lane) -> Self {
        Self { lane, bits: 8 * u64::from(lane.bytes()), is_filled: false, signed: true, zero_point: 0 }
    }

    fn filled(self) -> Self {
        Self { is_filled: true, ..self }
    }
}

impl Storage {
    /// Chooses the representation of weights for products of a form. `open` states that other constants may replace the weights. `fills_bytes` tests
    /// whether strips of elements of some bits fill whole bytes.
    pub fn of(weights: &Weights, form: Form, open: bool, fills_bytes: impl Fn(u64) -> bool) -> Self {
        let packed = |stored: ElementType, zero_point: i64| {
            // The number of lanes is even, so four bits always fill bytes.
            let bits = if fills_bytes(stored.bits().into()) { stored.bits() as u8 } else { 4 };
            Self::Packed { stored, zero_point, bits }
        };
        match weights {
            Weights::Floats(_) => Self::Floats,
            Weights::Narrow { stored, zero_point, .. } if stored.is_packed() => packed(*stored, *zero_point),
            Weights::Narrow { stored, .. } => Self::Narrow(*stored),
            Weights::Computed { element, zero_point, .. } => Self::Computed { element: *element, zero_point: *zero_point },
            Weights::Integers(_) if weights.fit_signed_byte(open) && open => Self::Bytes,
            Weights::Integers(_) if open => Self::Wide,
            Weights::Integers(Integers { stored, zero_point, .. }) if stored.is_packed() => packed(*stored, *zero_point),
            Weights::Integers(_) if form == Form::PixelPairs => Self::Moved { by: -128, everywhere: true },
            Weights::Integers(_) if weights.fit_signed_byte(open) => Self::Bytes,
            Weights::Integers(Integers { stored, zero_point, .. }) => match moved_by(weights, form, open) {
                Some(by) if form.has_excess() => Self::Moved { by, everywhere: false },
                _ => Self::Offset { signed: stored.is_signed_integer(), zero_point: *zero_point },
            },
        }
    }

    /// Returns what the representation is in memory.
    pub(super) fn row(self) -> Row {
        match self {
            Self::Floats => Row::of(Lane::F32),
            Self::Narrow(element) => Row::of(lane_of(element)).filled(),
            Self::Bytes | Self::Moved { .. } => Row::of(Lane::I8),
            Self::Offset { signed, zero_point } => Row { signed, zero_point, ..Row::of(Lane::I8) },
            Self::Wide => Row::of(Lane::I16),
            Self::Packed { bits, .. } => Row { bits: bits.into(), ..Row::of(Lane::I8).filled() },
            Self::Computed { element, zero_point } => {
                Row { signed: element.is_signed_integer(), zero_point, ..Row::of(lane_of(element)).filled() }
            }
        }
    }

    /// Returns the lane that products of a form read, before they widen it.
    pub fn read_lane(self, form: Form) -> Lane {
        match self {
            _ if form.is_of_floats() => Lane::F32,
            _ if form.products() > 1 => Lane::I16,
            Self::Computed { .. } | Self::Wide => Lane::I16,
            _ => Lane::I8,
        }
    }

    /// Returns the number that is subtracted from all weights, if there is one.
    pub fn moved_by(self) -> Option<i64> {
        if let Self::Moved { by, .. } = self { Some(by) } else { None }
    }
}

/// Returns the lane in memory of a type that contractions multiply.
fn lane_of(element: ElementType) -> Lane {
    Operand::of(element).map_or(Lane::I8, Operand::stored)
}

/// Returns the number to subtract from all weights so that they fit signed bytes. For signed inputs it avoids the smallest byte if possible,
/// because 16 bits then hold two products.
fn moved_by(weights: &Weights, form: Form, open: bool) -> Option<i64> {
    if form.is_signed() { weights.moved_above_smallest_byte(open) } else { weights.moved_to_signed_byte(open) }
}
