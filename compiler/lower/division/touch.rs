//! Bytes that a piece of work accesses, and the test for pieces of work that must not run at the same time.

use std::ops::Range;

/// Bytes that a piece of work accesses. `M` identifies memories that never overlap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::lower) struct Touch<M> {
    /// The memory.
    pub memory: M,
    /// The range of bytes in the memory.
    pub bytes: Range<u64>,
    /// The distance between slices in bytes, if slices do not overlap.
    pub stride: Option<u64>,
    /// `true` for writes.
    pub writes: bool,
}

impl<M: PartialEq> Touch<M> {
    /// Tests whether two ranges have a byte in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.memory == other.memory && self.bytes.start < other.bytes.end && other.bytes.start < self.bytes.end
    }

    /// Tests whether one side writes a byte that the other accesses. Such work must not run at the same time.
    pub fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes) && self.overlaps(other)
    }

    /// Tests whether slices with the same number are the same bytes on both sides. Then work on different slices has no conflict.
    pub fn has_slices_of(&self, other: &Self) -> bool {
        self.bytes.start == other.bytes.start && self.stride.is_some() && self.stride == other.stride
    }
}

/// Tests whether no list accesses bytes that another list writes.
pub(in crate::lower) fn are_disjoint<M: PartialEq>(lists: &[Vec<Touch<M>>]) -> bool {
    let conflict = |a: &[Touch<M>], b: &[Touch<M>]| a.iter().any(|a| b.iter().any(|b| a.conflicts(b)));
    lists.iter().enumerate().all(|(number, list)| !lists[number + 1..].iter().any(|other| conflict(list, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(memory: u8, bytes: Range<u64>, writes: bool) -> Touch<u8> {
        Touch { memory, bytes, stride: None, writes }
    }

    #[test]
    fn a_conflict_is_a_common_byte_that_one_writes() {
        let written = touch(0, 8..16, true);
        for (other, conflicts) in [
            (touch(0, 15..20, false), true),
            (touch(0, 0..9, true), true),
            (touch(0, 0..8, true), false),
            (touch(0, 16..20, true), false),
            (touch(1, 8..16, true), false),
        ] {
            assert_eq!((written.conflicts(&other), other.conflicts(&written)), (conflicts, conflicts), "{other:?}");
        }
        let read = touch(0, 8..16, false);
        assert!(read.overlaps(&read) && !read.conflicts(&read));
    }

    #[test]
    fn lists_may_read_the_same_and_conflict_with_themselves() {
        let list = |written: Range<u64>| vec![touch(0, 0..8, false), touch(1, written.clone(), true), touch(1, written, true)];
        assert!(are_disjoint(&[list(0..4), list(4..8), list(8..12)]));
        assert!(!are_disjoint(&[list(0..4), list(4..9), list(8..12)]));
        assert!(are_disjoint::<u8>(&[]));
    }

    #[test]
    fn slices_are_the_same_if_they_begin_alike() {
        let slices = |start, stride| Touch { stride, ..touch(0, start..64, true) };
        assert!(slices(0, Some(8)).has_slices_of(&slices(0, Some(8))));
        assert!(!slices(0, Some(8)).has_slices_of(&slices(4, Some(8))));
        assert!(!slices(0, Some(8)).has_slices_of(&slices(0, Some(4))));
        assert!(!slices(0, None).has_slices_of(&slices(0, None)));
    }
}
