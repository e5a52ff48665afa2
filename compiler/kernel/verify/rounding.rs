//! Rule of rounding. A kernel with a product that rounds towards zero sets this mode of the processor. So no other instruction may round to nearest.

use super::Rule;
use crate::*;

/// Tests whether a kernel sets the processor's rounding mode.
pub fn is_toward_zero(kernel: &Kernel) -> bool {
    any(kernel, |inst, _| matches!(inst, Inst::Fma { rounding: Rounding::TowardZero, .. }))
}

/// Checks the rule.
pub fn check(kernel: &Kernel) -> Result<(), Rule> {
    let is_float = |result: Option<Value>| result.is_some_and(|value| kernel.ty(value).lane.is_float());
    let mixes = |inst: &Inst, result: Option<Value>| rounds_to_nearest(inst, is_float(result));
    if is_toward_zero(kernel) && any(kernel, mixes) {
        return Err(Rule::Roundings);
    }
    Ok(())
}

/// Tests whether an instruction rounds to nearest. Conversions of integers are assumed to be exact: the rule requires it.
fn rounds_to_nearest(inst: &Inst, is_float: bool) -> bool {
    match inst {
        Inst::Binary { op, .. } => is_float && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::FloatDiv),
        Inst::Unary { op, .. } => *op == UnaryOp::Sqrt,
        Inst::Fma { rounding, .. } => *rounding == Rounding::Nearest,
        Inst::Convert { op, .. } => matches!(op, ConvertOp::Demote | ConvertOp::FloatToHalf | ConvertOp::UnsignedToFloat),
        Inst::Horizontal { op, .. } => is_float && *op == HorizontalOp::Add,
        _ => false,
    }
}

/// Tests whether a predicate holds for any instruction with its result.
fn any(kernel: &Kernel, is: impl Fn(&Inst, Option<Value>) -> bool) -> bool {
    let mut statements = kernel.statements();
    statements.any(|Statement { results, inst }| is(inst, results.first().copied()))
}
