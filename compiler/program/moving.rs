//! Addresses in scratch memory that depend on the extents of a call. If tensors are smaller than at their bound, later tensors move down, and
//! the call takes less memory.

use modelc_machine::Alignment;
use std::ops::Range;

/// The moving addresses of a method. At any extents, nothing lies above its address in the plan for the bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// Alignment of the scratch memory.
    pub alignment: Alignment,
    /// The addresses; each depends only on earlier ones.
    pub places: Vec<MovingPlace>,
    /// Ends of the tensors that can end last. A call takes the scratch memory up to the highest of them.
    pub ends: Vec<End>,
    /// All tensors with the steps at which they are live, for checks.
    pub members: Vec<Member>,
}

/// A moving address: the lowest one after all of `after` that has the same remainder by the alignment as `bound`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovingPlace {
    /// The address at the bound.
    pub bound: u64,
    /// Ends of the tensors before it.
    pub after: Vec<End>,
}

/// The end of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The moving address from which it counts; `None` for the start of the scratch memory.
    pub place: Option<u32>,
    /// The part of the size that depends on extents.
    pub size: Size,
    /// Offset of the tensor from the address, plus the constant part of its size.
    pub plus: i64,
}

/// A number of bytes times a product of extents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    /// Dynamic extents of inputs, as sorted indices among the distinct ones.
    pub extents: Vec<u32>,
    /// The constant factor, in bytes.
    pub factor: u64,
}

/// A tensor with an address for some steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The moving address from which it counts; `None` for the start of the scratch memory.
    pub place: Option<u32>,
    /// Offset from that address.
    pub start: u64,
    /// Size.
    pub size: Size,
    /// Steps of the plan at which the tensor is live.
    pub steps: Range<usize>,
}

impl Size {
    /// Makes a constant number of bytes.
    pub fn known(bytes: u64) -> Self {
        Self { extents: vec![], factor: bytes }
    }

    /// Returns the bytes for the given extents.
    pub fn bytes(&self, extents: &[u64]) -> u64 {
        self.extents.iter().map(|&extent| extents[extent as usize]).fold(self.factor, u64::saturating_mul)
    }
}

impl Moving {
    /// Tests whether no address moves.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the addresses for the given extents.
    pub fn offsets(&self, extents: &[u64]) -> Vec<u64> {
        let mut offsets = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let after = last(&place.after, &offsets, extents);
            let remainder = place.bound % self.alignment.bytes();
            offsets.push(self.alignment.down(after + self.alignment.bytes() - 1 - remainder) + remainder);
        }
        offsets
    }

    /// Returns the scratch memory of a call with the given extents.
    pub fn bytes(&self, extents: &[u64]) -> u64 {
        self.alignment.up(last(&self.ends, &self.offsets(extents), extents))
    }

    /// Returns the byte ranges that are live at a step. With `is_end`, they must also be live at a later step.
    pub fn live(&self, step: usize, is_end: bool, extents: &[u64]) -> Vec<Range<u64>> {
        let offsets = self.offsets(extents);
        let next = step + usize::from(is_end);
        let live = self.members.iter().filter(|member| member.steps.start <= step && next < member.steps.end);
        let mut ranges: Vec<Range<u64>> = live
            .map(|member| {
                let start = member.place.map_or(0, |place| offsets[place as usize]) + member.start;
                start..start + member.size.bytes(extents)
            })
            .collect();
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        ranges
    }
}

/// Returns the highest of some ends.
fn last(ends: &[End], offsets: &[u64], extents: &[u64]) -> u64 {
    let end = |end: &End| {
        let place = end.place.map_or(0, |place| offsets[place as usize]);
        (place + end.size.bytes(extents)).saturating_add_signed(end.plus)
    };
    ends.iter().map(end).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_after_a_smaller_tensor_moves_down() {
        let rows = |factor| Size { extents: vec![0], factor };
        let end = |place, size, plus| End { place, size, plus };
        let moving = Moving {
            alignment: Alignment::LINE,
            places: vec![
                MovingPlace { bound: 1024, after: vec![end(None, rows(10), 0), end(None, Size::known(0), 40)] },
                MovingPlace { bound: 2064, after: vec![end(Some(0), rows(10), 0), end(Some(0), Size::known(8), -200)] },
            ],
            ends: vec![end(Some(1), Size::known(0), 100), end(Some(0), rows(20), 0)],
            members: vec![Member { place: Some(1), start: 16, size: rows(2), steps: 1..3 }],
        };
        assert_eq!(moving.offsets(&[100]), [1024, 2064]);
        assert_eq!(moving.offsets(&[5]), [64, 144]);
        assert_eq!(moving.offsets(&[0]), [64, 80]);
        assert_eq!([100, 5].map(|n| moving.bytes(&[n])), [3072, 256]);
        assert_eq!(moving.live(1, true, &[5]).first(), Some(&(160..170)));
        assert!(moving.live(2, true, &[5]).is_empty());
        let moving = Moving { alignment: Alignment::WORDS, ..moving };
        assert_eq!(moving.offsets(&[5]), [64, 128]);
    }
}
