//! Patterns of instructions that a back end compiles as one: the result of the first is used only by the second.

use cranelift_entity::EntitySet;
use modelc_kernel::{BinaryOp, BufferKind, ConvertOp, Inst, Kernel, Lane, Region, Value};
use rustc_hash::FxHashMap;

/// Lists the operands of all instructions and yields, each use once.
fn uses(kernel: &Kernel) -> impl Iterator<Item = Value> {
    kernel.regions().flat_map(|region| {
        let operands = region.statements.iter().flat_map(|statement| statement.inst.operands());
        region.yields.iter().copied().chain(operands)
    })
}

/// Returns the values that are used exactly once.
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

/// Finds vector loads from input buffers whose only use is a widening conversion of integers in the same region. The loads are unmasked and read a
/// multiple of eight bytes. The map has the instruction of each load.
pub(super) fn widened_loads(kernel: &Kernel) -> FxHashMap<Value, Inst> {
    let mut search = Search { kernel, regions: 0, loads: FxHashMap::default() };
    search.region(&kernel.body);
    let found = search.loads.into_iter().filter(|(_, load)| load.conversions == 1 && load.others == 0);
    found.map(|(value, load)| (value, load.inst)).collect()
}

/// Finds masks converted to 32-bit integers that are used only once, as the second operand of a subtraction. Maps each such value to its mask.
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

/// A pattern that ends in a narrowing to bytes: a vector of 32-bit lanes, an added number, and lower and upper limits of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Narrowed {
    pub value: Value,
    /// `true` if only the low 16 bits of each lane count, as signed numbers.
    pub low_halves: bool,
    pub added: i16,
    pub least: Option<i8>,
    pub most: Option<i8>,
}

/// Finds vectors of 32-bit lanes that are used only by a narrowing to bytes. Each is a vector plus a number below 2^14 in magnitude, perhaps limited
/// to a range of bytes. The back end may saturate the vector to 16 bits before it adds, and saturate the sum too. The bytes are the same: a lane that
/// saturates is outside the range of bytes before and after the addition. Narrowing is monotonic, so limits that are bytes can be applied after it.
/// Lanes that two shifts extend from their low halves need no first saturation.
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
    // The operand that is not a constant, and the constant.
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
    // A value with a limit that fits a byte, and the limit.
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
