//! Registers that hold kernel values.

use super::rows::Size;
pub(super) use crate::own::{Vector, is_general};
use modelc_kernel::Lane;
use regalloc2::VReg;

/// Bytes of a vector register.
pub(super) const WIDTH: u32 = 16;

/// The origin of a register's lanes.
#[derive(Clone, Copy)]
pub(super) enum Made {
    /// Lanes of half a register, sign-extended; of the upper half if `upper`.
    Widened { from: VReg, upper: bool },
    /// Lanes of half a register, zero-extended; of the upper half if `upper`.
    Extended { from: VReg, upper: bool },
    /// Products of the sign-extended lanes of half registers.
    Product { factors: [VReg; 2], upper: bool },
    /// The signs of a register's lanes: −1 or 0.
    Signs { of: VReg },
    /// The even or the odd lanes of two concatenated registers.
    EverySecond { of: [VReg; 2], odd: bool },
}

impl Vector {
    /// Returns the size of its lanes.
    pub(super) fn size(&self) -> Size {
        Size::of(self.bytes)
    }
}

/// The registers of a value.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A 64-bit scalar integer, or a scalar truth value 0 or 1, in a general-purpose register.
    General(VReg),
    /// Vectors, scalars that are not 64-bit integers, and masks: lanes of zeros or ones, as wide as the compared lanes.
    Vector(Vector),
}

/// Returns the bytes of a lane in registers. Masks have four unless a comparison has set another width.
pub(super) fn lane_bytes(lane: Lane) -> u32 {
    if lane == Lane::Mask { 4 } else { lane.bytes() }
}

/// Returns the number of registers for lanes.
pub(super) fn part_count(bytes: u32, lanes: u16) -> usize {
    (u32::from(lanes) * bytes).div_ceil(WIDTH) as usize
}
