//! A contraction reads bytes as they were before a number was added to them.
//!
//! Contract: the operand of a convolution, or the left one of a product of matrices, is a chain of maps that adds one number to each of the 256
//! bytes, as from `u8` to `i8` or back. The contraction takes the bytes before that, and its zero point is less by the number: every difference
//! that it sums stays what it is. Models with inputs of `u8` that compute with `i8` begin like this.

use super::byte_chains::{byte, nearest};
use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| unshifted(edit, inst).map_or(Visit::Keep, |value| Visit::Replace(vec![value])))
}

fn unshifted(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let mut operation = data.operation;
    let zero_point = match &mut operation {
        Operation::Conv(conv) => &mut conv.input_zero_point,
        Operation::Matmul(matmul) => &mut matmul.left_zero_point,
        _ => return None,
    };
    let element = byte(edit, data.operands[0])?;
    // Of one type, only what changes nothing adds the same to all.
    let chain = nearest(edit, data.operands[0]).filter(|chain| byte(edit, chain.root) != Some(element))?;
    let (first, _) = edit.function.tensor(chain.root).element.integer_range()?;
    let mut added = (first as i64..).zip(chain.results(edit.module, 0)?).map(|(byte, result)| result.as_i64() - byte);
    let number = added.next()?;
    if !added.all(|other| other == number) {
        return None;
    }
    *zero_point -= number;
    let mut operands = data.operands;
    operands[0] = chain.root;
    edit.insert_one(operation, &operands)
}
