//! Places in the scratch memory that follow from the extents that a caller gives: where tensors are smaller than at their bound, those after
//! them move down, and a call takes less memory.

use super::ALIGNMENT;
use std::ops::Range;

/// The places of a method that move. At any extents nothing lies further up than the plan for the bound has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// The places; each depends on those before it alone.
    pub places: Vec<MovingPlace>,
    /// Where tensors end, those that end last whatever the extents are: a call takes the scratch memory up to there.
    pub ends: Vec<End>,
    /// Everything that has a place, and when something is there: for checks.
    pub members: Vec<Member>,
}

/// A place that moves: the first after all that is before it which has the alignment of the bound's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovingPlace {
    /// Where it is at most.
    pub bound: u64,
    /// What is before it.
    pub after: Vec<End>,
}

/// Where something ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The place it is counted from; none is the start of the scratch memory.
    pub place: Option<u32>,
    /// Its size, as far as that is not known.
    pub size: Size,
    /// Bytes from the place to its start, and the rest of its size.
    pub plus: i64,
}

/// Some bytes times a product of extents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    /// The dynamic extents of inputs, by their number among those that differ, in order.
    pub extents: Vec<u32>,
    /// Bytes.
    pub factor: u64,
}

/// Something that has a place for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The place it is counted from; none is the start of the scratch memory.
    pub place: Option<u32>,
    /// Where it starts from there.
    pub start: u64,
    /// Its size.
    pub size: Size,
    /// The steps of the plan at which it is there.
    pub steps: Range<usize>,
}

impl Size {
    /// A number of bytes.
    pub fn known(bytes: u64) -> Self {
        Self { extents: vec![], factor: bytes }
    }

    /// The bytes where the extents are these.
    pub fn bytes(&self, extents: &[u64]) -> u64 {
        self.extents.iter().map(|&extent| extents[extent as usize]).fold(self.factor, u64::saturating_mul)
    }
}

impl Moving {
    /// Whether nothing moves.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where the places are where the extents are these.
    pub fn offsets(&self, extents: &[u64]) -> Vec<u64> {
        let mut offsets = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let after = last(&place.after, &offsets, extents);
            let remainder = place.bound % ALIGNMENT;
            offsets.push((after + ALIGNMENT - 1 - remainder) / ALIGNMENT * ALIGNMENT + remainder);
        }
        offsets
    }

    /// The scratch memory that a call takes where the extents are these.
    pub fn bytes(&self, extents: &[u64]) -> u64 {
        last(&self.ends, &self.offsets(extents), extents).next_multiple_of(ALIGNMENT)
    }

    /// The bytes of all that is there at a step and, if this is the end of it, at a later one.
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

/// The last of some ends.
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
    }
}
