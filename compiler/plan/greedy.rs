//! Fast packings: blocks are placed one after another, in several orders, each where placed blocks leave room.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use super::problem::{Block, Sections, align_up};

/// Order in which blocks are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Higher blocks first.
    Height,
    /// Blocks of more bytes times time first.
    Area,
    /// Longer live ranges first.
    Duration,
    /// Blocks of the fullest section first, higher ones first among them.
    Breadth,
    /// Earlier starts of the live range first.
    Start,
}

/// Choice among the free places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// The lowest place.
    First,
    /// The tightest place.
    Best,
}

/// All variants; those that succeed most often come first.
pub(super) const VARIANTS: [(Order, Fit); 10] = [
    (Order::Height, Fit::First),
    (Order::Height, Fit::Best),
    (Order::Breadth, Fit::First),
    (Order::Breadth, Fit::Best),
    (Order::Area, Fit::First),
    (Order::Area, Fit::Best),
    (Order::Duration, Fit::First),
    (Order::Duration, Fit::Best),
    (Order::Start, Fit::First),
    (Order::Start, Fit::Best),
];

/// Returns the height of a packing.
pub(super) fn height(blocks: &[Block], offsets: &[u64]) -> u64 {
    blocks.iter().zip(offsets).map(|(block, offset)| offset + block.height()).max().unwrap_or(0)
}

/// Places all blocks, fixed ones first. Returns their offsets, or `None` as soon as a block reaches `limit`.
pub(super) fn place(blocks: &[Block], sections: &Sections, order: Order, fit: Fit, limit: u64) -> Option<Vec<u64>> {
    let mut offsets = vec![0u64; blocks.len()];
    let mut placed = vec![false; blocks.len()];
    let mut forbidden = Vec::new();
    for block in sorted(blocks, sections, order) {
        forbidden.clear();
        for neighbor in &sections.neighbors[block] {
            let other = neighbor.other as usize;
            if placed[other] {
                // The block may lie below the other one, up to `offset - over`, or above it, from `offset + under`.
                forbidden.push((offsets[other] + 1).saturating_sub(neighbor.over)..offsets[other] + neighbor.under);
            }
        }
        offsets[block] = blocks[block].fixed.unwrap_or_else(|| free_place(&mut forbidden, blocks[block].alignment, fit));
        if offsets[block] + blocks[block].height() >= limit {
            return None;
        }
        placed[block] = true;
    }
    Some(offsets)
}

/// Returns a multiple of `alignment` outside all half-open ranges of `forbidden`.
fn free_place(forbidden: &mut [Range<u64>], alignment: u64, fit: Fit) -> u64 {
    forbidden.sort_unstable_by_key(|range| (range.start, range.end));
    let mut candidate = 0;
    let mut best: Option<(u64, u64)> = None;
    for &Range { start, end } in forbidden.iter() {
        if candidate < start {
            if fit == Fit::First {
                return candidate;
            }
            let slack = start - candidate;
            if best.is_none_or(|(least, _)| slack < least) {
                best = Some((slack, candidate));
            }
        }
        if candidate < end {
            candidate = align_up(end, alignment);
        }
    }
    best.map_or(candidate, |(_, place)| place)
}

/// Returns all blocks in the given order; fixed blocks come first.
fn sorted(blocks: &[Block], sections: &Sections, order: Order) -> Vec<usize> {
    let mut fullest = vec![0; blocks.len()];
    if order == Order::Breadth {
        for section in 0..sections.count {
            let members = &sections.members[section];
            let total: u64 = members.iter().map(|&block| sections.height(block as usize, section)).sum();
            for &block in members {
                fullest[block as usize] = total.max(fullest[block as usize]);
            }
        }
    }
    let mut keyed: Vec<(bool, Reverse<u128>, Reverse<u64>, usize)> = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let life = block.life();
        let duration = u128::from(life.end - life.start);
        let key = match order {
            Order::Height => u128::from(block.height()),
            Order::Area => duration * u128::from(block.height()),
            Order::Duration => duration,
            Order::Breadth => u128::from(fullest[index]),
            Order::Start => u128::from(u64::MAX - life.start),
        };
        keyed.push((block.fixed.is_none(), Reverse(key), Reverse(block.height()), index));
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(.., index)| index).collect()
}

/// Packs any number of blocks in O(n log n), without inspecting pairs. It runs through time as an allocator and gives each block the smallest
/// hole that holds it. Fixed blocks keep their offsets; other blocks lie above all of them.
pub(super) fn place_through_time(blocks: &[Block]) -> Vec<u64> {
    let floor = blocks.iter().filter_map(|block| block.fixed.map(|offset| offset + block.height())).max().unwrap_or(0);
    let mut offsets: Vec<u64> = blocks.iter().map(|block| block.fixed.unwrap_or(0)).collect();
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.fixed.is_none() && block.height() > 0) {
        let life = block.life();
        events.push((life.start, true, index));
        events.push((life.end, false, index));
    }
    events.sort_unstable();
    let mut holes = Holes::new(floor);
    for (_, born, index) in events {
        let height = blocks[index].height();
        if born {
            offsets[index] = holes.take(height, blocks[index].alignment);
        } else {
            holes.give(offsets[index], offsets[index] + height);
        }
    }
    offsets
}

/// The free ranges of an unbounded arena.
struct Holes {
    /// Holes by length, then start.
    by_length: BTreeSet<(u64, u64)>,
    /// Holes as (start, end).
    by_start: BTreeSet<(u64, u64)>,
    /// Start of the unbounded free range.
    top: u64,
}

impl Holes {
    fn new(top: u64) -> Holes {
        Holes { by_length: BTreeSet::new(), by_start: BTreeSet::new(), top }
    }

    fn insert(&mut self, start: u64, end: u64) {
        if start < end {
            self.by_start.insert((start, end));
            self.by_length.insert((end - start, start));
        }
    }

    fn remove(&mut self, start: u64, end: u64) {
        self.by_start.remove(&(start, end));
        self.by_length.remove(&(end - start, start));
    }

    /// Allocates `height` bytes in the smallest hole that surely holds them, or at the top.
    fn take(&mut self, height: u64, alignment: u64) -> u64 {
        let enough = height + (alignment - 1);
        let Some(&(length, start)) = self.by_length.range((enough, 0)..).next() else {
            let offset = align_up(self.top, alignment);
            let free = self.top;
            self.top = offset + height;
            self.give(free, offset);
            return offset;
        };
        self.remove(start, start + length);
        let offset = align_up(start, alignment);
        self.insert(start, offset);
        self.insert(offset + height, start + length);
        offset
    }

    /// Frees `start..end` and joins it with adjacent holes.
    fn give(&mut self, mut start: u64, mut end: u64) {
        if start == end {
            return;
        }
        if let Some(&(before, stop)) = self.by_start.range(..(start, 0)).next_back()
            && stop == start
        {
            self.remove(before, stop);
            start = before;
        }
        if let Some(&(next, stop)) = self.by_start.range((end, 0)..).next()
            && next == end
        {
            self.remove(next, stop);
            end = stop;
        }
        if end == self.top {
            self.top = start;
        } else {
            self.insert(start, end);
        }
    }
}
