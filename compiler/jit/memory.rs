//! Memory for calls: whole pages, optionally between inaccessible pages, with the contents next to the last one.

use crate::diagnostic::{Diagnostic, codes};
use memmap2::{MmapMut, MmapOptions};
use region::Protection;

/// Position of contents in their pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Start of a page.
    #[default]
    Aligned,
    /// End before an inaccessible page, so that an access past the end stops the program.
    AgainstGuard,
    /// An address with only the natural alignment of the elements: one byte past a cache line for bytes.
    Odd,
}

/// Filler around the contents, which a call must not change.
const CANARY: u8 = 0xc9;

/// Least size of memory with large pages, if the system has them. A decoder reads its caches from end to end, like weights.
#[cfg(target_os = "linux")]
const LARGE_FROM: usize = 4 << 20;

/// Zeroed memory of a fixed size.
pub struct Memory {
    pages: MmapMut,
    start: usize,
    bytes: usize,
}

impl Memory {
    /// Allocates `bytes` zero bytes. `alignment` is a power of two up to 64; against a guard page, `bytes` must be a multiple of it.
    ///
    /// # Errors
    /// A diagnostic if the system has no memory.
    pub fn new(bytes: usize, alignment: usize, placement: Placement) -> Result<Self, Diagnostic> {
        let page = region::page::size();
        let lead = match placement {
            Placement::Aligned | Placement::AgainstGuard => 0,
            Placement::Odd => alignment,
        };
        let contents = bytes.checked_add(lead).and_then(|bytes| bytes.max(1).checked_next_multiple_of(page));
        let pages = contents.and_then(|contents| Some((contents, contents.checked_add(2 * page)?)));
        let (contents, whole) = pages.ok_or_else(|| no_memory("its size overflows"))?;
        let mut pages = MmapOptions::new().len(whole).map_anon().map_err(no_memory)?;
        #[cfg(target_os = "linux")]
        if placement == Placement::Aligned && bytes >= LARGE_FROM {
            // Systems without large pages use small ones.
            let _ = pages.advise(memmap2::Advice::HugePage);
        }
        let start = match placement {
            Placement::Aligned | Placement::Odd => page + lead,
            Placement::AgainstGuard => page + contents - bytes.next_multiple_of(alignment),
        };
        let base = pages.as_mut_ptr();
        for guard in [0, page + contents] {
            // SAFETY: both pages belong to the allocation just made, and nothing refers to them.
            unsafe { region::protect(base.wrapping_add(guard), page, Protection::NONE) }.map_err(no_memory)?;
        }
        let mut memory = Self { pages, start, bytes };
        if placement != Placement::Aligned {
            memory.padding_mut().fill(CANARY);
        }
        Ok(memory)
    }

    /// Returns the address of the first byte.
    pub fn address(&mut self) -> *mut u8 {
        self.pages.as_mut_ptr().wrapping_add(self.start)
    }

    /// Returns the contents.
    pub fn contents(&self) -> &[u8] {
        // SAFETY: start and bytes are inside the readable pages, which live as long as self; nobody writes while self is borrowed.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().wrapping_add(self.start), self.bytes) }
    }

    /// Returns the contents for writing.
    pub fn contents_mut(&mut self) -> &mut [u8] {
        let (start, bytes) = (self.address(), self.bytes);
        // SAFETY: start and bytes are inside the writable pages, which live as long as self; self is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(start, bytes) }
    }

    /// Returns the bytes before the contents in the same pages.
    fn padding_mut(&mut self) -> &mut [u8] {
        let page = region::page::size();
        let (base, bytes) = (self.pages.as_mut_ptr().wrapping_add(page), self.start - page);
        // SAFETY: from the first page after the guard to the contents, all writable; self is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(base, bytes) }
    }

    /// Tests whether the bytes before the contents are unchanged.
    pub fn is_untouched_before(&mut self) -> bool {
        self.padding_mut().iter().all(|&byte| byte == CANARY)
    }
}

/// Makes the error for an allocation that failed.
pub(super) fn no_memory(error: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::NO_MEMORY, format!("no memory to run the model: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_lie_where_asked() {
        let page = region::page::size();
        let mut memory = Memory::new(100, 4, Placement::AgainstGuard).unwrap();
        assert_eq!((memory.address() as usize + 100) % page, 0);
        assert_eq!(memory.contents(), [0; 100]);
        memory.contents_mut().fill(1);
        assert!(memory.is_untouched_before());
        memory.padding_mut()[3] = 0;
        assert!(!memory.is_untouched_before());
        assert_eq!(Memory::new(page, 1, Placement::Odd).unwrap().address() as usize % 64, 1);
        assert!(Memory::new(0, 1, Placement::AgainstGuard).unwrap().contents().is_empty());
    }
}
