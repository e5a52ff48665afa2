//! Instructions that become part of the one which alone uses them.

use crate::kernel::{BinaryOp, BufferKind, ConvertOp, Inst, Kernel, Lane, Region, Value};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

/// What instructions and yields use, each use once.
fn uses(kernel: &Kernel) -> impl Iterator<Item = Value> {
    kernel.regions().flat_map(|region| {
        let operands = region.statements.iter().flat_map(|statement| statement.inst.operands());
        region.yields.iter().copied().chain(operands)
    })
}

/// The values that are used exactly once.
pub(super) fn used_once(kernel: &Kernel) -> EntitySet<Value> {
    let (mut used, mut again) = (EntitySet::new(), EntitySet::new());
    for value in uses(kernel) {
        if !used.insert(value) {
            again.insert(value);
        }
    }
    again.iter().for_each(|value| {
        used.remove(value);
    });
    used
}

/// The loads from constant memory, of multiples of eight bytes, whose only use is a conversion to wider integers in their own
/// region. Each comes with its instruction.
pub(super) fn widened_loads(kernel: &Kernel) -> FxHashMap<Value, Inst> {
    let mut search = Search { kernel, regions: 0, loads: FxHashMap::default() };
    search.region(&kernel.body);
    let found = search.loads.into_iter().filter(|(_, load)| load.conversions == 1 && load.others == 0);
    found.map(|(value, load)| (value, load.inst)).collect()
}

/// The integers of masks that are only subtracted from vectors of 32-bit lanes, each once, with their masks.
pub(super) fn subtracted_masks(kernel: &Kernel) -> FxHashMap<Value, Value> {
    let (mut masks, mut uses) = (FxHashMap::default(), FxHashMap::<Value, (usize, usize)>::default());
    for region in kernel.regions() {
        for value in &region.yields {
            uses.entry(*value).or_default().1 += 1;
        }
        for statement in &region.statements {
            if let (Inst::Convert { op: ConvertOp::MaskToInteger, a }, [result]) = (&statement.inst, &statement.results[..]) {
                let ty = kernel.ty(*result);
                if ty.lane == Lane::I32 && ty.lanes > 1 {
                    masks.insert(*result, *a);
                }
            }
            let subtracted = if let Inst::Binary { op: BinaryOp::Sub, b, .. } = statement.inst { Some(b) } else { None };
            for value in statement.inst.operands() {
                let (here, all) = uses.entry(value).or_default();
                *all += 1;
                *here += usize::from(subtracted == Some(value));
            }
        }
    }
    masks.retain(|integers, _| uses.get(integers) == Some(&(1, 1)));
    masks
}

/// What is narrowed to bytes: a vector of 32-bit lanes, a number that is added to it, and the least and the greatest result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Narrowed {
    pub value: Value,
    /// Whether the low halves of the lanes are what counts, as signed numbers.
    pub low_halves: bool,
    pub added: i16,
    pub least: Option<i8>,
    pub most: Option<i8>,
}

