//! What a lowering of one instruction at a time leaves: results that the instruction which makes them can store itself.

use super::inst::{Arg, Function, Inst, Op};
use super::rows::{self, Row};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// What narrows each lane of a register to bytes, and can write them to memory.
const NARROWING: [&Row; 4] = [&rows::VPMOVSDB, &rows::VPMOVUSDB, &rows::VPMOVSWB, &rows::VPMOVUSWB];

/// Folds instructions that narrow lanes into the stores that alone use them. `uses` says how often each register is used.
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

/// What an instruction stores from the low end of a register, and how many bytes.
fn stored(inst: &Inst) -> Option<(VReg, u32)> {
    let Op::Vector { row, length, .. } = inst.op else { return None };
    let [Arg::Memory(_), Arg::Use(value)] = inst.args[..] else { return None };
    let plain = *row == rows::VMOVUPS_STORE || *row == rows::VMOVSD_STORE || *row == rows::VMOVSS_STORE;
    plain.then(|| (value, row.tuple.bytes(length)))
}

/// Where lanes are narrowed to this many bytes, if that is what a register holds.
fn narrows(insts: &[Inst], narrowed: &FxHashMap<VReg, usize>, value: VReg, bytes: u32) -> Option<usize> {
    let at = *narrowed.get(&value)?;
    let Op::Vector { row, length, .. } = insts[at].op else { return None };
    (row.tuple.bytes(length) == bytes).then_some(at)
}
