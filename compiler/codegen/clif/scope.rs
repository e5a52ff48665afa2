//! State of the lowering of a region: indices, addresses, and values that can be used again.

use cranelift_codegen::ir::{self, MemFlagsData};
use modelc_kernel::{Buffer, Value};
use rustc_hash::FxHashMap;

/// Alignment of stack arrays, as an exponent of two: 16 bytes, as the stack pointer has.
pub(super) const LOCAL_ALIGNMENT_SHIFT: u8 = 4;

/// A scalar 64-bit integer as a root plus a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    /// The part that is not constant; `None` if all is constant.
    pub root: Option<ir::Value>,
    /// The constant.
    pub constant: i64,
}

/// An address: a Cranelift value plus a displacement that fits an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// Base of the address.
    pub base: ir::Value,
    /// Displacement in bytes.
    pub displacement: i32,
    /// Known alignment of the address, as an exponent of two.
    pub alignment: u32,
    /// `true` if the memory is read-only in the kernel.
    pub readonly: bool,
}

impl Address {
    /// Returns the flags of an access of `bytes` bytes, `further` bytes after the address.
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

/// Key of the fields of a register: their width and signedness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FieldsOf {
    /// The register.
    pub register: ir::Value,
    /// Bits of a field.
    pub bits: u32,
    /// `true` for sign extension, else zero extension.
    pub signed: bool,
}

/// Values of a region that can be used again in it, and in regions inside it.
#[derive(Default)]
pub(super) struct Scope {
    /// Addresses in a buffer, by the root of the index.
    pub addresses: FxHashMap<(Buffer, Option<ir::Value>), ir::Value>,
    /// Roots of indices, by their terms.
    pub roots: FxHashMap<Vec<(Value, i64)>, ir::Value>,
    /// Widened narrow lanes of a register: `fields.rs`.
    pub fields: FxHashMap<FieldsOf, Vec<ir::Value>>,
}
