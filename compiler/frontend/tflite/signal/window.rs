//! SignalWindow: samples weighted by a window, in fixed point.

use super::super::operator::{Lowered, Operator};
use super::common::{check_types, misfit, shifted_right, vector};
use super::settings::Settings;
use crate::ir::ElementType::{I16, I32};
use crate::operators::terms::Terms;

/// SignalWindow: `sample × weight >> shift`, saturated to 16 bits. A frame is as long as the weights; an input may hold several.
pub(in super::super) fn window(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    check_types(operator, &[I16, I16], &[I16])?;
    let shift = Settings::read(operator)?.integer("shift", 0..=31)?;
    let (input, weights) = (operator.input(0)?, vector(operator, 1)?);
    let length = weights.shape[0];
    if length == 0 || !input.elements().is_multiple_of(length) {
        return Err(misfit(
            "the length of the input is not a multiple of the window",
            format!("a multiple of {length} samples"),
            input.elements(),
        ));
    }
    let frames = operator.reshape(input.value, &[input.elements() / length, length])?;
    let mut terms = Terms::new(&[I16, I16]);
    let (sample, weight) = (terms.input_as(0, I32), terms.input_as(1, I32));
    let product = terms.mul(sample, weight)?;
    let scaled = shifted_right(&mut terms, product, shift)?;
    let result = terms.saturate(scaled, I16);
    let value = operator.map(&[frames, weights.value], terms.finish(result))?;
    let value = operator.reshape(value, &input.shape)?;
    operator.bind(0, value)
}
