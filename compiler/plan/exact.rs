//! The exact search: a search for a packing within a capacity.
//!
//! Depth-first search over the order in which blocks are placed, each as low as the placed blocks allow. Any packing can be pushed down until
//! every block rests on another one or on the floor. So it is enough to try such packings. Most techniques are published with MiniMalloc
//! (Moffitt, ASPLOS 2023):
//!
//! - *canonical order*: blocks are placed in order of (offset, rank), so that one packing is not built in several orders. All remaining blocks
//!   therefore lie at or above the last offset.
//! - *sections*: in every section, the floor plus the heights of the remaining blocks must not exceed the capacity. The floor is the least
//!   offset that a remaining block can still have.
//! - *passed over*: a block that was not placed in its turn must wait until another block is placed under it, which raises its least offset.
//! - *dominance*: a block is not placed if another one fits underneath.
//! - *nothing overhead*: suppose that no remaining block conflicts with the last one, and the rest has no solution. Then no other choice here
//!   has a solution.
//! - *decomposition*: if no remaining block crosses the boundary between two sections, the two sides become separate problems, ranked anew.
//!
//! A node is one placed block. The search keeps its own stack, counts nodes, and depends on nothing but its input.

use std::ops::Range;

use super::problem::{Block, Sections, align_up};
use super::rank::{Ranker, Ranking};

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A packing: the offset of each block.
    Found(Vec<u64>),
    /// Proof that no packing exists.
    Infeasible,
    /// No result within the allowed nodes.
    Stopped,
}

/// Progress within a part: the last offset, and the rank of the block placed there. Blocks with a lower or equal (offset, rank) had their turn.
type Turn = (u64, u32);

/// The turn before all others.
const NO_TURN: Turn = (0, 0);

/// An independent part of the problem: some sections, and their blocks that were unplaced when the part was made.
struct Part {
    /// Range of its blocks in `Search::part_blocks`, by rank.
    blocks: Range<usize>,
    /// Its sections.
    sections: Range<usize>,
    /// The part to be solved after this one.
    next: Option<usize>,
    /// The frame whose choice made this part: if the part has no solution, that choice was wrong.
    parent: Option<usize>,
    /// The turn at which the part was made.
    turn: Turn,
}

/// One choice: the next block of a part.
struct Frame {
    part: usize,
    /// The candidates not yet tried, in `Search::candidates`.
    candidates: Range<usize>,
    /// The block placed now.
    placed: Option<u32>,
    /// `true` if that block has nothing overhead.
    hatless: bool,
    /// The state of the logs before that block was placed.
    mark: Mark,
    /// The length of the log of floors when the frame was opened.
    floors: usize,
    /// The frame to return to when no candidate is left.
    parent: Option<usize>,
}

/// The rest of the problem: a part from a turn on, and the frame whose choice is wrong if there is no solution.
struct Goal {
    part: usize,
    turn: Turn,
    parent: Option<usize>,
}

/// Result of the choice of a frame.
enum Choice {
    /// A block is placed; this goal remains.
    Made(Goal),
    /// No candidate is left.
    NoneLeft,
    /// Limit of nodes reached.
    NotAllowed,
}

/// Lengths of the logs, to restore a state.
#[derive(Clone, Copy, Default)]
struct Mark {
    offsets: usize,
    floors: usize,
    parts: usize,
    part_blocks: usize,
}

/// State of a block.
struct Known {
    /// The lowest offset above all placed blocks in conflict; its own offset once placed.
    offset: u64,
    /// The highest possible offset.
    ceiling: u64,
    /// The greatest height.
    height: u64,
    alignment: u64,
    /// The least distance to a block under it.
    lift: u64,
    /// Position in `Search::part_blocks`, in the innermost part that holds the block.
    rank: u32,
    placed: bool,
}

impl Known {
    /// Returns the least possible offset after a turn. A block that was passed over waits until another one is placed under it, at the offset
    /// of that turn or above.
    fn attainable(&self, turn: Turn) -> u64 {
        if (self.offset, self.rank) > turn { self.offset } else { align_up(turn.0 + self.lift, self.alignment) }
    }
}

