//! The right operand of a contraction: constants as narrow as in the file, or a tensor that the program computes.

use crate::ir::packed::element_at;
use crate::ir::{Data, ElementType, Value};
use crate::parallel::Memo;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The right operand, zero point subtracted.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Constant integers.
    Integers(Integers),
    /// Constant floats, four bytes each.
    Floats(Data),
    /// Constants that become binary32 when they are read: floats of 16 bits, or integers of at most a byte.
    Narrow {
        /// The constants.
        data: Data,
        /// Element type: f16, bf16, i8, u8 or a packed one.
        stored: ElementType,
        /// Zero point, subtracted from packed integers.
        zero_point: i64,
        /// Number of constants.
        count: u64,
    },
    /// A tensor that is computed at run time.
    Computed {
        /// The tensor.
        tensor: Value,
        /// Element type: f32, f16 that is widened, i8 or u8.
        element: ElementType,
        /// Zero point, subtracted from integers.
        zero_point: i64,
        /// Number of elements.
        count: u64,
    },
}

/// Identity of constants: their place in memory, and the interpretation of integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Source {
    first: usize,
    bytes: usize,
    /// Maker of the data. A matrix and its transpose have the same bytes of the file, but different makers.
    maker: usize,
    integers: Option<(ElementType, i64)>,
}

impl Source {
    /// Returns the identity of some constants. Integers have a type and a zero point.
    pub fn of(data: &Data, integers: Option<(ElementType, i64)>) -> Self {
        Self { first: data.place(), bytes: data.len(), maker: data.maker(), integers }
    }
}

/// Integers as the file stores them. They are read in place, since a copy of a large model's weights would be large.
#[derive(Clone, Debug)]
pub struct Integers {
    data: Data,
    count: u64,
    /// Element type in the file: i8, u8 or a packed one.
    pub stored: ElementType,
    /// Zero point, subtracted from the stored integers.
    pub zero_point: i64,
    found: Arc<Found>,
}

/// Facts that take a pass over all integers of a right operand. They are kept, because schedules are chosen many times and ask each time.
#[derive(Default, Debug)]
pub struct Found {
    /// Smallest and largest integer; `None` without integers.
    range: OnceLock<Option<(i16, i16)>>,
    /// Magnitudes, by the number of consecutive integers in a sum.
    magnitudes: Memo<usize, Arc<Magnitudes>>,
}

/// Integers whose bytes are in memory.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    stored: ElementType,
    zero_point: i16,
}

impl<'a> Reader<'a> {
    /// Makes a reader of packed integers from their bytes.
    pub fn of_packed(stored: ElementType, zero_point: i64, bytes: &'a [u8]) -> Self {
        Self { bytes, stored, zero_point: zero_point as i16 }
    }

    /// Returns an integer, zero point subtracted. All integers of the type are known to fit.
    pub fn value(self, index: usize) -> i16 {
        let stored = match self.stored {
            ElementType::I8 => i16::from(self.bytes[index] as i8),
            ElementType::U8 => i16::from(self.bytes[index]),
            packed => i16::from(element_at(packed, self.bytes, index)),
        };
        stored - self.zero_point
    }

    /// Returns the sum of a range.
    pub fn sum(self, range: Range<usize>) -> i64 {
        let offset = range.len() as i64 * i64::from(self.zero_point);
        match self.stored {
            ElementType::I8 => self.bytes[range].iter().map(|&byte| i64::from(byte as i8)).sum::<i64>() - offset,
            ElementType::U8 => self.bytes[range].iter().map(|&byte| i64::from(byte)).sum::<i64>() - offset,
            _ => range.map(|index| i64::from(self.value(index))).sum(),
        }
    }
}

impl Integers {
    /// Makes integers of a type with a zero point; `found` are known facts about them.
    pub fn new(data: Data, count: u64, (stored, zero_point): (ElementType, i64), found: Arc<Found>) -> Self {
        Self { data, count, stored, zero_point, found }
    }

