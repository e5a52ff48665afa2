//! Matrices of sines and cosines of a transform with a run-time length. The program computes them in binary64, like the matrices of static lengths.

use crate::ir::scalar::ExpressionError;
use crate::ir::{Comparison, ElementType, Extent, Node, ScalarOp, Value};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F64, I64};
use std::f64::consts::TAU;

/// `[2 × bins, n]`: numbers of the result, real and imaginary parts in turns, from n real ones.
///
/// # Errors
/// When an extent leaves 64 bits.
pub fn half_spectrum(g: &mut Graph<'_>, element: ElementType, [bins, n]: [Extent; 2]) -> Result<Value, Error> {
    let rows = g.mul(bins, Extent::Static(2))?;
    table(g, element, [rows, n], n, |terms, [row, column, n]| {
        let (bin, odd) = halved(terms, row)?;
        let [sine, cosine] = turn(terms, bin, column, n)?;
        let back = terms.op(ScalarOp::Neg, &[sine])?;
        terms.select(odd, back, cosine)
    })
}

/// `[2 × n, 2 × n]`: complex numbers from complex ones, as pairs. `sign` is the sign of the exponents, 1 or −1.
///
/// # Errors
/// When an extent leaves 64 bits.
pub fn spectrum(g: &mut Graph<'_>, element: ElementType, n: Extent, sign: f64) -> Result<Value, Error> {
    let count = g.mul(n, Extent::Static(2))?;
    table(g, element, [count, count], n, |terms, [row, column, n]| {
        let ((to, to_imaginary), (from, from_imaginary)) = (halved(terms, row)?, halved(terms, column)?);
        let [sine, cosine] = turn(terms, to, from, n)?;
        let sign = terms.f64(sign);
        let sine = terms.mul(sine, sign)?;
        let back = terms.op(ScalarOp::Neg, &[sine])?;
        // (a + bi)(c + si): real parts from imaginary ones by −s, imaginary parts from real ones by s.
        let crossed = terms.select(to_imaginary, sine, back)?;
        let same = terms.compare(Comparison::Equal, to_imaginary, from_imaginary)?;
        terms.select(same, cosine, crossed)
    })
}

/// `[n, 2 × found]`: real numbers from the pairs that their spectrum begins with.
///
/// # Errors
/// When an extent leaves 64 bits.
pub fn real_numbers(g: &mut Graph<'_>, element: ElementType, [n, found]: [Extent; 2]) -> Result<Value, Error> {
    let columns = g.mul(found, Extent::Static(2))?;
    table(g, element, [n, columns], n, |terms, [row, column, n]| {
        let (bin, odd) = halved(terms, column)?;
        let [sine, cosine] = turn(terms, bin, row, n)?;
        let back = terms.op(ScalarOp::Neg, &[sine])?;
        let number = terms.select(odd, back, cosine)?;
        let weight = weight(terms, bin, n)?;
        terms.mul(number, weight)
    })
}

/// The weight of a number of half a spectrum. The first and the middle one count once. The others count twice, for their conjugates.
fn weight(terms: &mut Terms, bin: Node, n: Node) -> Term {
    let (none, once, twice) = (terms.f64(0.0), terms.f64(1.0), terms.f64(2.0));
    let (zero, two) = (terms.i64(0), terms.i64(2));
    let doubled = terms.mul(bin, two)?;
    let is_first = terms.compare(Comparison::Equal, bin, zero)?;
    let is_middle = terms.compare(Comparison::Equal, doubled, n)?;
    let is_beyond = terms.compare(Comparison::Greater, doubled, n)?;
    let is_single = terms.op(ScalarOp::Or, &[is_first, is_middle])?;
    let weight = terms.select(is_single, once, twice)?;
    terms.select(is_beyond, none, weight)
}

/// Returns the half of a position, rounded down, and whether the position is odd.
fn halved(terms: &mut Terms, position: Node) -> Result<(Node, Node), ExpressionError> {
    let (one, two) = (terms.i64(1), terms.i64(2));
    let rest = terms.op(ScalarOp::And, &[position, one])?;
    Ok((terms.div(position, two)?, terms.compare(Comparison::Equal, rest, one)?))
}

/// Sine and cosine of part j·k ÷ n of a turn.
fn turn(terms: &mut Terms, j: Node, k: Node, n: Node) -> Result<[Node; 2], ExpressionError> {
    let product = terms.mul(j, k)?;
    let part = terms.op(ScalarOp::Rem, &[product, n])?;
    let (part, whole, full) = (terms.convert(part, F64), terms.convert(n, F64), terms.f64(TAU));
    let angle = terms.mul(full, part)?;
    let angle = terms.div(angle, whole)?;
    Ok([terms.op(ScalarOp::Sin, &[angle])?, terms.op(ScalarOp::Cos, &[angle])?])
}

/// A matrix of an element type, a number for each row, column, and the length.
fn table(
    g: &mut Graph<'_>,
    element: ElementType,
    [rows, columns]: [Extent; 2],
    length: Extent,
    number: impl FnOnce(&mut Terms, [Node; 3]) -> Term,
) -> Result<Value, Error> {
    let one = Extent::Static(1);
    let operands = [g.positions(&[rows, one], 0, I64)?, g.positions(&[one, columns], 1, I64)?, g.extent_tensor(length, I64)?];
    g.compute(&operands, |terms, x| {
        let number = number(terms, [x[0], x[1], x[2]])?;
        Ok(terms.convert(number, element))
    })
}
