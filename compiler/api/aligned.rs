//! Bytes at the alignment that compiled code requires.

use crate::diagnostic::Diagnostic;
use crate::ir::ElementType;
use crate::jit::memory::{Memory, Placement};

/// Tests whether compiled code can use an array in place.
pub fn is_aligned(bytes: &[u8], element: ElementType) -> bool {
    bytes.is_empty() || (bytes.as_ptr() as u64).is_multiple_of(element.alignment())
}

/// An owned buffer: on the heap if that is aligned, otherwise in whole pages.
pub enum Aligned {
    /// Memory of the allocator.
    Heap(Vec<u8>),
    /// Whole pages.
    Pages(Memory),
}

impl Aligned {
    /// Takes bytes, and moves them to aligned memory if the element type requires it.
    ///
    /// # Errors
    /// MC0711 if there is no memory.
    pub fn new(bytes: Vec<u8>, element: ElementType) -> Result<Self, Diagnostic> {
        if is_aligned(&bytes, element) {
            return Ok(Self::Heap(bytes));
        }
        let mut pages = Memory::new(bytes.len(), element.alignment() as usize, Placement::Aligned)?;
        pages.contents_mut().copy_from_slice(&bytes);
        Ok(Self::Pages(pages))
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Pages(pages) => pages.contents(),
        }
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Pages(pages) => pages.contents_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_the_same_where_they_move() {
        for element in [ElementType::I8, ElementType::F64] {
            let mut aligned = Aligned::new((0..24).collect(), element).expect("memory");
            assert!(is_aligned(aligned.bytes(), element));
            aligned.bytes_mut()[0] = 9;
            assert_eq!((aligned.bytes().len(), aligned.bytes()[0], aligned.bytes()[23]), (24, 9, 23));
        }
    }
}
