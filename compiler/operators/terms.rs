//! A short notation for scalar expressions, in which front ends write the bodies of `map`.

use crate::ir::{
    Comparison, Constant, ElementType, Expression, ExpressionBuilder, Interval, NanRule, Node, RequantizeRule, Scalar, ScalarOp,
};

use crate::ir::scalar::ExpressionError;

/// A term, or the mistake of combining types that do not fit.
pub type Term = Result<Node, ExpressionError>;

/// A builder of one expression.
pub struct Terms(ExpressionBuilder);

impl Terms {
    /// An expression over inputs of these types.
    pub fn new(inputs: &[ElementType]) -> Self {
        Self(ExpressionBuilder::new(inputs))
    }

    /// The builder beneath.
    pub fn builder(&mut self) -> &mut ExpressionBuilder {
        &mut self.0
    }

    /// Input number `index`.
    pub fn input(&mut self, index: usize) -> Node {
        self.0.input(index)
    }

    /// Input number `index`, converted.
    pub fn input_as(&mut self, index: usize, element: ElementType) -> Node {
        let node = self.0.input(index);
        self.0.convert(node, element)
    }

    /// A number of any type.
    pub fn constant(&mut self, value: Scalar) -> Node {
        self.0.constant(value)
    }

    /// A 32-bit integer.
    pub fn i32(&mut self, value: i32) -> Node {
        self.0.constant(Scalar::i32(value))
    }

    /// A 64-bit integer.
    pub fn i64(&mut self, value: i64) -> Node {
        self.0.constant(Scalar::int(ElementType::I64, value))
    }

    /// A binary32.
    pub fn f32(&mut self, value: f32) -> Node {
        self.0.constant(Scalar::f32(value))
    }

    /// A binary64.
    pub fn f64(&mut self, value: f64) -> Node {
        self.0.constant(Scalar::float(ElementType::F64, value))
    }

    /// The type of a term.
    pub fn ty(&self, node: Node) -> ElementType {
        self.0.ty(node)
    }

    /// Any operation.
    pub fn op(&mut self, op: ScalarOp, operands: &[Node]) -> Term {
        self.0.op(op, operands)
    }

    /// Wrapping or truncating conversion.
    pub fn convert(&mut self, node: Node, element: ElementType) -> Node {
        self.0.convert(node, element)
    }

    /// Saturating conversion to an integer type.
    pub fn saturate(&mut self, node: Node, element: ElementType) -> Node {
        self.0.convert_saturating(node, element)
    }

