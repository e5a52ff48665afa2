//! A pass after lowering for loads that LDP does not reach. Several neighbouring vectors far from a base get a nearer address. If the base is a
//! pointer plus the counter of a loop, the pointer is moved before the loop.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use super::registers::GENERAL;
use crate::own::{Address, Base, count_uses};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Largest displacement of a pair.
const REACH: i32 = 63 * WIDTH as i32;

/// Minimum number of pairs for which a nearer address is computed.
const FEWEST: usize = 3;

/// Maximum displacement from a register that two instructions add.
const MOST: i32 = (1 << 24) - 1;

/// Loads of a block whose displacements lie within the reach of a pair.
struct Cluster {
    base: VReg,
    /// Least displacement.
    least: i32,
    /// Their places in the block.
    loads: Vec<usize>,
}

/// Gives far loads nearer addresses.
pub(super) fn bring_near(function: &mut Function) {
    let mut moved = vec![];
    let mut uses = vec![];
    for index in 0..function.blocks.len() {
        let clusters = clusters(&function.blocks[index].insts);
        if clusters.is_empty() {
            continue;
        }
        if uses.is_empty() {
            uses = count_uses(function);
        }
        let mut added: Vec<(usize, Inst)> = vec![];
        for Cluster { base, least, loads } in clusters {
            let near = function.register(GENERAL);
            let insts = &mut function.blocks[index].insts;
            let pointer = pointer(insts, base).filter(|_| uses.get(base.vreg()) == Some(&(loads.len() as u32)));
            let address = |from: VReg| Inst {
                op: Op::LoadAddress,
                args: vec![Arg::Def(near), Arg::Memory(Address { displacement: least, ..Address::at(from) })],
            };
            match pointer {
                Some((at, from)) => {
                    rebase(&mut insts[at], near, 0);
                    moved.push((from, address(from)));
                }
                None => added.push((loads[0], address(base))),
            }
            let base = if pointer.is_some() { base } else { near };
            loads.iter().for_each(|&at| rebase(&mut insts[at], base, least));
        }
        insert(&mut function.blocks[index].insts, added);
    }
    define(function, moved);
}

/// Gives the memory operand of an instruction another base, which is nearer by `less` bytes.
fn rebase(inst: &mut Inst, base: VReg, less: i32) {
    for arg in &mut inst.args {
        if let Arg::Memory(address) = arg {
            *address = Address { base: Base::Register(base), displacement: address.displacement - less, ..*address };
        }
    }
}

/// Finds the clusters of a block with enough pairs.
fn clusters(insts: &[Inst]) -> Vec<Cluster> {
    let mut far: FxHashMap<VReg, Vec<(i32, usize)>> = FxHashMap::default();
    let mut bases = vec![];
    for (at, inst) in insts.iter().enumerate() {
        if let (
            Op::LoadVector(WIDTH) | Op::LoadInput,
            &[Arg::Def(_), Arg::Memory(Address { base: Base::Register(base), index: None, displacement: displacement @ REACH..=MOST })],
        ) = (inst.op, &inst.args[..])
        {
            let list = far.entry(base).or_default();
            if list.is_empty() {
                bases.push(base);
            }
            list.push((displacement, at));
        }
    }
    let mut found = vec![];
    for base in bases {
        let mut list = far.remove(&base).unwrap_or_default();
        list.sort_unstable();
        let mut rest = &list[..];
        while let Some(&(least, _)) = rest.first() {
            let (within, after) = rest.split_at(rest.partition_point(|(displacement, _)| displacement - least <= REACH));
            rest = after;
            if pairs(within) >= FEWEST {
                let mut loads: Vec<usize> = within.iter().map(|(_, at)| *at).collect();
                loads.sort_unstable();
                found.push(Cluster { base, least, loads });
            }
        }
    }
    found
}

/// Counts pairs of neighbours among sorted displacements.
fn pairs(list: &[(i32, usize)]) -> usize {
    let (mut count, mut before) = (0, None);
    for &(displacement, _) in list {
        let is_second = before == Some(displacement - WIDTH as i32);
        count += usize::from(is_second);
        before = (!is_second).then_some(displacement);
    }
    count
}

/// Returns the place of an address of the block that is a pointer plus an index, and the pointer.
fn pointer(insts: &[Inst], register: VReg) -> Option<(usize, VReg)> {
    let at = insts.iter().position(|inst| inst.args.first() == Some(&Arg::Def(register)))?;
    match (insts[at].op, &insts[at].args[..]) {
        (Op::LoadAddress, &[_, Arg::Memory(Address { base: Base::Register(base), index: Some(_), displacement: 0 })]) => Some((at, base)),
        _ => None,
    }
}

/// Inserts instructions before those at their places.
fn insert(insts: &mut Vec<Inst>, mut added: Vec<(usize, Inst)>) {
    added.sort_by_key(|(at, _)| *at);
    for (at, inst) in added.into_iter().rev() {
        insts.insert(at, inst);
    }
}

/// Inserts instructions after the definitions of registers.
fn define(function: &mut Function, moved: Vec<(VReg, Inst)>) {
    if moved.is_empty() {
        return;
    }
    for data in &mut function.blocks {
        let mut added = vec![];
        for (register, inst) in &moved {
            let is_def = |arg: &Arg| matches!(arg, Arg::Def(v) | Arg::FixedDef(v, _) if v == register);
            let after = data.insts.iter().position(|inst| inst.args.iter().any(is_def)).map(|at| at + 1);
            let at = after.or_else(|| data.params.contains(register).then_some(0));
            added.extend(at.map(|at| (at, inst.clone())));
        }
        insert(&mut data.insts, added);
    }
}
