//! Storages that work in place: they take over the bytes of a dead tensor, where the kernels allow it.

use smallvec::{SmallVec, smallvec};
use std::ops::Range;

use super::lifetimes::Lifetimes;
use super::problem::{Block, Segment};
use super::request::{PlanError, Request, TensorId};
use super::views::Demand;

/// A usable pair of [`super::Step::may_share`]: the storage read is last used in the step that first writes the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub step: usize,
    pub read: TensorId,
    pub written: TensorId,
    /// Bytes that the pair saves.
    pub saving: u64,
}

/// Storages that share memory one after another: each root with its offset above the lowest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The members. Most groups have one, and groups are built again for each choice of pairs.
    pub members: SmallVec<[(TensorId, u64); 1]>,
}

/// Returns all usable pairs, the largest saving first.
pub(super) fn pairs(request: &Request, lifetimes: &Lifetimes) -> Result<Vec<Pair>, PlanError> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (index, step) in request.steps.iter().enumerate() {
        for &(read, written) in &step.may_share {
            let saving = request.tensor(read)?.bytes.min(request.tensor(written)?.bytes);
            let dies = lifetimes.steps(read).is_some_and(|steps| steps.end == index + 1);
            let starts = lifetimes.steps(written).is_some_and(|steps| steps.start == index);
            let used = step.reads.contains(&read) && step.writes.contains(&written);
            let apart = lifetimes.home(read).root != lifetimes.home(written).root;
            if saving > 0 && dies && starts && used && apart {
                pairs.push(Pair { step: index, read, written, saving });
            }
        }
    }
    pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.saving), pair.step));
    Ok(pairs)
}

/// Puts storages into groups.
pub(super) struct Merger<'a> {
    request: &'a Request,
    lifetimes: &'a Lifetimes,
    demands: &'a [Demand],
    /// Index in `groups` of each root's group.
    group: Vec<usize>,
    groups: Vec<Group>,
    /// Limit of remaining comparisons of storages. It allows long chains of in-place steps, and stops hostile requests.
    comparisons: u64,
}