    /// Returns the bytes while they are read.
    pub fn read(&self) -> Cow<'_, [u8]> {
        self.data.read()
    }

    /// Returns the data of the bytes, and the bits of an integer.
    pub fn data(&self) -> (&Data, u64) {
        (&self.data, self.stored.bits().into())
    }

    /// Makes a reader of many integers from their bytes.
    pub fn reader<'a>(&self, bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, stored: self.stored, zero_point: self.zero_point as i16 }
    }

    /// Returns the low byte of the zero point, if each integer has a byte.
    pub fn byte_each(&self) -> Option<u8> {
        (self.stored.bits() == 8).then_some(self.zero_point as u8)
    }

    /// Returns the bytes of integers that have one byte each.
    fn whole_bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[..bytes.len().min(self.count as usize)]
    }

    /// Returns all integers in order.
    fn values<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = i16> + 'a {
        let reader = self.reader(bytes);
        (0..self.count as usize).map(move |index| reader.value(index))
    }

    /// Returns the smallest and the largest integer; `None` if there are none.
    fn range(&self) -> Option<(i16, i16)> {
        *self.found.range.get_or_init(|| {
            let zero_point = self.zero_point as i16;
            let read = self.read();
            let bytes = self.whole_bytes(&read);
            let (low, high) = match self.stored {
                ElementType::I8 => {
                    let bytes = bytes.iter().map(|&byte| byte as i8);
                    (i16::from(bytes.clone().min()?), i16::from(bytes.max()?))
                }
                ElementType::U8 => (i16::from(*bytes.iter().min()?), i16::from(*bytes.iter().max()?)),
                _ => return Some((self.values(&read).min()?, self.values(&read).max()?)),
            };
            Some((low - zero_point, high - zero_point))
        })
    }

    /// Returns the magnitudes of all integers. `per_output` consecutive integers belong to one output.
    fn magnitudes(&self, per_output: usize) -> Arc<Magnitudes> {
        let zero_point = self.zero_point as i16;
        let find = || {
            let read = self.read();
            let bytes = self.whole_bytes(&read);
            match self.stored {
                ElementType::I8 => Magnitudes::of(bytes, per_output, |&byte| (i16::from(byte as i8) - zero_point).unsigned_abs()),
                ElementType::U8 => Magnitudes::of(bytes, per_output, |&byte| (i16::from(byte) - zero_point).unsigned_abs()),
                _ => Magnitudes::of(&self.values(&read).collect::<Vec<_>>(), per_output, |value| value.unsigned_abs()),
            }
        };
        self.found.magnitudes.get(&per_output, || Arc::new(find()))
    }
}

impl Weights {
    /// Announces that constants will not be read for some time.
    pub fn release(&self) {
        if let Self::Integers(Integers { data, .. }) | Self::Floats(data) | Self::Narrow { data, .. } = self {
            data.release();
        }
    }

    /// Returns the identity of constants; `None` for a tensor.
    pub fn source(&self) -> Option<Source> {
        let (data, integers) = match self {
            Self::Integers(Integers { data, stored, zero_point, .. }) => (data, Some((*stored, *zero_point))),
            Self::Floats(data) => (data, None),
            Self::Narrow { data, stored, zero_point, .. } => (data, stored.is_packed().then_some((*stored, *zero_point))),
            Self::Computed { .. } => return None,
        };
        Some(Source::of(data, integers))
    }

    /// Returns the number of weights.
    pub fn len(&self) -> u64 {
        match self {
            Self::Integers(integers) => integers.count,
            Self::Floats(data) => data.len() as u64 / 4,
            Self::Narrow { count, .. } => *count,
            Self::Computed { count, .. } => *count,
        }
    }

    /// Tests whether there are no weights.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of non-zero weights, if the file leaves out zeros.
    pub fn sparse_elements(&self) -> Option<u64> {
        fn count(elements: &Data, size: usize) -> Option<u64> {
            let is_zero = |element: &&[u8]| element.iter().all(|&byte| byte == 0);
            elements.is_sparse().then(|| elements.read().chunks_exact(size).filter(|e| !is_zero(e)).count() as u64)
        }
        match self {
            Self::Integers(integers) if integers.zero_point == 0 => count(&integers.data, 1),
            Self::Floats(data) => count(data, 4),
            Self::Narrow { data, stored: ElementType::F16, .. } => count(data, 2),
            Self::Integers(_) | Self::Narrow { .. } | Self::Computed { .. } => None,
        }
    }

    /// Tests whether the weights are constants of one byte each, zeros included.
    pub fn are_whole_bytes(&self) -> bool {
        matches!(self, Self::Integers(Integers { data, stored, .. }) if !stored.is_packed() && !data.is_sparse())
    }

