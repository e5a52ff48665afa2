//! Arithmetic that 32-bit machines lack, made of [`Ops`]: 64-bit divisions and floats. Each operation is the body of a function of
//! [`crate::support`].
//!
//! Floats are decoded to a sign, an exponent and a 64-bit mantissa with the leading one in the highest bit. So the same code serves all formats.

mod add;
mod compare;
mod convert;
mod divide;
mod multiply;
mod parts;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod whole;

pub use divide::words as divide_words;

use super::ops::Ops;
use crate::support::{FloatOp, LongOp, Support};
use parts::Pair;

/// Computes the result of a support function from its arguments.
pub fn compute<O: Ops>(ops: &mut O, what: Support, arguments: &[O::Word]) -> Vec<O::Word> {
    result(ops, what, arguments)[..what.result()].to_vec()
}

/// Computes the result of a support function. A result of one word is the first one.
fn result<O: Ops>(ops: &mut O, what: Support, arguments: &[O::Word]) -> Pair<O> {
    let (first, second) = arguments.split_at(what.arguments()[0]);
    let (a, b) = (pair(ops, first), pair(ops, second));
    match what {
        Support::Divide => [divide::words(ops, false, a[0], b[0]); 2],
        Support::DivideSigned => [divide::words(ops, true, a[0], b[0]); 2],
        Support::HighProduct => [ops.long_product(true, a[0], b[0])[1]; 2],
        Support::Long(op) => {
            let (is_signed, remainder) = match op {
                LongOp::DivideSigned => (true, false),
                LongOp::Divide => (false, false),
                LongOp::RemainderSigned => (true, true),
                LongOp::Remainder => (false, true),
            };
            divide::integers(ops, is_signed, remainder, a, b)
        }
        Support::Convert(from, to) => convert::between(ops, from, to, a),
        Support::Float(format, op) => match op {
            FloatOp::Add => add::sum(ops, format, a, b),
            FloatOp::Multiply => multiply::product(ops, format, a, b),
            FloatOp::Divide => divide::quotient(ops, format, a, b),
            FloatOp::SquareRoot => divide::square_root(ops, format, a),
            FloatOp::Equal | FloatOp::Less | FloatOp::LessEqual => [compare::holds(ops, format, op, a, b); 2],
            FloatOp::Truncate => convert::truncated(ops, format, a),
            FloatOp::FromSigned => convert::from_integer(ops, format, true, a),
            FloatOp::FromUnsigned => convert::from_integer(ops, format, false, a),
            FloatOp::ToSigned => convert::to_signed(ops, format, a),
            FloatOp::ToUnsigned => convert::to_unsigned(ops, format, a),
        },
    }
}

/// Extends one or two words to 64 bits with zeros.
fn pair<O: Ops>(ops: &mut O, words: &[O::Word]) -> Pair<O> {
    match *words {
        [low, high] => [low, high],
        [low] => [low, ops.word(0)],
        _ => [ops.word(0); 2],
    }
}
