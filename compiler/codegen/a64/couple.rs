//! What a lowering of one instruction at a time leaves: loads of neighbouring vectors, two of which are one instruction.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use crate::codegen::own::{Address, Base};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// How far apart, in instructions, two loads may be that become one: the second register is held from the first one on.
const APART: usize = 16;

/// Couples loads of whole registers.
pub(super) fn couple_loads(function: &mut Function) {
    for data in &mut function.blocks {
        share_addresses(&mut data.insts);
        let mut gone = vec![false; data.insts.len()];
        // The last load from each base that is alone.
        let mut alone: FxHashMap<VReg, usize> = FxHashMap::default();
        let mut at = 0;
        while let Some(inst) = data.insts.get(at) {
            if matches!(inst.args.first(), Some(Arg::Memory(_))) {
                alone.clear();
            }
            if let Some(second) = load(inst) {
                let before = alone.get(&second.base).copied().filter(|&before| before + APART >= at);
                match before.and_then(|before| Some((before, pair(load(&data.insts[before])?, second)?))) {
                    Some((before, pair)) => {
                        data.insts[before] = pair;
                        gone[at] = true;
                        alone.remove(&second.base);
                    }
                    None => {
                        alone.insert(second.base, at);
                    }
                }
            }
            at += 1;
        }
        let mut index = 0;
        data.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
}

/// A load of a whole register from so many bytes after a base.
#[derive(Clone, Copy)]
struct Load {
    register: VReg,
    base: VReg,
    displacement: i32,
}

fn load(inst: &Inst) -> Option<Load> {
    match (inst.op, &inst.args[..]) {
        (Op::LoadVector(WIDTH), [Arg::Def(register), Arg::Memory(Address { base: Base::Register(base), index: None, displacement })]) => {
            Some(Load { register: *register, base: *base, displacement: *displacement })
        }
        _ => None,
    }
}

/// One instruction for two loads, the second of which is right after the first in memory, if LDP has the displacement.
fn pair(first: Load, second: Load) -> Option<Inst> {
    let width = WIDTH as i32;
    let reaches = first.displacement % width == 0 && (-64 * width..64 * width).contains(&first.displacement);
    let address = Address { displacement: first.displacement, ..Address::at(first.base) };
    let args = vec![Arg::Def(first.register), Arg::Def(second.register), Arg::Memory(address)];
    (reaches && first.displacement + width == second.displacement).then_some(Inst { op: Op::LoadPair, args })
}

/// Has accesses at an address with an index name the register that gets this address later in the block.
fn share_addresses(insts: &mut Vec<Inst>) {
    let is_at = |inst: &Inst, address: &Address| matches!(inst.args.iter().find(|arg| matches!(arg, Arg::Memory(_))), Some(Arg::Memory(other)) if other == address);
    for at in 0..insts.len() {
        let (Op::LoadAddress, [Arg::Def(register), Arg::Memory(address @ Address { index: Some(_), .. })]) =
            (insts[at].op, &insts[at].args[..])
        else {
            continue;
        };
        let (register, address) = (*register, *address);
        let Some(first) = insts[..at].iter().position(|inst| is_at(inst, &address)) else { continue };
        let computed = insts.remove(at);
        for inst in &mut insts[first..at] {
            if inst.op != Op::LoadAddress && is_at(inst, &address) {
                let memory = inst.args.iter_mut().filter(|arg| matches!(arg, Arg::Memory(_)));
                memory.for_each(|arg| *arg = Arg::Memory(Address::at(register)));
            }
        }
        insts.insert(first, computed);
    }
}
