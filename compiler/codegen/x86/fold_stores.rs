//! A pass after lowering that folds a narrowing instruction into the store of its result.

use super::inst::{Arg, Function, Inst, Op};
use super::rows::{self, Row};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Instructions that narrow each lane to a byte, and can write the result to memory.
const NARROWING: [&Row; 4] = [&rows::VPMOVSDB, &rows::VPMOVUSDB, &rows::VPMOVSWB, &rows::VPMOVUSWB];

/// Folds narrowing instructions into the stores that are their only users. `uses` counts the uses of each register.
pub(super) fn fold_stores(function: &mut Function, uses: &[u32]) {
    for data in &mut function.blocks {
        let mut narrowed: FxHashMap<VReg, usize> = FxHashMap::default();
        let mut gone = vec![false; data.insts.len()];
        for at in 0..data.insts.len() {
            if let Some(from) = stored(&data.insts[at]).and_then(|(value, bytes)| narrows(&data.insts, &narrowed, value, bytes)) {
                let place = data.insts[at].args[0];
                data.insts[at] = Inst { op: data.insts[from].op, args: vec![place, data.insts[from].args[1]] };
                gone[from] = true;
            }
            if let (Op::Vector { row, .. }, [Arg::Def(result), Arg::Use(_)]) = (&data.insts[at].op, &data.insts[at].args[..])
                && NARROWING.contains(row)
                && uses[result.vreg()] == 1
            {
                narrowed.insert(*result, at);
            }
        }
        let mut index = 0;
        data.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
}

/// Returns the stored register and the number of its low bytes that are stored; `None` for another instruction.
fn stored(inst: &Inst) -> Option<(VReg, u32)> {
    let Op::Vector { row, length, .. } = inst.op else { return None };
    let [Arg::Memory(_), Arg::Use(value)] = inst.args[..] else { return None };
    let plain = *row == rows::VMOVUPS_STORE || *row == rows::VMOVSD_STORE || *row == rows::VMOVSS_STORE;
    plain.then(|| (value, row.tuple.bytes(length)))
}

/// Returns the index of the instruction that narrowed lanes into a register, if its result has this number of bytes.
fn narrows(insts: &[Inst], narrowed: &FxHashMap<VReg, usize>, value: VReg, bytes: u32) -> Option<usize> {
    let at = *narrowed.get(&value)?;
    let Op::Vector { row, length, .. } = insts[at].op else { return None };
    (row.tuple.bytes(length) == bytes).then_some(at)
}
