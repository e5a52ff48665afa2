//! A kernel of a group, and what it is called for: once, in parts, or for blocks of slices.

use super::interface::Lowered;
use crate::ir::Value;

/// A kernel of a group with the blocks that it is called for.
pub struct Piece {
    /// The kernel.
    pub lowered: Lowered,
    /// The extent of what it may be cut along; see [`Schedule::extent`].
    pub extent: Option<u64>,
    /// The most parts that are worth it.
    pub most_parts: u64,
    /// None where it is called once.
    pub slices: Option<PieceSlices>,
}

/// See [`crate::program::Slices`].
pub struct PieceSlices {
    /// The extents whose product is the number of slices.
    pub extents: Vec<Value>,
    /// The most slices that there are.
    pub most: u64,
    /// Slices of a block.
    pub block: u64,
    /// Another piece takes the slices before, as far as they fill blocks of this many.
    pub after_blocks_of: Option<u64>,
    /// Bytes from one slice to the next, an argument each.
    pub strides: Vec<u64>,
}

impl PieceSlices {
    /// Blocks that it takes when there are as many slices as there can be.
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
