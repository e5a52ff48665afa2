//! A pass after lowering for several sums that begin with one loaded vector. Each sum would need a copy. Each loads the vector instead: two loads are
//! one instruction, two copies are not.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use super::registers::VECTOR;
use crate::own::{Address, Base, Flow, Instruction};
use regalloc2::VReg;

/// Lets sums load their start vectors. `uses` counts the uses of each register.
pub(super) fn load_starts(function: &mut Function, uses: &[u32]) {
    for index in 0..function.blocks.len() {
        let data = &mut function.blocks[index];
        let (mut insts, mut end) = (std::mem::take(&mut data.insts), data.end.take());
        let mut at = 0;
        while at < insts.len() {
            let run: Vec<(Inst, usize)> = insts[at..].iter().map_while(|inst| starts(inst, &insts[at..], &end, uses)).collect();
            at += run.len();
            let most = run.iter().map(|(_, count)| *count).max().unwrap_or(0);
            let mut copies = vec![];
            for round in 1..most {
                for (load, _) in run.iter().filter(|(_, count)| *count > round) {
                    let [Arg::Def(register), place] = load.args[..] else { continue };
                    let copy = function.register(VECTOR);
                    copies.push((register, copy, Inst { op: load.op, args: vec![Arg::Def(copy), place] }));
                }
            }
            for (register, copy, _) in &copies {
                rename_last(*register, *copy, &mut insts[at..], &mut end);
            }
            let count = copies.len();
            insts.splice(at..at, copies.into_iter().map(|(_, _, load)| load));
            at += count.max(usize::from(run.is_empty()));
        }
        (function.blocks[index].insts, function.blocks[index].end) = (insts, end);
    }
}

type End = Option<(Inst, Vec<crate::own::Edge>)>;

/// Returns a load of a whole register, and the number of sums that begin with it. `None` if it has other uses, or a store follows.
fn starts(inst: &Inst, rest: &[Inst], end: &End, uses: &[u32]) -> Option<(Inst, usize)> {
    let (Op::LoadVector(WIDTH) | Op::LoadInput, [Arg::Def(register), Arg::Memory(Address { base: Base::Register(_), index: None, .. })]) =
        (inst.op, &inst.args[..])
    else {
        return None;
    };
    let tied = rest.iter().filter(|inst| inst.args.contains(&Arg::Tied(*register))).count();
    let handed_on = match end {
        Some((inst, edges)) if inst.flow() == Flow::Jump => {
            edges.iter().flat_map(|edge| &edge.arguments).filter(|v| *v == register).count()
        }
        _ => 0,
    };
    let count = tied + handed_on;
    let stores = rest.iter().any(|inst| matches!(inst.args.first(), Some(Arg::Memory(_))));
    (count >= 2 && uses.get(register.vreg()) == Some(&(count as u32)) && !stores).then(|| (inst.clone(), count))
}

/// Replaces the last use of a register.
fn rename_last(from: VReg, to: VReg, insts: &mut [Inst], end: &mut End) {
    let edges = end.iter_mut().flat_map(|(_, edges)| edges).flat_map(|edge| &mut edge.arguments);
    if let Some(last) = edges.filter(|v| **v == from).last() {
        *last = to;
        return;
    }
    let args = insts.iter_mut().flat_map(|inst| &mut inst.args);
    if let Some(last) = args.filter(|arg| **arg == Arg::Tied(from)).last() {
        *last = Arg::Tied(to);
    }
}
