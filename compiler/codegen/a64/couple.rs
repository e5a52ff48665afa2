//! A pass after lowering that joins loads and stores of neighbouring vectors to LDP and STP.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use crate::own::{Address, Base};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Maximum distance, in instructions, of two loads that become one. The second register is live from the first load on.
const APART: usize = 16;

/// Joins loads and stores of whole registers.
pub(super) fn couple(function: &mut Function) {
    for data in &mut function.blocks {
        share_addresses(&mut data.insts);
        couple_loads(&mut data.insts);
        couple_stores(&mut data.insts);
    }
}

fn couple_loads(insts: &mut Vec<Inst>) {
    let mut gone = vec![false; insts.len()];
    // The last unpaired load of each place.
    let mut alone: FxHashMap<(VReg, i32), usize> = FxHashMap::default();
    for at in 0..insts.len() {
        if matches!(insts[at].args.first(), Some(Arg::Memory(_))) {
            alone.clear();
        }
        let Some(second) = load(&insts[at]) else { continue };
        let before = alone.get(&(second.base, second.displacement - WIDTH as i32)).copied().filter(|&before| before + APART >= at);
        match before.and_then(|before| Some((before, pair(load(&insts[before])?, second)?))) {
            Some((before, pair)) => {
                insts[before] = pair;
                gone[at] = true;
                alone.remove(&(second.base, second.displacement - WIDTH as i32));
            }
            None => {
                alone.insert((second.base, second.displacement), at);
            }
        }
    }
    remove(insts, &gone);
}

/// Joins stores with no other memory access between them.
fn couple_stores(insts: &mut Vec<Inst>) {
    let mut gone = vec![false; insts.len()];
    let mut alone: Option<usize> = None;
    for at in 0..insts.len() {
        if insts[at].op == Op::LoadAddress || !insts[at].args.iter().any(|arg| matches!(arg, Arg::Memory(_))) {
            continue;
        }
        let this = store(&insts[at]);
        let before = alone.take();
        match before.and_then(|before| pair_of_stores(store(&insts[before])?, this?).map(|pair| (before, pair))) {
            Some((before, pair)) => {
                insts[at] = pair;
                gone[before] = true;
            }
            None => alone = this.map(|_| at),
        }
    }
    remove(insts, &gone);
}

fn remove(insts: &mut Vec<Inst>, gone: &[bool]) {
    let mut index = 0;
    insts.retain(|_| {
        index += 1;
        !gone[index - 1]
    });
}

/// A load or a store of a whole register, with its base and displacement.
#[derive(Clone, Copy)]
struct Access {
    register: VReg,
    base: VReg,
    displacement: i32,
}

fn access(register: VReg, address: &Address) -> Option<Access> {
    match *address {
        Address { base: Base::Register(base), index: None, displacement } => Some(Access { register, base, displacement }),
        _ => None,
    }
}

fn load(inst: &Inst) -> Option<Access> {
    match (inst.op, &inst.args[..]) {
        (Op::LoadVector(WIDTH) | Op::LoadInput, [Arg::Def(register), Arg::Memory(address)]) => access(*register, address),
        _ => None,
    }
}

fn store(inst: &Inst) -> Option<Access> {
    match (inst.op, &inst.args[..]) {
        (Op::StoreVector(WIDTH), [Arg::Memory(address), Arg::Use(register)]) => access(*register, address),
        _ => None,
    }
}

/// Returns the place of a joint access, if the second access follows the first in memory, and LDP and STP have the displacement.
fn together(first: Access, second: Access) -> Option<Arg> {
    let width = WIDTH as i32;
    let reaches = first.displacement % width == 0 && (-64 * width..64 * width).contains(&first.displacement);
    let follows = first.base == second.base && first.displacement + width == second.displacement;
    (reaches && follows).then(|| Arg::Memory(Address { displacement: first.displacement, ..Address::at(first.base) }))
}

/// Joins two loads.
fn pair(first: Access, second: Access) -> Option<Inst> {
    let place = together(first, second)?;
    Some(Inst { op: Op::LoadPair, args: vec![Arg::Def(first.register), Arg::Def(second.register), place] })
}

/// Joins two stores, in either order.
fn pair_of_stores(first: Access, second: Access) -> Option<Inst> {
    let (low, high) = if first.displacement < second.displacement { (first, second) } else { (second, first) };
    let place = together(low, high)?;
    Some(Inst { op: Op::StorePair, args: vec![place, Arg::Use(low.register), Arg::Use(high.register)] })
}

/// Reuses an address that the block computes later: accesses to the same base and index use its register, and the computation moves before them.
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
