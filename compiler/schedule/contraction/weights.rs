//! The right operand of a contraction: constants, as narrow as the file has them, or a tensor that the program computes.

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
    /// Constants that become binary32 where they are read: floats of 16 bits, or integers of at most a byte.
    Narrow {
        /// The constants.
        data: Data,
        /// Their element type: f16, bf16, i8, u8 or a packed one.
        stored: ElementType,
        /// Subtracted from packed integers.
        zero_point: i64,
        /// Number of them.
        count: u64,
    },
    /// A tensor that is known when the program runs.
    Computed {
        /// The tensor.
        tensor: Value,
        /// Its element type: f32, f16 that is widened, i8 or u8.
        element: ElementType,
        /// Subtracted from integers.
        zero_point: i64,
        /// Number of its elements.
        count: u64,
    },
}

/// Which constants they are: where they lie in memory, and what integers mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Source {
    first: usize,
    bytes: usize,
    /// A matrix and its transpose have the same bytes of the file.
    maker: usize,
    integers: Option<(ElementType, i64)>,
}

impl Source {
    /// That of some constants; of integers the type and the zero point.
    pub fn of(data: &Data, integers: Option<(ElementType, i64)>) -> Self {
        Self { first: data.place(), bytes: data.len(), maker: data.maker(), integers }
    }
}

/// Integers as the file stores them: they are read where they lie, for a copy of a large model's would be as large.
#[derive(Clone, Debug)]
pub struct Integers {
    data: Data,
    count: u64,
    /// The element type that the file stores: i8, u8 or a packed one.
    pub stored: ElementType,
    /// Subtracted from the stored integers.
    pub zero_point: i64,
    found: Arc<Found>,
}

/// What reading all integers of a right operand has told: schedules are chosen many times, and ask each time.
#[derive(Default, Debug)]
pub struct Found {
    /// The smallest and the largest, none if there is no integer.
    range: OnceLock<Option<(i16, i16)>>,
    /// Magnitudes, by how many in a row are added.
    magnitudes: Memo<usize, Arc<Magnitudes>>,
}

/// Integers whose bytes are at hand.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    stored: ElementType,
    zero_point: i16,
}

impl<'a> Reader<'a> {
    /// Of packed integers from their bytes.
    pub fn of_packed(stored: ElementType, zero_point: i64, bytes: &'a [u8]) -> Self {
        Self { bytes, stored, zero_point: zero_point as i16 }
    }

    /// One of them, zero point subtracted: that it fits was checked for all that the type holds.
    pub fn value(self, index: usize) -> i16 {
        let stored = match self.stored {
            ElementType::I8 => i16::from(self.bytes[index] as i8),
            ElementType::U8 => i16::from(self.bytes[index]),
            packed => i16::from(element_at(packed, self.bytes, index)),
        };
        stored - self.zero_point
    }

    /// The sum of those of a range.
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
    /// Integers of a type whose zero point is subtracted, and what is known of them.
    pub fn new(data: Data, count: u64, (stored, zero_point): (ElementType, i64), found: Arc<Found>) -> Self {
        Self { data, count, stored, zero_point, found }
    }

