//! SignalEnergy: the squared magnitudes of complex numbers.

use super::super::operator::{Lowered, Operator, extents};
use super::common::{check_types, misfit, vector};
use super::settings::Settings;
use crate::ir::ElementType::{I16, U32};
use crate::ir::Scalar;
use crate::operators::fourier::Format;
use crate::operators::terms::Terms;

/// SignalEnergy: real² + imaginary² of the numbers from `start_index` to before `end_index`, zeros elsewhere.
pub(in super::super) fn energy(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    check_types(operator, &[I16], &[U32])?;
    let input = vector(operator, 0)?;
    if !input.shape[0].is_multiple_of(2) {
        return Err(misfit("complex numbers are pairs", "an even number of elements", input.shape[0]));
    }
    let count = input.shape[0] / 2;
    let settings = Settings::read(operator)?;
    let end = settings.integer("end_index", 0..=count as i64)?;
    let start = settings.integer("start_index", 0..=end)?;
    let [numbers] = Format::Fixed16.split(operator.graph(), input.value, [1, count])?[..] else { unreachable!("fixed point is packed") };
    let range = operator.builder().slice(numbers, extents(&[start as u64, 0]), extents(&[(end - start) as u64, 1]), vec![1; 2])?;
    let mut terms = Terms::new(&[Format::Fixed16.packed()]);
    let energy = {
        let x = Format::Fixed16.unpack(&mut terms, 0)?;
        let (real, imaginary) = (terms.mul(x.re, x.re)?, terms.mul(x.im, x.im)?);
        terms.add(real, imaginary)?
    };
    let result = terms.convert(energy, U32);
    let value = operator.map(&[range], terms.finish(result))?;
    let value = operator.reshape(value, &[(end - start) as u64])?;
    let value = operator.builder().pad(value, vec![start], vec![count as i64 - end], Scalar::int(U32, 0))?;
    operator.bind(0, value)
}
