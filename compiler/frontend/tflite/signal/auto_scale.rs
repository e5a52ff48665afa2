//! SignalFftAutoScale: samples made as large as 16 bits allow.

use super::super::operator::{Lowered, Operator, extents};
use super::common::{check_types, integers, number, vector};
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{I16, I32};
use crate::ir::{Comparison, Reduction, ScalarOp, Value};
use crate::operators::terms::Terms;

/// The number that has no positive counterpart.
const LOWEST: i64 = i16::MIN as i64;

/// SignalFftAutoScale: all samples times the largest power of two by which the largest of them stays a 16-bit number, and its exponent.
pub(in super::super) fn auto_scale(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    check_types(operator, &[I16], &[I16, I32])?;
    let input = vector(operator, 0)?;
    let largest = largest(operator, input.value, input.shape[0])?;
    let mut terms = Terms::new(&[I32]);
    let (x, zero, sign) = (terms.input(0), terms.i32(0), terms.i32(17));
    // Silence is not scaled.
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[x])?;
    let bits = terms.sub(zeros, sign)?;
    let is_silence = terms.compare(Comparison::Equal, x, zero)?;
    let bits = terms.select(is_silence, zero, bits)?;
    let bits = operator.map(&[largest], terms.finish(bits))?;
    let mut terms = Terms::new(&[I16, I32]);
    let (sample, bits_node) = (terms.input_as(0, I32), terms.input(1));
    let scaled = terms.op(ScalarOp::ShiftLeft, &[sample, bits_node])?;
    let scaled = terms.convert(scaled, I16);
    let value = operator.map(&[input.value, bits], terms.finish(scaled))?;
    operator.bind(0, value)?;
    let bits = operator.reshape(bits, &[])?;
    operator.bind(1, bits)
}

/// The largest magnitude, `[1]`, as the reference finds it: sample by sample in 16 bits, where that of −32768 is below every other number. So
/// samples up to the last such one do not count, nor do negative ones that rise from there on; where nothing else follows, none does, and
/// the result is 0.
fn largest(operator: &mut Operator<'_, '_, '_>, samples: Value, length: u64) -> Result<Value, Diagnostic> {
    let positions = integers(operator, I32, &[length], &(0..length as i64).collect::<Vec<_>>())?;
    let last_lowest = {
        let mut terms = Terms::new(&[I16, I32]);
        let (sample, position) = (terms.input(0), terms.input(1));
        let (lowest, before) = (number(&mut terms, I16, LOWEST), terms.i32(-1));
        let is_lowest = terms.compare(Comparison::Equal, sample, lowest)?;
        let place = terms.select(is_lowest, position, before)?;
        let places = operator.map(&[samples, positions], terms.finish(place))?;
        operator.builder().reduce(places, Reduction::Max, vec![0])?
    };
    let first_counted = {
        let earlier = operator.builder().slice(samples, extents(&[0]), extents(&[length.saturating_sub(1)]), vec![1])?;
        let nothing = integers(operator, I16, &[length.min(1)], &vec![0; length.min(1) as usize])?;
        let earlier = operator.builder().concat(&[nothing, earlier], 0)?;
        let mut terms = Terms::new(&[I16, I16, I32, I32]);
        let [sample, before, position, lowest] = [0, 1, 2, 3].map(|i| terms.input(i));
        let (zero, none, end) = (number(&mut terms, I16, 0), terms.i32(0), number(&mut terms, I32, length as i64));
        let rises = terms.compare(Comparison::Greater, sample, before)?;
        let is_negative = terms.compare(Comparison::Less, sample, zero)?;
        let is_hidden = terms.op(ScalarOp::And, &[rises, is_negative])?;
        let is_earlier = terms.compare(Comparison::LessEqual, position, lowest)?;
        let is_left_out = terms.op(ScalarOp::Or, &[is_hidden, is_earlier])?;
        let place = terms.select(is_left_out, end, position)?;
        // Without such a sample all of them count.
        let counts_all = terms.compare(Comparison::Less, lowest, none)?;
        let place = terms.select(counts_all, none, place)?;
        let places = operator.map(&[samples, earlier, positions, last_lowest], terms.finish(place))?;
        operator.builder().reduce(places, Reduction::Min, vec![0])?
    };
    let mut terms = Terms::new(&[I16, I32, I32]);
    let (sample, position, first) = (terms.input_as(0, I32), terms.input(1), terms.input(2));
    let (size, zero) = (terms.op(ScalarOp::Abs, &[sample])?, terms.i32(0));
    let counts = terms.compare(Comparison::GreaterEqual, position, first)?;
    let size = terms.select(counts, size, zero)?;
    let sizes = operator.map(&[samples, positions, first_counted], terms.finish(size))?;
    Ok(operator.builder().reduce(sizes, Reduction::Max, vec![0])?)
}