impl<'a> Merger<'a> {
    /// Puts every storage into a group of its own.
    pub fn new(request: &'a Request, lifetimes: &'a Lifetimes, demands: &'a [Demand]) -> Merger<'a> {
        let alone = |index: usize| Group { members: smallvec![(TensorId(index as u32), 0)] };
        Merger {
            request,
            lifetimes,
            demands,
            group: (0..request.tensors.len()).collect(),
            groups: (0..request.tensors.len()).map(alone).collect(),
            comparisons: 1 << 22,
        }
    }

    /// Merges the groups of a pair, if they can share memory. Returns `true` if they do.
    pub fn merge(&mut self, pair: &Pair) -> bool {
        let (read, written) = (self.lifetimes.home(pair.read), self.lifetimes.home(pair.written));
        let (left, right) = (self.group[read.root.index()], self.group[written.root.index()]);
        if left == right {
            return false;
        }
        let left_at = read.offset + self.shift(left, read.root);
        let right_at = written.offset + self.shift(right, written.root);
        // Both tensors start at the same address, so one group's origin is raised above the other's.
        let (left_up, right_up) = (right_at.saturating_sub(left_at), left_at.saturating_sub(right_at));
        if !self.compatible(left, left_up, right, right_up) {
            return false;
        }
        let moved = std::mem::take(&mut self.groups[right].members);
        for member in &mut self.groups[left].members {
            member.1 += left_up;
        }
        for (root, shift) in moved {
            self.group[root.index()] = left;
            self.groups[left].members.push((root, shift + right_up));
        }
        true
    }

    /// Returns the groups that steps touch, each with its block.
    pub fn blocks(&self) -> Vec<(&Group, Block)> {
        let used = |group: &&Group| group.members.iter().any(|(root, _)| self.lifetimes.steps(*root).is_some());
        self.groups.iter().filter(used).map(|group| (group, self.block(group))).collect()
    }

    fn shift(&self, group: usize, root: TensorId) -> u64 {
        let members = &self.groups[group].members;
        members.iter().find(|member| member.0 == root).map_or(0, |member| member.1)
    }

    /// Tests whether two groups can share memory when their origins are raised by `left_up` and `right_up`.
    fn compatible(&mut self, left: usize, left_up: u64, right: usize, right_up: u64) -> bool {
        let (left, right) = (&self.groups[left].members, &self.groups[right].members);
        let cost = left.len() as u64 * right.len() as u64;
        if cost > self.comparisons {
            return false;
        }
        self.comparisons -= cost;
        let left = left.iter().map(|&(root, shift)| (root, shift + left_up));
        let right = right.iter().map(|&(root, shift)| (root, shift + right_up));
        let mut origin = None;
        for (root, shift) in left.clone().chain(right.clone()) {
            let demand = self.demands[root.index()];
            if shift % demand.alignment != 0 {
                return false;
            }
            if let Some(fixed) = demand.fixed {
                let start = fixed.checked_sub(shift);
                if start.is_none() || origin.is_some_and(|origin| origin != start) {
                    return false;
                }
                origin = Some(start);
            }
        }
        left.clone().all(|one| right.clone().all(|other| self.harmless(one, other)))
    }

    /// Tests whether two storages at these offsets never conflict. Live bytes may overlap only in one step, which reads one storage and writes
    /// the other in place.
    pub fn harmless(&self, (one, one_at): (TensorId, u64), (other, other_at): (TensorId, u64)) -> bool {
        let bytes = |root: TensorId, at: u64| at..at + self.request.tensors[root.index()].bytes;
        if !overlap(&bytes(one, one_at), &bytes(other, other_at)) {
            return true;
        }
        let (Some(first), Some(second)) = (self.lifetimes.steps(one), self.lifetimes.steps(other)) else {
            return true;
        };
        if first.end <= second.start || second.end <= first.start {
            true
        } else if first.end == second.start + 1 {
            self.in_place(second.start, (one, one_at), (other, other_at))
        } else if second.end == first.start + 1 {
            self.in_place(first.start, (other, other_at), (one, one_at))
        } else {
            false
        }
    }

    /// Tests whether `step` may overwrite a storage at the start of `born`: it is dead by then, or the step works in place.
    pub fn is_dead_before(&self, step: usize, dying: (TensorId, u64), born: TensorId) -> bool {
        self.lifetimes
            .steps(dying.0)
            .is_none_or(|steps| steps.end <= step || (steps.end == step + 1 && self.in_place(step, dying, (born, 0))))
    }

    /// Tests whether `step` overwrites a dying storage in place. It must only read that storage, and each tensor read must start where the
    /// written one does, as declared.
    fn in_place(&self, step: usize, (dying, dying_at): (TensorId, u64), (born, born_at): (TensorId, u64)) -> bool {
        let step = &self.request.steps[step];
        let place = |tensor: TensorId, at: u64| {
            let start = at + self.lifetimes.home(tensor).offset;
            start..start + self.request.tensors[tensor.index()].bytes
        };
        let of = |tensors: &'a [TensorId], root: TensorId| {
            tensors.iter().copied().filter(move |&tensor| self.lifetimes.home(tensor).root == root)
        };
        if of(&step.writes, dying).next().is_some() || of(&step.reads, born).next().is_some() {
            return false;
        }
        of(&step.writes, born).all(|written| {
            of(&step.reads, dying).all(|read| {
                let (from, to) = (place(read, dying_at), place(written, born_at));
                !overlap(&from, &to) || (from.start == to.start && step.may_share.contains(&(read, written)))
            })
        })
    }

    /// Returns the block of a group: at each step as high as its highest live byte.
    fn block(&self, group: &Group) -> Block {
        let (mut alignment, mut fixed) = (1, None);
        let mut parts: Vec<Segment> = Vec::new();
        for &(root, shift) in &group.members {
            let demand = self.demands[root.index()];
            alignment = demand.alignment.max(alignment);
            fixed = fixed.or(demand.fixed.map(|fixed| fixed - shift));
            parts.extend(
                self.lifetimes
                    .profile(root)
                    .iter()
                    .map(|&segment| Segment { bytes: if segment.bytes == 0 { 0 } else { segment.bytes + shift }, ..segment }),
            );
        }
        let segments = if group.members.len() == 1 { parts } else { highest(parts) };
        Block { segments, alignment, fixed }
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns the upper outline of segments that may overlap in time.
fn highest(mut parts: Vec<Segment>) -> Vec<Segment> {
    let mut times: Vec<u64> = parts.iter().flat_map(|part| [part.start, part.end]).collect();
    times.sort_unstable();
    times.dedup();
    parts.sort_unstable_by_key(|part| part.start);
    let mut waiting = parts.into_iter().peekable();
    let mut live: Vec<Segment> = Vec::new();
    let mut outline: Vec<Segment> = Vec::new();
    for pair in times.windows(2) {
        live.retain(|part| part.end > pair[0]);
        while let Some(part) = waiting.next_if(|part| part.start <= pair[0]) {
            live.push(part);
        }
        let bytes = live.iter().map(|part| part.bytes).max().unwrap_or(0);
        match outline.last_mut().filter(|last| last.bytes == bytes) {
            Some(last) => last.end = pair[1],
            None => outline.push(Segment { start: pair[0], end: pair[1], bytes }),
        }
    }
    outline
}
