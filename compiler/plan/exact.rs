//! The exact search: is there a packing of these blocks within a capacity?
//!
//! Depth-first search over the order in which blocks are put down, each as low as those already placed allow. Any packing can be pushed
//! down until every block rests on another one or on the floor, so it is enough to try those. Most techniques are those published with
//! MiniMalloc (Moffitt, ASPLOS 2023):
//!
//! - *canonical order*: blocks are placed in order of (offset, rank), so that one packing is not built in several orders. All blocks yet
//!   to come therefore lie at or above the offset placed last;
//! - *sections*: in every section, the floor under the blocks yet to come plus their heights must not exceed the capacity. The floor is
//!   the least offset that one of them can still have;
//! - *passed over*: a block that was not placed when its turn came must wait for another one to be put under it, which raises that least
//!   offset;
//! - *dominance*: a block is not placed where another one could be slipped underneath;
//! - *nothing overhead*: if no block yet to come meets the one just placed, and the rest has no solution, then no other choice here has
//!   one;
//! - *decomposition*: where no block yet to come crosses the boundary between two sections, the two sides are separate problems, ranked
//!   anew.
//!
//! A node is one block put down. The search keeps its own stack, counts nodes, and depends on nothing but its input.

use std::ops::Range;

use super::problem::{Block, Sections, align_up};
use super::rank::{Ranker, Ranking};

/// How a search ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A packing: the offset of each block.
    Found(Vec<u64>),
    /// There is none.
    Infeasible,
    /// It did not finish within its nodes.
    Stopped,
}

/// Where the search stands within a part: the offset placed last, and the rank of the block placed there. Blocks whose (offset, rank) is
/// not greater have had their turn.
type Turn = (u64, u32);

/// The turn before all others.
const NO_TURN: Turn = (0, 0);

/// An independent part of the problem: some sections, and the blocks in them that were not placed when the part was made.
struct Part {
    /// Where its blocks stand in `Search::part_blocks`, by rank.
    blocks: Range<usize>,
    /// Its sections.
    sections: Range<usize>,
    /// The part to be solved after this one.
    next: Option<usize>,
    /// The frame whose choice made this part: if the part has no solution, that choice was wrong.
    parent: Option<usize>,
    /// The turn at which it was made.
    turn: Turn,
}

/// One choice: which block of a part is placed next.
struct Frame {
    part: usize,
    /// The candidates not yet tried, in `Search::candidates`.
    candidates: Range<usize>,
    /// The block placed at present.
    placed: Option<u32>,
    /// Whether that block has nothing overhead.
    hatless: bool,
    /// The state of the logs before that block was placed.
    mark: Mark,
    /// The length of the log of floors when the frame was opened.
    floors: usize,
    /// The frame to go on with when this one has no candidate left.
    parent: Option<usize>,
}

/// What remains to be solved: a part, from a turn on, and the frame that is wrong if that is not possible.
struct Goal {
    part: usize,
    turn: Turn,
    parent: Option<usize>,
}

/// What came of the choice of a frame.
enum Choice {
    /// A block is placed, and this remains to be solved.
    Made(Goal),
    /// No candidate is left.
    NoneLeft,
    /// No more nodes may be visited.
    NotAllowed,
}

/// Lengths of the logs, to go back to.
#[derive(Clone, Copy, Default)]
struct Mark {
    offsets: usize,
    floors: usize,
    parts: usize,
    part_blocks: usize,
}

/// What is known of a block.
struct Known {
    /// The lowest offset above all placed blocks it meets; its place once placed.
    offset: u64,
    /// The highest offset it may have.
    ceiling: u64,
    /// Its greatest height.
    height: u64,
    alignment: u64,
    /// The least distance to a block under it.
    lift: u64,
    /// Where it stands in `Search::part_blocks`, in the innermost part that holds it.
    rank: u32,
    placed: bool,
}

impl Known {
    /// The least offset that it can still have after a turn: a block passed over waits until another one is put under it, at the offset of that
    /// turn or above.
    fn attainable(&self, turn: Turn) -> u64 {
        if (self.offset, self.rank) > turn { self.offset } else { align_up(turn.0 + self.lift, self.alignment) }
    }
}

