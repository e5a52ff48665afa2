//! The number formats of a transform: layout in tensors, and rounding.
//!
//! A fixed-point number is a fraction of 15 or 31 bits. A product has twice as many and is rounded to nearest, halves up. Sums wrap. A complex number
//! in fixed point is one integer of twice the width with the real part low. Its bytes lie like this anyway, so splitting and joining pairs costs
//! nothing. Complex numbers of binary32 are two tensors.

use crate::ir::scalar::ExpressionError;
use crate::ir::{ElementType, Node, Scalar, ScalarOp, Value};
use crate::operators::terms::{Term, Terms, number, shifted_left, shifted_right};
use crate::operators::{Error, Graph, extents};
use ElementType::{F32, I16, I32, I64};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// 15 bits after the point.
    Fixed16,
    /// 31 bits after the point.
    Fixed32,
    /// Binary32.
    Float,
}

/// A complex number in an expression.
#[derive(Clone, Copy)]
pub struct Complex {
    /// Real part.
    pub re: Node,
    /// Imaginary part.
    pub im: Node,
}

/// A complex number, or the mistake of combining types that do not fit.
pub type ComplexTerm = Result<Complex, ExpressionError>;

impl Format {
    /// The format of an element type.
    pub fn of(element: ElementType) -> Option<Self> {
        match element {
            I16 => Some(Self::Fixed16),
            I32 => Some(Self::Fixed32),
            F32 => Some(Self::Float),
            _ => None,
        }
    }

    /// The type of a part.
    pub fn element(self) -> ElementType {
        match self {
            Self::Fixed16 => I16,
            Self::Fixed32 => I32,
            Self::Float => F32,
        }
    }

    /// The type of the tensors that hold complex numbers.
    pub fn packed(self) -> ElementType {
        match self {
            Self::Fixed16 => I32,
            Self::Fixed32 => I64,
            Self::Float => F32,
        }
    }

    /// The number of tensors that hold complex numbers.
    pub fn parts(self) -> usize {
        if self == Self::Float { 2 } else { 1 }
    }

    /// Pairs, one row of `count` after the other, as complex numbers `[count, rows]`.
    pub fn split(self, g: &mut Graph<'_>, value: Value, [rows, count]: [u64; 2]) -> Result<Vec<Value>, Error> {
        let pairs = g.reshape(value, &extents(&[rows, count, 2]))?;
        if self != Self::Float {
            let packed = g.bitcast(pairs, self.packed())?;
            return Ok(vec![turned(g, packed, [rows, count])?]);
        }
        let planes = g.builder.transpose(pairs, vec![2, 1, 0])?;
        let mut parts = Vec::new();
        for part in 0..2 {
            let plane = g.builder.slice(planes, extents(&[part, 0, 0]), extents(&[1, count, rows]), vec![1; 3])?;
            parts.push(g.reshape(plane, &extents(&[count, rows]))?);
        }
        Ok(parts)
    }

    /// Complex numbers `[count, rows]` as pairs `[rows, count, 2]`.
    pub fn join(self, g: &mut Graph<'_>, parts: &[Value], [count, rows]: [u64; 2]) -> Result<Value, Error> {
        if let [packed] = *parts {
            let turned = turned(g, packed, [count, rows])?;
            return g.bitcast(turned, self.element());
        }
        let mut planes = Vec::new();
        for &part in parts {
            planes.push(g.reshape(part, &extents(&[1, count, rows]))?);
        }
        let planes = g.builder.concat(&planes, 0)?;
        Ok(g.builder.transpose(planes, vec![2, 1, 0])?)
    }

    /// A constant list of complex numbers: one tensor a part.
    pub fn constants(self, g: &mut Graph<'_>, shape: &[u64], numbers: &[[f64; 2]]) -> Result<Vec<Value>, Error> {
        let mut constants = Vec::new();
        for part in 0..self.parts() {
            let bytes = numbers.iter().flat_map(|&parts| match self {
                Self::Float => Scalar::f32(parts[part] as f32).to_bytes(),
                _ => parts.iter().flat_map(|&x| Scalar::int(self.element(), self.rounded(x)).to_bytes()).collect(),
            });
            let bytes = bytes.collect();
            constants.push(g.constant(self.packed(), shape, bytes)?);
        }
        Ok(constants)
    }

    /// The complex number of the inputs from number `first` on.
    pub fn unpack(self, terms: &mut Terms, first: usize) -> ComplexTerm {
        let x = terms.input(first);
        match self {
            Self::Fixed16 => {
                let low = shifted_left(terms, x, 16)?;
                Ok(Complex { re: shifted_right(terms, low, 16)?, im: shifted_right(terms, x, 16)? })
            }
            Self::Fixed32 => {
                let high = shifted_right(terms, x, 32)?;
                Ok(Complex { re: terms.convert(x, I32), im: terms.convert(high, I32) })
            }
            Self::Float => Ok(Complex { re: x, im: terms.input(first + 1) }),
        }
    }

    /// The results that hold a complex number, whose parts wrap.
    pub fn pack(self, terms: &mut Terms, x: Complex) -> Result<Vec<Node>, ExpressionError> {
        match self {
            Self::Fixed16 => {
                let mask = number(terms, I32, 0xffff);
                let (low, high) = (terms.op(ScalarOp::And, &[x.re, mask])?, shifted_left(terms, x.im, 16)?);
                Ok(vec![terms.op(ScalarOp::Or, &[low, high])?])
            }
            Self::Fixed32 => {
                let (re, im) = (terms.convert(x.re, I64), terms.convert(x.im, I64));
                let mask = number(terms, I64, 0xffff_ffff);
                let (low, high) = (terms.op(ScalarOp::And, &[re, mask])?, shifted_left(terms, im, 32)?);
                Ok(vec![terms.op(ScalarOp::Or, &[low, high])?])
            }
            Self::Float => Ok(vec![x.re, x.im]),
        }
    }

