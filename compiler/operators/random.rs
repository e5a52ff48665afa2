//! Random numbers. The only state is the number of draws: number *i* is a mixture of the bits of *i*.

use super::Graph;
use super::error::Error;
use super::promotion::float_type;
use super::terms::{Term, Terms, number, shifted_right};
use crate::ir::{ElementType, Extent, Node, Scalar, ScalarOp, Value};
use ElementType::{F64, U64};
use std::f64::consts::TAU;

/// The step between the numbers that are mixed: 2⁶⁴ ÷ the golden ratio, rounded to an odd number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Shifts and factors of the mixture: Stafford's variant 13 of MurmurHash3's, as in SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014).
const ROUNDS: [(i64, u64); 2] = [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)];
const LAST_SHIFT: i64 = 31;

/// Returns 64 random bits for each element of a shape, and the new count. `drawn`, u64\[1\], is the count before.
///
/// # Errors
/// The errors of shapes with more than 2⁶⁴ elements.
pub fn bits(g: &mut Graph<'_>, drawn: Value, shape: &[Extent]) -> Result<(Value, Value), Error> {
    let mut count = Extent::Static(1);
    for &extent in shape {
        count = g.mul(count, extent)?;
    }
    let first = g.reshape(drawn, &[])?;
    let position = g.iota(count, ElementType::I64)?;
    let numbers = g.compute(&[position, first], |terms, n| -> Result<Node, Error> {
        let position = terms.convert(n[0], U64);
        let position = terms.add(position, n[1])?;
        Ok(mixture(terms, position)?)
    })?;
    let added = g.extent_tensor(count, ElementType::I64)?;
    let after = g.compute(&[added, first], |terms, n| -> Result<Node, Error> {
        let added = terms.convert(n[0], U64);
        Ok(terms.add(added, n[1])?)
    })?;
    Ok((g.reshape(numbers, shape)?, g.reshape(after, &[Extent::Static(1)])?))
}

fn mixture(terms: &mut Terms, position: Node) -> Term {
    let one = number(terms, U64, 1);
    let position = terms.add(position, one)?;
    let step = number(terms, U64, STEP.cast_signed());
    let mut z = terms.mul(position, step)?;
    for (shift, factor) in ROUNDS {
        z = folded(terms, z, shift)?;
        let factor = number(terms, U64, factor.cast_signed());
        z = terms.mul(z, factor)?;
    }
    folded(terms, z, LAST_SHIFT)
}

/// The exclusive or of the bits and the same bits shifted right.
fn folded(terms: &mut Terms, z: Node, shift: i64) -> Term {
    let high = shifted_right(terms, z, shift)?;
    terms.op(ScalarOp::Xor, &[z, high])
}

/// A number of 0 ≤ x < 1 from the highest bits, as many as a type's significand has: each value with the same probability.
pub fn uniform(terms: &mut Terms, bits: Node, element: ElementType) -> Term {
    let significand = match element {
        ElementType::Bf16 => 8,
        ElementType::F16 => 11,
        F64 => 53,
        _ => 24,
    };
    let whole = shifted_right(terms, bits, 64 - i64::from(significand))?;
    // Below 2⁵³, so that a signed number converts without a case of its own for the highest bit.
    let whole = terms.convert(whole, ElementType::I64);
    let computed = float_type(element);
    let whole = terms.convert(whole, computed);
    let unit = terms.constant(Scalar::float(computed, 0.5f64.powi(significand)));
    let x = terms.mul(whole, unit)?;
    Ok(terms.convert(x, element))
}

/// A number of the normal distribution, binary32 or 64: √(−2 ln u) cos 2πv, with u and v from 32 bits each (Box and Muller). u is never 0.
pub fn normal(terms: &mut Terms, bits: Node, element: ElementType) -> Term {
    let (high, mask) = (shifted_right(terms, bits, 32)?, number(terms, U64, 0xffff_ffff));
    let low = terms.op(ScalarOp::And, &[bits, mask])?;
    let share = |terms: &mut Terms, bits: Node, more: f64, unit: f64| {
        let x = terms.convert(bits, ElementType::I64);
        let x = terms.convert(x, element);
        let [more, unit] = [more, unit].map(|n| terms.constant(Scalar::float(element, n)));
        let x = terms.add(x, more)?;
        terms.mul(x, unit)
    };
    let u = share(terms, high, 1.0, 0.5f64.powi(32))?;
    let angle = share(terms, low, 0.0, TAU * 0.5f64.powi(32))?;
    let logarithm = terms.op(ScalarOp::Log, &[u])?;
    let factor = terms.constant(Scalar::float(element, -2.0));
    let square = terms.mul(logarithm, factor)?;
    let radius = terms.op(ScalarOp::Sqrt, &[square])?;
    let cosine = terms.op(ScalarOp::Cos, &[angle])?;
    terms.mul(radius, cosine)
}
