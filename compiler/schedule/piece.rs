//! A kernel of a group and its calls: once, for ranges, or for blocks of slices.

use super::interface::Lowered;
use crate::ir::Value;

/// A kernel of a group with the blocks that it computes.
pub struct Piece {
    /// The kernel.
    pub lowered: Lowered,
    /// Number of rounds that ranges divide; see [`crate::kernel::passes::range`]. `None` if the kernel stays whole.
    pub extent: Option<u64>,
    /// Maximum number of ranges that are worth their cost.
    pub most_ranges: u64,
    /// Slices that it computes; `None` if it is called once.
    pub slices: Option<PieceSlices>,
}

/// Slices of a piece: see [`crate::program::Blocks`].
#[derive(Clone)]
pub struct PieceSlices {
    /// Extents whose product is the number of slices.
    pub extents: Vec<Value>,
    /// Maximum number of slices.
    pub most: u64,
    /// Slices of a block.
    pub block: u64,
    /// Block size of the piece before this one, which takes as many whole blocks as possible.
    pub after_blocks_of: Option<u64>,
    /// Bytes from one slice to the next, for each argument.
    pub strides: Vec<u64>,
}

impl PieceSlices {
    /// Returns the number of blocks for the maximum number of slices.
    pub fn most_blocks(&self) -> u64 {
        let before = self.after_blocks_of.map_or(0, |blocks| self.most / blocks.max(1) * blocks);
        (self.most - before) / self.block.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_blocks_take_what_larger_ones_leave() {
        let piece = |block, after_blocks_of| PieceSlices { extents: vec![], most: 127, block, after_blocks_of, strides: vec![] };
        let blocks = [piece(16, None), piece(4, Some(16)), piece(1, Some(4))].map(|piece| piece.most_blocks());
        assert_eq!(blocks, [7, 3, 3]);
    }
}
