//! The packing problem: blocks with a live range and a height, the sections of time, and the pairs in conflict.

use std::ops::Range;

/// A part of a block's live range with constant height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First instant, included.
    pub start: u64,
    /// Last instant, excluded.
    pub end: u64,
    /// Bytes in use above the block's offset.
    pub bytes: u64,
}

/// A block to be placed: the storage of one tensor, of several that share it one after another, or scratch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The live range, as ordered and contiguous segments.
    pub segments: Vec<Segment>,
    /// Alignment of the offset: a power of two.
    pub alignment: u64,
    /// The required offset, if any.
    pub fixed: Option<u64>,
}

impl Block {
    /// Makes a block of one height that is live in `start..end`, without alignment.
    pub fn new(start: u64, end: u64, bytes: u64) -> Block {
        Block { segments: vec![Segment { start, end, bytes }], alignment: 1, fixed: None }
    }

    /// Returns the greatest height.
    pub fn height(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).max().unwrap_or(0)
    }

    /// Returns the live range of the block.
    pub fn life(&self) -> Range<u64> {
        match (self.segments.first(), self.segments.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
}

/// Returns the smallest multiple of `alignment`, a power of two, that is not below `value`. Callers checked that sums stay below 2^62.
pub(super) fn align_up(value: u64, alignment: u64) -> u64 {
    (value + (alignment - 1)) & !(alignment - 1)
}

/// Returns the greatest power of two known to divide an offset.
pub(super) fn offset_unit(alignment: u64, fixed: Option<u64>) -> u64 {
    1 << (alignment | fixed.unwrap_or(0)).trailing_zeros()
}

/// A block that conflicts with another one: both are live at some instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neighbor {
    /// The other block.
    pub other: u32,
    /// Least distance of the other block's offset above this one's, if it lies above.
    pub over: u64,
    /// Least distance of this block's offset above the other one's, if this one lies above.
    pub under: u64,
}

/// Data about a set of blocks that the search and the bounds need.
///
/// A *section* is an instant at which the set of live blocks (with their heights) is not contained in that of a neighbouring instant. A
/// packing that is right in every section is right at every instant.
pub(super) struct Sections {
    /// Number of sections.
    pub count: usize,
    /// Sections in which each block is live. Empty for a block without bytes.
    pub range: Vec<Range<usize>>,
    /// Live blocks of each section.
    pub members: Vec<Vec<u32>>,
    /// A common divisor of all offsets in each section.
    pub unit: Vec<u64>,
    /// Blocks that each block must not overlap.
    pub neighbors: Vec<Vec<Neighbor>>,
    /// Heights of all blocks in all their sections, block after block; `rounded` has them rounded up to the section's unit.
    heights: Vec<u64>,
    rounded: Vec<u64>,
    /// Index of each block's first height.
    height_start: Vec<usize>,
}

/// Limit of stored conflicts, and of stored heights: a few dozen megabytes.
const MOST_ENTRIES: u64 = 1 << 20;

impl Sections {
    /// Finds sections and conflicts. `None` if there are too many to list: about a thousand blocks that are all live together, or thousands
    /// that partly are.
    pub fn new(blocks: &[Block]) -> Option<Sections> {
        let instants = section_instants(blocks);
        let range: Vec<Range<usize>> = blocks.iter().map(|block| sections_of(block, &instants)).collect();
        let entries: u64 = range.iter().map(|range| range.len() as u64).sum();
        if entries > MOST_ENTRIES {
            return None;
        }
        let mut live = vec![0; instants.len()];
        range.iter().flat_map(Range::clone).for_each(|section| live[section] += 1);
        let mut sections = Sections {
            count: instants.len(),
            members: live.into_iter().map(Vec::with_capacity).collect(),
            unit: vec![u64::MAX; instants.len()],
            neighbors: Vec::new(),
            heights: Vec::with_capacity(entries as usize),
            rounded: Vec::with_capacity(entries as usize),
            height_start: Vec::with_capacity(blocks.len()),
            range,
        };
        for (index, block) in blocks.iter().enumerate() {
            sections.height_start.push(sections.heights.len());
            let mut segments = block.segments.iter();
            let mut segment = segments.next();
            for section in sections.range[index].clone() {
                while segment.is_some_and(|current| current.end <= instants[section]) {
                    segment = segments.next();
                }
                sections.heights.push(segment.map_or(0, |current| current.bytes));
                sections.members[section].push(index as u32);
                sections.unit[section] = sections.unit[section].min(offset_unit(block.alignment, block.fixed));
            }
        }
        for (index, range) in sections.range.iter().enumerate() {
            let units = &sections.unit[range.clone()];
            let heights = &sections.heights[sections.height_start[index]..];
            sections.rounded.extend(heights.iter().zip(units).map(|(&height, &unit)| align_up(height, unit)));
        }
        sections.neighbors = sections.find_neighbors()?;
        Some(sections)
    }