/// The sums of vectors of 32-bit lanes and a number of at most 15 bits, or no less and no more than bytes, which are only narrowed to bytes. Saturated to 16 bits
/// first, they give the same bytes, as they never wrap: what saturates there is still outside the bytes when the number is added, which itself may
/// saturate. And narrowing never falls, so that the larger and the smaller one of two are found as well when they are bytes. Lanes whose low halves are extended
/// by their sign, by two shifts, need none: their low halves are the 16 bits.
pub(super) fn narrowed_sums(kernel: &Kernel) -> FxHashMap<Value, Narrowed> {
    let once = used_once(kernel);
    let (mut constants, mut sums, mut narrowed) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
    let (mut larger, mut smaller) = (FxHashMap::default(), FxHashMap::default());
    let (mut left, mut right) = (FxHashMap::default(), FxHashMap::default());
    for region in kernel.regions() {
        for statement in &region.statements {
            let [result] = statement.results[..] else { continue };
            let ty = kernel.ty(result);
            let is_vector = ty.lane == Lane::I32 && ty.lanes > 1 && once.contains(result);
            match statement.inst {
                Inst::Constant { bits } if ty.lane == Lane::I32 => {
                    constants.insert(result, bits as u32 as i32);
                }
                Inst::Binary { op: BinaryOp::SignedAddInRange, a, b } if is_vector => {
                    sums.insert(result, (a, b));
                }
                Inst::Binary { op: BinaryOp::SignedMax, a, b } if is_vector => {
                    larger.insert(result, (a, b));
                }
                Inst::Binary { op: BinaryOp::SignedMin, a, b } if is_vector => {
                    smaller.insert(result, (a, b));
                }
                Inst::Binary { op: BinaryOp::ShiftLeft, a, b } if is_vector => {
                    left.insert(result, (a, b));
                }
                Inst::Binary { op: BinaryOp::ShiftRightSigned, a, b } if is_vector => {
                    right.insert(result, (a, b));
                }
                Inst::Convert { op: op @ (ConvertOp::NarrowSigned | ConvertOp::NarrowUnsigned), a } if ty.lane == Lane::I8 => {
                    narrowed.insert(a, op == ConvertOp::NarrowSigned);
                }
                _ => {}
            }
        }
    }
    // The operand that is no number, and the number.
    let with_number = |&(a, b): &(Value, Value)| {
        let number = |value: &Value| constants.get(value).copied();
        number(&b).map(|n| (a, n)).or_else(|| Some((b, number(&a)?)))
    };
    let small = |&(_, number): &(Value, i32)| number.unsigned_abs() < 1 << 14;
    let sum = |value: Value| sums.get(&value).and_then(with_number).filter(small);
    let half = |shifts: &FxHashMap<Value, (Value, Value)>, value: Value| {
        let &(shifted, count) = shifts.get(&value)?;
        (constants.get(&count) == Some(&16)).then_some(shifted)
    };
    let low_halves = |value: Value| half(&left, half(&right, value)?);
    // A value under a limit that is a byte, and the limit.
    let under = |limits: &FxHashMap<Value, (Value, Value)>, value: Value, signed: bool| {
        let (below, limit) = limits.get(&value).and_then(with_number)?;
        let byte = if signed { i8::try_from(limit).ok() } else { u8::try_from(limit).ok().map(|n| n as i8) };
        Some((below, byte?))
    };
    let found = narrowed.iter().filter_map(|(&narrowed, &signed)| {
        let smaller = under(&smaller, narrowed, signed);
        let value = smaller.map_or(narrowed, |(value, _)| value);
        let larger = under(&larger, value, signed);
        let value = larger.map_or(value, |(value, _)| value);
        let (value, added) = sum(value).map_or((value, 0), |(value, number)| (value, number as i16));
        let halves = low_halves(value);
        let (value, low_halves) = (halves.unwrap_or(value), halves.is_some());
        let [least, most] = [larger, smaller].map(|limit| limit.map(|(_, byte)| byte));
        (value != narrowed).then_some((narrowed, Narrowed { value, low_halves, added, least, most }))
    });
    found.collect()
}

struct Load {
    inst: Inst,
    region: usize,
    conversions: u32,
    others: u32,
}

struct Search<'a> {
    kernel: &'a Kernel,
    regions: usize,
    loads: FxHashMap<Value, Load>,
}

impl Search<'_> {
    fn region(&mut self, region: &Region) {
        let here = self.regions;
        self.regions += 1;
        for statement in &region.statements {
            self.note_load(&statement.inst, &statement.results, here);
            let widens = matches!(statement.inst, Inst::Convert { op: ConvertOp::SignExtend | ConvertOp::ZeroExtend, .. });
            for value in statement.inst.operands() {
                if let Some(load) = self.loads.get_mut(&value) {
                    if widens && load.region == here { load.conversions += 1 } else { load.others += 1 }
                }
            }
            statement.inst.regions().into_iter().for_each(|inner| self.region(inner));
        }
        for value in &region.yields {
            if let Some(load) = self.loads.get_mut(value) {
                load.others += 1;
            }
        }
    }

    fn note_load(&mut self, inst: &Inst, results: &[Value], here: usize) {
        let (Inst::Load { buffer, active, mask: None, .. }, [result]) = (inst, results) else { return };
        let ty = self.kernel.ty(*result);
        let whole = *active == ty.lanes && (u32::from(ty.lanes) * ty.lane.bytes()).is_multiple_of(8) && ty.lanes > 1;
        if whole && self.kernel.buffer(*buffer).kind == BufferKind::Input {
            self.loads.insert(*result, Load { inst: inst.clone(), region: here, conversions: 0, others: 0 });
        }
    }
}
