//! What constants decide is decided: integers computed from constants are constants, an `if` whose condition is known is its branch, and a loop
//! of one round is its body. A loop of none hands on what it was given.
//!
//! This is for scalar integers and masks. Floats stay, for what they give is for the machine to say.

use crate::kernel::interpret::lane;
use crate::kernel::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// The pass.
pub(super) fn run(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    let results = (0..kernel.types.len()).map(Value::new).collect();
    kernel.body = Known { kernel, numbers: FxHashMap::default(), results }.region(body);
}

struct Known<'k> {
    /// The kernel without its body.
    kernel: &'k Kernel,
    /// The bits of what is known.
    numbers: FxHashMap<Value, u64>,
    /// The value that takes each value's place.
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

    /// The statement that is left; none where what it stands for is in the list, or is another value.
    fn decided(&mut self, mut statement: Statement, into: &mut Vec<Statement>) -> Option<Statement> {
        let Statement { results, inst } = &mut statement;
        match inst {
            Inst::If { condition, then, otherwise } if let Some(&taken) = self.numbers.get(condition) => {
                let branch = std::mem::take(if taken != 0 { then } else { otherwise });
                self.inline(branch, &[], results, into);
                return None;
            }
            Inst::For { start, end, step, carried, body } => match self.rounds([*start, *end], *step) {
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

    /// The statements of a region, whose parameters are these values and whose yields are some results.
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

    /// How often a loop runs.
    fn rounds(&self, ends: [Value; 2], step: i64) -> Option<i64> {
        let [start, end] = ends.map(|value| self.signed(value));
        let distance = end?.checked_sub(start?)?.max(0);
        (step > 0).then(|| distance / step + i64::from(distance % step != 0))
    }

    fn signed(&self, value: Value) -> Option<i64> {
        self.numbers.get(&value).map(|&bits| types::signed(self.kernel.ty(value).lane, bits))
    }

    /// The bits of a result of this type.
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

/// Whether an operation means something for all operands: divisors and counts of shifts may be what no machine takes.
fn is_total(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Sub | Mul | And | Or | Xor | SignedMin | SignedMax | UnsignedMin | UnsignedMax)
}
