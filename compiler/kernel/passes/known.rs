//! Constant folding. Integers computed from constants become constants. An `if` with a known condition becomes one of its branches. A loop of one
//! round becomes its body. A loop of no rounds becomes its initial values.
//!
//! Only scalar integers and masks are folded. Float results depend on the machine.

use crate::interpret::lane;
use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Runs the pass.
pub(super) fn run(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    let results = (0..kernel.types.len()).map(Value::new).collect();
    kernel.body = Known { kernel, numbers: FxHashMap::default(), results }.region(body);
}

struct Known<'k> {
    /// The kernel without its body.
    kernel: &'k Kernel,
    /// Bits of the known values.
    numbers: FxHashMap<Value, u64>,
    /// Replacement of each value.
    results: Vec<Value>,
}

impl Known<'_> {
    fn region(&mut self, mut region: Region) -> Region {
        let mut statements = Vec::with_capacity(region.statements.len());
        self.statements(std::mem::take(&mut region.statements), &mut statements);
        region.yields.iter_mut().for_each(|value| *value = self.results[value.index()]);
        Region { statements, ..region }
    }

    fn statements(&mut self, from: Vec<Statement>, into: &mut Vec<Statement>) {
        for mut statement in from {
            statement.inst.operands_mut().into_iter().for_each(|operand| *operand = self.results[operand.index()]);
            if let Some(statement) = self.decided(statement, into) {
                into.push(statement);
            }
        }
    }

    /// Resolves a statement and returns it. Returns `None` if other statements or values have replaced it.
    fn decided(&mut self, mut statement: Statement, into: &mut Vec<Statement>) -> Option<Statement> {
        let Statement { results, inst } = &mut statement;
        match inst {
            Inst::If { condition, then, otherwise } if let Some(&taken) = self.numbers.get(condition) => {
                let branch = std::mem::take(if taken != 0 { then } else { otherwise });
                self.inline(branch, &[], results, into);
                return None;
            }
            Inst::For { start, end, step, carried, body, .. } => match self.rounds([*start, *end], *step) {
                Some(0) => {
                    self.rename(results, carried);
                    return None;
                }
                Some(1) => {
                    let params: Vec<Value> = std::iter::once(*start).chain(carried.iter().copied()).collect();
                    let body = std::mem::take(body);
                    self.inline(body, &params, results, into);
                    return None;
                }
                _ => {}
            },
            Inst::Select { mask, a, b } if let Some(&taken) = self.numbers.get(mask) => {
                let picked = if taken != 0 { *a } else { *b };
                self.rename(results, &[picked]);
                return None;
            }
            _ => {}
        }
        for inner in inst.regions_mut() {
            *inner = self.region(std::mem::take(inner));
        }
        if let &mut [result] = &mut results[..]
            && let Some(bits) = self.number(inst, self.kernel.ty(result))
        {
            self.numbers.insert(result, bits);
            *inst = Inst::Constant { bits };
        }
        Some(statement)
    }

    /// Appends the statements of a region. `params` replace its parameters, and its yields replace `results`.
    fn inline(&mut self, region: Region, params: &[Value], results: &[Value], into: &mut Vec<Statement>) {
        self.rename(&region.params, params);
        self.statements(region.statements, into);
        let yields: Vec<Value> = region.yields.iter().map(|value| self.results[value.index()]).collect();
        self.rename(results, &yields);
    }

    fn rename(&mut self, values: &[Value], by: &[Value]) {
        for (value, &by) in values.iter().zip(by) {
            self.results[value.index()] = by;
        }
    }

    /// Returns the number of rounds of a loop, if its bounds are known.
    fn rounds(&self, ends: [Value; 2], step: i64) -> Option<i64> {
        let [start, end] = ends.map(|value| self.signed(value));
        let distance = end?.checked_sub(start?)?.max(0);
        (step > 0).then(|| distance / step + i64::from(distance % step != 0))
    }

    fn signed(&self, value: Value) -> Option<i64> {
        self.numbers.get(&value).map(|&bits| types::signed(self.kernel.ty(value).lane, bits))
    }

    /// Returns the bits of an instruction's result, if they are known.
    fn number(&self, inst: &Inst, ty: Type) -> Option<u64> {
        if ty.lanes != 1 || ty.lane.is_float() {
            return None;
        }
        let of = |value: &Value| self.numbers.get(value).copied();
        let from = |value: &Value| self.kernel.ty(*value).lane;
        match inst {
            Inst::Constant { bits } => Some(lane::cut(ty.lane, types::signed(ty.lane, *bits).into())),
            Inst::Binary { op, a, b } if is_total(*op) => Some(lane::binary(*op, ty.lane, of(a)?, of(b)?)),
            Inst::ShiftConstant { op, a, count } => Some(lane::binary(*op, ty.lane, of(a)?, (*count).into())),
            Inst::Compare { op, a, b } => Some(lane::compare(*op, from(a), of(a)?, of(b)?).into()),
            Inst::Convert { op: op @ (ConvertOp::SignExtend | ConvertOp::ZeroExtend | ConvertOp::Wrap), a } => {
                Some(lane::convert(*op, from(a), ty.lane, of(a)?))
            }
            _ => None,
        }
    }
}

/// Tests whether an operation is defined for all operands. Divisions and shifts are not.
fn is_total(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Sub | Mul | And | Or | Xor | SignedMin | SignedMax | UnsignedMin | UnsignedMax)
}
