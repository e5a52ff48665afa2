//! Low-overhead loops of Armv8.1-M: LE counts the rounds of an innermost loop in the link register, and jumps back.

use super::even::{EVEN, product};
use super::inst::{Arg, Inst, Op};
use super::lowering::Thumb;
use super::registers::{GENERAL, LR};
use super::rows;
use crate::own::words::{Numbers, Round, exponent, sum};
use crate::own::{BlockData, Function, Instruction};
use regalloc2::{Operand, OperandKind, PReg, VReg};
use rustc_hash::FxHashSet;

/// The most general-purpose registers that a loop may read before it writes them. The others are for its own values. With more, a comparison with a
/// bound on the stack takes fewer instructions than a counter whose register must be the link register.
const MOST_HELD: usize = 13;

/// Lets a loop end by its number of rounds, if the link register is free for them, and if few instructions compute the number. Returns `true` if so.
pub(super) fn count_rounds(function: &mut Function<Inst>, round: &Round, numbers: &Numbers) -> bool {
    let head = &function.blocks[round.head.0 as usize];
    if !head.counted || needs_link(head) || held(head) > MOST_HELD {
        return false;
    }
    let Some(count) = count(function, round, numbers) else { return false };
    let [left, fewer] = [0, 1].map(|_| function.register(GENERAL));
    round.carry(function, left, [count, fewer]);
    let link = PReg::new(LR.into(), GENERAL);
    if let Some((inst, _)) = &mut function.at(round.head).end {
        *inst = Inst::new(Op::CountBranch, &[Arg::FixedDef(fewer, link), Arg::FixedUse(left, link)]);
    }
    true
}

/// Tests whether the instructions of a loop change the link register. Calls do, and so do products of vectors if each even register has a sum.
fn needs_link(data: &BlockData<Inst>) -> bool {
    let sums = data.insts.iter().filter_map(product).filter(|(_, sum)| data.params.contains(sum)).count();
    sums >= EVEN.len() || data.insts.iter().any(|inst| matches!(inst.op, Op::Call(_)))
}

/// Returns the number of general-purpose registers that a loop reads before it writes them.
fn held(data: &BlockData<Inst>) -> usize {
    let mut operands: Vec<Operand> = vec![];
    data.insts.iter().for_each(|inst| inst.operands(&mut operands));
    let of_kind = |kind: OperandKind| operands.iter().filter(move |operand| operand.kind() == kind && operand.class() == GENERAL);
    let own: FxHashSet<VReg> = of_kind(OperandKind::Def).map(|operand| operand.vreg()).collect();
    let read: FxHashSet<VReg> =
        of_kind(OperandKind::Use).map(|operand| operand.vreg()).filter(|register| !own.contains(register)).collect();
    read.len()
}

/// Computes the number of rounds in the block before the loop, which is entered only for one round or more. `None` if that takes a division.
fn count(function: &mut Function<Inst>, round: &Round, numbers: &Numbers) -> Option<VReg> {
    let start = numbers.get(&round.start).copied().ok_or(round.start);
    let bound = round.bound(function, numbers)?;
    if let (Ok(start), Ok(bound)) = (start, bound) {
        let rounds = (bound.wrapping_sub(start) as u32).div_ceil(round.step as u32);
        return Some(constant(function, round, rounds as i32));
    }
    let shift = exponent(round.step.into())?;
    let end = match bound {
        Ok(number) => constant(function, round, number),
        Err(register) => register,
    };
    let (distance, rest) = match start {
        Ok(start) => (end, (round.step - 1).wrapping_sub(start)),
        Err(start) => {
            let difference = |to| Some(Inst::row(&rows::SUB, &[Arg::Def(to), Arg::Use(end), Arg::Use(start)]));
            (before(function, round, difference)?, round.step - 1)
        }
    };
    let distance = if rest == 0 { distance } else { before(function, round, |to| sum::<Thumb>(to, distance, rest))? };
    if shift == 0 {
        return Some(distance);
    }
    before(function, round, |to| Some(Inst::row(&rows::LSR_NUMBER, &[Arg::Def(to), Arg::Use(distance), Arg::Number(shift)])))
}

/// Adds an instruction with one result to the block before a loop.
fn before(function: &mut Function<Inst>, round: &Round, inst: impl FnOnce(VReg) -> Option<Inst>) -> Option<VReg> {
    let to = function.register(GENERAL);
    let inst = inst(to)?;
    function.at(round.before).insts.push(inst);
    Some(to)
}

fn constant(function: &mut Function<Inst>, round: &Round, number: i32) -> VReg {
    let to = function.register(GENERAL);
    function.at(round.before).insts.push(Inst::new(Op::Constant(number), &[Arg::Def(to)]));
    to
}
