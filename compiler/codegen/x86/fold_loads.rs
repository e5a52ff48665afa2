//! A pass after lowering that folds a load into its only user, as a memory operand.

use super::inst::{Arg, Function, Inst, Op};
use super::length::Length;
use super::rows::{self, Row, Shape, Tuple};
use crate::own::{Address, Base};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// A load that may be folded.
struct Load {
    at: usize,
    address: Address,
    what: Loaded,
    /// Number of stores before it in its block.
    stores: usize,
}

#[derive(Clone, Copy)]
enum Loaded {
    /// A plain load of this number of bytes.
    Bytes(u32),
    /// One element of this number of bytes, repeated in every lane of a vector of this length.
    Repeated(u32, Length),
}

/// Folds loads into their users. `uses` counts the uses of each register. `repeats` is `true` if instructions can repeat an element of memory over
/// the lanes, as with AVX-512.
pub(super) fn fold_loads(function: &mut Function, uses: &[u32], repeats: bool) {
    for data in &mut function.blocks {
        let (mut loads, mut stores): (FxHashMap<VReg, Load>, usize) = (FxHashMap::default(), 0);
        let mut gone = vec![false; data.insts.len()];
        for at in 0..data.insts.len() {
            fold_into(&mut data.insts[at], &loads, stores, &mut gone);
            let inst = &data.insts[at];
            if matches!(inst.args.first(), Some(Arg::Memory(_))) && !matches!(inst.op, Op::Fetch { .. }) {
                stores += 1;
            }
            if let Some((result, address, what)) = load(inst)
                && uses[result.vreg()] == 1
                && (repeats || matches!(what, Loaded::Bytes(_)))
            {
                loads.insert(result, Load { at, address, what, stores });
            }
        }
        let mut index = 0;
        data.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
}

/// Returns the result, the address and the form of a load; `None` for another instruction.
fn load(inst: &Inst) -> Option<(VReg, Address, Loaded)> {
    let Op::Vector { row, length, zeroing: false, broadcast: false } = inst.op else { return None };
    let [Arg::Def(result), Arg::Memory(address)] = inst.args[..] else { return None };
    if *row == rows::VPBROADCASTD || *row == rows::VPBROADCASTQ {
        return Some((result, address, Loaded::Repeated(row.tuple.bytes(length), length)));
    }
    let plain = *row == rows::VMOVUPS || *row == rows::VMOVSS || *row == rows::VMOVSD;
    plain.then(|| (result, address, Loaded::Bytes(row.tuple.bytes(length))))
}

fn fold_into(inst: &mut Inst, loads: &FxHashMap<VReg, Load>, stores: usize, gone: &mut [bool]) {
    let Op::Vector { row, length, .. } = inst.op else { return };
    // The last register operand may be memory. A masked instruction is excluded, since it would leave some memory unread.
    let takes = matches!(row.shape, Shape::Rvm | Shape::Rm) && !matches!(row.tuple, Tuple::Fixed(_));
    let explicit = inst.args.iter().filter(|arg| matches!(arg, Arg::Def(_) | Arg::Use(_))).count();
    let wanted = if row.shape == Shape::Rvm { 3 } else { 2 };
    if !takes || explicit != wanted || inst.args.iter().any(|arg| matches!(arg, Arg::Memory(_) | Arg::Masked(_))) {
        return;
    }
    let Some(last) = inst.args.iter().rposition(|arg| matches!(arg, Arg::Use(_))) else { return };
    // A store in between might overwrite the loaded memory. Constants are never overwritten.
    let foldable = |arg: &Arg| {
        let Arg::Use(register) = arg else { return None };
        let load = loads.get(register)?;
        let safe = load.stores == stores || load.address.base == Base::Pool;
        (safe && takes_load(row, length, load.what)).then_some(load)
    };
    let found = foldable(&inst.args[last]).map(|load| (load, last));
    let exchanged = || foldable(&inst.args[last - 1]).filter(|_| row.commutes).map(|load| (load, last - 1));
    let Some((load, place)) = found.or_else(exchanged) else { return };
    inst.args.swap(place, last);
    inst.args[last] = Arg::Memory(load.address);
    if let (Op::Vector { broadcast, .. }, Loaded::Repeated(..)) = (&mut inst.op, load.what) {
        *broadcast = true;
    }
    gone[load.at] = true;
}

/// Tests whether an instruction's memory operand can replace a load.
fn takes_load(row: &Row, length: Length, loaded: Loaded) -> bool {
    match loaded {
        Loaded::Bytes(bytes) => bytes == row.tuple.bytes(length),
        Loaded::Repeated(bytes, all) => row.repeats && row.evex == Some(bytes == 8) && length.bytes() <= all.bytes(),
    }
}
