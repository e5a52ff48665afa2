//! What a lowering of one instruction at a time leaves: results that nothing uses, and loads that the instruction which alone uses
//! them can do itself.

use super::machine_ir::{Address, Arg, Base, Function, Inst, Op};
use super::rows::{self, Shape, Tuple};
use regalloc2::VReg;
use std::collections::HashMap;

/// Drops instructions without a use and folds loads into their users.
pub(super) fn tidy(function: &mut Function) {
    let mut uses = count_uses(function);
    sweep(function, &mut uses);
    fold_loads(function, &uses);
}

fn read(inst: &Inst) -> impl Iterator<Item = VReg> + '_ {
    inst.args.iter().flat_map(|arg| {
        let registers: [Option<VReg>; 2] = match arg {
            Arg::Use(v) | Arg::Tied(v) | Arg::Masked(v) | Arg::FixedUse(v, _) => [Some(*v), None],
            Arg::Memory(address) => {
                let base = if let Base::Register(v) = address.base { Some(v) } else { None };
                [base, address.index.map(|(v, _)| v)]
            }
            _ => [None, None],
        };
        registers.into_iter().flatten()
    })
}

fn count_uses(function: &Function) -> Vec<u32> {
    let mut uses = vec![0; function.registers];
    for block in &function.blocks {
        for v in block.insts.iter().chain(block.end.iter().map(|(inst, _)| inst)).flat_map(read) {
            uses[v.vreg()] += 1;
        }
        for v in block.end.iter().flat_map(|(_, edges)| edges).flat_map(|edge| &edge.arguments) {
            uses[v.vreg()] += 1;
        }
    }
    uses
}

/// The one register that an instruction without other effects defines.
fn defines(inst: &Inst) -> Option<VReg> {
    match (&inst.op, inst.args.first()) {
        (Op::Parameters | Op::Store(_) | Op::Divide { .. }, _) => None,
        (_, Some(Arg::Def(v))) => Some(*v),
        _ => None,
    }
}

/// From the end of the code to its start, uses come before definitions, but for loops, whose values are parameters.
fn sweep(function: &mut Function, uses: &mut [u32]) {
    for index in (0..function.order.len()).rev() {
        let block = function.order[index];
        let data = function.at(block);
        let mut kept = Vec::with_capacity(data.insts.len());
        while let Some(inst) = data.insts.pop() {
            if defines(&inst).is_some_and(|v| uses[v.vreg()] == 0) {
                read(&inst).for_each(|v| uses[v.vreg()] -= 1);
            } else {
                kept.push(inst);
            }
        }
        kept.reverse();
        data.insts = kept;
    }
}

/// A load that may be folded.
struct Load {
    at: usize,
    address: Address,
    /// Bytes that are read.
    bytes: u32,
    /// Stores before it in its block.
    stores: usize,
}

fn fold_loads(function: &mut Function, uses: &[u32]) {
    for data in &mut function.blocks {
        let (mut loads, mut stores): (HashMap<VReg, Load>, usize) = (HashMap::new(), 0);
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

fn fold_into(inst: &mut Inst, loads: &HashMap<VReg, Load>, stores: usize, gone: &mut [bool]) {
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
