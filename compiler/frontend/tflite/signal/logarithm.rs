//! SignalFilterBankLog: logarithms in fixed point.

use super::super::operator::{Lowered, Operator};
use super::common::{check_types, number, shifted_left, vector};
use super::settings::Settings;
use crate::ir::Comparison;
use crate::ir::ElementType::{I16, U32};
use crate::operators::logarithm::{natural, rounded, table};
use crate::operators::terms::Terms;

/// SignalFilterBankLog: the natural logarithm of `x << input_correction_bits`, times `output_scale`, at most 32767; 0 for 0 and 1.
pub(in super::super) fn filter_bank_log(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    check_types(operator, &[U32], &[I16])?;
    let settings = Settings::read(operator)?;
    let bits = settings.integer("input_correction_bits", 0..=31)?;
    let scale = settings.integer("output_scale", i64::from(i32::MIN)..=i64::from(i32::MAX))?;
    let input = vector(operator, 0)?;
    let table = table(operator.graph());
    let mut terms = Terms::new(&[U32]);
    let x = terms.input(0);
    let x = shifted_left(&mut terms, x, bits)?;
    let logarithm = natural(&mut terms, x, table)?;
    let scale = number(&mut terms, U32, scale);
    let product = terms.mul(logarithm, scale)?;
    let scaled = rounded(&mut terms, product)?;
    let [one, most] = [1, i64::from(i16::MAX)].map(|n| number(&mut terms, U32, n));
    let scaled = terms.min(scaled, most)?;
    let scaled = terms.convert(scaled, I16);
    let (is_above, zero) = (terms.compare(Comparison::Greater, x, one)?, number(&mut terms, I16, 0));
    let result = terms.select(is_above, scaled, zero)?;
    let value = operator.map(&[input.value], terms.finish(result))?;
    operator.bind(0, value)
}
