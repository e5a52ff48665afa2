//! SignalDelay: samples some time later.

use super::super::operator::{Lowered, Operator};
use super::common::{MOST_SAMPLES, check_types, columns, lines};
use super::settings::Settings;
use crate::ir::ElementType::I16;

/// SignalDelay: the last dimension, delayed by `delay_length` samples. It begins with as many zeros.
pub(in super::super) fn delay(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    check_types(operator, &[I16], &[I16])?;
    let input = operator.input(0)?;
    let (rows, length) = lines(&input)?;
    let delay = Settings::read(operator)?.integer("delay_length", 0..=MOST_SAMPLES)? as u64;
    if delay == 0 {
        return operator.bind(0, input.value);
    }
    let samples = operator.reshape(input.value, &[rows, length])?;
    let waiting = operator.own_state("delay", I16, &[rows, delay])?;
    let earlier = operator.load(waiting)?;
    let all = operator.builder().concat(&[earlier, samples], 1)?;
    let later = columns(operator, all, length, delay)?;
    operator.store(waiting, later)?;
    let value = columns(operator, all, 0, length)?;
    let value = operator.reshape(value, &input.shape)?;
    operator.bind(0, value)
}
