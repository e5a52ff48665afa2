//! Conflicts between dispatches, which need a barrier between them.
//!
//! A device's driver and its validation layer see only the bound ranges of reads and writes. So a range that a dispatch reads must not overlap a range
//! that another dispatch writes. For two ranges that are only written, the elements are compared instead, because writes to neighbours are independent.

use crate::lower::division::touch;
use crate::program::{Address, Bound, Call, DeviceMemory, Dispatch};

/// Words that an operand of a dispatch accesses.
pub type Touch = touch::Touch<DeviceMemory>;

/// Access of a kernel to a bound range, as the driver sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads only.
    Reads,
    /// Stores of whole words. Reads by other operands of the range are compared by operand.
    Writes,
    /// Stores of elements narrower than a word, which read and write the whole word.
    Changes,
}

/// The share of the slices that a call computes: all whole blocks, or the whole blocks in the rest after blocks of another size.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Share {
    extents: Vec<Address>,
    block: u64,
    after: Option<u64>,
}

impl Share {
    /// Tests whether another share begins at or after the end of this one.
    fn is_before(&self, other: &Self) -> bool {
        let ends_at_blocks = self.after.is_none_or(|after| after.is_multiple_of(self.block));
        let begins_later = other.after.is_some_and(|after| self.block.is_multiple_of(after));
        self.extents == other.extents && ends_at_blocks && begins_later
    }
}

/// A dispatch with its accesses.
#[derive(Clone, PartialEq, Debug)]
pub struct Work {
    /// The dispatch.
    pub dispatch: Dispatch,
    /// The access to each bound range.
    accesses: Vec<Access>,
    touches: Vec<Touch>,
    share: Option<Share>,
}

impl Work {
    /// Makes the work of a dispatch. `call` is the call that the dispatch belongs to, if any.
    pub fn new(dispatch: Dispatch, accesses: Vec<Access>, touches: Vec<Touch>, call: Option<&Call>) -> Self {
        let share = call.and_then(|call| call.division.blocks()).map(|blocks| Share {
            extents: blocks.extents.iter().map(|(address, _)| *address).collect(),
            block: blocks.block,
            after: blocks.after,
        });
        Self { dispatch, accesses, touches, share }
    }

    /// Tests whether two dispatches conflict, so that they must not run at the same time.
    fn meets(&self, other: &Self) -> bool {
        let bounds = |of: &Self, is: fn(Access) -> bool| -> Vec<Touch> {
            let bounds = of.dispatch.bindings.iter().zip(&of.accesses);
            bounds.filter(|(_, access)| is(**access)).map(|(bound, access)| bytes_of(bound, *access)).collect()
        };
        let reads: fn(Access) -> bool = |access| access != Access::Writes;
        let writes: fn(Access) -> bool = |access| access != Access::Reads;
        let any = |one: Vec<Touch>, two: Vec<Touch>| one.iter().any(|a| two.iter().any(|b| a.conflicts(b)));
        let is_bound = any(bounds(self, writes), bounds(other, reads)) || any(bounds(self, reads), bounds(other, writes));
        let meet = |a: &Touch, b: &Touch| a.conflicts(b) && !(a.has_slices_of(b) && self.is_beside(other));
        is_bound || self.touches.iter().any(|a| other.touches.iter().any(|b| meet(a, b)))
    }

    /// Tests whether two dispatches compute disjoint shares of the same slices.
    fn is_beside(&self, other: &Self) -> bool {
        let both = self.share.as_ref().zip(other.share.as_ref());
        both.is_some_and(|(a, b)| a.is_before(b) || b.is_before(a))
    }
}

/// Tests, for each operand of a dispatch, whether it conflicts with another operand: they overlap, and one of them is written.
pub fn shares(touches: &[Touch]) -> Vec<bool> {
    let shares = |number: usize| touches.iter().enumerate().any(|(other, touch)| other != number && touches[number].conflicts(touch));
    (0..touches.len()).map(shares).collect()
}

/// Returns the bytes of a bound range.
fn bytes_of(bound: &Bound, access: Access) -> Touch {
    Touch { memory: bound.memory, bytes: bound.offset..bound.offset + bound.bytes, stride: None, writes: access != Access::Reads }
}

