//! Registers for virtual registers, by the `regalloc2` crate. No register is kept back for moves: a loop may use all there are.

use super::machine_ir::{Arg, Base, Function, GENERAL, Inst, MASK, Op, VECTOR};
use regalloc2::{
    Block, InstRange, MachineEnv, Operand, OperandConstraint, OperandKind, OperandPos, Output, PReg, PRegSet, RegClass, RegallocOptions,
    VReg,
};

/// Which registers a machine and a calling convention leave.
pub(super) struct Registers {
    /// Vector registers.
    pub vectors: usize,
    /// Bytes of one.
    pub vector_bytes: u32,
}

/// Registers that a function of the System V convention may change.
const VOLATILE: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
/// Registers that it must save. rbp is the frame's.
const SAVED: [usize; 5] = [3, 12, 13, 14, 15];

/// A function as the allocator sees it: blocks and instructions numbered in the order of the code.
pub(super) struct Flat<'a> {
    /// The function.
    pub function: &'a Function,
    /// All instructions in order.
    pub insts: Vec<&'a Inst>,
    ranges: Vec<InstRange>,
    operands: Vec<Operand>,
    operand_ranges: Vec<(u32, u32)>,
    successors: Vec<Vec<Block>>,
    predecessors: Vec<Vec<Block>>,
    vector_slots: usize,
}

impl<'a> Flat<'a> {
    /// Numbers a function's blocks and instructions.
    pub fn new(function: &'a Function, registers: &Registers) -> Self {
        let count = function.order.len();
        let mut position = vec![0; function.blocks.len()];
        for (i, block) in function.order.iter().enumerate() {
            position[block.0 as usize] = i;
        }
        let mut flat = Self {
            function,
            insts: vec![],
            ranges: vec![],
            operands: vec![],
            operand_ranges: vec![],
            successors: vec![vec![]; count],
            predecessors: vec![vec![]; count],
            vector_slots: registers.vector_bytes as usize / 8,
        };
        for (i, block) in function.order.iter().enumerate() {
            let data = &function.blocks[block.0 as usize];
            let first = regalloc2::Inst::new(flat.insts.len());
            for inst in data.insts.iter().chain(data.end.iter().map(|(inst, _)| inst)) {
                flat.insts.push(inst);
                let start = flat.operands.len() as u32;
                push_operands(inst, &mut flat.operands);
                flat.operand_ranges.push((start, flat.operands.len() as u32));
            }
            flat.ranges.push(InstRange::new(first, regalloc2::Inst::new(flat.insts.len())));
            for edge in data.end.iter().flat_map(|(_, edges)| edges) {
                let to = position[edge.to.0 as usize];
                flat.successors[i].push(Block::new(to));
                flat.predecessors[to].push(Block::new(i));
            }
        }
        flat
    }

    /// Allocates.
    ///
    /// # Errors
    /// With the allocator's sentence: the function breaks its rules.
    pub fn allocate(&self, registers: &Registers) -> Result<Output, String> {
        let set = |class: RegClass, numbers: &[usize]| PRegSet::from_iter(numbers.iter().map(|&n| PReg::new(n, class)));
        let vectors: Vec<usize> = (0..registers.vectors).collect();
        let environment = MachineEnv {
            preferred_regs_by_class: [set(GENERAL, &VOLATILE), set(VECTOR, &vectors), set(MASK, &[1, 2, 3, 4, 5, 6, 7])],
            non_preferred_regs_by_class: [set(GENERAL, &SAVED), PRegSet::empty(), PRegSet::empty()],
            scratch_by_class: [None; 3],
            fixed_stack_slots: vec![],
        };
        let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..RegallocOptions::default() };
        regalloc2::run(self, &environment, &options).map_err(|error| format!("register allocation: {error}"))
    }
}

/// The registers of an instruction in the order of its operands; of memory, base and index.
fn push_operands(inst: &Inst, operands: &mut Vec<Operand>) {
    let start = operands.len();
    let tied = inst.args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
    for (i, arg) in inst.args.iter().enumerate() {
        match *arg {
            // The tied operand stands right behind the definition.
            Arg::Def(v) if tied == Some(i + 1) => operands.push(Operand::reg_reuse_def(v, operands.len() + 1 - start)),
            Arg::Def(v) => operands.push(Operand::reg_def(v)),
            Arg::Use(v) | Arg::Tied(v) | Arg::Masked(v) => operands.push(Operand::reg_use(v)),
            Arg::FixedDef(v, p) => operands.push(Operand::reg_fixed_def(v, p)),
            Arg::FixedTemp(v, p) => {
                operands.push(Operand::new(v, OperandConstraint::FixedReg(p), OperandKind::Def, OperandPos::Early));
            }
            Arg::FixedUse(v, p) => operands.push(Operand::reg_fixed_use(v, p)),
            Arg::Memory(address) => {
                if let Base::Register(v) = address.base {
                    operands.push(Operand::reg_use(v));
                }
                operands.extend(address.index.map(|(v, _)| Operand::reg_use(v)));
            }
            Arg::Immediate(_) => {}
        }
    }
}

impl regalloc2::Function for Flat<'_> {
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
        &self.function.blocks[self.function.order[block.index()].0 as usize].params
    }

    fn is_ret(&self, inst: regalloc2::Inst) -> bool {
        matches!(self.insts[inst.index()].op, Op::Return(_))
    }

    fn is_branch(&self, inst: regalloc2::Inst) -> bool {
        self.insts[inst.index()].op.is_branch()
    }

    fn branch_blockparams(&self, block: Block, _: regalloc2::Inst, successor: usize) -> &[VReg] {
        let data = &self.function.blocks[self.function.order[block.index()].0 as usize];
        data.end.as_ref().map_or(&[], |(_, edges)| &edges[successor].arguments)
    }

    fn inst_operands(&self, inst: regalloc2::Inst) -> &[Operand] {
        let (start, end) = self.operand_ranges[inst.index()];
        &self.operands[start as usize..end as usize]
    }

    fn inst_clobbers(&self, _: regalloc2::Inst) -> PRegSet {
        PRegSet::empty()
    }

    fn num_vregs(&self) -> usize {
        self.function.registers
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        if class == VECTOR { self.vector_slots } else { 1 }
    }
}
