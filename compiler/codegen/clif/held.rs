//! How a kernel value is held in Cranelift values.
//!
//! A vector is a list of parts: full 128-bit registers, or one register whose low lanes count and whose other lanes are
//! anything (nothing here traps on them). Scalars, and all lanes on a machine without vector registers, are one part each. A
//! mask is held as integer lanes of all zeros or all ones, as wide as what was compared; a scalar mask as 0 or 1.

use crate::kernel::{Lane, Type};
use cranelift_codegen::ir::{self, types};

/// Bits of a vector register of this back end.
pub(super) const REGISTER_BITS: u32 = 128;

/// A kernel value in Cranelift values.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Cranelift's type of one lane.
    pub lane: ir::Type,
    /// Number of lanes that count, over all parts.
    pub lanes: u16,
    /// Whether each part is one scalar lane.
    pub scalar: bool,
    /// The parts, low lanes first.
    pub parts: Vec<ir::Value>,
}

impl Held {
    /// A scalar.
    pub fn of_scalar(lane: ir::Type, value: ir::Value) -> Self {
        Self { lane, lanes: 1, scalar: true, parts: vec![value] }
    }

    /// Lanes that count in each part.
    pub fn part_lanes(&self) -> u16 {
        if self.scalar { 1 } else { self.lanes.min(register_lanes(self.lane)) }
    }

    /// The only part of a scalar.
    pub fn single(&self) -> ir::Value {
        self.parts[0]
    }

    /// The same shape with other parts.
    pub fn with_parts(&self, parts: Vec<ir::Value>) -> Self {
        Self { parts, ..*self }
    }

    /// Other parts of another lane type.
    pub fn with_lane(&self, lane: ir::Type, parts: Vec<ir::Value>) -> Self {
        Self { lane, parts, ..*self }
    }
}

/// Lanes of a type in a register.
pub(super) fn register_lanes(lane: ir::Type) -> u16 {
    (REGISTER_BITS / lane.bits()) as u16
}

/// The type of a part.
pub(super) fn part_type(lane: ir::Type, scalar: bool) -> ir::Type {
    if scalar { lane } else { vector_of(lane) }
}

/// A full register of a lane type.
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

/// Parts that `lanes` lanes need.
pub(super) fn part_count(lane: ir::Type, lanes: u16, scalar: bool) -> usize {
    if scalar { usize::from(lanes) } else { usize::from(lanes.div_ceil(register_lanes(lane))) }
}

/// Cranelift's lane type. Masks are bytes as scalars; in a vector this is their width where no comparison has set one, such
/// as between loop rounds.
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

/// The integer lane of a width in bits.
pub(super) fn integer_lane(bits: u32) -> ir::Type {
    match bits {
        8 => types::I8,
        16 => types::I16,
        32 => types::I32,
        _ => types::I64,
    }
}
