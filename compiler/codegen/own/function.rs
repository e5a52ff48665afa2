//! Functions over virtual registers. Lowering writes them, and the register allocator reads them.

use regalloc2::{RegClass, VReg};

/// A block by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Block(pub u32);

/// An edge to a block.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The target block.
    pub to: Block,
    /// A value for each parameter of the target. Only jumps have arguments, so that no edge must be split later.
    pub arguments: Vec<VReg>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct BlockData<I> {
    /// Block parameters: registers that every edge to the block sets.
    pub params: Vec<VReg>,
    /// Instructions, without the last one.
    pub insts: Vec<I>,
    /// The last instruction, with its edges.
    pub end: Option<(I, Vec<Edge>)>,
    /// `true` for the head of an innermost loop.
    pub hot: bool,
    /// `true` for the head of a counted loop, which is only entered for a round or more.
    pub counted: bool,
}

impl<I> BlockData<I> {
    /// Returns all instructions.
    pub fn all(&self) -> impl Iterator<Item = &I> {
        self.insts.iter().chain(self.end.iter().map(|(inst, _)| inst))
    }

    /// Returns the edges to its successors.
    pub fn edges(&self) -> &[Edge] {
        self.end.as_ref().map_or(&[], |(_, edges)| edges)
    }
}

/// A function over virtual registers.
#[derive(Debug)]
pub struct Function<I> {
    /// Blocks by number.
    pub blocks: Vec<BlockData<I>>,
    /// Blocks in the order of their code; the first is the entry.
    pub order: Vec<Block>,
    /// Number of virtual registers.
    pub registers: usize,
    /// Constants after the code.
    pub pool: Vec<u8>,
    /// Bytes of the kernel's stack arrays.
    pub local_bytes: u32,
    /// Bytes of stack arguments for the functions that it calls. `None` if it calls none.
    pub outgoing: Option<u32>,
    /// `true` if floats are rounded towards zero while it runs.
    pub toward_zero: bool,
}

impl<I> Default for Function<I> {
    fn default() -> Self {
        Self { blocks: vec![], order: vec![], registers: 0, pool: vec![], local_bytes: 0, outgoing: None, toward_zero: false }
    }
}

impl<I> Function<I> {
    /// Makes a new virtual register.
    pub fn register(&mut self, class: RegClass) -> VReg {
        self.registers += 1;
        VReg::new(self.registers - 1, class)
    }

    /// Makes a new block that is not in the order yet.
    pub fn block(&mut self) -> Block {
        self.blocks.push(BlockData { params: vec![], insts: vec![], end: None, hot: false, counted: false });
        Block(self.blocks.len() as u32 - 1)
    }

    /// Returns the data of a block.
    pub fn at(&mut self, block: Block) -> &mut BlockData<I> {
        &mut self.blocks[block.0 as usize]
    }

    /// Returns the data of the block at a position in the order.
    pub fn ordered(&self, place: usize) -> &BlockData<I> {
        &self.blocks[self.order[place].0 as usize]
    }

    /// Returns the position of each block in the order.
    pub fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.blocks.len()];
        for (place, block) in self.order.iter().enumerate() {
            places[block.0 as usize] = place;
        }
        places
    }

    /// Adds a constant after the code, aligned to its size up to 64 bytes. Returns its offset. Equal bytes are shared.
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        let alignment = bytes.len().next_power_of_two().min(64);
        let known = (0..self.pool.len()).step_by(alignment).find(|&at| self.pool[at..].starts_with(bytes));
        let at = known.unwrap_or_else(|| {
            let at = self.pool.len().next_multiple_of(alignment);
            self.pool.resize(at, 0);
            self.pool.extend(bytes);
            at
        });
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_aligned_and_kept_once() {
        let mut function = Function::<()>::default();
        assert_eq!(function.constant(&[1; 4]), 0);
        assert_eq!(function.constant(&[2; 16]), 16);
        assert_eq!(function.constant(&[1; 4]), 0);
        assert_eq!(function.constant(&[2; 8]), 16);
        assert_eq!(function.constant(&[0; 4]), 4);
        assert_eq!(function.pool.len(), 32);
    }
}
