//! Register allocation, by the `regalloc2` crate. No register is reserved for moves, so a loop may use all registers.

use super::error::AssemblyError;
use super::function::Function;
use super::instruction::{Flow, Instruction, InstructionSet};
use regalloc2::{Block, Ctx, InstRange, MachineEnv, Operand, Output, PRegSet, RegClass, RegallocOptions, VReg};
use std::cell::RefCell;

thread_local! {
    /// The allocator's memory, which is reused by the next run.
    static CONTEXT: RefCell<Ctx> = RefCell::default();
}

/// A function in the form that the allocator reads: blocks and instructions are numbered in the order of the code.
pub struct Flat<'a, I> {
    /// The function.
    pub function: &'a Function<I>,
    /// All instructions in order.
    pub insts: Vec<&'a I>,
    ranges: Vec<InstRange>,
    operands: Vec<Operand>,
    operand_ranges: Vec<(u32, u32)>,
    successors: Vec<Vec<Block>>,
    predecessors: Vec<Vec<Block>>,
    slot_words: [usize; 3],
}

impl<'a, I: Instruction> Flat<'a, I> {
    /// Numbers a function's blocks and instructions.
    pub fn new(function: &'a Function<I>, set: &impl InstructionSet<Inst = I>) -> Self {
        let count = function.order.len();
        let places = function.places();
        let mut flat = Self {
            function,
            insts: vec![],
            ranges: vec![],
            operands: vec![],
            operand_ranges: vec![],
            successors: vec![vec![]; count],
            predecessors: vec![vec![]; count],
            slot_words: [RegClass::Int, RegClass::Float, RegClass::Vector].map(|class| set.slot_words(class)),
        };
        for i in 0..count {
            let data = function.ordered(i);
            let first = regalloc2::Inst::new(flat.insts.len());
            for inst in data.all() {
                flat.insts.push(inst);
                let start = flat.operands.len() as u32;
                inst.operands(&mut flat.operands);
                flat.operand_ranges.push((start, flat.operands.len() as u32));
            }
            flat.ranges.push(InstRange::new(first, regalloc2::Inst::new(flat.insts.len())));
            for edge in data.edges() {
                let to = places[edge.to.0 as usize];
                flat.successors[i].push(Block::new(to));
                flat.predecessors[to].push(Block::new(i));
            }
        }
        flat
    }

    /// Allocates registers of a machine.
    ///
    /// # Errors
    /// The allocator's message, if the function breaks its rules.
    pub fn allocate(&self, registers: &MachineEnv) -> Result<Output, AssemblyError> {
        let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..RegallocOptions::default() };
        CONTEXT.with_borrow_mut(|context| {
            regalloc2::run_with_ctx(self, registers, &options, context).map_err(|error| AssemblyError::Allocator(error.to_string()))?;
            Ok(std::mem::take(&mut context.output))
        })
    }
}

impl<I: Instruction> regalloc2::Function for Flat<'_, I> {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.ranges.len()
    }

    fn entry_block(&self) -> Block {
        Block::new(0)
    }

    fn block_insns(&self, block: Block) -> InstRange {
        self.ranges[block.index()]
    }

    fn block_succs(&self, block: Block) -> &[Block] {
        &self.successors[block.index()]
    }

    fn block_preds(&self, block: Block) -> &[Block] {
        &self.predecessors[block.index()]
    }

    fn block_params(&self, block: Block) -> &[VReg] {
        &self.function.ordered(block.index()).params
    }

    fn is_ret(&self, inst: regalloc2::Inst) -> bool {
        self.insts[inst.index()].flow() == Flow::Return
    }

    fn is_branch(&self, inst: regalloc2::Inst) -> bool {
        matches!(self.insts[inst.index()].flow(), Flow::Jump | Flow::Branch)
    }

    fn branch_blockparams(&self, block: Block, _: regalloc2::Inst, successor: usize) -> &[VReg] {
        &self.function.ordered(block.index()).edges()[successor].arguments
    }

    fn inst_operands(&self, inst: regalloc2::Inst) -> &[Operand] {
        let (start, end) = self.operand_ranges[inst.index()];
        &self.operands[start as usize..end as usize]
    }

    fn inst_clobbers(&self, inst: regalloc2::Inst) -> PRegSet {
        self.insts[inst.index()].clobbers()
    }

    fn num_vregs(&self) -> usize {
        self.function.registers
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        self.slot_words[class as usize]
    }
}
