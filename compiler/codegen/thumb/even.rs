//! A pass after lowering that gives sums of vector products their registers. The encoding has only registers with even numbers.

use super::inst::{Arg, Inst, Op};
use super::registers::{GENERAL, LR};
use super::rows;
use crate::own::{BlockData, Function, count_uses};
use regalloc2::{PReg, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// Registers with even numbers, the cheapest first. The link register is free once the return address is saved.
pub(super) const EVEN: [u8; 8] = [0, 2, 4, 6, 8, 10, 12, LR];

/// Sums that become each other, by products or by edges, form a chain. All of a chain is in one register if possible.
#[derive(Default)]
struct Chains {
    parents: FxHashMap<VReg, VReg>,
}

impl Chains {
    /// Returns the first sum of a chain.
    fn first(&self, mut sum: VReg) -> VReg {
        while let Some(&parent) = self.parents.get(&sum) {
            sum = parent;
        }
        sum
    }

    fn join(&mut self, a: VReg, b: VReg) {
        let (a, b) = (self.first(a), self.first(b));
        if a != b {
            self.parents.insert(b, a);
        }
    }
}

/// Returns the result and the sum of a product of vectors.
pub(super) fn product(inst: &Inst) -> Option<(VReg, VReg)> {
    match (inst.op, &inst.args[..]) {
        (Op::Row(row), &[Arg::Def(to), Arg::Tied(sum), ..]) if row == &rows::VMLADAVA => Some((to, sum)),
        _ => None,
    }
}

/// Fixes the registers of sums of vector products. Chains that meet in a block get different registers while there are any.
pub(super) fn even_sums(function: &mut Function<Inst>) {
    let chains = chains(function);
    let mut registers: FxHashMap<VReg, u8> = FxHashMap::default();
    for block in function.order.clone() {
        let data = function.at(block);
        let here: Vec<VReg> = data.insts.iter().filter_map(product).map(|(to, _)| chains.first(to)).collect();
        let mut taken: FxHashSet<u8> = here.iter().filter_map(|chain| registers.get(chain).copied()).collect();
        taken.extend(counts_rounds(data).then_some(LR));
        for (number, chain) in here.iter().enumerate() {
            let free = || EVEN.into_iter().find(|register| !taken.contains(register)).unwrap_or(EVEN[number % EVEN.len()]);
            let register = *registers.entry(*chain).or_insert_with(free);
            taken.insert(register);
        }
        for inst in &mut data.insts {
            if let Some((to, sum)) = product(inst)
                && let Some(&register) = registers.get(&chains.first(to))
            {
                let fixed = PReg::new(register.into(), GENERAL);
                inst.args[..2].copy_from_slice(&[Arg::FixedDef(to, fixed), Arg::FixedUse(sum, fixed)]);
            }
        }
    }
}

/// Tests whether the link register counts the rounds of a block.
fn counts_rounds(data: &BlockData<Inst>) -> bool {
    data.end.as_ref().is_some_and(|(inst, _)| inst.op == Op::CountBranch)
}

/// Joins the sums of products, and those that edges pass to a block's parameters. A value that begins several sums joins none of them.
fn chains(function: &Function<Inst>) -> Chains {
    let mut chains = Chains::default();
    let mut sums: FxHashSet<VReg> = FxHashSet::default();
    let params: FxHashSet<VReg> = function.blocks.iter().flat_map(|block| block.params.iter().copied()).collect();
    let results: FxHashSet<VReg> = function.blocks.iter().flat_map(|block| &block.insts).filter_map(product).map(|(to, _)| to).collect();
    let uses = count_uses(function);
    for (to, sum) in function.blocks.iter().flat_map(|block| &block.insts).filter_map(product) {
        if uses[sum.vreg()] == 1 || params.contains(&sum) || results.contains(&sum) {
            chains.join(sum, to);
        }
        sums.extend([to, sum]);
    }
    for edge in function.blocks.iter().flat_map(|block| block.edges()) {
        for (&argument, &param) in edge.arguments.iter().zip(&function.blocks[edge.to.0 as usize].params) {
            let is_own = results.contains(&argument) || params.contains(&argument);
            if is_own && (sums.contains(&argument) || sums.contains(&param)) {
                chains.join(argument, param);
            }
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;
    use regalloc2::RegClass;

    #[test]
    fn sums_that_one_value_begins_have_different_registers() {
        let (v, q) = (|n| VReg::new(n, RegClass::Int), Arg::Use(VReg::new(0, RegClass::Vector)));
        let product = |to, sum| Inst { op: Op::Row(&rows::VMLADAVA), args: vec![Arg::Def(v(to)), Arg::Tied(v(sum)), q, q] };
        let mut function = Function { registers: 20, ..Function::default() };
        let block = function.block();
        function.order.push(block);
        function.at(block).insts = vec![product(5, 2), product(6, 2), product(7, 5), product(8, 6), product(9, 3)];
        even_sums(&mut function);
        let fixed = |inst: &Inst| if let Arg::FixedDef(_, to) = inst.args[0] { Some(to.hw_enc()) } else { None };
        let found: Vec<_> = function.at(block).insts.iter().map(fixed).collect();
        assert_eq!(found, [Some(0), Some(2), Some(0), Some(2), Some(4)]);
    }

    #[test]
    fn sums_of_a_block_have_different_even_registers_along_their_chains() {
        let v = |n| VReg::new(n, RegClass::Int);
        let q = |n| Arg::Use(VReg::new(n, RegClass::Vector));
        let product = |to, sum| Inst { op: Op::Row(&rows::VMLADAVA), args: vec![Arg::Def(v(to)), Arg::Tied(v(sum)), q(0), q(1)] };
        let mut function = Function { registers: 20, ..Function::default() };
        let block = function.block();
        function.order.push(block);
        function.at(block).insts = vec![product(5, 2), product(6, 3), product(7, 5), product(8, 6)];
        even_sums(&mut function);
        let fixed = |inst: &Inst| match inst.args[..2] {
            [Arg::FixedDef(_, to), Arg::FixedUse(_, from)] if to == from => to.hw_enc(),
            _ => panic!("{inst:?}"),
        };
        assert_eq!(function.at(block).insts.iter().map(fixed).collect::<Vec<_>>(), [0, 2, 0, 2]);
    }
}
