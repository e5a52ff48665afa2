//! SignalFilterBankSquareRoot: energies to magnitudes.

use super::super::operator::{Lowered, Operand, Operator};
use super::common::{check_types, misfit, vector};
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{I32, U32, U64};
use crate::ir::ScalarOp;
use crate::operators::square_root::nearest_root;
use crate::operators::terms::Terms;

/// SignalFilterBankSquareRoot: the nearest integer to the root, shifted to the right by the second operand.
pub(in super::super) fn filter_bank_square_root(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    check_types(operator, &[U64, I32], &[U32])?;
    let (input, shift) = (vector(operator, 0)?, one_number(operator, 1)?);
    let shift = operator.reshape(shift.value, &[])?;
    let mut terms = Terms::new(&[U64, I32]);
    let (x, bits) = (terms.input(0), terms.input_as(1, U32));
    let root = nearest_root(&mut terms, x)?;
    let root = terms.convert(root, U32);
    let result = terms.op(ScalarOp::ShiftRight, &[root, bits])?;
    let value = operator.map(&[input.value, shift], terms.finish(result))?;
    operator.bind(0, value)
}

/// Operand number `index`, which must be one number.
fn one_number(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<Operand, Diagnostic> {
    let operand = operator.input(index)?;
    if operand.elements() != 1 {
        return Err(misfit("the shift must be one number", 1, operand.elements()));
    }
    Ok(operand)
}
