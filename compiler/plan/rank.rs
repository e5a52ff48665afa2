//! Which block the exact search prefers among those of equal offset.

use std::cmp::Reverse;

use super::problem::{Block, Sections};

/// What blocks are sorted by, the greatest first. *Total* is the fullest section that a block lives in, counting blocks not yet placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ranking {
    /// Total, then duration, then area (bytes times time).
    TotalDurationArea,
    /// Total, then area, then duration.
    TotalAreaDuration,
    /// Duration, then area, then total.
    DurationAreaTotal,
    /// End of life, then bytes.
    LateEnd,
    /// Early start of life, then bytes.
    EarlyStart,
}

/// All rankings. None is best for all problems, so they take turns.
pub(super) const RANKINGS: [Ranking; 5] =
    [Ranking::TotalDurationArea, Ranking::TotalAreaDuration, Ranking::DurationAreaTotal, Ranking::EarlyStart, Ranking::LateEnd];

/// Sorts blocks by a [`Ranking`].
pub(super) struct Ranker {
    ranking: Ranking,
    /// Start, end and greatest height of each block.
    shape: Vec<(u64, u64, u64)>,
}

impl Ranker {
    pub fn new(blocks: &[Block], ranking: Ranking) -> Ranker {
        let shape = |block: &Block| (block.life().start, block.life().end, block.height());
        Ranker { ranking, shape: blocks.iter().map(shape).collect() }
    }

    /// Sorts some blocks, given the present total of each section. Equals stand in the order of their numbers.
    pub fn sort(&self, blocks: &mut [u32], sections: &Sections, total: &[u64]) {
        blocks.sort_by_cached_key(|&block| (Reverse(self.key(block as usize, sections, total)), block));
    }

    fn key(&self, block: usize, sections: &Sections, total: &[u64]) -> [u128; 3] {
        let (start, end, height) = self.shape[block];
        let duration = u128::from(end - start);
        let area = duration * u128::from(height);
        let fullest = total[sections.range[block].clone()].iter().max().copied().unwrap_or(0).into();
        match self.ranking {
            Ranking::TotalDurationArea => [fullest, duration, area],
            Ranking::TotalAreaDuration => [fullest, area, duration],
            Ranking::DurationAreaTotal => [duration, area, fullest],
            Ranking::LateEnd => [end.into(), height.into(), duration],
            Ranking::EarlyStart => [(u64::MAX - start).into(), height.into(), duration],
        }
    }
}
