//! SignalRfft and SignalIrfft.

use super::super::operator::{Lowered, Operand, Operator, extents};
use super::common::{lines, misfit};
use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::ir::Scalar;
use crate::operators::fourier::{self, Format};

/// The longest transform of real numbers.
const LONGEST: i64 = 1 << 20;

/// The operand, and half the length of the transform.
fn prepare(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, u64), Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
    let format = Format::of(input.element()).filter(|_| output.element == input.element());
    if format.is_none() {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let settings = Settings::read(operator)?;
    settings.check_type(input.element())?;
    let length = settings.integer("fft_length", 2..=LONGEST)? as u64;
    if !length.is_multiple_of(2) {
        return Err(misfit("the length of the transform must be even", "an even number", length));
    }
    Ok((input, length / 2))
}

/// SignalRfft: the last dimension, filled up with zeros, to the first half of its spectrum and the number in the middle, as pairs.
pub(in super::super) fn real_fourier(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, half) = prepare(operator)?;
    let (rows, samples) = lines(&input)?;
    if samples > 2 * half {
        return Err(misfit("the input is longer than the transform", format!("at most {} samples", 2 * half), samples));
    }
    let mut value = operator.reshape(input.value, &[rows, samples])?;
    if samples < 2 * half {
        let missing = (2 * half - samples) as i64;
        value = operator.builder().pad(value, vec![0, 0], vec![0, missing], Scalar::int(input.element(), 0))?;
    }
    let value = fourier::real(operator.graph(), value, [rows, half])?;
    let shape = [&input.shape[..input.rank() - 1], &[2 * (half + 1)]].concat();
    let value = operator.graph().reshape(value, &extents(&shape))?;
    operator.bind(0, value)
}

/// SignalIrfft: the inverse. Fixed point is divided by the length on the way, binary32 at the end.
pub(in super::super) fn inverse_real_fourier(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let (input, half) = prepare(operator)?;
    let (rows, elements) = lines(&input)?;
    if elements != 2 * (half + 1) {
        return Err(misfit("the input is not a spectrum of this transform", format!("{} numbers", 2 * (half + 1)), elements));
    }
    let value = fourier::inverse_real(operator.graph(), input.value, [rows, half])?;
    let shape = [&input.shape[..input.rank() - 1], &[2 * half]].concat();
    let value = operator.graph().reshape(value, &extents(&shape))?;
    operator.bind(0, value)
}
