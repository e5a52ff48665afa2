//! Bytes at the alignment that compiled code asks of its arguments.

use crate::diagnostic::Diagnostic;
use crate::ir::ElementType;
use crate::jit::memory::{Memory, Placement};

/// Tests that an array can be handed to compiled code as it is.
pub fn is_aligned(bytes: &[u8], element: ElementType) -> bool {
    bytes.is_empty() || (bytes.as_ptr() as u64).is_multiple_of(element.alignment())
}

/// A buffer of its own: on the heap where that is aligned, else in whole pages.
pub enum Aligned {
    /// As the allocator gave it.
    Heap(Vec<u8>),
    /// Whole pages.
    Pages(Memory),
}

impl Aligned {
    /// Takes bytes, and moves them to memory that is aligned to an element where they are not.
    ///
    /// # Errors
    /// MC0711 when there is no memory.
    pub fn new(bytes: Vec<u8>, element: ElementType) -> Result<Self, Diagnostic> {
        if is_aligned(&bytes, element) {
            return Ok(Self::Heap(bytes));
        }
        let mut pages = Memory::new(bytes.len(), element.alignment() as usize, Placement::Aligned)?;
        pages.contents_mut().copy_from_slice(&bytes);
        Ok(Self::Pages(pages))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Pages(pages) => pages.contents(),
        }
    }

    /// The bytes, to write.
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
