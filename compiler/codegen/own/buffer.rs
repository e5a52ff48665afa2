//! Buffer of emitted code.

use crate::{Relocation, RelocationKind, RelocationTarget};

/// Emitted bytes of code, with relocations and references to constants after the code.
#[derive(Debug)]
pub struct Buffer<R> {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Fields that are filled in when addresses are known.
    pub relocations: Vec<Relocation>,
    references: Vec<Named<R>>,
}

/// A reference to a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<R> {
    /// The position of the instruction's field.
    pub at: usize,
    /// The form of the reference.
    pub reference: R,
    /// The constant's offset after the code.
    pub offset: u32,
}

impl<R> Default for Buffer<R> {
    fn default() -> Self {
        Self { bytes: vec![], relocations: vec![], references: vec![] }
    }
}

impl<R> Buffer<R> {
    /// Adds a number of bytes: the longest of some instructions that fit. The shortest is first.
    pub(super) fn fill(&mut self, instructions: &[&[u8]], mut bytes: usize) {
        while let Some(longest) = instructions.iter().rfind(|instruction| instruction.len() <= bytes) {
            self.bytes.extend_from_slice(longest);
            bytes -= longest.len();
        }
    }

    /// Adds a relocation of the place that the next bytes fill.
    pub fn relocate(&mut self, kind: RelocationKind, target: RelocationTarget, addend: i64) {
        let offset = self.bytes.len() as u32;
        self.relocations.push(Relocation { offset, kind, target, addend });
    }

    /// Notes that the field at `at` refers to the constant at an offset after the code.
    pub fn name_constant(&mut self, at: usize, reference: R, offset: u32) {
        self.references.push(Named { at, reference, offset });
    }

    /// Takes the references to constants out of the buffer.
    pub(super) fn take_references(&mut self) -> Vec<Named<R>> {
        std::mem::take(&mut self.references)
    }
}