/// A search that can be stopped and goes on where it was.
pub(super) struct Search<'a> {
    sections: &'a Sections,
    ranker: Ranker,
    blocks: Vec<Known>,
    /// By section: the least offset of a block yet to come.
    floor: Vec<u64>,
    /// By section: the sum of heights of blocks yet to come, each rounded up to the section's unit.
    total: Vec<u64>,
    /// By section: what floor and total must not exceed: the capacity, and what rounding may have added to the uppermost block.
    limit: Vec<u64>,
    /// By section: how many blocks yet to come live both here and in the next one.
    crossing: Vec<u32>,
    /// Sections whose floor is to be found anew; `is_stale` says whether a section is among them.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
    parts: Vec<Part>,
    /// Blocks of all parts, and their rank in the part before.
    part_blocks: Vec<(u32, u32)>,
    candidates: Vec<(u64, u32)>,
    frames: Vec<Frame>,
    offset_log: Vec<(u32, u64)>,
    floor_log: Vec<(u32, u64)>,
    capacity: u64,
    /// How many nodes it may visit, and how many it has visited.
    allowed: u64,
    visited: u64,
    /// Where a search that was stopped stands.
    stands: Stands,
}

/// Where a search goes on.
enum Stands {
    /// It has not begun.
    AtStart,
    /// The uppermost frame chooses.
    Choosing,
    /// The uppermost frame has no choice left.
    Closing,
}