    /// The largest fraction, which stands for 1.
    fn largest(self) -> i64 {
        if self == Self::Fixed16 { i64::from(i16::MAX) } else { i64::from(i32::MAX) }
    }

    /// A fraction to the nearest step, halves up.
    fn rounded(self, x: f64) -> i64 {
        libm::floor(0.5 + self.largest() as f64 * x) as i64
    }

    /// A number, as expressions compute with it.
    pub fn node(self, terms: &mut Terms, x: f64) -> Node {
        match self {
            Self::Float => terms.f32(x as f32),
            _ => number(terms, I32, self.rounded(x)),
        }
    }

    /// A sum or difference as it is kept: it wraps.
    pub fn kept(self, terms: &mut Terms, x: Node) -> Node {
        if self != Self::Fixed16 {
            return x;
        }
        let narrow = terms.convert(x, I16);
        terms.convert(narrow, I32)
    }

    /// A product with all its bits.
    fn product(self, terms: &mut Terms, a: Node, b: Node) -> Term {
        if self != Self::Fixed32 {
            return terms.mul(a, b);
        }
        let (a, b) = (terms.convert(a, I64), terms.convert(b, I64));
        terms.mul(a, b)
    }

    /// A sum of products as a number again: to nearest, halves up.
    fn narrowed(self, terms: &mut Terms, x: Node) -> Term {
        let bits = match self {
            Self::Fixed16 => 15,
            Self::Fixed32 => 31,
            Self::Float => return Ok(x),
        };
        let half = number(terms, terms.ty(x), 1 << (bits - 1));
        let sum = terms.add(x, half)?;
        let shifted = shifted_right(terms, sum, bits)?;
        let narrow = terms.convert(shifted, self.element());
        Ok(terms.convert(narrow, I32))
    }

    /// a × b.
    pub fn mul(self, terms: &mut Terms, a: Node, b: Node) -> Term {
        let product = self.product(terms, a, b)?;
        self.narrowed(terms, product)
    }

    /// A number divided by a small one, so that sums of that many fit; binary32 needs no room.
    pub fn divided(self, terms: &mut Terms, x: Node, by: u64) -> Term {
        if self == Self::Float {
            return Ok(x);
        }
        let reciprocal = number(terms, I32, self.largest() / by as i64);
        self.mul(terms, x, reciprocal)
    }

    /// x ÷ 2, downwards.
    pub fn half(self, terms: &mut Terms, x: Node) -> Term {
        if self == Self::Float {
            let half = terms.f32(0.5);
            return terms.mul(x, half);
        }
        shifted_right(terms, x, 1)
    }

    /// −x as it is kept.
    pub fn negated(self, terms: &mut Terms, x: Node) -> Term {
        let negated = terms.op(ScalarOp::Neg, &[x])?;
        Ok(self.kept(terms, negated))
    }

    /// a + b of complex numbers.
    pub fn add(self, terms: &mut Terms, a: Complex, b: Complex) -> ComplexTerm {
        let (re, im) = (terms.add(a.re, b.re)?, terms.add(a.im, b.im)?);
        Ok(Complex { re: self.kept(terms, re), im: self.kept(terms, im) })
    }

    /// a − b of complex numbers.
    pub fn sub(self, terms: &mut Terms, a: Complex, b: Complex) -> ComplexTerm {
        let (re, im) = (terms.sub(a.re, b.re)?, terms.sub(a.im, b.im)?);
        Ok(Complex { re: self.kept(terms, re), im: self.kept(terms, im) })
    }

    /// a × b of complex numbers, each part rounded once.
    pub fn mul_complex(self, terms: &mut Terms, a: Complex, b: Complex) -> ComplexTerm {
        let [rr, ii] = [(a.re, b.re), (a.im, b.im)].map(|(x, y)| self.product(terms, x, y));
        let re = terms.sub(rr?, ii?)?;
        let [ri, ir] = [(a.re, b.im), (a.im, b.re)].map(|(x, y)| self.product(terms, x, y));
        let im = terms.add(ri?, ir?)?;
        Ok(Complex { re: self.narrowed(terms, re)?, im: self.narrowed(terms, im)? })
    }

    /// A complex number divided as [`Self::divided`] does.
    pub fn divided_complex(self, terms: &mut Terms, x: Complex, by: u64) -> ComplexTerm {
        Ok(Complex { re: self.divided(terms, x.re, by)?, im: self.divided(terms, x.im, by)? })
    }
}

/// The transpose of a matrix.
fn turned(g: &mut Graph<'_>, value: Value, [rows, columns]: [u64; 2]) -> Result<Value, Error> {
    if rows == 1 || columns == 1 {
        return g.reshape(value, &extents(&[columns, rows]));
    }
    Ok(g.builder.transpose(value, vec![1, 0])?)
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn fractions_are_rounded_halves_up() {
        assert_eq!([1.0, -1.0, 0.0, 0.5, -0.5].map(|x| Format::Fixed16.rounded(x)), [32767, -32767, 0, 16384, -16383]);
        assert_eq!([1.0, -1.0].map(|x| Format::Fixed32.rounded(x)), [i64::from(i32::MAX), -i64::from(i32::MAX)]);
    }
}
