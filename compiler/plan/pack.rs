//! The least packing that can be found: greedy first, then the exact search at falling capacities, within a number of nodes.

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
    /// A height below which there is no packing of these blocks. Equal to `height` where the packing is proved to be the least.
    pub lower_bound: u64,
    /// Nodes the exact search visited.
    pub nodes: u64,
}

/// Packs blocks as low as the effort allows, and stops once the height is `enough` (0 for the least that can be found). Fixed blocks are
/// taken to be free of conflicts among themselves.
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
    // Most problems have a packing at the goal itself. After that, halve the gap: below `low` the search has found nothing.
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

/// The best of the greedy packings, and the bound. A packing looks at every pair of blocks in conflict, so `looks` says how many are
/// tried; one at least.
fn quick(blocks: &[Block], sections: &Sections, enough: u64, looks: usize) -> Packing {
    let lower_bound = bound::of_sections(blocks, sections);
    let (height, offsets) = greedy_below(blocks, sections, lower_bound.max(enough), looks, u64::MAX).unwrap_or_default();
    Packing { offsets, height, lower_bound, nodes: 0 }
}

/// The height of the best of the greedy packings, where it is below `limit`; `enough` is below that.
pub(super) fn quick_below(blocks: &[Block], sections: &Sections, enough: u64, looks: usize, limit: u64) -> Option<u64> {
    let lower_bound = bound::of_sections(blocks, sections);
    if lower_bound >= limit {
        return None;
    }
    greedy_below(blocks, sections, lower_bound.max(enough), looks, limit).map(|(height, _)| height)
}

/// The best of the greedy packings whose height is below `limit`, and that height. A packing is given up as soon as it is not the best, and
/// none is tried after one of height `goal`.
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

/// The packing for problems too large to look at pairs of blocks.
fn rough(blocks: &[Block]) -> Packing {
    let offsets = greedy::place_through_time(blocks);
    Packing { height: greedy::height(blocks, &offsets), lower_bound: bound::of_blocks(blocks), offsets, nodes: 0 }
}

/// How many nodes a search may visit. A node takes time in proportion to the blocks and sections it looks over, and to the sections of
/// the blocks it raises, so an estimate of those divides the allowance, which is some tens of milliseconds at normal effort, and tens of
/// seconds at maximal effort.
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

/// Searches with each ranking in turn, in rounds of ever more nodes: a ranking that suits the problem often finds a packing after few
/// nodes, and one that does not suit it may never. Each round counts all nodes of its searches, as if they began anew, though they go on where
/// they were: what is found does not depend on that.
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
