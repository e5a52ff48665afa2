//! The bytes of constants: owned, a range of a mapped model file, or those of others in another order.

use super::element_order::ElementOrder;
use memmap2::{Mmap, MmapOptions};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

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

/// Bytes of others in another order. A copy of a large model's weights is as large as the model, so they are put in order when they are read.
struct Ordered {
    source: Data,
    order: ElementOrder,
    /// All of them, once somebody keeps a reference.
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

/// Whose bytes they are.
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
    /// A part of what holds it, as tensors are of a model's file.
    of_file: bool,
}

impl Data {
    /// All of `owner`.
    pub fn all_of(owner: Arc<dyn Bytes>) -> Self {
        let range = 0..(*owner).as_ref().len();
        Self { owner: Owner::Held(owner), range, sparse: false, of_file: false }
    }

    /// Bytes that `fill` writes over zeros, once or, where there are no pages, again.
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

    /// The elements of an array in an order. Where they are many they are put in order when they are read ([`Data::read`]), each time.
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

    /// Bytes that the model's file keeps without the elements that are zero.
    pub fn sparse(bytes: Vec<u8>) -> Self {
        Self { sparse: true, of_file: true, ..bytes.into() }
    }

    /// Whether the model's file leaves out elements that are zero: it only says how the bytes may be stored.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// A range of `owner`, or `None` when it reaches past its end.
    pub fn range_of(owner: Arc<dyn Bytes>, range: Range<usize>) -> Option<Self> {
        let all = (*owner).as_ref();
        let of_file = all.get(range.clone())?.len() < all.len();
        Some(Self { owner: Owner::Held(owner), range, sparse: false, of_file })
    }

    /// Tells if the bytes are a part of something larger, a model's file, or such bytes in another order.
    pub fn is_of_file(&self) -> bool {
        self.of_file
    }

    /// Whether both are the same bytes of the same owner, which equal bytes need not be.
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

    /// A number that data which are the same have in common, and others mostly not, while they live.
    pub fn place(&self) -> usize {
        match &self.owner {
            Owner::Held(_) => self.bytes().as_ptr().addr(),
            Owner::Ordered(ordered) => ordered.source.place() + self.range.start,
        }
    }

    /// A number that tells bytes in another order from those they are made of, and from those in a third one, while they live. 0 for others.
    pub fn maker(&self) -> usize {
        match &self.owner {
            Owner::Held(_) => 0,
            Owner::Ordered(ordered) => Arc::as_ptr(ordered).addr(),
        }
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// A part of the same bytes, or `None` when it reaches past their end.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        let fits = range.start <= range.end && range.end <= self.range.len();
        let (owner, start) = (self.owner.clone(), self.range.start);
        fits.then(|| Self { owner, range: start + range.start..start + range.end, sparse: self.sparse, of_file: self.of_file })
    }

    /// The bytes themselves. Those that are others in another order are kept in memory from then on.
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
    /// Says that the bytes are not read for some time: see [`Bytes::release`].
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
        // What was collected may have twice the room it needs, and constants live long.
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
