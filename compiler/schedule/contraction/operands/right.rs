//! Reading the right operand of a contraction.

use super::types::{Constants, Operand};
use super::weights::{Integers, Source, Weights};
use crate::fuse::View;
use crate::ir::{ElementType, InstData, Value};
use crate::schedule::context::Context;
use crate::schedule::unsupported::Unsupported;

/// Reads the right operand of a `conv` or `matmul`. With `computed`, even a constant is read at run time.
///
/// # Errors
/// [`Unsupported`] if the element type has no schedule.
pub fn read(cx: &Context<'_>, data: &InstData, zero_point: i64, computed: bool) -> Result<Weights, Unsupported> {
    let operand = data.operands[1];
    let (source, subtracted) = match cx.group.right() {
        Some(View::Stored(stored)) => (stored.source, stored.subtracted),
        _ => (operand, 0),
    };
    let constant = if computed { None } else { cx.constant_data(source) };
    let Some(constant) = constant else { return of_tensor(cx, source, zero_point) };
    let stored = cx.element(source);
    let constants = Operand::of(stored).and_then(|row| row.constants).ok_or(Unsupported::RightOperand(stored))?;
    let count = cx.shape(operand)?.iter().product();
    match constants {
        Constants::Floats => Ok(Weights::Floats(constant.clone())),
        Constants::Integers if source == operand => {
            check_range(stored, zero_point)?;
            let found = cx.packed.found(Source::of(constant, Some((stored, zero_point))));
            Ok(Weights::Integers(Integers::new(constant.clone(), count, (stored, zero_point), found)))
        }
        // The group reads integers that the operand is converted from.
        Constants::Integers | Constants::Narrow => {
            check_range(stored, subtracted)?;
            Ok(Weights::Narrow { data: constant.clone(), stored, zero_point: subtracted, count })
        }
    }
}

fn of_tensor(cx: &Context<'_>, tensor: Value, zero_point: i64) -> Result<Weights, Unsupported> {
    let element = cx.element(tensor);
    if !Operand::of(element).is_some_and(|row| row.fills_panels) {
        return Err(Unsupported::ComputedRightOperand(element));
    }
    if element.is_integer() && cx.module.open_constants {
        return Err(Unsupported::ComputedBesideExternal(element));
    }
    check_range(element, zero_point)?;
    Ok(Weights::Computed { tensor, element, zero_point, count: cx.shape(tensor)?.iter().product() })
}

/// Checks that every integer of a type fits 16 bits after its zero point is subtracted.
fn check_range(element: ElementType, zero_point: i64) -> Result<(), Unsupported> {
    let (low, high) = element.integer_range().unwrap_or((0, 0));
    let fits = [low, high].iter().all(|&n| i16::try_from(n - i128::from(zero_point)).is_ok());
    if fits { Ok(()) } else { Err(Unsupported::FilterZeroPoint) }
}
