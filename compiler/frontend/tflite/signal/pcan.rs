//! SignalPCAN: per-channel amplitude normalization, a gain that follows the noise.

use super::super::error::unsupported;
use super::super::operator::{Lowered, Operator};
use super::common::{check_types, misfit, number, shifted_left, shifted_right, vector};
use super::settings::Settings;
use crate::ir::ElementType::{I16, I32, U32, U64};
use crate::ir::{Comparison, Constant, Node, ScalarOp};
use crate::operators::terms::{Term, Terms};

/// Entries of the table of gains: three for the numbers up to 2, and four for each further power of two.
const GAINS: u64 = 125;
/// Bits after the point of the amplified signal, and of the result.
const SIGNAL_BITS: i64 = 12;
const RESULT_BITS: i64 = 6;

/// SignalPCAN: signal × gain(noise) >> `snr_shift`, compressed.
pub(in super::super) fn pcan(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    check_types(operator, &[U32, U32, I16], &[U32])?;
    let shift = Settings::read(operator)?.integer("snr_shift", 0..=63)?;
    let (input, noise, gains) = (vector(operator, 0)?, vector(operator, 1)?, vector(operator, 2)?);
    if noise.shape != input.shape {
        return Err(misfit("there must be an estimate of the noise for each channel", input.shape[0], noise.shape[0]));
    }
    let Some(table) = operator.graph().constant_of(gains.value) else {
        return Err(unsupported("a gain table that is not constant is not supported").about_tensor(&gains.info.name));
    };
    if gains.shape[0] < GAINS {
        return Err(misfit("the table of gains is too short", GAINS, gains.shape[0]));
    }
    let mut terms = Terms::new(&[U32, U32]);
    let (signal, noise_node) = (terms.input_as(0, U64), terms.input(1));
    let gain = gain(&mut terms, noise_node, table)?;
    let gain = terms.convert(gain, U32);
    let gain = terms.convert(gain, U64);
    let product = terms.mul(signal, gain)?;
    let amplified = shifted_right(&mut terms, product, shift)?;
    let amplified = terms.convert(amplified, U32);
    let result = compressed(&mut terms, amplified)?;
    let value = operator.map(&[input.value, noise.value], terms.finish(result))?;
    operator.bind(0, value)
}

/// The gain for a level of noise. The table holds three coefficients of a parabola for each interval from one power of two to the next. The gain is a
/// 16-bit number with a sign.
fn gain(terms: &mut Terms, noise: Node, table: Constant) -> Term {
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[noise])?;
    let zeros = terms.convert(zeros, I32);
    let all = terms.i32(32);
    let interval = terms.sub(all, zeros)?;
    let (four, six) = (terms.i32(4), terms.i32(6));
    let first = terms.mul(interval, four)?;
    let first = terms.sub(first, six)?;
    let [one, two] = [1, 2].map(|n| terms.i32(n));
    let places = [first, terms.add(first, one)?, terms.add(first, two)?];
    let [constant, linear, square] = places.map(|place| entry(terms, table, place));
    let position = position(terms, noise, interval)?;
    let result = terms.mul(square, position)?;
    let result = shifted_right(terms, result, 5)?;
    let linear = shifted_left(terms, linear, 5)?;
    let result = terms.add(result, linear)?;
    let result = terms.mul(result, position)?;
    let half = terms.i32(1 << 14);
    let result = terms.add(result, half)?;
    let result = shifted_right(terms, result, 15)?;
    let result = terms.add(result, constant)?;
    let result = terms.convert(result, I16);
    let result = terms.convert(result, I32);
    let (limit, place) = (number(terms, U32, 2), terms.convert(noise, I32));
    let small = entry(terms, table, place);
    let is_small = terms.compare(Comparison::LessEqual, noise, limit)?;
    terms.select(is_small, small, result)
}

/// An entry of the table.
fn entry(terms: &mut Terms, table: Constant, place: Node) -> Node {
    let entry = terms.lut(table, I16, place);
    terms.convert(entry, I32)
}

/// The position of a number in its interval, in ten bits.
fn position(terms: &mut Terms, x: Node, interval: Node) -> Term {
    let (eleven, mask) = (terms.i32(11), terms.i32(0x3ff));
    let (missing, excess) = (terms.sub(eleven, interval)?, terms.sub(interval, eleven)?);
    let is_short = terms.compare(Comparison::Less, interval, eleven)?;
    let [missing, excess] = [missing, excess].map(|count| terms.convert(count, U32));
    let (longer, shorter) = (terms.op(ScalarOp::ShiftLeft, &[x, missing])?, terms.op(ScalarOp::ShiftRight, &[x, excess])?);
    let bits = terms.select(is_short, longer, shorter)?;
    let bits = terms.convert(bits, I32);
    terms.op(ScalarOp::And, &[bits, mask])
}

/// x² ÷ 4 below 2, and x − 1 from there on.
fn compressed(terms: &mut Terms, x: Node) -> Term {
    let square = terms.mul(x, x)?;
    let square = shifted_right(terms, square, 2 + 2 * SIGNAL_BITS - RESULT_BITS)?;
    let scaled = shifted_right(terms, x, SIGNAL_BITS - RESULT_BITS)?;
    let (one, two) = (number(terms, U32, 1 << RESULT_BITS), number(terms, U32, 2 << SIGNAL_BITS));
    let line = terms.sub(scaled, one)?;
    let is_small = terms.compare(Comparison::Less, x, two)?;
    terms.select(is_small, square, line)
}
