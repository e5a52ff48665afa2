//! Entities of the kernel language, and the types of its values.

use cranelift_entity::entity_impl;
use std::fmt;

/// An SSA value of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// A buffer of a kernel: a pointer parameter or a local array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buffer(u32);
entity_impl!(Buffer, "b");

/// The type of one lane. Integer types have no sign; the operations are signed or unsigned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// A truth value. It is never in memory, and the back end chooses its width in a register.
    Mask,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// Binary32.
    F32,
    /// Binary64.
    F64,
}

impl Lane {
    /// Returns the bytes of a lane in memory; 0 for masks, which are never in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Mask => 0,
            Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Tests whether the lane is binary32 or binary64.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Tests whether the lane is an integer.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Self::Mask
    }
}

/// The type of a value: `lanes` of one lane type. One lane is a scalar, and lane counts are powers of two. A vector may be longer than a register:
/// the back end splits it. A shorter vector is in the low lanes of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The type of each lane.
    pub lane: Lane,
    /// Number of lanes.
    pub lanes: u16,
}

impl Type {
    /// A 64-bit integer scalar, for indices and counts. Schedules write no other index type; a pass narrows them for 32-bit registers.
    pub const INDEX: Self = Self::scalar(Lane::I64);

    /// Tests whether the type is an index type: a scalar integer of 64 or 32 bits.
    pub const fn is_index(self) -> bool {
        self.lanes == 1 && matches!(self.lane, Lane::I32 | Lane::I64)
    }

    /// Makes a scalar type.
    pub const fn scalar(lane: Lane) -> Self {
        Self { lane, lanes: 1 }
    }

    /// Makes a vector type.
    pub const fn vector(lane: Lane, lanes: u16) -> Self {
        Self { lane, lanes }
    }

    /// Returns the type with the same number of lanes, of another lane type.
    pub const fn with_lane(self, lane: Lane) -> Self {
        Self { lane, lanes: self.lanes }
    }
}

/// Returns the bits of an integer lane as a signed number.
pub(super) fn signed(lane: Lane, bits: u64) -> i64 {
    let unused = 64 - 8 * lane.bytes().clamp(1, 8);
    (bits << unused) as i64 >> unused
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lane = match self.lane {
            Lane::Mask => "mask",
            Lane::I8 => "i8",
            Lane::I16 => "i16",
            Lane::I32 => "i32",
            Lane::I64 => "i64",
            Lane::F32 => "f32",
            Lane::F64 => "f64",
        };
        if self.lanes == 1 { f.write_str(lane) } else { write!(f, "{lane}x{}", self.lanes) }
    }
}
