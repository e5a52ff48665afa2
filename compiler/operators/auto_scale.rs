//! Samples made as large as 16 bits allow.

use super::terms::{Terms, number};
use super::{Error, Graph, extents};
use crate::ir::ElementType::{I16, I32};
use crate::ir::{Comparison, Reduction, Scalar, ScalarOp, Value};

/// The number that has no positive counterpart.
const LOWEST: i64 = i16::MIN as i64;

/// All samples `[N]` times the largest power of two by which the largest of them stays a 16-bit number, and its exponent, `[1]`.
///
/// # Errors
/// [`Error::DynamicExtent`], and when samples are not of 16 bits.
pub fn auto_scaled(g: &mut Graph<'_>, samples: Value) -> Result<[Value; 2], Error> {
    let length = g.shape(samples)?.iter().product();
    let largest = largest(g, samples, length)?;
    let mut terms = Terms::new(&[I32]);
    let (x, zero, sign) = (terms.input(0), terms.i32(0), terms.i32(17));
    // Silence is not scaled.
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[x])?;
    let bits = terms.sub(zeros, sign)?;
    let is_silence = terms.compare(Comparison::Equal, x, zero)?;
    let bits = terms.select(is_silence, zero, bits)?;
    let bits = g.map(&[largest], terms.finish(bits))?;
    let mut terms = Terms::new(&[I16, I32]);
    let (sample, bits_node) = (terms.input_as(0, I32), terms.input(1));
    let scaled = terms.op(ScalarOp::ShiftLeft, &[sample, bits_node])?;
    let scaled = terms.convert(scaled, I16);
    let value = g.map(&[samples, bits], terms.finish(scaled))?;
    Ok([value, bits])
}

/// Returns the largest magnitude, `[1]`, as the reference finds it: sample by sample in 16 bits, where the magnitude of −32768 wraps to −32768.
/// Counting therefore starts after the last −32768, at the first sample that is not negative or does not rise. Without −32768 all samples count. The
/// result is 0 if no sample counts.
fn largest(g: &mut Graph<'_>, samples: Value, length: u64) -> Result<Value, Error> {
    let positions: Vec<Scalar> = (0..length as i32).map(Scalar::i32).collect();
    let positions = g.numbers(I32, &[length], &positions)?;
    let last_lowest = {
        let mut terms = Terms::new(&[I16, I32]);
        let (sample, position) = (terms.input(0), terms.input(1));
        let (lowest, before) = (number(&mut terms, I16, LOWEST), terms.i32(-1));
        let is_lowest = terms.compare(Comparison::Equal, sample, lowest)?;
        let place = terms.select(is_lowest, position, before)?;
        let places = g.map(&[samples, positions], terms.finish(place))?;
        g.builder.reduce(places, Reduction::Max, vec![0])?
    };
    let first_counted = {
        let earlier = g.builder.slice(samples, extents(&[0]), extents(&[length.saturating_sub(1)]), vec![1])?;
        let nothing = g.numbers(I16, &[length.min(1)], &vec![Scalar::int(I16, 0); length.min(1) as usize])?;
        let earlier = g.builder.concat(&[nothing, earlier], 0)?;
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
        let places = g.map(&[samples, earlier, positions, last_lowest], terms.finish(place))?;
        g.builder.reduce(places, Reduction::Min, vec![0])?
    };
    let mut terms = Terms::new(&[I16, I32, I32]);
    let (sample, position, first) = (terms.input_as(0, I32), terms.input(1), terms.input(2));
    let (size, zero) = (terms.op(ScalarOp::Abs, &[sample])?, terms.i32(0));
    let counts = terms.compare(Comparison::GreaterEqual, position, first)?;
    let size = terms.select(counts, size, zero)?;
    let sizes = g.map(&[samples, positions, first_counted], terms.finish(size))?;
    Ok(g.builder.reduce(sizes, Reduction::Max, vec![0])?)
}