    /// Returns the number of ordered pairs of blocks in conflict.
    pub fn pairs(&self) -> usize {
        self.neighbors.iter().map(Vec::len).sum()
    }

    /// Returns the number of sections of all blocks, added up.
    pub fn entries(&self) -> usize {
        self.heights.len()
    }

    /// Returns the heights of a block in its sections.
    pub fn heights(&self, block: usize) -> &[u64] {
        &self.heights[self.height_start[block]..][..self.range[block].len()]
    }

    /// Returns the heights of a block in its sections, rounded up to each section's unit.
    pub fn rounded_heights(&self, block: usize) -> &[u64] {
        &self.rounded[self.height_start[block]..][..self.range[block].len()]
    }

    /// Returns the height of a block in one of its sections.
    pub fn height(&self, block: usize, section: usize) -> u64 {
        self.heights(block)[section - self.range[block].start]
    }

    /// Returns the height of a block in one of its sections, rounded up to the section's unit.
    pub fn rounded_height(&self, block: usize, section: usize) -> u64 {
        self.rounded_heights(block)[section - self.range[block].start]
    }

    /// Returns the blocks that each block must not overlap, or `None` if that is too much work.
    fn find_neighbors(&self) -> Option<Vec<Vec<Neighbor>>> {
        let mut neighbors = vec![Vec::new(); self.range.len()];
        let mut order: Vec<usize> = (0..self.range.len()).filter(|&block| !self.range[block].is_empty()).collect();
        order.sort_by_key(|&block| (self.range[block].start, block));
        let mut active: Vec<usize> = Vec::new();
        let mut work = 0u64;
        for &block in &order {
            active.retain(|&other| self.range[other].end > self.range[block].start);
            // Usually as many blocks start during its own live range.
            neighbors[block].reserve(2 * active.len() + 2);
            for &other in &active {
                // Both are live from the start of the later one.
                let theirs = &self.heights(other)[self.range[block].start - self.range[other].start..];
                let common = self.heights(block).iter().zip(theirs);
                work += common.len() as u64;
                let (mut over, mut under) = (0, 0);
                for (&mine, &theirs) in common.filter(|(mine, theirs)| **mine > 0 && **theirs > 0) {
                    (over, under) = (over.max(mine), under.max(theirs));
                }
                if over > 0 {
                    neighbors[block].push(Neighbor { other: other as u32, over, under });
                    neighbors[other].push(Neighbor { other: block as u32, over: under, under: over });
                }
            }
            work += active.len() as u64;
            if work > MOST_ENTRIES {
                return None;
            }
            active.push(block);
        }
        Some(neighbors)
    }
}

/// Returns one instant for each section, ascending. Between two instants with shrinking blocks, only the last one after a growing block
/// matters. All others have fewer or lower blocks.
fn section_instants(blocks: &[Block]) -> Vec<u64> {
    // (instant, grows): shrinking sorts first, because a life ends before its `end`.
    let mut events: Vec<(u64, bool)> = Vec::new();
    for block in blocks {
        let mut height = 0;
        let mut end = 0;
        for segment in &block.segments {
            if segment.bytes != height {
                events.push((segment.start, segment.bytes > height));
            }
            (height, end) = (segment.bytes, segment.end);
        }
        if height > 0 {
            events.push((end, false));
        }
    }
    events.sort_unstable();
    let mut instants = Vec::new();
    let mut grown = false;
    for (instant, grows) in events {
        if !grows && grown {
            instants.push(instant - 1);
        }
        grown = grows;
    }
    instants
}

/// Returns the range of sections in which a block has bytes.
fn sections_of(block: &Block, instants: &[u64]) -> Range<usize> {
    let used = |segment: &&Segment| segment.bytes > 0;
    let (Some(first), Some(last)) = (block.segments.iter().find(used), block.segments.iter().rev().find(used)) else {
        return 0..0;
    };
    let start = instants.partition_point(|&instant| instant < first.start);
    let end = instants.partition_point(|&instant| instant < last.end);
    start..end
}
