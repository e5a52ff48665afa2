//! Innermost loops of one block, and changes of their counters.

use super::encode::Flags;
use super::inst::{Arg, Inst, Op};
use super::ops::sum_with;
use super::registers::GENERAL;
use super::rows;
use crate::codegen::own::{Address, Block, Function};
use regalloc2::VReg;

/// An innermost loop of one block that counts to a bound.
pub(super) struct Round {
    /// The block of the loop.
    pub head: Block,
    /// The block that enters it.
    pub before: Block,
    /// The block that jumps back.
    pub latch: Block,
    /// The counter.
    pub counter: VReg,
    /// The counter of the next round.
    pub next: VReg,
    /// The initial counter.
    pub start: VReg,
    /// The constant that each round adds to the counter.
    pub step: i32,
}

/// Returns the result, operand and constant of a sum of a register and a constant.
pub(super) fn sum_of(inst: &Inst) -> Option<(VReg, VReg, i32)> {
    let (Op::Row(row), &[Arg::Def(to), Arg::Use(from), Arg::Number(number)]) = (inst.op, &inst.args[..]) else { return None };
    let is = |rows: [&rows::Row; 2]| rows.contains(&row);
    match row {
        _ if is([&rows::ADD_TWELVE, &rows::ADD_NUMBER]) => Some((to, from, number)),
        _ if is([&rows::SUB_TWELVE, &rows::SUB_NUMBER]) => Some((to, from, number.wrapping_neg())),
        _ => None,
    }
}

/// Makes the sum of a register and a constant. `None` if no instruction adds the constant.
pub(super) fn sum(to: VReg, from: VReg, number: i32) -> Option<Inst> {
    let (row, number) = sum_with(number)?;
    Some(Inst { op: Op::Row(row), args: vec![Arg::Def(to), Arg::Use(from), Arg::Number(number)] })
}

impl Round {
    /// Returns the loop of a block, if it has this form.
    pub fn of(function: &Function<Inst>, head: Block) -> Option<Self> {
        let data = |block: Block| &function.blocks[block.0 as usize];
        let (Inst { op: Op::CompareBranch(Flags::Less), args }, edges) = data(head).end.as_ref()? else { return None };
        let (&counter, &Arg::Use(next)) = (data(head).params.first()?, args.first()?) else { return None };
        let latch = edges.first()?.to;
        let [back] = data(latch).edges() else { return None };
        if !data(head).hot || !data(latch).insts.is_empty() || back.to != head || back.arguments.first() != Some(&next) {
            return None;
        }
        let (_, _, step) = data(head).insts.iter().filter_map(sum_of).find(|sum| (sum.0, sum.1) == (next, counter))?;
        let enters = |block: &&Block| **block != latch && data(**block).edges().iter().any(|edge| edge.to == head);
        let mut entries = function.order.iter().filter(enters);
        let (&before, None) = (entries.next()?, entries.next()) else { return None };
        let [entry] = data(before).edges() else { return None };
        let &start = entry.arguments.first()?;
        (step > 0).then_some(Self { head, before, latch, counter, next, start, step })
    }

    /// Adds a carried register to the loop, with its initial and its next value.
    pub fn carry(&self, function: &mut Function<Inst>, register: VReg, [first, next]: [VReg; 2]) {
        function.at(self.head).params.push(register);
        for (block, argument) in [(self.before, first), (self.latch, next)] {
            if let Some((_, edges)) = &mut function.at(block).end {
                edges.iter_mut().for_each(|edge| edge.arguments.push(argument));
            }
        }
    }

    /// Computes `base + number × factor` in the block before the loop. The number is a constant or in a register.
    pub fn before(&self, function: &mut Function<Inst>, base: Address, factor: i32, number: Result<i32, VReg>) -> Option<VReg> {
        let address = match number {
            Ok(number) => base.far(i64::from(number) * i64::from(factor))?,
            Err(register) => match base.indexed(register, factor.into()) {
                Some(address @ Address { index: Some((_, 0..4)), .. }) => address,
                _ => base.indexed(self.product_before(function, register, factor), 1)?,
            },
        };
        let to = function.register(GENERAL);
        function.at(self.before).insts.push(Inst { op: Op::LoadAddress, args: vec![Arg::Def(to), Arg::Memory(address)] });
        Some(to)
    }

    /// Computes the product of a register and a constant in the block before the loop.
    fn product_before(&self, function: &mut Function<Inst>, register: VReg, factor: i32) -> VReg {
        let [number, product] = [0, 1].map(|_| function.register(GENERAL));
        let insts = &mut function.at(self.before).insts;
        insts.push(Inst { op: Op::Constant(factor), args: vec![Arg::Def(number)] });
        insts.push(Inst { op: Op::Row(&rows::MUL), args: vec![Arg::Def(product), Arg::Use(register), Arg::Use(number)] });
        product
    }

    /// Ends the loop by a comparison of a pointer, and removes the counter. The pointer is `base` plus a multiple of the counter. Only the counter's own sum and
    /// its comparison may use the counter.
    pub fn end_by(&self, function: &mut Function<Inst>, next: VReg, base: Address, factor: i32) {
        let bound = match &function.at(self.head).end {
            Some((Inst { args, .. }, _)) => match args[..] {
                [_, Arg::Number(number)] => Ok(number),
                [_, Arg::Use(register)] => Err(register),
                _ => return,
            },
            None => return,
        };
        let Some(end) = self.before(function, base, factor, bound) else { return };
        if let Some((inst, _)) = &mut function.at(self.head).end {
            *inst = Inst { op: Op::CompareBranch(Flags::Below), args: vec![Arg::Use(next), Arg::Use(end)] };
        }
        let head = function.at(self.head);
        head.params.remove(0);
        head.insts.retain(|inst| sum_of(inst).is_none_or(|sum| sum.0 != self.next));
        for block in [self.before, self.latch] {
            if let Some((_, edges)) = &mut function.at(block).end {
                edges.iter_mut().for_each(|edge| _ = edge.arguments.remove(0));
            }
        }
    }
}
