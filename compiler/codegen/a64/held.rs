//! What kernel values are held in.

use super::rows::Size;
pub(super) use crate::codegen::own::Vector;
use crate::kernel::{Lane, Type};
use regalloc2::VReg;

/// Bytes of a vector register.
pub(super) const WIDTH: u32 = 16;

/// What a register holds, beside its lanes.
#[derive(Clone, Copy)]
pub(super) enum Made {
    /// Half a register's lanes with their signs, the upper half if `upper`.
    Widened { from: VReg, upper: bool },
    /// Products of two registers' half lanes with their signs.
    Product { factors: [VReg; 2], upper: bool },
    /// The even lanes of two registers one after the other, or the odd ones.
    EverySecond { of: [VReg; 2], odd: bool },
}

impl Vector {
    /// The size of its lanes, for instructions.
    pub(super) fn size(&self) -> Size {
        Size::of(self.bytes)
    }
}

/// What a value is held in.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A 64-bit scalar integer, or a scalar truth value 0 or 1, in a general-purpose register.
    General(VReg),
    /// Vectors, other scalars, and masks: lanes of all zeros or ones, as wide as what was compared.
    Vector(Vector),
}

/// Whether values of a type are in general-purpose registers.
pub(super) fn is_general(ty: Type) -> bool {
    ty.lanes == 1 && matches!(ty.lane, Lane::I64 | Lane::Mask)
}

/// Bytes of a lane in registers. Masks have four where no comparison has set their width.
pub(super) fn lane_bytes(lane: Lane) -> u32 {
    if lane == Lane::Mask { 4 } else { lane.bytes() }
}

/// Registers that lanes take.
pub(super) fn part_count(bytes: u32, lanes: u16) -> usize {
    (u32::from(lanes) * bytes).div_ceil(WIDTH) as usize
}
