//! SignalFilterBankSquareRoot: energies to magnitudes.

use super::super::operator::{Lowered, Operand, Operator};
use super::common::{check_types, misfit, number, shifted_right, vector};
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{F64, I32, I64, U32, U64};
use crate::ir::{Comparison, Node, ScalarOp};
use crate::operators::terms::{Term, Terms};

/// SignalFilterBankSquareRoot: the nearest integer to the root, shifted to the right by the second operand.
pub(in super::super) fn filter_bank_square_root(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    check_types(operator, &[U64, I32], &[U32])?;
    let (input, shift) = (vector(operator, 0)?, one_number(operator, 1)?);
    let shift = operator.reshape(shift.value, &[])?;
    let mut terms = Terms::new(&[U64, I32]);
    let (x, bits) = (terms.input(0), terms.input_as(1, U32));
    let root = nearest_root(&mut terms, x)?;
    let root = terms.convert(root, U32);
    let result = terms.op(ScalarOp::ShiftRight, &[root, bits])?;
    let value = operator.map(&[input.value, shift], terms.finish(result))?;
    operator.bind(0, value)
}

/// Operand number `index`, which must be one number.
fn one_number(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<Operand, Diagnostic> {
    let operand = operator.input(index)?;
    if operand.elements() != 1 {
        return Err(misfit("the shift must be one number", 1, operand.elements()));
    }
    Ok(operand)
}

/// The nearest integer to the root of a 64-bit number, but 65535 for those of 32 bits that are nearer to 65536, which the reference finds in 16
/// bits, and 2³² − 1 likewise. The root in binary64 is less than one off, which the remainder tells exactly.
fn nearest_root(terms: &mut Terms, x: Node) -> Term {
    let [one, most] = [1, 0xffff_ffff].map(|n| number(terms, U64, n));
    let (high, low) = (shifted_right(terms, x, 32)?, terms.op(ScalarOp::And, &[x, most])?);
    // Both halves are numbers with a sign, which all machines convert.
    let [high, low] = [high, low].map(|half| {
        let half = terms.convert(half, I64);
        terms.convert(half, F64)
    });
    let unit = terms.f64(4_294_967_296.0);
    let high = terms.mul(high, unit)?;
    let float = terms.add(high, low)?;
    let root = terms.op(ScalarOp::Sqrt, &[float])?;
    let root = terms.convert(root, I64);
    let root = terms.convert(root, U64);
    let root = terms.min(root, most)?;
    let square = terms.mul(root, root)?;
    let above = terms.compare(Comparison::Greater, square, x)?;
    let less = terms.sub(root, one)?;
    let root = terms.select(above, less, root)?;
    let rest = remainder(terms, x, root)?;
    let twice = terms.add(root, root)?;
    let below = terms.compare(Comparison::Greater, rest, twice)?;
    let more = terms.add(root, one)?;
    let root = terms.select(below, more, root)?;
    let rest = remainder(terms, x, root)?;
    let (short, limit) = (number(terms, U64, 0xffff), number(terms, U64, 1 << 32));
    let is_short = terms.compare(Comparison::Less, x, limit)?;
    let largest = terms.select(is_short, short, most)?;
    let up = terms.compare(Comparison::Greater, rest, root)?;
    let next = terms.add(root, one)?;
    let next = terms.min(next, largest)?;
    terms.select(up, next, root)
}

/// x − root².
fn remainder(terms: &mut Terms, x: Node, root: Node) -> Term {
    let square = terms.mul(root, root)?;
    terms.sub(x, square)
}
