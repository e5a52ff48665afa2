//! What a lowering knows of a region: indices, addresses, and what has been computed of them.

use crate::kernel::{Buffer, Value};
use cranelift_codegen::ir::{self, MemFlagsData};
use rustc_hash::FxHashMap;

/// Stack arrays are aligned to 16 bytes, as the stack pointer is.
pub(super) const LOCAL_ALIGNMENT_SHIFT: u8 = 4;

/// A scalar 64-bit integer as a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    /// What is not constant.
    pub root: Option<ir::Value>,
    /// What is.
    pub constant: i64,
}

/// An address: a Cranelift value plus a displacement that fits an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// The value.
    pub base: ir::Value,
    /// The displacement in bytes.
    pub displacement: i32,
    /// What the address is known to be a multiple of, as an exponent of two.
    pub alignment: u32,
    /// Whether the memory is constant while the kernel runs.
    pub readonly: bool,
}

impl Address {
    /// Flags for an access of `bytes` bytes at `displacement` further on.
    pub fn flags(&self, further: u32, bytes: u32) -> MemFlagsData {
        let mut flags = MemFlagsData::new().with_notrap();
        if self.readonly {
            flags = flags.with_readonly().with_can_move();
        }
        let alignment = if further == 0 { self.alignment } else { self.alignment.min(further.trailing_zeros()) };
        if 1u32 << alignment.min(16) >= bytes {
            flags = flags.with_aligned();
        }
        flags
    }
}

/// Which fields: of a register, this many bits each, with or without a sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FieldsOf {
    /// The register.
    pub register: ir::Value,
    /// Bits of a field.
    pub bits: u32,
    /// Whether its sign is repeated.
    pub signed: bool,
}

/// What has been computed in a region and may be used again in it and in regions inside it.
#[derive(Default)]
pub(super) struct Scope {
    /// Addresses of a buffer at an index root.
    pub addresses: FxHashMap<(Buffer, Option<ir::Value>), ir::Value>,
    /// Roots of indices, by the terms of their sums.
    pub roots: FxHashMap<Vec<(Value, i64)>, ir::Value>,
    /// Narrow lanes of a register, widened: `fields.rs`.
    pub fields: FxHashMap<FieldsOf, Vec<ir::Value>>,
}
