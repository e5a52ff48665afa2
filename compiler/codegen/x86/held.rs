//! Registers that hold kernel values.

use super::length::Length;
pub(super) use crate::own::{Vector, is_general};
use regalloc2::VReg;

impl Vector {
    /// Returns the vector length of instructions on this vector.
    pub(super) fn length(&self) -> Length {
        Length::of(self.part_bytes())
    }
}

/// A mask in mask registers, one bit a lane.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    /// Number of lanes.
    pub lanes: u16,
    /// Lanes in each register.
    pub per: u16,
    /// Registers, low lanes first.
    pub parts: Vec<VReg>,
}

/// The registers of a value.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A 64-bit scalar integer, or a scalar truth value 0 or 1, in a general-purpose register.
    General(VReg),
    /// Vectors, and scalars that are not 64-bit integers. With AVX2 also masks: lanes of zeros or ones, as wide as the compared lanes.
    Vector(Vector),
    /// Masks with AVX-512.
    Bits(Bits),
}
