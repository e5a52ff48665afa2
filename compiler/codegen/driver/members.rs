//! Members of structs and records. Their tables have the offsets and the widths.

use super::language::{Builder, Operand, Value, Width};
use modelc_interface::{Member, Struct};

/// Returns the width of a member in memory; of an array, that of an element.
pub fn width(kind: Member) -> Width {
    match kind {
        Member::Byte | Member::Bytes(_) => Width::Byte,
        Member::Half => Width::Half,
        Member::Single | Member::Singles(_) => Width::Single,
        Member::Long | Member::Slot => Width::Cell,
        Member::Word | Member::Words(_) => Width::Word,
    }
}

impl Builder {
    /// Loads a member of a struct.
    pub fn member<F: Copy + PartialEq>(&mut self, of: &Struct<F>, base: Value, member: F) -> Value {
        let (kind, offset) = of.place(member, self.layout);
        let width = if kind == Member::Slot { Width::Word } else { width(kind) };
        self.load(width, base, offset)
    }

    /// Stores a member of a struct.
    pub fn set_member<F: Copy + PartialEq>(&mut self, value: impl Into<Operand>, of: &Struct<F>, base: Value, member: F) {
        let (kind, offset) = of.place(member, self.layout);
        self.store(width(kind), value, base, offset);
    }
}
