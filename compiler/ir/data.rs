//! The bytes of constants: owned, or a range of a mapped model file.

use memmap2::{Mmap, MmapOptions};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Something that keeps bytes alive at a fixed address: a `Vec<u8>`, a memory map.
pub trait Bytes: AsRef<[u8]> + Send + Sync {
    /// Says that a range is not read for some time. A map of a file may give memory back, and read the file anew when it is asked again.
    fn release(&self, _range: Range<usize>) {}
}

impl Bytes for Vec<u8> {}
impl Bytes for Box<[u8]> {}
impl Bytes for &'static [u8] {}
impl Bytes for Data {}

/// Pages of their own, which the system has back as soon as nobody holds them. Allocators keep what large blocks leave, and weights that were packed
/// leave as much as a model is large.
pub struct Pages(Mmap);

/// How large pages are to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageSize {
    /// As the system has them.
    Usual,
    /// Large ones where the system has some: what is read from end to end is then read faster.
    Large,
}

impl Pages {
    /// For how many bytes that is worth a copy. Smaller ones are few, and allocators give larger ones pages of their own (glibc from 32 MiB on).
    const WORTH: Range<usize> = 1 << 20..32 << 20;

    /// Bytes that `fill` writes over zeros.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn filled(bytes: usize, size: PageSize, fill: impl FnOnce(&mut [u8])) -> io::Result<Self> {
        let mut pages = MmapOptions::new().len(bytes).map_anon()?;
        #[cfg(target_os = "linux")]
        if size == PageSize::Large {
            // Where there are none, small ones do.
            let _ = pages.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = size;
        fill(&mut pages);
        pages.make_read_only().map(Self)
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

// Nothing is given back while they are held: the pages are of no file, and would be read as zeros.
impl Bytes for Pages {}

/// A shared, read-only range of bytes. Cloning copies no bytes.
#[derive(Clone)]
pub struct Data {
    owner: Arc<dyn Bytes>,
    range: Range<usize>,
    sparse: bool,
}

impl Data {
    /// All of `owner`.
    pub fn all_of(owner: Arc<dyn Bytes>) -> Self {
        let range = 0..(*owner).as_ref().len();
        Self { owner, range, sparse: false }
    }

    /// Bytes that the model's file keeps without the elements that are zero.
    pub fn sparse(bytes: Vec<u8>) -> Self {
        Self { sparse: true, ..bytes.into() }
    }

    /// Whether the model's file leaves out elements that are zero: it only says how the bytes may be stored.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// A range of `owner`, or `None` when it reaches past its end.
    pub fn range_of(owner: Arc<dyn Bytes>, range: Range<usize>) -> Option<Self> {
        (*owner).as_ref().get(range.clone())?;
        Some(Self { owner, range, sparse: false })
    }

    /// Whether both are the same bytes of the same owner, which equal bytes need not be.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.owner), Arc::as_ptr(&other.owner)) && self.range == other.range
    }

    /// A part of the same bytes, or `None` when it reaches past their end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        let fits = range.start <= range.end && range.end <= self.range.len();
        let (owner, start) = (self.owner.clone(), self.range.start);
        fits.then(|| Self { owner, range: start + range.start..start + range.end, sparse: self.sparse })
    }

    /// The bytes themselves.
    pub fn bytes(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl Data {
    /// Says that the bytes are not read for some time: see [`Bytes::release`].
    pub fn release(&self) {
        self.owner.release(self.range.clone());
    }
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl From<Vec<u8>> for Data {
    fn from(mut bytes: Vec<u8>) -> Self {
        if Pages::WORTH.contains(&bytes.len())
            && let Ok(pages) = Pages::filled(bytes.len(), PageSize::Usual, |pages| pages.copy_from_slice(&bytes))
        {
            return Self::all_of(Arc::new(pages));
        }
        // What was collected may have twice the room it needs, and constants live long.
        bytes.shrink_to_fit();
        Self::all_of(Arc::new(bytes))
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.range.len())
    }
}
