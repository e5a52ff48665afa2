//! A pass after lowering that joins accesses to neighbouring words: LDRD and STRD.

use super::access::float_reaches;
use super::inst::{Arg, Inst, Op, Own};
use crate::own::{Address, Function};

/// Joins pairs of loads and pairs of stores of neighbouring words at multiples of four bytes.
pub(super) fn pair_words(function: &mut Function<Inst>) {
    for data in &mut function.blocks {
        let mut at = 0;
        while at < data.insts.len() {
            if let Some((other, inst)) = paired(&data.insts, at) {
                // Loads are joined at the first one, stores at the last one.
                let (kept, gone) = if inst.op == Op::Own(Own::LoadPair) { (at, other) } else { (other, at) };
                data.insts[kept] = inst;
                data.insts.remove(gone);
            }
            at += 1;
        }
    }
}

/// Finds the next instruction that can be joined with the one at `at`. Returns its position and the joint instruction.
fn paired(insts: &[Inst], at: usize) -> Option<(usize, Inst)> {
    let one = &insts[at];
    let (op, only) = match one.op {
        Op::Own(Own::LoadWord) => (Op::Own(Own::LoadPair), Op::Own(Own::LoadWord)),
        Op::Own(Own::StoreWord) => (Op::Own(Own::StorePair), Op::Own(Own::StoreWord)),
        _ => return None,
    };
    let near = one.accessed()?;
    for (other, inst) in insts.iter().enumerate().skip(at + 1) {
        if inst.op == only
            && let Some(first) = first_of(near, inst.accessed()?)
        {
            let [low, high] = if first == *near { [one, inst] } else { [inst, one] };
            let register = |inst: &Inst| inst.args.iter().copied().find(|arg| matches!(arg, Arg::Def(_) | Arg::Use(_)));
            let (low, high) = (register(low)?, register(high)?);
            // A register cannot be loaded twice.
            let args = match op {
                Op::Own(Own::LoadPair) => vec![low, high, Arg::Memory(first)],
                _ => vec![Arg::Memory(first), low, high],
            };
            return Some((other, Inst { op, args }));
        }
        // Other accesses to memory keep their order.
        let is_in_the_way = match op {
            Op::Own(Own::LoadPair) => !is_free(inst) && !is_load(inst),
            _ => !is_free(inst),
        };
        if is_in_the_way {
            return None;
        }
    }
    None
}

/// Tests whether an instruction accesses no memory.
fn is_free(inst: &Inst) -> bool {
    inst.accessed().is_none() && !matches!(inst.op, Op::Call(_) | Op::Own(Own::Step(..)) | Op::Pass(_))
}

fn is_load(inst: &Inst) -> bool {
    matches!(inst.op, Op::Own(Own::Load(..) | Own::LoadWord | Own::LoadPair | Own::LoadFloat | Own::LoadDouble))
}

/// Returns the lower address of two neighbouring words. `None` if they are not neighbours, or if a joint access cannot have the displacement.
fn first_of(a: &Address, b: &Address) -> Option<Address> {
    let first = if a.displacement < b.displacement { a } else { b };
    let are_beside = a.base == b.base && a.index.is_none() && b.index.is_none() && (a.displacement - b.displacement).abs() == 4;
    (are_beside && float_reaches(first.displacement.into())).then_some(*first)
}
