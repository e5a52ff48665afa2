//! Sets of bytes.

use std::ops::Range;

/// A set of bytes: sorted ranges with gaps between them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bytes(Vec<Range<u64>>);

impl Bytes {
    /// Returns the ranges, in order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Adds a range.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.0.partition_point(|known| known.end < range.start);
        let beyond = self.0.partition_point(|known| known.start <= range.end);
        let joined = self.0[first..beyond].iter().fold(range, |all, known| all.start.min(known.start)..all.end.max(known.end));
        self.0.splice(first..beyond, [joined]);
    }

    /// Adds all bytes of another set.
    pub fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|range| self.insert(range.clone()));
    }

    /// Removes a range.
    pub fn remove(&mut self, range: &Range<u64>) {
        let left = |known: &Range<u64>| [known.start..known.end.min(range.start), known.start.max(range.end)..known.end];
        self.0 = self.0.iter().flat_map(left).filter(|range| !range.is_empty()).collect();
    }

    /// Returns the bytes that are not in another set.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut left = self.clone();
        other.0.iter().for_each(|range| left.remove(range));
        left
    }

    /// Returns the bytes that are in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let both = |range: &Range<u64>| {
            let range = range.clone();
            other.0.iter().map(move |known| known.start.max(range.start)..known.end.min(range.end)).filter(|both| !both.is_empty())
        };
        Self(self.0.iter().flat_map(both).collect())
    }

    /// Tests whether any byte of a range is in the set.
    pub fn meets(&self, range: &Range<u64>) -> bool {
        !range.is_empty() && self.0.iter().any(|known| known.start < range.end && range.start < known.end)
    }

    /// Tests whether all bytes of a range are in the set.
    pub fn covers(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.0.iter().any(|known| known.start <= range.start && range.end <= known.end)
    }
}

impl FromIterator<Range<u64>> for Bytes {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut bytes = Self::default();
        ranges.into_iter().for_each(|range| bytes.insert(range));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sets() {
        let set: Bytes = [8..12, 0..4, 20..24, 3..5, 12..13, 7..7].into_iter().collect();
        assert_eq!(set.ranges(), [0..5, 8..13, 20..24]);
        let mut less = set.clone();
        less.remove(&(4..10));
        assert_eq!(less.ranges(), [0..4, 10..13, 20..24]);
        assert_eq!(set.without(&less).ranges(), [4..5, 8..10]);
        assert_eq!(set.and(&[2..9, 22..30].into_iter().collect()).ranges(), [2..5, 8..9, 22..24]);
        assert!(set.meets(&(4..6)) && !set.meets(&(5..8)) && !set.meets(&(9..9)));
        assert!(set.covers(&(8..13)) && !set.covers(&(4..9)));
    }
}
