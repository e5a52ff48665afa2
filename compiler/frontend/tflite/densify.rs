//! DENSIFY, which has nothing to do.

use super::error::invalid;
use super::operator::{Lowered, Operator};
use crate::diagnostic::codes;

/// DENSIFY: constants are dense since they were read.
pub(super) fn densify(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
    if input.element() != output.element || input.shape != output.shape {
        let found = format!("{} {:?}", output.element, output.shape);
        return Err(invalid(codes::SPARSE_CONSTANT, "the type or shape of the dense result is wrong")
            .expected(format!("{} {:?}", input.element(), input.shape), found));
    }
    operator.bind(0, input.value)
}
