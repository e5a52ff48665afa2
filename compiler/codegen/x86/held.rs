//! What kernel values are held in.

use super::length::Length;
pub(super) use crate::codegen::own::Vector;
use crate::kernel::{Lane, Type};
use regalloc2::VReg;

impl Vector {
    /// The instructions' length.
    pub(super) fn length(&self) -> Length {
        Length::of(self.part_bytes())
    }
}

/// Truth values in mask registers, a bit a lane.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    /// Number of lanes.
    pub lanes: u16,
    /// Lanes in each register.
    pub per: u16,
    /// Registers, low lanes first.
    pub parts: Vec<VReg>,
}

/// What a value is held in.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A 64-bit scalar integer, or a scalar truth value 0 or 1, in a general-purpose register.
    General(VReg),
    /// Vectors, other scalars, and with AVX2 masks: lanes of all zeros or ones, as wide as what was compared.
    Vector(Vector),
    /// Masks with AVX-512.
    Bits(Bits),
}

/// Whether values of a type are in general-purpose registers.
pub(super) fn is_general(ty: Type) -> bool {
    ty.lanes == 1 && matches!(ty.lane, Lane::I64 | Lane::Mask)
}
