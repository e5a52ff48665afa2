//! Attention reads keys and values in the halves in which they are kept.
//!
//! Contract: keys and values that are halves of binary32, widened and nothing else, are read as they are before. Attention widens them in registers.

use super::edit::{Edit, Visit, rewrite};
use super::unary::{Unary, unary};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| narrow(edit, inst).map_or(Visit::Keep, |value| Visit::Replace(vec![value])))
}

fn narrow(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let Operation::Attention(_) = &data.operation else { return None };
    let mut operands = data.operands.clone();
    let operation = data.operation.clone();
    for cache in &mut operands[1..3] {
        *cache = before_widening(edit, *cache)?;
    }
    let alike = edit.function.tensor(operands[1]).element == edit.function.tensor(operands[2]).element;
    if alike { edit.insert_one(operation, &operands) } else { None }
}

/// The halves that a map makes binary32 of, where it does nothing else.
fn before_widening(edit: &Edit<'_>, value: Value) -> Option<Value> {
    let Unary { operand, expression } = unary(edit, value)?;
    let &[result] = &expression.results[..] else { return None };
    let node = &expression.nodes[result];
    let reads = matches!(node.operands[..], [x] if expression.nodes[x].op == ScalarOp::Input(0));
    let is_widening = node.op == ScalarOp::Convert && reads && node.ty == ElementType::F32;
    let is_half = matches!(edit.function.tensor(operand).element, ElementType::F16 | ElementType::Bf16);
    (is_widening && is_half).then_some(operand)
}
