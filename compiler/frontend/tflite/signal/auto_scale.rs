//! SignalFftAutoScale: samples made as large as 16 bits allow.

use super::super::operator::{Lowered, Operator};
use super::common::{check_types, vector};
use crate::ir::ElementType::{I16, I32};
use crate::operators::auto_scale::auto_scaled;

/// SignalFftAutoScale: all samples times the largest power of two by which the largest of them stays a 16-bit number, and its exponent.
pub(in super::super) fn auto_scale(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    check_types(operator, &[I16], &[I16, I32])?;
    let input = vector(operator, 0)?;
    let [value, bits] = auto_scaled(operator.graph(), input.value)?;
    operator.bind(0, value)?;
    let bits = operator.reshape(bits, &[])?;
    operator.bind(1, bits)
}
