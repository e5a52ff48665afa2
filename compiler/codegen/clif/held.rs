//! Cranelift values that hold a kernel value.
//!
//! A vector is a list of parts. They are full 128-bit registers, or one register whose low lanes count and whose other lanes are undefined (no
//! instruction here traps on them). Scalars are one part each, and so are all lanes on a machine without vector registers. A mask consists of integer
//! lanes of zeros or ones, as wide as the compared lanes; a scalar mask is 0 or 1.

use cranelift_codegen::ir::{self, types};
use modelc_kernel::{Lane, Type};

/// Bits of a vector register in this back end.
pub(super) const REGISTER_BITS: u32 = 128;

/// A kernel value in Cranelift values.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Cranelift's type of one lane.
    pub lane: ir::Type,
    /// Number of lanes that count, over all parts.
    pub lanes: u16,
    /// `true` if each part is one scalar lane.
    pub scalar: bool,
    /// The parts, low lanes first.
    pub parts: Vec<ir::Value>,
}

impl Held {
    /// Makes a scalar.
    pub fn of_scalar(lane: ir::Type, value: ir::Value) -> Self {
        Self { lane, lanes: 1, scalar: true, parts: vec![value] }
    }

    /// Returns the number of lanes that count in each part.
    pub fn part_lanes(&self) -> u16 {
        if self.scalar { 1 } else { self.lanes.min(register_lanes(self.lane)) }
    }

    /// Returns the only part of a scalar.
    pub fn single(&self) -> ir::Value {
        self.parts[0]
    }

    /// Returns a value of the same shape with other parts.
    pub fn with_parts(&self, parts: Vec<ir::Value>) -> Self {
        Self { parts, ..*self }
    }

    /// Returns a value with another lane type and other parts.
    pub fn with_lane(&self, lane: ir::Type, parts: Vec<ir::Value>) -> Self {
        Self { lane, parts, ..*self }
    }
}

/// Returns the number of lanes in a register.
pub(super) fn register_lanes(lane: ir::Type) -> u16 {
    (REGISTER_BITS / lane.bits()) as u16
}

/// Returns the type of a part.
pub(super) fn part_type(lane: ir::Type, scalar: bool) -> ir::Type {
    if scalar { lane } else { vector_of(lane) }
}

/// Returns the type of a full register with lanes of a type.
pub(super) fn vector_of(lane: ir::Type) -> ir::Type {
    match lane {
        types::I8 => types::I8X16,
        types::I16 => types::I16X8,
        types::I32 => types::I32X4,
        types::I64 => types::I64X2,
        types::F32 => types::F32X4,
        _ => types::F64X2,
    }
}

/// Returns the number of parts for `lanes` lanes.
pub(super) fn part_count(lane: ir::Type, lanes: u16, scalar: bool) -> usize {
    if scalar { usize::from(lanes) } else { usize::from(lanes.div_ceil(register_lanes(lane))) }
}

/// Returns Cranelift's lane type. A scalar mask is a byte. In a vector, this is the width of a mask that no comparison has set, as between loop
/// rounds.
pub(super) fn lane_type(ty: Type, scalar: bool) -> ir::Type {
    match ty.lane {
        Lane::Mask => {
            if scalar {
                types::I8
            } else {
                types::I32
            }
        }
        Lane::I8 => types::I8,
        Lane::I16 => types::I16,
        Lane::I32 => types::I32,
        Lane::I64 => types::I64,
        Lane::F32 => types::F32,
        Lane::F64 => types::F64,
    }
}

/// Returns the integer lane type with this number of bits.
pub(super) fn integer_lane(bits: u32) -> ir::Type {
    match bits {
        8 => types::I8,
        16 => types::I16,
        32 => types::I32,
        _ => types::I64,
    }
}
