//! Vectors that are held in several registers.

use modelc_kernel::{Lane, Type};
use regalloc2::VReg;

/// A vector in registers: full registers, or one register that is used in its low lanes. Other lanes are undefined.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Bytes of a lane.
    pub bytes: u32,
    /// Number of lanes.
    pub lanes: u16,
    /// Registers, low lanes first.
    pub parts: Vec<VReg>,
}

impl Vector {
    /// Returns the bytes of all lanes.
    pub fn total(&self) -> u32 {
        u32::from(self.lanes) * self.bytes
    }

    /// Returns the bytes that are used in each register.
    pub fn part_bytes(&self) -> u32 {
        self.total() / self.parts.len() as u32
    }

    /// Returns a vector of the same shape in other registers.
    pub fn with(&self, parts: Vec<VReg>) -> Self {
        Self { parts, ..*self }
    }
}

/// Tests whether 64-bit sets hold values of a type in general-purpose registers.
pub fn is_general(ty: Type) -> bool {
    ty.lanes == 1 && matches!(ty.lane, Lane::I64 | Lane::Mask)
}

/// Returns the integer lane with this number of bytes.
pub fn integer(bytes: u32) -> Lane {
    match bytes {
        1 => Lane::I8,
        2 => Lane::I16,
        4 => Lane::I32,
        _ => Lane::I64,
    }
}
