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
    let vectors = OperationsOnVectors::of(kernel);
    vectors.narrowed.iter().filter_map(|(&value, &signed)| Some((value, vectors.pattern(value, signed)?))).collect()
}

/// Operands of operations on vectors of 32-bit lanes whose results are used once, by the results.
#[derive(Default)]
struct OperationsOnVectors {
    constants: FxHashMap<Value, i32>,
    sums: FxHashMap<Value, [Value; 2]>,
    larger: FxHashMap<Value, [Value; 2]>,
    smaller: FxHashMap<Value, [Value; 2]>,
    shifted_left: FxHashMap<Value, [Value; 2]>,
    shifted_right: FxHashMap<Value, [Value; 2]>,
    /// Operands of narrowings to bytes, `true` if these are signed.
    narrowed: FxHashMap<Value, bool>,
}

impl OperationsOnVectors {
    fn of(kernel: &Kernel) -> Self {
        let (once, mut found) = (used_once(kernel), Self::default());
        for statement in kernel.regions().flat_map(|region| &region.statements) {
            let [result] = statement.results[..] else { continue };
            let ty = kernel.ty(result);
            let operations = match statement.inst {
                Inst::Constant { bits } if ty.lane == Lane::I32 => {
                    found.constants.insert(result, bits as u32 as i32);
                    continue;
                }
                Inst::Convert { op: op @ (ConvertOp::NarrowSigned | ConvertOp::NarrowUnsigned), a } if ty.lane == Lane::I8 => {
                    found.narrowed.insert(a, op == ConvertOp::NarrowSigned);
                    continue;
                }
                Inst::Binary { op: BinaryOp::SignedAddInRange, .. } => &mut found.sums,
                Inst::Binary { op: BinaryOp::SignedMax, .. } => &mut found.larger,
                Inst::Binary { op: BinaryOp::SignedMin, .. } => &mut found.smaller,
                Inst::Binary { op: BinaryOp::ShiftLeft, .. } => &mut found.shifted_left,
                Inst::Binary { op: BinaryOp::ShiftRightSigned, .. } => &mut found.shifted_right,
                _ => continue,
            };
            if let Inst::Binary { a, b, .. } = statement.inst
                && ty.lane == Lane::I32
                && ty.lanes > 1
                && once.contains(result)
            {
                operations.insert(result, [a, b]);
            }
        }
        found
    }

    /// Returns the pattern that ends in a narrowed value; `None` if there is nothing but the narrowing.
    fn pattern(&self, narrowed: Value, signed: bool) -> Option<Narrowed> {
        let smaller = self.limited(&self.smaller, narrowed, signed);
        let value = smaller.map_or(narrowed, |(value, _)| value);
        let larger = self.limited(&self.larger, value, signed);
        let value = larger.map_or(value, |(value, _)| value);
        let sum =
            self.sums.get(&value).and_then(|&operands| self.with_number(operands)).filter(|(_, number)| number.unsigned_abs() < 1 << 14);
        let (value, added) = sum.map_or((value, 0), |(value, number)| (value, number as i16));
        let halves = self.half(&self.shifted_right, value).and_then(|value| self.half(&self.shifted_left, value));
        let (value, low_halves) = (halves.unwrap_or(value), halves.is_some());
        let [least, most] = [larger, smaller].map(|limit| limit.map(|(_, byte)| byte));
        (value != narrowed).then_some(Narrowed { value, low_halves, added, least, most })
    }

    /// Returns the operand that is not a constant, and the constant.
    fn with_number(&self, [a, b]: [Value; 2]) -> Option<(Value, i32)> {
        let number = |value: &Value| self.constants.get(value).copied();
        number(&b).map(|n| (a, n)).or_else(|| Some((b, number(&a)?)))
    }

    /// Returns the operand of a shift by 16.
    fn half(&self, shifts: &FxHashMap<Value, [Value; 2]>, value: Value) -> Option<Value> {
        let &[shifted, count] = shifts.get(&value)?;
        (self.constants.get(&count) == Some(&16)).then_some(shifted)
    }

    /// Returns a value with a limit that fits a byte, and the limit.
    fn limited(&self, limits: &FxHashMap<Value, [Value; 2]>, value: Value, signed: bool) -> Option<(Value, i8)> {
        let (below, limit) = self.with_number(*limits.get(&value)?)?;
        let byte = if signed { i8::try_from(limit).ok() } else { u8::try_from(limit).ok().map(|n| n as i8) };
        Some((below, byte?))
    }
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
