//! Packing: greedy first, then the exact search at falling capacities, limited by a number of nodes.

use super::bound;
use super::exact::{Outcome, Search};
use super::greedy;
use super::problem::{Block, Sections};
use super::rank::RANKINGS;
use super::request::Effort;

/// Offsets for a set of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// The offset of each block.
    pub offsets: Vec<u64>,
    /// The highest end of a block.
    pub height: u64,
    /// A proven lower bound of the height; equal to `height` for an optimal packing.
    pub lower_bound: u64,
    /// Nodes the exact search visited.
    pub nodes: u64,
}

/// Packs blocks as low as the effort allows, and stops at a height of `enough` (0 for the lowest). Fixed blocks must not conflict with each
/// other.
///
/// The sum of all heights and alignments must stay below 2^62 bytes, and so must fixed blocks.
pub fn pack(blocks: &[Block], enough: u64, effort: Effort) -> Packing {
    let Some(sections) = Sections::new(blocks) else {
        return rough(blocks);
    };
    let looks = match effort {
        Effort::Trial | Effort::Normal => 1 << 19,
        Effort::Max => 1 << 24,
    };
    let mut best = quick(blocks, &sections, enough, looks);
    let mut nodes = node_limit(effort, blocks.len(), &sections);
    let all = nodes;
    let goal = best.lower_bound.max(enough);
    if best.height <= goal {
        return best;
    }
    let mut attempt = |best: &mut Packing, capacity: u64, share: u64| {
        let mut allowed = share.min(nodes);
        let before = allowed;
        let outcome = take_turns(blocks, &sections, capacity, &mut allowed);
        nodes -= before - allowed;
        best.nodes = all - nodes;
        match outcome {
            Outcome::Found(offsets) => {
                best.height = greedy::height(blocks, &offsets);
                best.offsets = offsets;
                true
            }
            Outcome::Infeasible => {
                best.lower_bound = best.lower_bound.max(capacity + 1);
                false
            }
            Outcome::Stopped => false,
        }
    };
    // Most problems have a packing at the goal. Otherwise bisect: below `low` the search found nothing.
    let mut low = goal;
    if !attempt(&mut best, goal, all / 2) {
        low = goal + 1;
    }
    while low < best.height {
        let capacity = low + (best.height - 1 - low) / 2;
        if !attempt(&mut best, capacity, all / 8) {
            low = capacity + 1;
        }
        if best.nodes >= all {
            break;
        }
    }
    best
}

/// Returns the best of the greedy packings, and the bound. A packing inspects every pair of blocks in conflict, so `looks` limits how many are
/// tried; at least one is.
fn quick(blocks: &[Block], sections: &Sections, enough: u64, looks: usize) -> Packing {
    let lower_bound = bound::of_sections(blocks, sections);
    let (height, offsets) = greedy_below(blocks, sections, lower_bound.max(enough), looks, u64::MAX).unwrap_or_default();
    Packing { offsets, height, lower_bound, nodes: 0 }
}

/// Returns the height of the best greedy packing if it is below `limit`. A height of `enough` ends the search.
pub(super) fn quick_below(blocks: &[Block], sections: &Sections, enough: u64, looks: usize, limit: u64) -> Option<u64> {
    let lower_bound = bound::of_sections(blocks, sections);
    if lower_bound >= limit {
        return None;
    }
    greedy_below(blocks, sections, lower_bound.max(enough), looks, limit).map(|(height, _)| height)
}

/// Returns the best greedy packing below `limit`, with its height. A packing is abandoned as soon as it exceeds the best. A height of `goal`
/// ends the search.
fn greedy_below(blocks: &[Block], sections: &Sections, goal: u64, looks: usize, mut limit: u64) -> Option<(u64, Vec<u64>)> {
    let variants = (looks / sections.pairs().max(1)).max(1);
    let mut best = None;
    for (order, fit) in greedy::VARIANTS.into_iter().take(variants) {
        if let Some(offsets) = greedy::place(blocks, sections, order, fit, limit) {
            limit = greedy::height(blocks, &offsets);
            best = Some((limit, offsets));
            if limit <= goal {
                break;
            }
        }
    }
    best
}

/// Packs a problem that has too many blocks to inspect pairs.
fn rough(blocks: &[Block]) -> Packing {
    let offsets = greedy::place_through_time(blocks);
    Packing { height: greedy::height(blocks, &offsets), lower_bound: bound::of_blocks(blocks), offsets, nodes: 0 }
}

/// Returns the number of nodes that a search may visit. A node costs time in proportion to the blocks and sections it inspects, and to the
/// sections of the blocks it raises. An estimate of this cost divides the effort: dozens of milliseconds at normal effort, dozens of seconds at
/// maximal effort.
fn node_limit(effort: Effort, blocks: usize, sections: &Sections) -> u64 {
    let blocks = blocks.max(1) as u64;
    let raised = sections.pairs() as u64 * sections.entries() as u64 / (blocks * blocks);
    let cost = 32 + blocks + sections.count as u64 + raised;
    match effort {
        Effort::Trial => 0,
        Effort::Normal => 3_000_000 / cost,
        Effort::Max => 5_000_000_000 / cost,
    }
}

/// Searches with each ranking in turn, with more nodes in each round. A suitable ranking often finds a packing after few nodes; an unsuitable
/// one may never. Searches resume in the next round, but each round counts their nodes from the start. So the result does not depend on
/// resuming.
fn take_turns(blocks: &[Block], sections: &Sections, capacity: u64, nodes: &mut u64) -> Outcome {
    let mut searches = RANKINGS.map(|ranking| (ranking, None));
    let mut limit = 2 * blocks.len() as u64 + 8;
    while *nodes > 0 {
        for (ranking, search) in &mut searches {
            let search = search.get_or_insert_with(|| Search::new(blocks, sections, capacity, *ranking));
            let allowed = limit.min(*nodes);
            let outcome = search.run(allowed);
            *nodes -= search.visited().min(allowed);
            if outcome != Outcome::Stopped {
                return outcome;
            }
        }
        limit *= 2;
    }
    Outcome::Stopped
}
