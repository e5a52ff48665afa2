//! Index arithmetic. A value of type index is one `i64` in memory, which these kernels read and write.

use super::slices::raw_lane;
use crate::ir::{IndexOperation, Inst, Interval, Operation, Value as Tensor};
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Value};
use crate::program::E_INDEX;
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::unsupported::Unsupported;

/// Schedule of an operator on indices.
pub struct IndexSchedule<'a> {
    cx: Context<'a>,
    root: Inst,
}

impl<'a> IndexSchedule<'a> {
    /// Makes the schedule of an operator on indices.
    ///
    /// # Errors
    /// [`Unsupported`] if elements are narrower than a byte.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        for &value in data.operands.iter().chain(&data.results) {
            raw_lane(cx.element(value))?;
        }
        Ok(Self { cx, root })
    }

    /// Returns the buffer size of one number.
    fn number(&self, value: Tensor) -> Result<Elements, Unsupported> {
        Ok(Elements::new(raw_lane(self.cx.element(value))?, 1))
    }
}

impl Schedule for IndexSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let data = &self.cx.function.insts[self.root];
        let same = |v: &&Tensor| self.cx.element(**v).bits() == self.cx.element(data.results[0]).bits();
        Requirements {
            may_share: data.operands.iter().filter(same).map(|&v| Pair { read: v, written: data.results[0] }).collect(),
            ..Requirements::default()
        }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let data = &self.cx.function.insts[self.root];
        let name = data.op().name();
        let mut b = KernelBuilder::new(name);
        let (mut arguments, mut numbers) = (Arguments::default(), Vec::new());
        for (i, &operand) in data.operands.iter().enumerate() {
            let buffer = arguments.operand(&mut b, format!("operand{i}"), operand, self.number(operand)?, shared);
            numbers.push((buffer, self.cx.element(operand)));
        }
        let result = arguments.output(&mut b, "result", data.results[0], self.number(data.results[0])?);
        let zero = b.index(0);
        let mut values = Vec::new();
        for (buffer, element) in numbers {
            let raw = b.load(buffer, zero, 0, 1);
            let extend = if element.is_unsigned_integer() { ConvertOp::ZeroExtend } else { ConvertOp::SignExtend };
            values.push(if b.lane_of(buffer) == Lane::I64 { raw } else { b.convert(extend, raw, Lane::I64) });
        }
        let value = match (&data.operation, &values[..]) {
            (Operation::IndexBinary(index), &[x, y]) => binary(&mut b, index.operation, x, y),
            (Operation::IndexLoad(load), &[x]) => {
                check(&mut b, x, load.interval);
                x
            }
            (Operation::IndexTensor(_), &[x]) => x,
            _ => return Err(Unsupported::Operator(data.op())),
        };
        let lane = b.lane_of(result);
        let stored = if lane == Lane::I64 { value } else { b.convert(ConvertOp::Wrap, value, lane) };
        b.store(result, zero, 0, stored);
        Ok(vec![Lowered::new(b.finish(), arguments, name)])
    }
}

/// Leaves the kernel with [`E_INDEX`] if the number is outside the interval.
pub fn check(b: &mut KernelBuilder, number: Value, interval: Interval) {
    if interval.low > i64::MIN {
        let low = b.index(interval.low);
        let below = b.compare(CompareOp::Less, number, low);
        b.fail_if(below, E_INDEX);
    }
    if interval.high < i64::MAX {
        let high = b.index(interval.high);
        let above = b.compare(CompareOp::Greater, number, high);
        b.fail_if(above, E_INDEX);
    }
}

