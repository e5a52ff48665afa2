//! SignalRfft and SignalIrfft: Fourier transforms of real numbers, as kissfft takes them in fixed point and in binary32.
//!
//! Two neighbouring samples are one complex number, so a transform of `2n` real numbers is one of `n` complex ones, whose result is taken
//! apart (`apart.rs`). The complex transform is one element-wise operation for each factor of its length (`stages.rs`). What a number is and
//! how it is rounded is a [`Format`].

mod apart;
mod butterfly;
mod format;
mod stages;

pub(super) use format::Format;

use super::super::operator::{Lowered, Operand, Operator};
use super::common::{lines, misfit};
use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::ir::{Scalar, Value};
use crate::operators::terms::Terms;
use apart::{Apart, combine, take_apart};
use stages::Transform;

/// The longest transform of real numbers.
const LONGEST: i64 = 1 << 20;

/// The operand, its format, and half the length of the transform.
fn prepare(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Format, u64), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
    let format = Format::of(input.element()).filter(|_| output.element == input.element());
    let format = format.ok_or_else(|| operator.type_error(&[input.element(), output.element]))?;
    let settings = Settings::read(operator)?;
    settings.check_type(input.element())?;
    let length = settings.integer("fft_length", 2..=LONGEST)? as u64;
    if !length.is_multiple_of(2) {
        return Err(misfit("the length of the transform must be even", "an even number", length));
    }
    Ok((input, format, length / 2))
}

/// SignalRfft: the last dimension, filled up with zeros, to the first half of its spectrum and the number in the middle, as pairs.
pub(in super::super::super) fn real_fourier(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, format, half) = prepare(operator)?;
    let (rows, samples) = lines(&input)?;
    if samples > 2 * half {
        return Err(misfit("the input is longer than the transform", format!("at most {} samples", 2 * half), samples));
    }
    let mut value = operator.reshape(input.value, &[rows, samples])?;
    if samples < 2 * half {
        let missing = (2 * half - samples) as i64;
        value = operator.builder().pad(value, vec![0, 0], vec![0, missing], Scalar::int(input.element(), 0))?;
    }
    let numbers = format.split(operator, value, [rows, half])?;
    let transform = Transform::new(format, half, rows, false)?;
    let numbers = transform.apply(operator, numbers)?;
    let spectrum = take_apart(operator, &Apart::new(format, half, false), &numbers)?;
    let value = format.join(operator, &spectrum, [half + 1, rows])?;
    let shape = [&input.shape[..input.rank() - 1], &[2 * (half + 1)]].concat();
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)
}

/// SignalIrfft: the inverse. Fixed point is divided by the length on the way, binary32 at the end.
pub(in super::super::super) fn inverse_real_fourier(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, format, half) = prepare(operator)?;
    let (rows, elements) = lines(&input)?;
    if elements != 2 * (half + 1) {
        return Err(misfit("the input is no spectrum of the transform", format!("{} numbers", 2 * (half + 1)), elements));
    }
    let spectrum = format.split(operator, input.value, [rows, half + 1])?;
    let numbers = combine(operator, &Apart::new(format, half, true), &spectrum)?;
    let transform = Transform::new(format, half, rows, true)?;
    let numbers = transform.apply(operator, numbers)?;
    let mut value = format.join(operator, &numbers, [half, rows])?;
    if format == Format::Float {
        value = divided(operator, value, 2 * half)?;
    }
    let shape = [&input.shape[..input.rank() - 1], &[2 * half]].concat();
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)
}

/// Numbers of binary32 divided by a length.
fn divided(operator: &mut Operator<'_, '_, '_>, value: Value, length: u64) -> Result<Value, Diagnostic> {
    let mut terms = Terms::new(&[Format::Float.element()]);
    let (x, length) = (terms.input(0), terms.f32(length as f32));
    let quotient = terms.div(x, length)?;
    operator.map(&[value], terms.finish(quotient))
}
