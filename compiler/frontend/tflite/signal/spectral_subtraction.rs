//! SignalFilterBankSpectralSubtraction: the channels minus an estimate of the noise.

use super::super::operator::{Lowered, Operator};
use super::common::{check_types, integers, misfit, number, shifted_left, shifted_right, vector};
use super::settings::Settings;
use crate::ir::ElementType::{U32, U64};
use crate::ir::{Comparison, Node};
use crate::operators::terms::{Term, Terms};

/// SignalFilterBankSpectralSubtraction: the estimate follows the signal slowly, at one rate in even channels and at another in odd ones. The result
/// is the difference, or a part of the signal if this is larger. The second result is the new estimate.
pub(in super::super) fn spectral_subtraction(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    check_types(operator, &[U32], &[U32, U32])?;
    let input = vector(operator, 0)?;
    let channels = input.shape[0];
    let settings = Settings::read(operator)?;
    let factor = |name: &str| settings.integer(name, i64::from(i32::MIN)..=i64::from(i32::MAX));
    let rates = [factor("smoothing")?, factor("alternate_smoothing")?];
    let inertias = [factor("one_minus_smoothing")?, factor("alternate_one_minus_smoothing")?];
    let remaining = factor("min_signal_remaining")?;
    let (up, down) = (settings.integer("smoothing_bits", 0..=31)?, settings.integer("spectral_subtraction_bits", 0..=63)?);
    let clamps = settings.flag("clamping")?;
    let named = settings.integer("num_channels", 0..=i64::from(i32::MAX))?;
    if named != channels as i64 {
        return Err(misfit("the number of input channels does not match the options", named, channels));
    }
    let state = operator.own_state("noise estimate", U32, &[channels])?;
    let estimate = operator.load(state)?;
    let mut operands = vec![input.value, estimate];
    for pair in [rates, inertias] {
        let numbers: Vec<i64> = (0..channels as usize).map(|channel| pair[channel % 2]).collect();
        operands.push(integers(operator, U32, &[channels], &numbers)?);
    }
    let mut terms = Terms::new(&[U32; 4]);
    let [signal, estimate, rate, inertia] = [0, 1, 2, 3].map(|i| terms.input(i));
    let large = shifted_left(&mut terms, signal, up)?;
    let (new, old) = (wide_product(&mut terms, large, rate)?, wide_product(&mut terms, estimate, inertia)?);
    let sum = terms.add(new, old)?;
    let sum = shifted_right(&mut terms, sum, down)?;
    let estimate = terms.convert(sum, U32);
    let exceeds = terms.compare(Comparison::Greater, estimate, large)?;
    let bounded = terms.select(exceeds, large, estimate)?;
    let kept = if clamps { bounded } else { estimate };
    let remaining = number(&mut terms, U32, remaining);
    let floor = wide_product(&mut terms, signal, remaining)?;
    let floor = shifted_right(&mut terms, floor, down)?;
    let floor = terms.convert(floor, U32);
    let difference = terms.sub(large, bounded)?;
    let difference = shifted_right(&mut terms, difference, up)?;
    let is_above = terms.compare(Comparison::Greater, difference, floor)?;
    let left = terms.select(is_above, difference, floor)?;
    let results = operator.builder().map_many(&operands, terms.finish_many(vec![left, kept]))?;
    operator.store(state, results[1])?;
    operator.bind(0, results[0])?;
    operator.bind(1, results[1])
}

/// a × b of 32-bit numbers in 64 bits.
fn wide_product(terms: &mut Terms, a: Node, b: Node) -> Term {
    let (a, b) = (terms.convert(a, U64), terms.convert(b, U64));
    terms.mul(a, b)
}