/// Dispatches since the last barrier.
#[derive(Default)]
pub struct Running(Vec<Work>);

impl Running {
    /// Adds a dispatch. Returns `true` if it needs a barrier before it.
    pub fn add(&mut self, work: &Work) -> bool {
        let waits = self.0.iter().any(|running| running.meets(work));
        if waits {
            self.0.clear();
        }
        self.0.push(work.clone());
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Blocks, Division, Origin};

    const AREA: DeviceMemory = DeviceMemory::Area;

    /// Makes a dispatch that reads one range and writes another one. Bound ranges start at multiples of 256.
    fn work(read: [u64; 2], written: [u64; 2], blocks: Option<Blocks>) -> Work {
        let bound = |[start, end]: [u64; 2]| Bound { memory: AREA, offset: start - start % 256, bytes: end - (start - start % 256) };
        let stride = blocks.as_ref().map(|_| 4);
        let touch = |[start, end]: [u64; 2], writes| Touch { memory: AREA, bytes: start..end, stride, writes };
        let dispatch = Dispatch { kernel: 0, bindings: vec![bound(read), bound(written)], counts: None, origin: Origin::default() };
        let division = blocks.map_or(Division::Whole, Division::Blocks);
        let call = Call { kernel: 0, arguments: vec![], bounds: vec![], division, origin: Origin::default() };
        Work::new(dispatch, vec![Access::Reads, Access::Writes], vec![touch(read, false), touch(written, true)], Some(&call))
    }

    fn waits(one: Work, two: Work) -> bool {
        let mut running = Running::default();
        assert!(!running.add(&one), "nothing runs before");
        running.add(&two)
    }

    #[test]
    fn what_is_read_waits_for_ranges_and_what_is_written_for_elements() {
        let first = || work([0, 64], [1024, 1064], None);
        assert!(waits(first(), work([1024, 1064], [2048, 2064], None)), "read after it is written");
        assert!(waits(first(), work([512, 520], [32, 64], None)), "written after it is read");
        assert!(waits(first(), work([1060, 1064], [2048, 2064], None)), "a part is read");
        assert!(waits(first(), work([1064, 1068], [2048, 2064], None)), "the range that is bound begins before");
        assert!(waits(first(), work([512, 520], [1060, 1080], None)), "an element is written twice");
        assert!(!waits(first(), work([512, 520], [1064, 1080], None)), "the next element");
        assert!(!waits(first(), work([0, 64], [2048, 2064], None)), "both read");
        let narrow = |work: Work| Work { accesses: vec![Access::Reads, Access::Changes], ..work };
        assert!(waits(first(), narrow(work([512, 520], [1064, 1080], None))), "words are read from where the range begins");
    }

    #[test]
    fn blocks_and_what_they_leave_do_not_wait() {
        let blocks = |block, after, extent| {
            let extents = vec![(Address::Scratch(extent), [0, 20])];
            Some(Blocks { extents, most: 20, block, after, strides: vec![4, 4], ranges: None })
        };
        let of = |blocks| work([0, 80], [1024, 1104], blocks);
        assert!(!waits(of(blocks(8, None, 0)), of(blocks(1, Some(8), 0))));
        assert!(!waits(of(blocks(2, Some(8), 0)), of(blocks(8, None, 0))));
        assert!(!waits(of(blocks(2, Some(8), 0)), of(blocks(1, Some(2), 0))));
        assert!(!waits(of(blocks(8, None, 0)), of(blocks(1, Some(2), 0))), "the pairs are between them");
        assert!(waits(of(blocks(2, None, 0)), of(blocks(1, Some(8), 0))), "blocks of another size");
        assert!(waits(of(blocks(3, Some(8), 0)), of(blocks(1, Some(3), 0))), "blocks that do not begin at their multiples");
        assert!(waits(of(blocks(8, None, 0)), of(blocks(1, Some(8), 8))), "of another number");
        assert!(waits(of(blocks(8, None, 0)), of(blocks(8, None, 0))), "the same slices");
        assert!(waits(of(blocks(8, None, 0)), of(None)), "all slices");
    }
}