    /// a + b.
    pub fn add(&mut self, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Add, &[a, b])
    }

    /// a − b.
    pub fn sub(&mut self, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Sub, &[a, b])
    }

    /// a × b.
    pub fn mul(&mut self, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Mul, &[a, b])
    }

    /// a ÷ b.
    pub fn div(&mut self, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Div, &[a, b])
    }

    /// C++'s `std::min(a, b)`.
    pub fn min(&mut self, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Min(NanRule::First), &[a, b])
    }

    /// C++'s `std::max(a, b)`.
    pub fn max(&mut self, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Max(NanRule::First), &[a, b])
    }

    /// Clamps x to two 32-bit bounds.
    pub fn clamp_i32(&mut self, x: Node, bounds: Interval<i32>) -> Term {
        let (low, high) = (self.i32(bounds.low), self.i32(bounds.high));
        let x = self.max(x, low)?;
        self.min(x, high)
    }

    /// e^x for a softmax: see [`softmax_power`].
    pub fn softmax_power(&mut self, x: Node) -> Term {
        softmax_power(&mut self.0, x)
    }

    /// A comparison.
    pub fn compare(&mut self, comparison: Comparison, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Compare(comparison), &[a, b])
    }

    /// condition ? a : b.
    pub fn select(&mut self, condition: Node, a: Node, b: Node) -> Term {
        self.0.op(ScalarOp::Select, &[condition, a, b])
    }

    /// Rounding to the nearest integer, halves away from zero.
    pub fn round_away(&mut self, x: Node) -> Term {
        self.0.op(ScalarOp::RoundAway, &[x])
    }

    /// A quotient of integers, halves away from zero; the divisor is positive.
    ///
    /// # Errors
    /// A mistake of types: x and the divisor are no integers of one type.
    pub fn half_away_quotient(&mut self, x: Node, divisor: Node) -> Term {
        let element = self.ty(x);
        let (zero, two) = (self.constant(Scalar::int(element, 0)), self.constant(Scalar::int(element, 2)));
        let half = self.div(divisor, two)?;
        let (above, below) = (self.add(x, half)?, self.sub(x, half)?);
        let positive = self.compare(Comparison::Greater, x, zero)?;
        let nudged = self.select(positive, above, below)?;
        self.div(nudged, divisor)
    }

    /// TFLite's multiplication by a fixed-point factor, with two roundings.
    pub fn requantize(&mut self, x: Node, mantissa: Node, shift: Node) -> Term {
        self.0.op(ScalarOp::Requantize(RequantizeRule::TfliteDouble), &[x, mantissa, shift])
    }

    /// TFLite's multiplication by a static fixed-point factor, with two roundings.
    pub fn requantize_by(&mut self, x: Node, multiplier: super::quantization::Multiplier) -> Term {
        let (mantissa, shift) = (self.i32(multiplier.mantissa), self.i32(multiplier.shift));
        self.requantize(x, mantissa, shift)
    }

    /// The element of a table.
    pub fn lut(&mut self, table: Constant, element: ElementType, index: Node) -> Node {
        self.0.lut(table, element, index)
    }

    /// The expression with one result.
    pub fn finish(self, result: Node) -> Expression {
        self.0.finish(vec![result])
    }

    /// The expression with several results.
    pub fn finish_many(self, results: Vec<Node>) -> Expression {
        self.0.finish(results)
    }
}

/// The logarithm of the least normal binary32, 2⁻¹²⁶, rounded up.
const LEAST_NORMAL_EXPONENT: f32 = -87.336_54;

/// e^x for a softmax, where x is the difference from the row's maximum. Results that are no normal binary32 become 0. The maximum's own power is 1,
/// so this changes no sum. Processors are several times slower with such numbers, and masked rows consist of them.
///
/// # Errors
/// A mistake of type: x is no float.
pub fn softmax_power(builder: &mut ExpressionBuilder, x: Node) -> Term {
    if builder.ty(x) != ElementType::F32 {
        return builder.op(ScalarOp::Exp, &[x]);
    }
    let (least, zero) = (builder.constant(Scalar::f32(LEAST_NORMAL_EXPONENT)), builder.constant(Scalar::f32(0.0)));
    let vanishes = builder.op(ScalarOp::Compare(Comparison::Less), &[x, least])?;
    let x = builder.op(ScalarOp::Max(NanRule::First), &[x, least])?;
    let power = builder.op(ScalarOp::Exp, &[x])?;
    builder.op(ScalarOp::Select, &[vanishes, zero, power])
}

/// An integer of a type.
pub fn number(terms: &mut Terms, element: ElementType, value: i64) -> Node {
    terms.constant(Scalar::int(element, value))
}

/// x << count, of numbers of one type.
///
/// # Errors
/// When they are no integers.
pub fn shifted_left(terms: &mut Terms, x: Node, count: i64) -> Term {
    let count = number(terms, terms.ty(x), count);
    terms.op(ScalarOp::ShiftLeft, &[x, count])
}

/// x >> count, of numbers of one type.
///
/// # Errors
/// When they are no integers.
pub fn shifted_right(terms: &mut Terms, x: Node, count: i64) -> Term {
    let count = number(terms, terms.ty(x), count);
    terms.op(ScalarOp::ShiftRight, &[x, count])
}

#[cfg(test)]
mod tests {
    use super::LEAST_NORMAL_EXPONENT;

    #[test]
    fn powers_above_the_bound_are_normal() {
        assert!(f64::from(LEAST_NORMAL_EXPONENT).exp() >= f64::from(f32::MIN_POSITIVE));
        assert!(f64::from(LEAST_NORMAL_EXPONENT.next_down()).exp() < f64::from(f32::MIN_POSITIVE));
    }
}
