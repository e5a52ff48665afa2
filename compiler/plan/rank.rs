//! Order in which the exact search tries blocks of equal offset.

use std::cmp::Reverse;

use super::problem::{Block, Sections};

/// A sort key of blocks, the greatest first. *Total* is the fullest section of a block's live range, counting unplaced blocks only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ranking {
    /// Total, then duration, then area (bytes times time).
    TotalDurationArea,
    /// Total, then area, then duration.
    TotalAreaDuration,
    /// Duration, then area, then total.
    DurationAreaTotal,
    /// End of the live range, then bytes.
    LateEnd,
    /// Start of the live range, the earliest first, then bytes.
    EarlyStart,
}

/// All rankings. None is best for all problems, so searches with different rankings take turns.
pub(super) const RANKINGS: [Ranking; 5] =
    [Ranking::TotalDurationArea, Ranking::TotalAreaDuration, Ranking::DurationAreaTotal, Ranking::EarlyStart, Ranking::LateEnd];

/// Sorts blocks by a [`Ranking`]. The fixed part of the key is computed once, and becomes one number a block.
pub(super) struct Ranker {
    ranking: Ranking,
    /// Position of each block by the fixed part of the key, with ties in order of block numbers. The second number is the position of the first equal
    /// block.
    place: Vec<(u32, u32)>,
}

impl Ranker {
    pub fn new(blocks: &[Block], ranking: Ranking) -> Ranker {
        let keys: Vec<[u128; 3]> = blocks.iter().map(|block| unchanging(block, ranking)).collect();
        let mut order: Vec<u32> = (0..blocks.len() as u32).collect();
        order.sort_by_key(|&block| Reverse(keys[block as usize]));
        let mut place = vec![(0, 0); blocks.len()];
        let mut first = 0;
        for (index, &block) in order.iter().enumerate() {
            if keys[block as usize] != keys[order[first] as usize] {
                first = index;
            }
            place[block as usize] = (index as u32, first as u32);
        }
        Ranker { ranking, place }
    }

    /// Sorts some blocks, given the present total of each section. Ties are in order of block numbers.
    pub fn sort(&self, blocks: &mut [u32], sections: &Sections, total: &[u64]) {
        let fullest = |block: u32| Reverse(total[sections.range[block as usize].clone()].iter().max().copied().unwrap_or(0));
        let place = |block: u32| self.place[block as usize];
        match self.ranking {
            Ranking::TotalDurationArea | Ranking::TotalAreaDuration => {
                blocks.sort_by_cached_key(|&block| (fullest(block), place(block).0));
            }
            Ranking::DurationAreaTotal => blocks.sort_by_cached_key(|&block| (place(block).1, fullest(block), block)),
            Ranking::LateEnd | Ranking::EarlyStart => blocks.sort_unstable_by_key(|&block| place(block).0),
        }
    }
}

/// Returns the parts of a ranking's key that do not depend on the totals.
fn unchanging(block: &Block, ranking: Ranking) -> [u128; 3] {
    let (life, height) = (block.life(), block.height());
    let duration = u128::from(life.end - life.start);
    let area = duration * u128::from(height);
    match ranking {
        Ranking::TotalDurationArea | Ranking::DurationAreaTotal => [duration, area, 0],
        Ranking::TotalAreaDuration => [area, duration, 0],
        Ranking::LateEnd => [life.end.into(), height.into(), duration],
        Ranking::EarlyStart => [(u64::MAX - life.start).into(), height.into(), duration],
    }
}
