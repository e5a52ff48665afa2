//! The numbers of a call: multipliers and shifts, offsets, bounds.

use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::call::Call;
use crate::ir::{ElementType, Interval, Value};
use crate::operators::contraction::IntegerOutput;
use crate::operators::quantization::Multiplier;

/// An integer of 32 bits.
pub(super) fn small(c: &Call<'_, '_, '_>, index: usize) -> Result<i32, Fault> {
    let number = c.int(index)?;
    let out_of_range = || Fault::invalid(format!("argument {index} is out of range")).expected("32 bits", number.to_string());
    i32::try_from(number).map_err(|_| out_of_range())
}

/// A multiplier and its shift, two arguments from `index` on.
pub(super) fn multiplier(c: &Call<'_, '_, '_>, index: usize) -> Result<Multiplier, Fault> {
    of_range(small(c, index)?, small(c, index + 1)?)
}

pub(super) fn of_range(mantissa: i32, shift: i32) -> Result<Multiplier, Fault> {
    if !(-31..=30).contains(&shift) {
        return Err(Fault::invalid("the shift of a multiplier is out of range").expected("-31 to 30", shift.to_string()));
    }
    Ok(Multiplier { mantissa, shift })
}

/// The multipliers of channels, in two tensors from argument `index` on.
pub(super) fn of_channels(c: &mut Call<'_, '_, '_>, index: usize, channels: u64) -> Result<Vec<Multiplier>, Fault> {
    let mantissas = integers(c, index, channels)?;
    let shifts = integers(c, index + 1, channels)?;
    mantissas.into_iter().zip(shifts).map(|(mantissa, shift)| of_range(mantissa, shift)).collect()
}

/// The integers of a constant tensor, one a channel.
fn integers(c: &mut Call<'_, '_, '_>, index: usize, channels: u64) -> Result<Vec<i32>, Fault> {
    let value = c.tensor(index)?;
    expect(c, value, index, ElementType::I32)?;
    let unknown = || Fault::unsupported(format!("argument {index} must be known at compile time"));
    let bytes = c.graph().known(value).ok_or_else(unknown)?;
    let numbers: Vec<i32> = bytes.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect();
    if numbers.len() as u64 != channels {
        return Err(Fault::invalid(format!("argument {index} has a wrong length"))
            .expected(format!("{channels}, one a channel"), numbers.len().to_string()));
    }
    Ok(numbers)
}

/// Checks the type of a tensor argument.
pub(super) fn expect(c: &Call<'_, '_, '_>, value: Value, index: usize, element: ElementType) -> Result<(), Fault> {
    let found = c.element(value);
    if found == element {
        Ok(())
    } else {
        Err(Fault::invalid(format!("argument {index} is of a wrong type")).expected(element.name(), found.name()))
    }
}

/// A tensor of bytes.
pub(super) fn bytes(c: &mut Call<'_, '_, '_>, index: usize) -> Result<Value, Fault> {
    let value = c.tensor(index)?;
    expect(c, value, index, ElementType::I8)?;
    Ok(value)
}

/// A bias of `channels` channels, if there is one.
pub(super) fn bias(c: &mut Call<'_, '_, '_>, index: usize, channels: u64) -> Result<Option<Value>, Fault> {
    let Some(bias) = c.optional_tensor(index)? else { return Ok(None) };
    expect(c, bias, index, ElementType::I32)?;
    c.reshape(bias, &[channels]).map(Some)
}

/// A result of bytes with a zero point and bounds, three arguments.
pub(super) fn output(c: &Call<'_, '_, '_>, [zero_point, low, high]: [usize; 3]) -> Result<IntegerOutput, Fault> {
    let (least, most) = (small(c, low)?, small(c, high)?);
    if !(-128..=127).contains(&least) || !(least..=127).contains(&most) {
        return Err(Fault::invalid("the bounds of the result are out of range").expected("-128 to 127", format!("{least} to {most}")));
    }
    Ok(IntegerOutput { bounds: Interval::new(least, most), ..any_byte(small(c, zero_point)?)? })
}

/// A result of bytes with a zero point.
pub(super) fn any_byte(zero_point: i32) -> Result<IntegerOutput, Fault> {
    if zero_point.unsigned_abs() > 1 << 20 {
        return Err(Fault::invalid("the zero point of the result is out of range").expected("a byte", zero_point.to_string()));
    }
    Ok(IntegerOutput { element: ElementType::I8, zero_point, bounds: Interval::new(-128, 127) })
}
