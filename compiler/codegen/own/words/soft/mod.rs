//! Arithmetic that machines of words lack, over [`Ops`]: divisions of 64 bits and floats. Each is the body of a function of [`crate::codegen::support`].
//!
//! Floats are taken apart into a sign, an exponent and 64 bits, of which the highest is the leading one, so one arithmetic serves all formats.

mod add;
mod compare;
mod convert;
mod divide;
mod multiply;
mod parts;

#[cfg(test)]
mod tests;

use super::ops::Ops;
use crate::codegen::support::{FloatOp, LongOp, Support};
use parts::Pair;

/// The result of a function, of its arguments.
pub fn compute<O: Ops>(ops: &mut O, what: Support, arguments: &[O::Word]) -> Vec<O::Word> {
    let counts = what.arguments();
    let (first, second) = arguments.split_at(counts[0]);
    match what {
        Support::Long(op) => {
            let (signed, remainder) = match op {
                LongOp::DivideSigned => (true, false),
                LongOp::Divide => (false, false),
                LongOp::RemainderSigned => (true, true),
                LongOp::Remainder => (false, true),
            };
            let (a, b) = (pair(ops, first), pair(ops, second));
            divide::integers(ops, signed, remainder, a, b).to_vec()
        }
        Support::Convert(from, to) => {
            let bits = pair(ops, first);
            convert::between(ops, (from, to), bits)[..to.words()].to_vec()
        }
        Support::Float(format, op) => {
            let a = pair(ops, first);
            let b = pair(ops, second);
            match op {
                FloatOp::Add => add::sum(ops, format, a, b)[..format.words()].to_vec(),
                FloatOp::Multiply => multiply::product(ops, format, a, b)[..format.words()].to_vec(),
                FloatOp::Divide => divide::quotient(ops, format, a, b)[..format.words()].to_vec(),
                FloatOp::SquareRoot => divide::square_root(ops, format, a)[..format.words()].to_vec(),
                FloatOp::Equal | FloatOp::Less | FloatOp::LessEqual => vec![compare::holds(ops, format, op, a, b)],
                FloatOp::Truncate => convert::truncated(ops, format, a)[..format.words()].to_vec(),
                FloatOp::FromSigned => convert::from_integer(ops, format, true, a)[..format.words()].to_vec(),
                FloatOp::FromUnsigned => convert::from_integer(ops, format, false, a)[..format.words()].to_vec(),
                FloatOp::ToSigned => convert::to_signed(ops, format, a).to_vec(),
                FloatOp::ToUnsigned => convert::to_unsigned(ops, format, a).to_vec(),
            }
        }
    }
}

/// One or two words as 64 bits, zeros above.
fn pair<O: Ops>(ops: &mut O, words: &[O::Word]) -> Pair<O> {
    match *words {
        [low, high] => [low, high],
        [low] => [low, ops.word(0)],
        _ => [ops.word(0); 2],
    }
}
