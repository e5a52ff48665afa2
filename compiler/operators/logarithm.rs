//! Logarithms in fixed point, with 16 bits after the point.

use super::Graph;
use super::terms::{Term, Terms, number, shifted_left, shifted_right};
use crate::ir::ElementType::{I32, U16, U32, U64};
use crate::ir::{Comparison, Constant, Node, ScalarOp};

/// Fractions have 16 bits.
const FRACTION: i64 = 16;
/// The table divides the numbers from 1 to 2 into 2⁷ segments.
const SEGMENTS: i64 = 7;
/// The natural logarithm of 2.
const LN_2: i64 = 45426;

/// The table that [`natural`] reads.
pub fn table(g: &mut Graph<'_>) -> Constant {
    g.table(U16, corrections().iter().flat_map(|n| n.to_le_bytes()).collect())
}

/// The difference between the binary logarithm of 1 + i/128 and i/128, in 16 bits. The last one is repeated for the segment after the last.
fn corrections() -> Vec<u16> {
    let segments = f64::from(1u32 << SEGMENTS);
    let correction = |i: u32| {
        let x = f64::from(i) / segments;
        libm::floor((libm::log2(1.0 + x) - x) * f64::from(1u32 << FRACTION) + 0.5) as u16
    };
    (0..=1 << SEGMENTS).map(correction).chain([0]).collect()
}

/// (x + ½) >> 16.
///
/// # Errors
/// A mistake of type: x is no integer.
pub fn rounded(terms: &mut Terms, x: Node) -> Term {
    let half = number(terms, terms.ty(x), 1 << (FRACTION - 1));
    let sum = terms.add(x, half)?;
    shifted_right(terms, sum, FRACTION)
}

/// The natural logarithm of a number above 0 with 16 bits after the point, from its binary one and the [`table`].
///
/// # Errors
/// When x is no integer of 32 bits without a sign.
pub fn natural(terms: &mut Terms, x: Node, table: Constant) -> Term {
    let (zeros, last) = (terms.op(ScalarOp::CountLeadingZeros, &[x])?, number(terms, U32, 31));
    let integer = terms.sub(last, zeros)?;
    let fraction = fraction(terms, x, integer, table)?;
    let whole = shifted_left(terms, integer, FRACTION)?;
    let binary = terms.add(whole, fraction)?;
    let (binary, factor) = (terms.convert(binary, U64), number(terms, U64, LN_2));
    let product = terms.mul(binary, factor)?;
    let natural = rounded(terms, product)?;
    Ok(terms.convert(natural, U32))
}

/// The binary logarithm of x ÷ 2^integer, which is from 1 to 2: a table, and lines between its points.
fn fraction(terms: &mut Terms, x: Node, integer: Node, table: Constant) -> Term {
    let (one, bits) = (number(terms, U32, 1), number(terms, U32, FRACTION));
    let highest = terms.op(ScalarOp::ShiftLeft, &[one, integer])?;
    let rest = terms.sub(x, highest)?;
    let is_short = terms.compare(Comparison::Less, integer, bits)?;
    let (missing, excess) = (terms.sub(bits, integer)?, terms.sub(integer, bits)?);
    let (longer, shorter) = (terms.op(ScalarOp::ShiftLeft, &[rest, missing])?, terms.op(ScalarOp::ShiftRight, &[rest, excess])?);
    let fraction = terms.select(is_short, longer, shorter)?;
    let fraction = terms.convert(fraction, I32);
    let segment = shifted_right(terms, fraction, FRACTION - SEGMENTS)?;
    let one = terms.i32(1);
    let next = terms.add(segment, one)?;
    let [low, high] = [segment, next].map(|index| {
        let correction = terms.lut(table, U16, index);
        terms.convert(correction, I32)
    });
    let start = shifted_left(terms, segment, FRACTION - SEGMENTS)?;
    let (rise, distance) = (terms.sub(high, low)?, terms.sub(fraction, start)?);
    let product = terms.mul(rise, distance)?;
    let between = shifted_right(terms, product, FRACTION)?;
    let sum = terms.add(fraction, low)?;
    let sum = terms.add(sum, between)?;
    Ok(terms.convert(sum, U32))
}

#[cfg(test)]
mod tests {
    use super::corrections;

    #[test]
    fn corrections_are_those_of_the_reference() {
        let table = corrections();
        assert_eq!((table.len(), table[1], table[57], table[64], table[128]), (130, 224, 5641, 5568, 0));
    }
}