    /// Tests whether the weights are floats.
    pub fn are_floats(&self) -> bool {
        match self {
            Self::Integers(_) => false,
            Self::Floats(_) | Self::Narrow { .. } => true,
            Self::Computed { element, .. } => element.is_float(),
        }
    }

    /// Tests whether the weights are constant integers that fit a signed byte. If they are open, this must hold for any replacement.
    pub fn fit_signed_byte(&self, open: bool) -> bool {
        match self {
            Self::Integers(Integers { stored, zero_point: 0, .. }) if *stored == ElementType::I8 => true,
            Self::Integers(_) if open => false,
            Self::Integers(integers) => integers.range().is_none_or(|(low, high)| i8::try_from(low).is_ok() && i8::try_from(high).is_ok()),
            _ => false,
        }
    }

    /// Returns a number that makes constant integers fit a signed byte if it is subtracted from all of them. `None` if they fit without it. The
    /// number and its negative are signed bytes, too.
    pub fn moved_to_signed_byte(&self, open: bool) -> Option<i64> {
        self.moved_by(open, 0)
    }

    /// Returns such a number that leaves the smallest signed byte unused, if possible.
    pub fn moved_above_smallest_byte(&self, open: bool) -> Option<i64> {
        self.moved_by(open, 1).or_else(|| self.moved_by(open, 0))
    }

    /// Returns such a number that leaves at least `unused` of the smallest signed bytes unused.
    fn moved_by(&self, open: bool, unused: i64) -> Option<i64> {
        let Self::Integers(integers) = self else { return None };
        let (low, high) = integers.range().filter(|_| !open && !self.fit_signed_byte(open))?;
        let (least, most) = (i64::from(high) - i64::from(i8::MAX), i64::from(low) - i64::from(i8::MIN) - unused);
        let by = least.max(0).min(most);
        (least <= by && i8::try_from(by).is_ok()).then_some(by)
    }

    /// Tests whether no weight is the smallest signed byte, in the form in which constant integers are held.
    pub fn leave_out_smallest_byte(&self, open: bool) -> bool {
        let Self::Integers(integers) = self else { return false };
        let by = if self.fit_signed_byte(open) { Some(0) } else { self.moved_above_smallest_byte(open) };
        let is_above = |low: i16| by.is_some_and(|by| i64::from(low) - by > i64::from(i8::MIN));
        !open && integers.range().is_none_or(|(low, _)| is_above(low))
    }

    /// Returns the magnitudes of integers; `None` for floats. `per_output` consecutive integers belong to one output.
    pub fn magnitudes(&self, per_output: u64) -> Option<Arc<Magnitudes>> {
        match self {
            Self::Integers(integers) => Some(integers.magnitudes(usize::try_from(per_output.max(1)).ok()?)),
            Self::Computed { element, zero_point, .. } => {
                let (low, high) = element.integer_range()?;
                let largest = (low as i64 - zero_point).abs().max((high as i64 - zero_point).abs());
                let largest_sum = largest.checked_mul(i64::try_from(per_output).ok()?)?;
                Some(Arc::new(Magnitudes { largest, largest_sum, sums: vec![] }))
            }
            Self::Floats(_) | Self::Narrow { .. } => None,
        }
    }
}

/// Magnitudes of integers.
#[derive(Default, Debug)]
pub struct Magnitudes {
    /// Largest magnitude.
    pub largest: i64,
    /// Largest sum of magnitudes of one output.
    pub largest_sum: i64,
    /// Sum of magnitudes of each output, for constants.
    pub sums: Vec<i64>,
}

impl Magnitudes {
    /// Computes the magnitudes of numbers. `per_output` consecutive numbers belong to one output. All weights of a model are read here, so the
    /// loops are of a kind that the Rust compiler vectorizes.
    fn of<T>(numbers: &[T], per_output: usize, magnitude: impl Fn(&T) -> u16) -> Self {
        /// Number of 16-bit magnitudes whose sum fits 32 bits.
        const RUN: usize = 1 << 15;
        let mut found = Self::default();
        for output in numbers.chunks(per_output) {
            let most = output.iter().map(&magnitude).max().unwrap_or(0);
            let sum: u64 = output.chunks(RUN).map(|run| u64::from(run.iter().map(|n| u32::from(magnitude(n))).sum::<u32>())).sum();
            found.largest = found.largest.max(most.into());
            found.largest_sum = found.largest_sum.max(sum as i64);
            found.sums.push(sum as i64);
        }
        found
    }
}
