//! A contraction reads bytes as they were before a number was added to them.
//!
//! Contract: a chain of maps adds one number to all 256 bytes, as from `u8` to `i8` or back. It feeds a convolution or the left operand of a matrix
//! product.
//! The contraction reads the bytes before the chain, and its zero point is reduced by the number, so every summed difference stays the same.
//! Models with `u8` inputs that compute in `i8` begin like this.

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
    // The types must differ: within one type, only an identity adds the same number to all bytes.
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
