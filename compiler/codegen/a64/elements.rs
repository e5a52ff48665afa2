//! A pass after lowering that joins neighbouring loads of short vectors to one load. Their registers must be used only as element operands.

use super::encode::reaches;
use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use super::rows::{self, Row};
use crate::own::{Address, Base};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Instructions with an element operand; the operand before the last is its register.
const BY_ELEMENT: [&Row; 4] = [&rows::SDOT_ELEMENT, &rows::FMLA_ELEMENT, &rows::FMUL_ELEMENT, &rows::DUP];

/// A load of a short vector in a block.
#[derive(Clone, Copy)]
struct Load {
    at: usize,
    register: VReg,
    address: Address,
    bytes: u32,
    /// Number of stores before it in its block.
    stores: usize,
}

/// Joins loads. `uses` counts the uses of each register.
pub(super) fn join_loads(function: &mut Function, uses: &[u32]) {
    let factors = factors(function);
    let only_factor = |register: VReg, bytes: u32| {
        let uses = uses[register.vreg()];
        uses > 0 && factors.get(&(register, bytes)) == Some(&uses)
    };
    let mut lanes: FxHashMap<VReg, (VReg, i64)> = FxHashMap::default();
    for data in &mut function.blocks {
        let loads = loads(&data.insts, only_factor);
        let mut gone = vec![false; data.insts.len()];
        for &first in &loads {
            let run = if gone[first.at] { vec![] } else { run(&loads, first, &gone) };
            if run.len() < 2 {
                continue;
            }
            for (load, lane) in run.iter().zip(0..) {
                lanes.insert(load.register, (first.register, lane));
                gone[load.at] = true;
            }
            gone[first.at] = false;
            data.insts[first.at].op = Op::LoadVector(first.bytes * run.len() as u32);
        }
        let mut index = 0;
        data.insts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
    }
    rename(function, &lanes);
}

/// Counts how often each register is the element operand with lane 0, by the lane's bytes.
fn factors(function: &Function) -> FxHashMap<(VReg, u32), u32> {
    let mut factors = FxHashMap::default();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        if let Some((register, bytes, 0)) = factor(inst) {
            *factors.entry((register, bytes)).or_default() += 1;
        }
    }
    factors
}

/// Returns the register of an instruction's element operand, the bytes of a lane, and the lane.
fn factor(inst: &Inst) -> Option<(VReg, u32, i64)> {
    let Op::Row(row, size) = inst.op else { return None };
    match (BY_ELEMENT.contains(&row), &inst.args[..]) {
        (true, [.., Arg::Use(register), Arg::Number(lane)]) => Some((*register, size.bits() / 8, *lane)),
        _ => None,
    }
}

fn loads(insts: &[Inst], wanted: impl Fn(VReg, u32) -> bool) -> Vec<Load> {
    let (mut loads, mut stores) = (vec![], 0);
    for (at, inst) in insts.iter().enumerate() {
        if let (Op::LoadVector(bytes @ (4 | 8)), [Arg::Def(register), Arg::Memory(address)]) = (inst.op, &inst.args[..])
            && wanted(*register, bytes)
            && address.index.is_none()
            && address.base != Base::Pool
        {
            loads.push(Load { at, register: *register, address: *address, bytes, stores });
        }
        stores += usize::from(matches!(inst.args.first(), Some(Arg::Memory(_))));
    }
    loads
}

/// Returns a load and the loads that follow it in memory, as many as one load can replace.
fn run(loads: &[Load], first: Load, gone: &[bool]) -> Vec<Load> {
    let next = |i: u32| {
        let address = first.address.plus((i * first.bytes) as i32);
        let alike = |load: &&Load| {
            load.address == address && load.bytes == first.bytes && load.stores == first.stores && load.at >= first.at && !gone[load.at]
        };
        loads.iter().find(alike).copied()
    };
    let mut run: Vec<Load> = (0..WIDTH / first.bytes).map_while(next).collect();
    let reaches = |count: usize| count.is_power_of_two() && reaches(first.bytes * count as u32, first.address.displacement.into());
    while !reaches(run.len()) && run.len() > 1 {
        run.pop();
    }
    run
}

/// Replaces the registers of joined loads by the joint register and a lane.
fn rename(function: &mut Function, lanes: &FxHashMap<VReg, (VReg, i64)>) {
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        let Some((register, ..)) = factor(inst) else { continue };
        if let (Some(&(joined, lane)), [.., part, number]) = (lanes.get(&register), &mut inst.args[..]) {
            (*part, *number) = (Arg::Use(joined), Arg::Number(lane));
        }
    }
}
