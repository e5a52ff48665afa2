//! What a lowering of one instruction at a time leaves: loads that the instruction which alone uses them can do itself.

use super::inst::{Arg, Function, Inst, Op};
use super::rows::{self, Shape, Tuple};
use crate::codegen::own::{Address, Base};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// A load that may be folded.
struct Load {
    at: usize,
    address: Address,
    /// Bytes that are read.
    bytes: u32,
    /// Stores before it in its block.
    stores: usize,
}

/// Folds loads into their users. `uses` says how often each register is used.
pub(super) fn fold_loads(function: &mut Function, uses: &[u32]) {
    for data in &mut function.blocks {
        let (mut loads, mut stores): (FxHashMap<VReg, Load>, usize) = (FxHashMap::default(), 0);
        let mut gone = vec![false; data.insts.len()];
        for at in 0..data.insts.len() {
            fold_into(&mut data.insts[at], &loads, stores, &mut gone);
            let inst = &data.insts[at];
            if matches!(inst.args.first(), Some(Arg::Memory(_))) {
                stores += 1;
            }
            if let Some((result, address, bytes)) = whole_load(inst)
                && uses[result.vreg()] == 1
            {
                loads.insert(result, Load { at, address, bytes, stores });
            }
        }
        let mut index = 0;
        data.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
}

/// The result, place and size of an instruction that loads a register.
fn whole_load(inst: &Inst) -> Option<(VReg, Address, u32)> {
    let Op::Vector { row, length, zeroing: false, broadcast: false } = inst.op else { return None };
    let [Arg::Def(result), Arg::Memory(address)] = inst.args[..] else { return None };
    let plain = *row == rows::VMOVUPS || *row == rows::VMOVSS || *row == rows::VMOVSD;
    plain.then(|| (result, address, row.tuple.bytes(length)))
}

fn fold_into(inst: &mut Inst, loads: &FxHashMap<VReg, Load>, stores: usize, gone: &mut [bool]) {
    let Op::Vector { row, length, .. } = inst.op else { return };
    // The last register operand is the one that may be memory; a mask beside it would leave memory unread.
    let takes = matches!(row.shape, Shape::Rvm | Shape::Rm) && !matches!(row.tuple, Tuple::Fixed(_));
    let explicit = inst.args.iter().filter(|arg| matches!(arg, Arg::Def(_) | Arg::Use(_))).count();
    let wanted = if row.shape == Shape::Rvm { 3 } else { 2 };
    if !takes || explicit != wanted || inst.args.iter().any(|arg| matches!(arg, Arg::Memory(_) | Arg::Masked(_))) {
        return;
    }
    let Some(place) = inst.args.iter().rposition(|arg| matches!(arg, Arg::Use(_))) else { return };
    let Arg::Use(v) = inst.args[place] else { return };
    let Some(load) = loads.get(&v) else { return };
    // A store between might write what is loaded; constants nothing writes.
    let safe = load.stores == stores || load.address.base == Base::Pool;
    if safe && load.bytes == row.tuple.bytes(length) {
        inst.args[place] = Arg::Memory(load.address);
        gone[load.at] = true;
    }
}
