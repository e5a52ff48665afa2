//! The bytes of constants: owned, a range of a mapped model file, or a permutation of other bytes.

use super::element_order::ElementOrder;
use memmap2::{Mmap, MmapOptions};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Something that keeps bytes alive at a fixed address: a `Vec<u8>`, a memory map.
pub trait Bytes: AsRef<[u8]> + Send + Sync {
    /// Releases a range that is not read for some time. A mapped file may return its memory, and reads the file again later.
    fn release(&self, _range: Range<usize>) {}
}

impl Bytes for Vec<u8> {}
impl Bytes for Box<[u8]> {}
impl Bytes for &'static [u8] {}
impl Bytes for Data {}

/// Anonymous pages, which return to the system as soon as they are dropped. Allocators keep freed large blocks, and packed weights free blocks as
/// large as the model.
pub struct Pages(Mmap);

/// The wanted size of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageSize {
    /// The system's usual size.
    Usual,
    /// Large pages if the system has some: sequential reads are then faster.
    Large,
}

impl Pages {
    /// The sizes in bytes for which separate pages pay. There are few smaller blocks, and allocators give larger ones pages of their own (glibc from
    /// 32 MiB on).
    const WORTH: Range<usize> = 1 << 20..32 << 20;

    /// Bytes that `fill` writes over zeros.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn filled(bytes: usize, size: PageSize, fill: impl FnOnce(&mut [u8])) -> io::Result<Self> {
        let mut pages = MmapOptions::new().len(bytes).map_anon()?;
        #[cfg(target_os = "linux")]
        if size == PageSize::Large {
            // Without large pages, small ones do.
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

/// A permutation of other bytes. A copy of a large model's weights is as large as the model, so they are permuted when they are read.
struct Ordered {
    source: Data,
    order: ElementOrder,
    /// The permuted bytes, once somebody keeps a reference.
    kept: OnceLock<Data>,
}

impl Ordered {
    fn all(&self) -> &Data {
        let bytes = self.order.bytes();
        self.kept.get_or_init(|| Data::filled(bytes, |kept| self.order.write(self.source.bytes(), 0..bytes, kept)))
    }

    fn copy(&self, range: Range<usize>) -> Vec<u8> {
        let mut bytes = vec![0; range.len()];
        self.order.write(self.source.bytes(), range, &mut bytes);
        bytes
    }
}

/// The owner of bytes.
#[derive(Clone)]
enum Owner {
    Held(Arc<dyn Bytes>),
    Ordered(Arc<Ordered>),
}

/// A shared, read-only range of bytes. Cloning copies no bytes.
#[derive(Clone)]
pub struct Data {
    owner: Owner,
    range: Range<usize>,
    sparse: bool,
    /// `true` if the bytes are a part of a larger owner, as a tensor is of a model's file.
    of_file: bool,
}

impl Data {
    /// All of `owner`.
    pub fn all_of(owner: Arc<dyn Bytes>) -> Self {
        let range = 0..(*owner).as_ref().len();
        Self { owner: Owner::Held(owner), range, sparse: false, of_file: false }
    }

    /// Bytes that `fill` writes over zeros. It is called again if there are no pages.
    pub fn filled(bytes: usize, fill: impl Fn(&mut [u8])) -> Self {
        if Pages::WORTH.contains(&bytes)
            && let Ok(pages) = Pages::filled(bytes, PageSize::Usual, &fill)
        {
            return Self::all_of(Arc::new(pages));
        }
        let mut filled = vec![0; bytes];
        fill(&mut filled);
        Self::all_of(Arc::new(filled))
    }

    /// The elements of an array in an order. Large arrays are permuted at each read ([`Data::read`]).
    pub fn in_order(array: &Self, order: ElementOrder) -> Option<Self> {
        let bytes = order.bytes();
        if array.len() != bytes {
            return None;
        }
        if order.is_as_it_lies() {
            return Some(Self { sparse: false, ..array.clone() });
        }
        let ordered = Ordered { source: array.clone(), order, kept: OnceLock::new() };
        if bytes < Pages::WORTH.start {
            return Some(Self { of_file: array.of_file, ..ordered.copy(0..bytes).into() });
        }
        Some(Self { owner: Owner::Ordered(Arc::new(ordered)), range: 0..bytes, sparse: false, of_file: array.of_file })
    }

    /// Bytes whose zero elements the model's file leaves out.
    pub fn sparse(bytes: Vec<u8>) -> Self {
        Self { sparse: true, of_file: true, ..bytes.into() }
    }

    /// Tests whether the model's file leaves out zero elements. This only describes how the bytes may be stored.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// A range of `owner`, or `None` when it reaches past its end.
    pub fn range_of(owner: Arc<dyn Bytes>, range: Range<usize>) -> Option<Self> {
        let all = (*owner).as_ref();
        let of_file = all.get(range.clone())?.len() < all.len();
        Some(Self { owner: Owner::Held(owner), range, sparse: false, of_file })
    }

    /// Tests whether the bytes are a part of a model's file, or a permutation of such bytes.
    pub fn is_of_file(&self) -> bool {
        self.of_file
    }

    /// Tests whether both are the same bytes of the same owner. Equal bytes need not be the same.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same_owner = match (&self.owner, &other.owner) {
            (Owner::Held(one), Owner::Held(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
            (Owner::Ordered(one), Owner::Ordered(other)) => {
                Arc::ptr_eq(one, other) || one.order == other.order && one.source.is_same(&other.source)
            }
            _ => false,
        };
        is_same_owner && self.range == other.range
    }

    /// A hash key: equal for data that are the same, and mostly different for other data, while they live.
    pub fn place(&self) -> usize {
        match &self.owner {
            Owner::Held(_) => self.bytes().as_ptr().addr(),
            Owner::Ordered(ordered) => ordered.source.place() + self.range.start,
        }
    }

    /// A number that identifies a permutation of bytes while it lives: it differs from the source's and from other permutations'. 0 for other data.
    pub fn maker(&self) -> usize {
        match &self.owner {
            Owner::Held(_) => 0,
            Owner::Ordered(ordered) => Arc::as_ptr(ordered).addr(),
        }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Tests whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// A part of the same bytes, or `None` when it reaches past their end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        let fits = range.start <= range.end && range.end <= self.range.len();
        let (owner, start) = (self.owner.clone(), self.range.start);
        fits.then(|| Self { owner, range: start + range.start..start + range.end, sparse: self.sparse, of_file: self.of_file })
    }

    /// The bytes themselves. Permuted bytes are kept in memory from then on.
    pub fn bytes(&self) -> &[u8] {
        match &self.owner {
            Owner::Held(owner) => &(**owner).as_ref()[self.range.clone()],
            Owner::Ordered(ordered) => &ordered.all().bytes()[self.range.clone()],
        }
    }

    /// The bytes for as long as they are read.
    pub fn read(&self) -> Cow<'_, [u8]> {
        match &self.owner {
            Owner::Ordered(ordered) if ordered.kept.get().is_none() => Cow::Owned(ordered.copy(self.range.clone())),
            _ => Cow::Borrowed(self.bytes()),
        }
    }
}

impl Data {
    /// Releases the bytes, which are not read for some time: see [`Bytes::release`].
    pub fn release(&self) {
        match &self.owner {
            Owner::Held(owner) => owner.release(self.range.clone()),
            Owner::Ordered(ordered) => ordered.source.release(),
        }
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
        // A collected vector may have up to twice the capacity it needs, and constants live long.
        bytes.shrink_to_fit();
        Self::all_of(Arc::new(bytes))
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.len() == other.len() && self.read() == other.read()
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.range.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::ElementType;
    use super::*;

    #[test]
    fn bytes_in_another_order_are_not_kept_unless_somebody_asks() {
        let rows = 1 << 11;
        let array: Data = (0..rows * 512u32).flat_map(|n| (n as u16).to_le_bytes()).collect::<Vec<u8>>().into();
        let order = || ElementOrder::new(ElementType::F16, &[rows.into(), 512], &[1, 0]).expect("an order");
        let turned = Data::in_order(&array, order()).expect("as many bytes");
        let expected: Vec<u8> = (0..512).flat_map(|c| (0..rows).flat_map(move |r| ((r * 512 + c) as u16).to_le_bytes())).collect();
        let (all, part) = (turned.clone(), turned.slice(5000..70_001).expect("a part"));
        assert!(matches!(all.read(), Cow::Owned(bytes) if bytes == expected));
        assert!(matches!(part.read(), Cow::Owned(bytes) if bytes == expected[5000..70_001]));
        let again = Data::in_order(&array, order()).expect("as many bytes");
        assert!(again.is_same(&turned) && again.place() == turned.place() && !again.is_same(&part) && again == turned);
        assert_eq!((array.maker(), array.place()), (0, turned.place()));
        assert!(turned.maker() != 0 && turned.maker() == part.maker());
        assert_eq!(turned.bytes(), expected);
        assert!(matches!(part.read(), Cow::Borrowed(bytes) if *bytes == expected[5000..70_001]));
        assert_eq!(Data::in_order(&part, order()).map(|data| data.len()), None);
        let same = ElementOrder::new(ElementType::F16, &[rows.into(), 1, 512], &[0, 2, 1]).expect("an order");
        assert!(Data::in_order(&array, same).is_some_and(|data| data.is_same(&array)));
    }
}