impl<'a> Search<'a> {
    /// A search for a packing of height at most `capacity`.
    pub fn new(blocks: &[Block], sections: &'a Sections, capacity: u64, ranking: Ranking) -> Search<'a> {
        let mut search = Search {
            sections,
            ranker: Ranker::new(blocks, ranking),
            blocks: Vec::with_capacity(blocks.len()),
            floor: vec![0; sections.count],
            total: vec![0; sections.count],
            limit: vec![capacity; sections.count],
            crossing: vec![0; sections.count],
            stale: Vec::new(),
            is_stale: vec![false; sections.count],
            parts: Vec::new(),
            part_blocks: Vec::new(),
            candidates: Vec::new(),
            frames: Vec::new(),
            offset_log: Vec::new(),
            floor_log: Vec::new(),
            capacity,
            allowed: 0,
            visited: 0,
            stands: Stands::AtStart,
        };
        for (index, block) in blocks.iter().enumerate() {
            let under = sections.neighbors[index].iter().map(|neighbor| neighbor.under);
            let height = block.height();
            let highest = capacity.saturating_sub(height);
            search.blocks.push(Known {
                offset: block.fixed.unwrap_or(0),
                ceiling: block.fixed.unwrap_or(highest).min(highest),
                height,
                alignment: block.alignment,
                lift: under.min().unwrap_or(0),
                rank: 0,
                placed: false,
            });
            let range = sections.range[index].clone();
            let heights = sections.rounded_heights(index).iter().zip(sections.heights(index));
            for ((rounded, height), section) in heights.zip(range.clone()) {
                search.total[section] += rounded;
                search.limit[section] = search.limit[section].max(capacity + (rounded - height));
            }
            for section in range.start..range.end.saturating_sub(1) {
                search.crossing[section] += 1;
            }
        }
        for section in 0..sections.count {
            let offsets = sections.members[section].iter().map(|&block| search.blocks[block as usize].offset);
            search.floor[section] = offsets.min().unwrap_or(0);
        }
        search
    }

    /// Goes on until `nodes` have been visited since the search began. The outcome is that of a search that begins anew and may visit as many.
    pub fn run(&mut self, nodes: u64) -> Outcome {
        self.allowed = nodes;
        if self.visited >= nodes && !matches!(self.stands, Stands::AtStart) {
            return Outcome::Stopped;
        }
        let mut goal = match self.stands {
            Stands::AtStart => match self.first_goal() {
                Ok(goal) => Some(goal),
                Err(outcome) => return outcome,
            },
            Stands::Choosing => None,
            Stands::Closing => {
                self.close();
                None
            }
        };
        loop {
            if let Some(open) = goal.take()
                && !self.open(&open)
            {
                // Nothing is left in the part: on to the next one.
                let Some(next) = self.parts[open.part].next else {
                    return Outcome::Found(self.offsets());
                };
                let part = &self.parts[next];
                goal = Some(Goal { part: next, turn: part.turn, parent: part.parent });
                continue;
            }
            let Some(depth) = self.frames.len().checked_sub(1) else {
                return Outcome::Infeasible;
            };
            match self.choose(depth) {
                Choice::Made(made) => goal = Some(made),
                choice if self.visited == self.allowed => {
                    self.stands = if matches!(choice, Choice::NoneLeft) { Stands::Closing } else { Stands::Choosing };
                    return Outcome::Stopped;
                }
                _ => self.close(),
            }
        }
    }

    /// The goal to begin with; else how the search ends before it begins.
    fn first_goal(&mut self) -> Result<Goal, Outcome> {
        let misplaced = self.blocks.iter().any(|block| block.height > self.capacity || block.offset > block.ceiling);
        let sums = self.floor.iter().zip(&self.total).map(|(floor, total)| floor + total);
        if misplaced || sums.zip(&self.limit).any(|(sum, limit)| sum > *limit) {
            return Err(Outcome::Infeasible);
        }
        let live = |block: &usize| !self.sections.range[*block].is_empty();
        let all: Vec<u32> = (0..self.blocks.len()).filter(live).map(|block| block as u32).collect();
        let everything = 0..self.sections.count;
        match self.make_parts(&all, everything.clone(), everything, None, None, NO_TURN) {
            Some(first) => Ok(Goal { part: first, turn: NO_TURN, parent: None }),
            None => Err(Outcome::Found(self.offsets())),
        }
    }

    fn offsets(&self) -> Vec<u64> {
        self.blocks.iter().map(|block| block.offset).collect()
    }

    /// How many nodes it has visited.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// Pushes a frame with the candidates of a part. Answers false where the part has no block left.
    fn open(&mut self, goal: &Goal) -> bool {
        let part = &self.parts[goal.part];
        let start = self.candidates.len();
        let mut least_top = u64::MAX;
        for (rank, &(block, _)) in part.blocks.clone().zip(&self.part_blocks[part.blocks.clone()]) {
            let block = &self.blocks[block as usize];
            if !block.placed {
                least_top = least_top.min(block.offset + block.height);
                let turn = (block.offset, rank as u32);
                if turn >= goal.turn && turn.0 < least_top {
                    self.candidates.push(turn);
                }
            }
        }
        if least_top == u64::MAX {
            return false;
        }
        // Dominance: whoever starts at or above the top of another one leaves room for that one below. And as all blocks yet to come, the
        // candidate among them, will lie at or above the candidate's offset, each section must have room for all of its own there.
        let range = part.sections.clone();
        let room = self.limit[range.clone()].iter().zip(&self.total[range]).map(|(limit, total)| limit - total);
        let highest = room.min().unwrap_or(0).min(least_top - 1);
        let mut end = start;
        for index in start..self.candidates.len() {
            if self.candidates[index].0 <= highest {
                self.candidates[end] = self.candidates[index];
                end += 1;
            }
        }
        self.candidates.truncate(end);
        self.candidates[start..].sort_unstable();
        self.frames.push(Frame {
            part: goal.part,
            candidates: start..end,
            placed: None,
            hatless: false,
            mark: Mark::default(),
            floors: self.floor_log.len(),
            parent: goal.parent,
        });
        true
    }

    /// Drops the uppermost frame and all others above its parent, and takes back what they placed.
    fn close(&mut self) {
        let keep = self.frames.last().and_then(|frame| frame.parent).map_or(0, |parent| parent + 1);
        while self.frames.len() > keep {
            self.undo(self.frames.len() - 1);
            if let Some(frame) = self.frames.pop() {
                self.lower_floors(frame.floors);
            }
            // The candidates of a frame stand after those of the frames below it.
            self.candidates.truncate(self.frames.last().map_or(0, |below| below.candidates.end));
        }
    }

    /// Takes back the choice of the frame at `depth`, and places its next candidate that passes all checks. Answers what is to be solved
    /// then.
    fn choose(&mut self, depth: usize) -> Choice {
        loop {
            let tried = self.frames[depth].placed;
            if self.undo(depth) || tried.is_some_and(|block| !self.pass_over(block)) {
                return Choice::NoneLeft;
            }
            if self.visited == self.allowed {
                return Choice::NotAllowed;
            }
            self.visited += 1;
            let frame = &mut self.frames[depth];
            let Some(turn) = self.candidates[frame.candidates.clone()].first().copied() else {
                return Choice::NoneLeft;
            };
            let block = self.part_blocks[turn.1 as usize].0;
            frame.candidates.start += 1;
            frame.placed = Some(block);
            frame.mark = Mark {
                offsets: self.offset_log.len(),
                floors: self.floor_log.len(),
                parts: self.parts.len(),
                part_blocks: self.part_blocks.len(),
            };
            let part = frame.part;
            if self.put(depth, block as usize, turn) {
                return Choice::Made(self.goal_after(depth, part, block, turn));
            }
        }
    }

    /// What is to be solved after `block` of a part was placed: the same part, or the first of those it falls into.
    fn goal_after(&mut self, depth: usize, part: usize, block: u32, turn: Turn) -> Goal {
        let parent = Some(depth);
        let range = self.sections.range[block as usize].clone();
        if (range.start..range.end - 1).any(|section| self.crossing[section] == 0) {
            let old = &self.parts[part];
            let (sections, next) = (old.sections.clone(), old.next);
            let waiting = self.part_blocks[old.blocks.clone()].iter().map(|entry| entry.0);
            let blocks: Vec<u32> = waiting.filter(|&block| !self.blocks[block as usize].placed).collect();
            // Ranks are new there, so only the offset of the last turn still counts.
            if let Some(first) = self.make_parts(&blocks, sections, range, next, parent, (turn.0, 0)) {
                return Goal { part: first, turn: (turn.0, 0), parent };
            }
        }
        Goal { part, turn, parent }
    }

    /// Makes parts of some blocks, cutting their sections where no block crosses, at boundaries within `range`. Answers the first part;
    /// they are linked to one another and then to `next`.
    fn make_parts(
        &mut self,
        blocks: &[u32],
        sections: Range<usize>,
        range: Range<usize>,
        next: Option<usize>,
        parent: Option<usize>,
        turn: Turn,
    ) -> Option<usize> {
        let first = self.parts.len();
        let mut begin = sections.start;
        let last_cut = range.end.saturating_sub(1);
        let cuts = (range.start..last_cut).filter(|&section| self.crossing[section] == 0).map(|section| section + 1);
        let ends: Vec<usize> = cuts.chain([sections.end]).collect();
        for end in ends {
            let within = |block: &&u32| (begin..end).contains(&self.sections.range[**block as usize].start);
            let mut mine: Vec<u32> = blocks.iter().filter(within).copied().collect();
            let sections = std::mem::replace(&mut begin, end)..end;
            if mine.is_empty() {
                continue;
            }
            self.ranker.sort(&mut mine, self.sections, &self.total);
            let start = self.part_blocks.len();
            for block in mine {
                let rank = self.part_blocks.len() as u32;
                self.part_blocks.push((block, std::mem::replace(&mut self.blocks[block as usize].rank, rank)));
            }
            self.parts.push(Part { blocks: start..self.part_blocks.len(), sections, next: Some(self.parts.len() + 1), parent, turn });
        }
        if self.parts.len() == first {
            return None;
        }
        let last = self.parts.len() - 1;
        self.parts[last].next = next;
        Some(first)
    }

    /// Places a block, and answers whether all blocks above it still fit.
    fn put(&mut self, depth: usize, block: usize, turn: Turn) -> bool {
        self.blocks[block].placed = true;
        let range = self.sections.range[block].clone();
        for (section, height) in range.clone().zip(self.sections.rounded_heights(block)) {
            self.total[section] -= height;
            self.mark_stale(section, turn.0);
        }
        for section in range.start..range.end - 1 {
            self.crossing[section] -= 1;
        }
        let sections = self.sections;
        let (mut hatless, mut fits) = (true, true);
        for neighbor in &sections.neighbors[block] {
            let other = &mut self.blocks[neighbor.other as usize];
            if other.placed {
                continue;
            }
            hatless = false;
            let least = align_up(turn.0 + neighbor.over, other.alignment);
            let before = other.offset;
            if before < least {
                self.offset_log.push((neighbor.other, before));
                other.offset = least;
                if least > other.ceiling {
                    fits = false;
                    break;
                }
                for section in sections.range[neighbor.other as usize].clone() {
                    self.mark_stale(section, before);
                }
            }
        }
        self.frames[depth].hatless = hatless;
        self.raise_floors(fits, turn)
    }

    /// Takes back what the frame at `depth` placed. Answers true where no other candidate of the frame can do better.
    fn undo(&mut self, depth: usize) -> bool {
        let Some(block) = self.frames[depth].placed.take() else {
            return false;
        };
        let mark = self.frames[depth].mark;
        self.parts.truncate(mark.parts);
        while self.part_blocks.len() > mark.part_blocks {
            if let Some((block, rank)) = self.part_blocks.pop() {
                self.blocks[block as usize].rank = rank;
            }
        }
        while self.offset_log.len() > mark.offsets {
            if let Some((other, before)) = self.offset_log.pop() {
                self.blocks[other as usize].offset = before;
            }
        }
        self.lower_floors(mark.floors);
        let block = block as usize;
        self.blocks[block].placed = false;
        let range = self.sections.range[block].clone();
        for (total, height) in self.total[range.clone()].iter_mut().zip(self.sections.rounded_heights(block)) {
            *total += height;
        }
        for section in range.start..range.end - 1 {
            self.crossing[section] += 1;
        }
        self.frames[depth].hatless
    }

    /// Decides that a block is not placed where it would be now. Answers whether there can be a solution without it there.
    fn pass_over(&mut self, block: u32) -> bool {
        let known = &self.blocks[block as usize];
        let turn = (known.offset, known.rank);
        if known.attainable(turn) > known.ceiling {
            return false;
        }
        for section in self.sections.range[block as usize].clone() {
            self.mark_stale(section, turn.0);
        }
        self.raise_floors(true, turn)
    }

    /// Notes that a block of a section can no longer have `offset`, which matters if the floor was as high.
    fn mark_stale(&mut self, section: usize, offset: u64) {
        if self.floor[section] >= offset && !self.is_stale[section] {
            self.is_stale[section] = true;
            self.stale.push(section as u32);
        }
    }

    /// Finds the floors of stale sections anew, unless the choice is already known to be wrong. Answers whether the blocks yet to come still fit
    /// into each section. They did before, above every offset at which a block is tried (see [`Self::open`]): only a floor that rises can have left
    /// too little room.
    fn raise_floors(&mut self, mut fits: bool, turn: Turn) -> bool {
        while let Some(section) = self.stale.pop() {
            let section = section as usize;
            self.is_stale[section] = false;
            if fits && let Some(floor) = self.higher_floor(section, turn) {
                self.floor_log.push((section as u32, self.floor[section]));
                self.floor[section] = floor;
                fits = floor + self.total[section] <= self.limit[section];
            }
        }
        fits
    }

    /// The floor of a section after a turn, if it is higher than before.
    fn higher_floor(&self, section: usize, turn: Turn) -> Option<u64> {
        let mut least = None;
        for &block in &self.sections.members[section] {
            let block = &self.blocks[block as usize];
            if block.placed {
                continue;
            }
            let attainable = block.attainable(turn);
            if attainable <= self.floor[section] {
                return None;
            }
            least = Some(least.map_or(attainable, |least: u64| least.min(attainable)));
        }
        least
    }

    /// Goes back to the floors of an earlier time.
    fn lower_floors(&mut self, mark: usize) {
        while self.floor_log.len() > mark {
            if let Some((section, before)) = self.floor_log.pop() {
                self.floor[section as usize] = before;
            }
        }
    }
}