    /// Their bytes for as long as they are read.
    pub fn read(&self) -> Cow<'_, [u8]> {
        self.data.read()
    }

    /// Where their bytes are, and the bits of each.
    pub fn data(&self) -> (&Data, u64) {
        (&self.data, self.stored.bits().into())
    }

    /// For reading many of them from their bytes.
    pub fn reader<'a>(&self, bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, stored: self.stored, zero_point: self.zero_point as i16 }
    }

    /// The low byte of the zero point of integers that have a byte each; none of other integers.
    pub fn byte_each(&self) -> Option<u8> {
        (self.stored.bits() == 8).then_some(self.zero_point as u8)
    }

    /// The bytes of integers that have one each.
    fn whole_bytes<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[..bytes.len().min(self.count as usize)]
    }

    /// All of them in order.
    fn values<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = i16> + 'a {
        let reader = self.reader(bytes);
        (0..self.count as usize).map(move |index| reader.value(index))
    }

    /// The smallest and the largest; `None` where there are none.
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

    /// The magnitudes of all, of which a number belong to one output.
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
    /// Says that constants are not read for some time.
    pub fn release(&self) {
        if let Self::Integers(Integers { data, .. }) | Self::Floats(data) | Self::Narrow { data, .. } = self {
            data.release();
        }
    }

    /// Where constants come from; `None` for a tensor.
    pub fn source(&self) -> Option<Source> {
        let (data, integers) = match self {
            Self::Integers(Integers { data, stored, zero_point, .. }) => (data, Some((*stored, *zero_point))),
            Self::Floats(data) => (data, None),
            Self::Narrow { data, stored, zero_point, .. } => (data, stored.is_packed().then_some((*stored, *zero_point))),
            Self::Computed { .. } => return None,
        };
        Some(Source::of(data, integers))
    }

    /// Number of weights.
    pub fn len(&self) -> u64 {
        match self {
            Self::Integers(integers) => integers.count,
            Self::Floats(data) => data.len() as u64 / 4,
            Self::Narrow { count, .. } => *count,
            Self::Computed { count, .. } => *count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are not zero, if the file leaves out those that are.
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

    /// Whether they are constants of a byte each, zeros among them.
    pub fn are_whole_bytes(&self) -> bool {
        matches!(self, Self::Integers(Integers { data, stored, .. }) if !stored.is_packed() && !data.is_sparse())
    }

    /// Whether they are floats.
    pub fn are_floats(&self) -> bool {
        match self {
            Self::Integers(_) => false,
            Self::Floats(_) | Self::Narrow { .. } => true,
            Self::Computed { element, .. } => element.is_float(),
        }
    }

    /// Whether they are constant integers each of which fits a signed byte; if they are open, whatever takes their place.
    pub fn fit_signed_byte(&self, open: bool) -> bool {
        match self {
            Self::Integers(Integers { stored, zero_point: 0, .. }) if *stored == ElementType::I8 => true,
            Self::Integers(_) if open => false,
            Self::Integers(integers) => integers.range().is_none_or(|(low, high)| i8::try_from(low).is_ok() && i8::try_from(high).is_ok()),
            _ => false,
        }
    }

    /// The number that makes constant integers fit a signed byte when it is taken from all of them, where they do not without that; a signed byte
    /// itself, as is what it makes of a zero.
    pub fn moved_to_signed_byte(&self, open: bool) -> Option<i64> {
        self.moved_by(open, 0)
    }

    /// The same; one that makes none of them the smallest signed byte, if there is one.
    pub fn moved_above_smallest_byte(&self, open: bool) -> Option<i64> {
        self.moved_by(open, 1).or_else(|| self.moved_by(open, 0))
    }

    /// A number that leaves at least so many of the smallest signed bytes unused when it is taken from all constants.
    fn moved_by(&self, open: bool, unused: i64) -> Option<i64> {
        let Self::Integers(integers) = self else { return None };
        let (low, high) = integers.range().filter(|_| !open && !self.fit_signed_byte(open))?;
        let (least, most) = (i64::from(high) - i64::from(i8::MAX), i64::from(low) - i64::from(i8::MIN) - unused);
        let by = least.max(0).min(most);
        (least <= by && i8::try_from(by).is_ok()).then_some(by)
    }

    /// Whether they are constant integers none of which is held as the smallest signed byte.
    pub fn leave_out_smallest_byte(&self, open: bool) -> bool {
        let Self::Integers(integers) = self else { return false };
        let by = if self.fit_signed_byte(open) { Some(0) } else { self.moved_above_smallest_byte(open) };
        let is_above = |low: i16| by.is_some_and(|by| i64::from(low) - by > i64::from(i8::MIN));
        !open && integers.range().is_none_or(|(low, _)| is_above(low))
    }

    /// The magnitudes of integers, of which a number belong to one output; `None` for floats.
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
    /// The largest.
    pub largest: i64,
    /// The largest sum of those that belong to one output.
    pub largest_sum: i64,
    /// The sum of those of each output, for constants.
    pub sums: Vec<i64>,
}

impl Magnitudes {
    /// Those of numbers of which a number in a row belong to one output. All weights of a model are read for it, so its loops are ones that become
    /// vector code.
    fn of<T>(numbers: &[T], per_output: usize, magnitude: impl Fn(&T) -> u16) -> Self {
        /// Magnitudes of 16 bits that add up within 32.
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
