//! A pass after lowering for squares of sums, which begin with loaded elements of 64 bits that are each repeated. LD4R loads and repeats four of
//! them. Its registers must be neighbours, so the allocator gets them as fixed ones.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use super::registers::{GENERAL, VECTOR};
use super::rows::{self, Size};
use crate::own::{Address, Base, count_uses, sweep};
use regalloc2::{PReg, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// First registers of the fours of a block. A function need not save them.
const FIRST: [usize; 6] = [16, 20, 24, 28, 0, 4];

/// A place of memory: a base and a displacement.
type Place = (VReg, i32);

/// Joins repetitions of four neighbouring elements to one load.
pub(super) fn load_fours(function: &mut Function) {
    if !function.blocks.iter().flat_map(|block| &block.insts).any(|inst| repeated(inst).is_some()) {
        return;
    }
    let uses = count_uses(function);
    for index in 0..function.blocks.len() {
        let begin = begins(function, index, &uses);
        let insts = std::mem::take(&mut function.blocks[index].insts);
        let places = places(&insts);
        let mut addresses: FxHashMap<Place, VReg> = FxHashMap::default();
        let mut firsts = FIRST.iter();
        let mut result = Vec::with_capacity(insts.len());
        let mut at = 0;
        while at < insts.len() {
            let found = four(&insts[at..], &places[at..], &begin);
            let Some(((place, registers), &first)) = found.and_then(|found| Some((found, firsts.next()?))) else {
                result.push(insts[at].clone());
                at += 1;
                continue;
            };
            let base = match place {
                (base, 0) => base,
                (base, displacement) => *addresses.entry(place).or_insert_with(|| {
                    let near = function.register(GENERAL);
                    let address = Address { displacement, ..Address::at(base) };
                    result.push(Inst { op: Op::LoadAddress, args: vec![Arg::Def(near), Arg::Memory(address)] });
                    near
                }),
            };
            let fixed = registers.iter().zip(first..).map(|(&register, number)| Arg::FixedDef(register, PReg::new(number, VECTOR)));
            let args = fixed.chain([Arg::Memory(Address::at(base))]).collect();
            result.push(Inst { op: Op::LoadFour, args });
            at += 4;
        }
        function.blocks[index].insts = result;
    }
    // Nothing else may read the elements.
    let mut uses = count_uses(function);
    sweep(function, &mut uses);
}

/// Returns the result of an instruction that repeats an element of 64 bits, the register with the element, and the element's number.
fn repeated(inst: &Inst) -> Option<(VReg, VReg, i64)> {
    match (inst.op, &inst.args[..]) {
        (Op::Row(row, Size::D), &[Arg::Def(result), Arg::Use(from), Arg::Number(lane)]) if *row == rows::DUP => Some((result, from, lane)),
        _ => None,
    }
}

/// Finds the registers that sums of a block begin with: those with a single use, which overwrites them or hands them on to another block.
fn begins(function: &Function, index: usize, uses: &[u32]) -> FxHashSet<VReg> {
    let data = &function.blocks[index];
    let tied = data.insts.iter().flat_map(|inst| &inst.args).filter_map(|arg| match arg {
        Arg::Tied(register) => Some(*register),
        _ => None,
    });
    let handed_on = data.edges().iter().flat_map(|edge| edge.arguments.iter().copied());
    tied.chain(handed_on).filter(|register| register.class() == VECTOR && uses.get(register.vreg()) == Some(&1)).collect()
}

/// Returns the place of the element that each instruction repeats. No store lies between the load of an element and its repetition.
fn places(insts: &[Inst]) -> Vec<Option<Place>> {
    let mut loaded: FxHashMap<VReg, Place> = FxHashMap::default();
    let place = |inst: &Inst| {
        if let (
            Op::LoadVector(WIDTH) | Op::LoadInput,
            &[Arg::Def(register), Arg::Memory(Address { base: Base::Register(base), index: None, displacement })],
        ) = (inst.op, &inst.args[..])
        {
            loaded.insert(register, (base, displacement));
        }
        if let Some(Arg::Memory(_)) = inst.args.first() {
            loaded.clear();
        }
        let (_, from, lane) = repeated(inst)?;
        let (base, displacement) = *loaded.get(&from)?;
        Some((base, displacement + 8 * lane as i32))
    };
    insts.iter().map(place).collect()
}

/// Matches four instructions that repeat neighbouring elements, with which sums begin. Returns the place of the first element, and the results.
fn four(insts: &[Inst], places: &[Option<Place>], begin: &FxHashSet<VReg>) -> Option<(Place, [VReg; 4])> {
    let (base, first) = (*places.first()?)?;
    let mut registers = [VReg::invalid(); 4];
    for (register, i) in registers.iter_mut().zip(0..) {
        let (result, ..) = repeated(insts.get(i)?)?;
        let is_next = places[i] == Some((base, first + 8 * i as i32));
        *register = Some(result).filter(|result| is_next && begin.contains(result))?;
    }
    Some(((base, first), registers))
}
