//! A pass after lowering for accesses that add to their base (post-indexed).

use super::inst::{Arg, Inst, Op};
use super::lowering::Thumb;
use crate::own::words::sum_of;
use crate::own::{Address, Base, Function, count_uses};
use regalloc2::VReg;

/// Lets an access step its pointer, if a loop only adds a constant to the pointer at the end of a round.
pub(super) fn step_by_access(function: &mut Function<Inst>) {
    let uses = count_uses(function);
    for data in function.blocks.iter_mut().filter(|data| data.hot) {
        for pointer in data.params.clone() {
            let next = data.insts.iter().position(|inst| sum_of::<Thumb>(inst).is_some_and(|sum| sum.1 == pointer));
            if let Some((next, (to, _, step))) = next.and_then(|next| Some((next, sum_of::<Thumb>(&data.insts[next])?)))
                && let Some(at) = stepping(&data.insts, pointer, step, uses[pointer.vreg()])
            {
                data.insts.remove(next);
                rewrite(&mut data.insts, at, [pointer, to], step);
            }
        }
    }
}

/// Returns the displacement of an access from a pointer. `None` if it has another base or an index.
fn beside(inst: &Inst, pointer: VReg) -> Option<i32> {
    match inst.accessed() {
        Some(&Address { base: Base::Register(base), index: None, displacement }) if base == pointer => Some(displacement),
        _ => None,
    }
}

/// Finds the access that can step a pointer: the first one without a displacement. `None` if other instructions use the pointer, or if later accesses
/// cannot have the displacement from the stepped pointer. `uses` includes the sum.
fn stepping(insts: &[Inst], pointer: VReg, step: i32, uses: u32) -> Option<usize> {
    let accesses = insts.iter().filter(|inst| beside(inst, pointer).is_some() && !inst.args.contains(&Arg::Use(pointer)));
    if accesses.count() + 1 != uses as usize {
        return None;
    }
    let takes = |inst: &Inst| inst.stepping(step).is_some();
    let at = insts.iter().position(|inst| beside(inst, pointer) == Some(0) && takes(inst))?;
    let after = insts[at + 1..].iter().filter_map(|inst| Some((inst, beside(inst, pointer)?)));
    after.clone().all(|(inst, bytes)| inst.reaches(bytes - step)).then_some(at)
}

fn rewrite(insts: &mut [Inst], at: usize, [pointer, next]: [VReg; 2], step: i32) {
    for inst in &mut insts[at + 1..] {
        if let Some(bytes) = beside(inst, pointer) {
            inst.access(Address::at(next).plus(bytes - step));
        }
    }
    let inst = &mut insts[at];
    if let Some(own) = inst.stepping(step) {
        inst.op = Op::Own(own);
        let moves = [Arg::Def(next), Arg::Tied(pointer)];
        inst.args = inst.args.iter().flat_map(|arg| if let Arg::Memory(_) = arg { moves.to_vec() } else { vec![*arg] }).collect();
    }
}
