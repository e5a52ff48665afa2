//! Code as it grows.

use crate::codegen::Relocation;

/// Bytes of code, and the places in them where constants after the code are named.
#[derive(Debug)]
pub struct Buffer<R> {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    /// Places to fill in when addresses are known.
    pub relocations: Vec<Relocation>,
    references: Vec<Named<R>>,
}

/// A place where a constant is named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<R> {
    /// Where the field of the instruction is.
    pub at: usize,
    /// How the instruction names it.
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
    /// Notes that the field at `at` names the constant at an offset after the code.
    pub fn name_constant(&mut self, at: usize, reference: R, offset: u32) {
        self.references.push(Named { at, reference, offset });
    }

    /// The places where constants are named.
    pub(super) fn take_references(&mut self) -> Vec<Named<R>> {
        std::mem::take(&mut self.references)
    }
}
