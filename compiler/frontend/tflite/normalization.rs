//! L2_NORMALIZATION and LOG_SOFTMAX of floats, over the last dimension.

use super::operator::{Lowered, Operand, Operator, invalid};
use crate::diagnostic::Diagnostic;
use crate::frontend::terms::Terms;
use crate::ir::{ElementType, ScalarOp};
use ElementType::F32;

fn rows(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Vec<i64>), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
    if [input.element(), output.element] != [F32, F32] {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    if input.rank() == 0 || input.shape.last() == Some(&0) {
        return Err(
            invalid(314, "the input must have a last dimension that is not empty").expected("rank 1 or more", format!("{:?}", input.shape))
        );
    }
    let axis = vec![input.rank() as i64 - 1];
    Ok((input, axis))
}

/// L2_NORMALIZATION: each row divided by its length, or by 10⁻⁶ if that is more.
pub(super) fn l2(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, axis) = rows(operator)?;
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = operator.map(&[input.value], terms.finish(square))?;
    let sums = operator.builder().reduce(squares, "sum", axis)?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, sum, least) = (terms.input(0), terms.input(1), terms.f32(1e-6));
    let length = terms.op(ScalarOp::Sqrt, &[sum])?;
    let length = terms.max(length, least)?;
    let x = terms.div(x, length)?;
    let value = operator.map(&[input.value, sums], terms.finish(x))?;
    operator.bind(0, value)
}

/// LOG_SOFTMAX: x − max − log Σ e^(x − max).
pub(super) fn log_softmax(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, axis) = rows(operator)?;
    let largest = operator.builder().reduce(input.value, "max", axis.clone())?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, top) = (terms.input(0), terms.input(1));
    let difference = terms.sub(x, top)?;
    let exponential = terms.op(ScalarOp::Exp, &[difference])?;
    let exponentials = operator.map(&[input.value, largest], terms.finish(exponential))?;
    let sums = operator.builder().reduce(exponentials, "sum", axis)?;
    let mut terms = Terms::new(&[F32, F32, F32]);
    let (x, top, sum) = (terms.input(0), terms.input(1), terms.input(2));
    let logarithm = terms.op(ScalarOp::Log, &[sum])?;
    let difference = terms.sub(x, top)?;
    let x = terms.sub(difference, logarithm)?;
    let value = operator.map(&[input.value, largest, sums], terms.finish(x))?;
    operator.bind(0, value)
}
