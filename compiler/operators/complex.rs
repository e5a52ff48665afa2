//! Complex numbers: real and imaginary parts, and arithmetic on them.

use super::terms::{Term, Terms};
use super::{Error, Graph, extents};
use crate::ir::{Comparison, ElementType, Extent, Node, Scalar, ScalarOp, Value};

/// Tests whether elements are complex numbers.
pub fn is_complex(element: ElementType) -> bool {
    matches!(element, ElementType::C64 | ElementType::C128)
}

/// Complex numbers as floats with a last dimension of two.
///
/// # Errors
/// When elements are not complex.
pub fn pairs(g: &mut Graph<'_>, value: Value) -> Result<Value, Error> {
    let part = g.element(value).part();
    g.bitcast(value, part)
}

/// Pairs of floats, in the last dimension, as complex numbers.
///
/// # Errors
/// When elements are no binary32 or binary64, or the last dimension is not 2.
pub fn from_pairs(g: &mut Graph<'_>, pairs: Value) -> Result<Value, Error> {
    let complex = if g.element(pairs) == ElementType::F64 { ElementType::C128 } else { ElementType::C64 };
    g.bitcast(pairs, complex)
}

/// Real numbers as complex ones of a type.
///
/// # Errors
/// When elements cannot be converted.
pub fn from_real(g: &mut Graph<'_>, value: Value, element: ElementType) -> Result<Value, Error> {
    let value = g.convert(value, element.part())?;
    let mut shape = g.extents(value);
    let mut high = vec![0; shape.len()];
    shape.push(Extent::Static(1));
    high.push(1);
    let column = g.reshape(value, &shape)?;
    let zero = Scalar::float(element.part(), 0.0);
    let pairs = g.pad(column, &vec![0; high.len()], &high, zero)?;
    from_pairs(g, pairs)
}

/// The real and the imaginary parts of complex numbers.
///
/// # Errors
/// When elements are not complex.
pub fn parts(g: &mut Graph<'_>, value: Value) -> Result<[Value; 2], Error> {
    let (shape, pairs) = (g.extents(value), pairs(g, value)?);
    let mut part = |index: u64| {
        let part = g.slice_along(pairs, shape.len(), Extent::Static(index), Extent::Static(1))?;
        g.reshape(part, &shape)
    };
    Ok([part(0)?, part(1)?])
}

/// Complex numbers of their real and imaginary parts, which have one shape and type.
///
/// # Errors
/// When they have not.
pub fn joined(g: &mut Graph<'_>, parts: [Value; 2]) -> Result<Value, Error> {
    let mut shape = g.extents(parts[0]);
    shape.extend(extents(&[1]));
    let real = g.reshape(parts[0], &shape)?;
    let imaginary = g.reshape(parts[1], &shape)?;
    let pairs = g.concat(&[real, imaginary], shape.len() - 1)?;
    from_pairs(g, pairs)
}

/// A complex number while an expression is built: its real and imaginary parts.
pub type Pair = [Node; 2];

/// x·y.
pub fn product(terms: &mut Terms, [a, b]: Pair, [c, d]: Pair) -> Result<Pair, Error> {
    let (ac, bd, ad, bc) = (terms.mul(a, c)?, terms.mul(b, d)?, terms.mul(a, d)?, terms.mul(b, c)?);
    Ok([terms.sub(ac, bd)?, terms.add(ad, bc)?])
}

/// x ÷ y as NumPy and PyTorch have it: through the ratio of the divisor's smaller part to its larger one, so that no square overflows.
pub fn quotient(terms: &mut Terms, x: Pair, y: Pair) -> Result<Pair, Error> {
    let size = |terms: &mut Terms, part: Node| terms.op(ScalarOp::Abs, &[part]);
    let (real, imaginary) = (size(terms, y[0])?, size(terms, y[1])?);
    let is_real_larger = terms.compare(Comparison::LessEqual, imaginary, real)?;
    let choose = |terms: &mut Terms, [if_real, otherwise]: [Node; 2]| terms.select(is_real_larger, if_real, otherwise);
    let (larger, smaller) = (choose(terms, y)?, choose(terms, [y[1], y[0]])?);
    // With the ratio r of the parts: ((a + b·r) + (b − a·r)·i) ÷ (c + d·r) if c is the larger one.
    // Otherwise ((a·r + b) + (b·r − a)·i) ÷ (c·r + d).
    let ratio = terms.div(smaller, larger)?;
    let one = terms.constant(Scalar::float(terms.ty(ratio), 1.0));
    let rest = terms.mul(smaller, ratio)?;
    let divisor = terms.add(larger, rest)?;
    let factor = terms.div(one, divisor)?;
    let (first, second) = (choose(terms, x)?, choose(terms, [x[1], x[0]])?);
    let product = terms.mul(second, ratio)?;
    let real = terms.add(first, product)?;
    let scaled = terms.mul(first, ratio)?;
    let (ahead, behind) = (terms.sub(second, scaled)?, terms.sub(scaled, second)?);
    let imaginary = choose(terms, [ahead, behind])?;
    let quotient = [terms.mul(real, factor)?, terms.mul(imaginary, factor)?];
    by_zero(terms, x, larger, quotient)
}

/// A quotient, but where the divisor's larger part is zero: there each part is divided by it, which gives infinities and NaN.
fn by_zero(terms: &mut Terms, x: Pair, larger: Node, quotient: Pair) -> Result<Pair, Error> {
    let zero = terms.constant(Scalar::float(terms.ty(larger), 0.0));
    let is_zero = terms.compare(Comparison::Equal, larger, zero)?;
    let mut part = |index: usize| -> Term {
        let beyond = terms.div(x[index], zero)?;
        terms.select(is_zero, beyond, quotient[index])
    };
    Ok([part(0)?, part(1)?])
}