/// Writes a saturating operation on two indices, as [`crate::ir::interval::evaluate`] defines it.
fn binary(b: &mut KernelBuilder, operation: IndexOperation, x: Value, y: Value) -> Value {
    match operation {
        IndexOperation::Add => {
            let sum = b.add(x, y);
            let (left, right) = (b.binary(BinaryOp::Xor, x, sum), b.binary(BinaryOp::Xor, y, sum));
            let overflows = both_negative(b, left, right);
            saturated(b, overflows, x, sum)
        }
        IndexOperation::Subtract => {
            let difference = b.sub(x, y);
            let (left, right) = (b.binary(BinaryOp::Xor, x, y), b.binary(BinaryOp::Xor, x, difference));
            let overflows = both_negative(b, left, right);
            saturated(b, overflows, x, difference)
        }
        IndexOperation::Multiply => multiply(b, x, y),
        IndexOperation::FloorDivide => floor_divide(b, x, y),
        IndexOperation::CeilingDivide => {
            let negated = negate(b, x);
            let quotient = floor_divide(b, negated, y);
            negate(b, quotient)
        }
        IndexOperation::Remainder => {
            let quotient = floor_divide(b, x, y);
            let whole = b.mul(quotient, y);
            let (rest, zero) = (b.sub(x, whole), b.index(0));
            let none = b.compare(CompareOp::Equal, y, zero);
            b.select(none, zero, rest)
        }
        IndexOperation::Minimum => b.binary(BinaryOp::SignedMin, x, y),
        IndexOperation::Maximum => b.binary(BinaryOp::SignedMax, x, y),
    }
}

fn both_negative(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    let (both, zero) = (b.binary(BinaryOp::And, x, y), b.index(0));
    b.compare(CompareOp::Less, both, zero)
}

/// Returns the result, or the extreme number with the sign of `sign` if it overflows.
fn saturated(b: &mut KernelBuilder, overflows: Value, sign: Value, result: Value) -> Value {
    let (zero, low, high) = (b.index(0), b.index(i64::MIN), b.index(i64::MAX));
    let negative = b.compare(CompareOp::Less, sign, zero);
    let most = b.select(negative, low, high);
    b.select(overflows, most, result)
}

/// Writes a saturating product. An overflow shows when the product is divided by x. The exception is −1 × the smallest number, which wraps to
/// itself twice.
fn multiply(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    let (zero, minus_one, low) = (b.index(0), b.index(-1), b.index(i64::MIN));
    let product = b.mul(x, y);
    let back = b.binary(BinaryOp::SignedDiv, product, x);
    let (some, differs) = (b.compare(CompareOp::NotEqual, x, zero), b.compare(CompareOp::NotEqual, back, y));
    let lost = b.binary(BinaryOp::And, some, differs);
    let (flips, smallest) = (b.compare(CompareOp::Equal, x, minus_one), b.compare(CompareOp::Equal, y, low));
    let wraps = b.binary(BinaryOp::And, flips, smallest);
    let overflows = b.binary(BinaryOp::Or, lost, wraps);
    let sign = b.binary(BinaryOp::Xor, x, y);
    saturated(b, overflows, sign, product)
}

/// Writes a quotient rounded towards −∞. A divisor of 0 gives 0, and the smallest number ÷ −1 wraps.
fn floor_divide(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    let (zero, one) = (b.index(0), b.index(1));
    let quotient = b.binary(BinaryOp::SignedDiv, x, y);
    let whole = b.mul(quotient, y);
    let inexact = b.compare(CompareOp::NotEqual, whole, x);
    let signs = b.binary(BinaryOp::Xor, x, y);
    let (differ, some) = (b.compare(CompareOp::Less, signs, zero), b.compare(CompareOp::NotEqual, y, zero));
    let rounds = b.binary(BinaryOp::And, inexact, differ);
    let rounds = b.binary(BinaryOp::And, rounds, some);
    let below = b.sub(quotient, one);
    b.select(rounds, below, quotient)
}

/// Writes −x. The smallest number becomes the largest.
fn negate(b: &mut KernelBuilder, x: Value) -> Value {
    let (low, high) = (b.index(i64::MIN), b.index(i64::MAX));
    let smallest = b.compare(CompareOp::Equal, x, low);
    let negated = b.unary(crate::kernel::UnaryOp::Neg, x);
    b.select(smallest, high, negated)
}
