//! Layout of members one after another, as C does it.

/// Property of a target that determines offsets of fields in structs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// Bytes of a pointer and of a `size_t`: 4 or 8.
    pub pointer: u64,
}

impl Layout {
    /// Layout of records that are equal on every machine: a pointer has eight bytes.
    pub const WIDE: Self = Self { pointer: 8 };
}

/// Kind of a member, which determines its size and alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Member {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Single,
    /// 64 bits. The supported 32-bit conventions (AAPCS, RISC-V) also align them to 8 bytes.
    Long,
    /// A pointer or `size_t`.
    Word,
    /// A pointer in 64 bits, of which a 32-bit machine uses the lower ones.
    Slot,
    /// Array of bytes.
    Bytes(u64),
    /// Array of numbers of 32 bits.
    Singles(u64),
    /// Array of pointers.
    Words(u64),
}

impl Member {
    /// Returns the bytes of an element, which are its alignment, and the number of elements.
    pub fn elements(self, layout: Layout) -> (u64, u64) {
        match self {
            Self::Byte => (1, 1),
            Self::Half => (2, 1),
            Self::Single => (4, 1),
            Self::Long | Self::Slot => (8, 1),
            Self::Word => (layout.pointer, 1),
            Self::Bytes(count) => (1, count),
            Self::Singles(count) => (4, count),
            Self::Words(count) => (layout.pointer, count),
        }
    }
}

/// End of a struct's members while they are placed one after another, as C does.
#[derive(Clone, Copy, Default, Debug)]
pub struct Places {
    end: u64,
    alignment: u64,
}

impl Places {
    /// Returns the offset of the next member, which has this size and alignment.
    pub fn place(&mut self, bytes: u64, alignment: u64) -> u64 {
        let offset = self.end.next_multiple_of(alignment);
        self.end = offset + bytes;
        self.alignment = self.alignment.max(alignment);
        offset
    }

    /// Returns the offset of the next member, which has this kind.
    pub fn member(&mut self, kind: Member, layout: Layout) -> u64 {
        let (bytes, count) = kind.elements(layout);
        self.place(bytes * count, bytes)
    }

    /// Returns the size of a struct of the members so far.
    pub fn bytes(self) -> u64 {
        self.end.next_multiple_of(self.alignment.max(1))
    }
}