/// A search that can stop and resume.
pub(super) struct Search<'a> {
    sections: &'a Sections,
    ranker: Ranker,
    blocks: Vec<Known>,
    /// Least offset of a remaining block in each section.
    floor: Vec<u64>,
    /// Sum of the heights of remaining blocks in each section, each rounded up to the section's unit.
    total: Vec<u64>,
    /// Limit of floor plus total in each section: the capacity, plus the padding that rounding may have added to the uppermost block.
    limit: Vec<u64>,
    /// Number of remaining blocks that are live both in each section and in the next one.
    crossing: Vec<u32>,
    /// Sections whose floor must be recomputed; `is_stale` marks them.
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
    /// Number of nodes allowed, and number of nodes visited.
    allowed: u64,
    visited: u64,
    /// Position at which a stopped search resumes.
    stands: Stands,
}

/// Position at which a search resumes.
enum Stands {
    /// Before the first choice.
    AtStart,
    /// The uppermost frame chooses next.
    Choosing,
    /// The uppermost frame has no choice left.
    Closing,
}

impl<'a> Search<'a> {
    /// Makes a search for a packing of height at most `capacity`.
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

    /// Resumes until `nodes` have been visited since the search began. The outcome equals that of a new search with this limit.
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
                // The part is solved: continue with the next one.
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

    /// Returns the first goal, or the outcome if the search ends before it begins.
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

    /// Returns the number of nodes visited.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// Pushes a frame with the candidates of a part. Returns `false` if the part has no block left.
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
        // Dominance: a block that starts at or above the top of another one leaves room for that one below. All remaining blocks, with the
        // candidate, will lie at or above the candidate's offset. So each section must have room for its blocks there.
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

    /// Drops the uppermost frame and all others above its parent, and undoes their placements.
    fn close(&mut self) {
        let keep = self.frames.last().and_then(|frame| frame.parent).map_or(0, |parent| parent + 1);
        while self.frames.len() > keep {
            self.undo(self.frames.len() - 1);
            if let Some(frame) = self.frames.pop() {
                self.lower_floors(frame.floors);
            }
            // The candidates of a frame stand after the candidates of the frames below it.
            self.candidates.truncate(self.frames.last().map_or(0, |below| below.candidates.end));
        }
    }

    /// Undoes the choice of the frame at `depth`, and places its next candidate that passes all checks. Returns the goal after it.
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

    /// Returns the goal after `block` was placed: the same part, or the first of the parts into which it splits.
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

    /// Makes parts of some blocks by cutting their sections where no block crosses, at boundaries within `range`. Returns the first part. The
    /// parts are linked to each other and then to `next`.
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

    /// Places a block. Returns `true` if all blocks above it still fit.
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

    /// Undoes the placement of the frame at `depth`. Returns `true` if no other candidate of the frame can do better.
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

    /// Passes a block over at its present offset. Returns `true` if there can still be a solution.
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

    /// Marks a section as stale if its floor was at least `offset`, which a block of it can no longer have.
    fn mark_stale(&mut self, section: usize, offset: u64) {
        if self.floor[section] >= offset && !self.is_stale[section] {
            self.is_stale[section] = true;
            self.stale.push(section as u32);
        }
    }

    /// Recomputes the floors of stale sections, unless the choice is already known to be wrong. Returns `true` if the remaining blocks still
    /// fit into each section. They did before, above every tried offset (see [`Self::open`]), so only a floor that rises can leave too little
    /// room.
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

    /// Returns the floor of a section after a turn, if it is higher than before.
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

    /// Restores the floors of an earlier time.
    fn lower_floors(&mut self, mark: usize) {
        while self.floor_log.len() > mark {
            if let Some((section, before)) = self.floor_log.pop() {
                self.floor[section as usize] = before;
            }
        }
    }
}
