//! Arithmetic on two tensors, or a tensor and a number, with broadcasting and type promotion.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::complex;
use super::unary::{number, with_number, with_sign};
use crate::ir::{Comparison, ElementType, ExpressionBuilder, NanRule, Node, Scalar, ScalarOp};
use crate::operators::promotion::{Number, Operand, compute_type, float_type};

type Outcome = Result<(), Fault>;
type Built = Result<Node, Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::add.out", |c| sum(c, ScalarOp::Add)),
    ("aten::add.Scalar_out", |c| sum(c, ScalarOp::Add)),
    ("aten::sub.out", |c| sum(c, ScalarOp::Sub)),
    ("aten::sub.Scalar_out", |c| sum(c, ScalarOp::Sub)),
    ("aten::rsub.Scalar_out", reverse_difference),
    ("aten::mul.out", product_of_call),
    ("aten::mul.Scalar_out", product_of_call),
    ("aten::div.out", quotient_of_call),
    ("aten::div.Scalar_out", quotient_of_call),
    ("aten::atan2.out", |c| real(c, |b, y, x| op(b, ScalarOp::Atan2, &[y, x]))),
    ("aten::hypot.out", |c| real(c, hypotenuse)),
    ("aten::copysign.out", |c| real(c, with_sign)),
    ("aten::copysign.Scalar_out", |c| real(c, with_sign)),
    ("aten::div.out_mode", quotient),
    ("aten::div.Scalar_mode_out", quotient),
    ("aten::floor_divide.out", |c| arithmetic(c, floor_quotient)),
    ("aten::remainder.Tensor_out", |c| arithmetic(c, remainder)),
    ("aten::remainder.Scalar_out", |c| arithmetic(c, remainder)),
    ("aten::fmod.Tensor_out", |c| arithmetic(c, |b, x, y| op(b, ScalarOp::Rem, &[x, y]))),
    ("aten::fmod.Scalar_out", |c| arithmetic(c, |b, x, y| op(b, ScalarOp::Rem, &[x, y]))),
    ("aten::maximum.out", maximum),
    ("aten::minimum.out", minimum),
    ("aten::pow.Tensor_Tensor_out", |c| arithmetic(c, |b, x, y| op(b, ScalarOp::Pow, &[x, y]))),
    ("aten::pow.Scalar_out", |c| arithmetic(c, |b, x, y| op(b, ScalarOp::Pow, &[x, y]))),
    ("aten::pow.Tensor_Scalar_out", power_of_number),
    ("aten::bitwise_and.Tensor_out", |c| bits(c, ScalarOp::And)),
    ("aten::bitwise_and.Scalar_out", |c| bits(c, ScalarOp::And)),
    ("aten::bitwise_or.Tensor_out", |c| bits(c, ScalarOp::Or)),
    ("aten::bitwise_or.Scalar_out", |c| bits(c, ScalarOp::Or)),
    ("aten::bitwise_xor.Tensor_out", |c| bits(c, ScalarOp::Xor)),
    ("aten::bitwise_xor.Scalar_out", |c| bits(c, ScalarOp::Xor)),
    ("aten::bitwise_left_shift.Tensor_out", |c| bits(c, ScalarOp::ShiftLeft)),
    ("aten::bitwise_left_shift.Tensor_Scalar_out", |c| bits(c, ScalarOp::ShiftLeft)),
    ("aten::__lshift__.Tensor_out", |c| bits(c, ScalarOp::ShiftLeft)),
    ("aten::__lshift__.Scalar_out", |c| bits(c, ScalarOp::ShiftLeft)),
    ("aten::__rshift__.Tensor_out", |c| bits(c, ScalarOp::ShiftRight)),
    ("aten::__rshift__.Scalar_out", |c| bits(c, ScalarOp::ShiftRight)),
    ("aten::bitwise_right_shift.Tensor_out", |c| bits(c, ScalarOp::ShiftRight)),
    ("aten::bitwise_right_shift.Tensor_Scalar_out", |c| bits(c, ScalarOp::ShiftRight)),
];

/// The larger ones of two operands' elements.
pub(super) fn maximum(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    arithmetic(c, |b, x, y| extreme(b, x, y, true))
}

/// The smaller ones of two operands' elements.
pub(super) fn minimum(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    arithmetic(c, |b, x, y| extreme(b, x, y, false))
}

fn op(b: &mut ExpressionBuilder, operation: ScalarOp, operands: &[Node]) -> Built {
    Ok(b.op(operation, operands)?)
}

/// Computes a function of two operands converted to `ty`, and converts its result to the call's result type.
fn pair(
    c: &mut Call<'_, '_, '_>,
    operands: [Operand; 2],
    ty: ElementType,
    build: impl FnOnce(&mut ExpressionBuilder, Node, Node) -> Built,
) -> Outcome {
    let out = c.out_form(c.out())?.element;
    let y = c.map_operands(&operands, ty, |b, n| {
        let y = build(b, n[0], n[1])?;
        Ok(b.convert(y, out))
    })?;
    c.finish(y)
}

/// Computes in the operands' common type; half precision computes in single.
fn arithmetic(c: &mut Call<'_, '_, '_>, build: fn(&mut ExpressionBuilder, Node, Node) -> Built) -> Outcome {
    let operands = [c.operand(0)?, c.operand(1)?];
    let ty = compute_type(c.common_type(&operands)?);
    pair(c, operands, ty, build)
}

/// Computes in a floating-point type.
fn real(c: &mut Call<'_, '_, '_>, build: fn(&mut ExpressionBuilder, Node, Node) -> Built) -> Outcome {
    let operands = [c.operand(0)?, c.operand(1)?];
    let ty = float_type(c.common_type(&operands)?);
    pair(c, operands, ty, build)
}

fn bits(c: &mut Call<'_, '_, '_>, operation: ScalarOp) -> Outcome {
    let operands = [c.operand(0)?, c.operand(1)?];
    let ty = c.common_type(&operands)?;
    pair(c, operands, ty, move |b, x, y| op(b, operation, &[x, y]))
}

/// x ± alpha·y. Truth values are added as numbers: the sum is true if any operand is.
fn sum(c: &mut Call<'_, '_, '_>, operation: ScalarOp) -> Outcome {
    let operands = [c.operand(0)?, c.operand(1)?];
    let alpha = c.number(2)?;
    if complex::is_result(c)? {
        return complex::sum(c, operands, operation, alpha);
    }
    let ty = counting_type(compute_type(c.common_type(&operands)?));
    pair(c, operands, ty, move |b, x, y| {
        let y = scaled(b, y, alpha)?;
        op(b, operation, &[x, y])
    })
}

fn reverse_difference(c: &mut Call<'_, '_, '_>) -> Outcome {
    let operands = [c.operand(0)?, c.operand(1)?];
    let alpha = c.number(2)?;
    if complex::is_result(c)? {
        return complex::sum(c, [operands[1], operands[0]], ScalarOp::Sub, alpha);
    }
    let ty = compute_type(c.common_type(&operands)?);
    pair(c, operands, ty, move |b, x, y| {
        let x = scaled(b, x, alpha)?;
        op(b, ScalarOp::Sub, &[y, x])
    })
}

fn product_of_call(c: &mut Call<'_, '_, '_>) -> Outcome {
    if complex::is_result(c)? {
        let operands = [c.operand(0)?, c.operand(1)?];
        return complex::product(c, operands);
    }
    arithmetic(c, product)
}

fn quotient_of_call(c: &mut Call<'_, '_, '_>) -> Outcome {
    if complex::is_result(c)? {
        let operands = [c.operand(0)?, c.operand(1)?];
        return complex::quotient(c, operands);
    }
    real(c, |b, x, y| op(b, ScalarOp::Div, &[x, y]))
}

fn counting_type(ty: ElementType) -> ElementType {
    if ty == ElementType::Bool { ElementType::U8 } else { ty }
}

/// alpha·x; nothing for 1.
pub(super) fn scaled(b: &mut ExpressionBuilder, x: Node, alpha: Number) -> Built {
    if alpha.as_f64() == 1.0 {
        return Ok(x);
    }
    let ty = b.ty(x);
    let alpha = b.constant(alpha.to_scalar(ty));
    op(b, ScalarOp::Mul, &[x, alpha])
}

fn product(b: &mut ExpressionBuilder, x: Node, y: Node) -> Built {
    op(b, if b.ty(x) == ElementType::Bool { ScalarOp::And } else { ScalarOp::Mul }, &[x, y])
}

fn extreme(b: &mut ExpressionBuilder, x: Node, y: Node, largest: bool) -> Built {
    let operation = match (b.ty(x) == ElementType::Bool, largest) {
        (true, true) => ScalarOp::Or,
        (true, false) => ScalarOp::And,
        (false, true) => ScalarOp::Max(NanRule::Propagate),
        (false, false) => ScalarOp::Min(NanRule::Propagate),
    };
    op(b, operation, &[x, y])
}

/// √(x² + y²), as the larger times √(1 + (smaller ÷ larger)²) so that squares do not overflow.
fn hypotenuse(b: &mut ExpressionBuilder, x: Node, y: Node) -> Built {
    let (x, y) = (op(b, ScalarOp::Abs, &[x])?, op(b, ScalarOp::Abs, &[y])?);
    let (larger, smaller) = (extreme(b, x, y, true)?, extreme(b, x, y, false)?);
    let ratio = op(b, ScalarOp::Div, &[smaller, larger])?;
    let square = op(b, ScalarOp::Mul, &[ratio, ratio])?;
    let sum = with_number(b, ScalarOp::Add, square, 1.0)?;
    let root = op(b, ScalarOp::Sqrt, &[sum])?;
    let length = op(b, ScalarOp::Mul, &[larger, root])?;
    // Of zeros and infinities there is no ratio.
    let zero = with_number(b, ScalarOp::Compare(Comparison::Equal), larger, 0.0)?;
    let infinite = with_number(b, ScalarOp::Compare(Comparison::Equal), larger, f64::INFINITY)?;
    let is_larger = op(b, ScalarOp::Or, &[zero, infinite])?;
    op(b, ScalarOp::Select, &[is_larger, larger, length])
}

/// Division with a rounding mode: none, towards zero, or down.
fn quotient(c: &mut Call<'_, '_, '_>) -> Outcome {
    match c.text(2)?.as_deref() {
        None => real(c, |b, x, y| op(b, ScalarOp::Div, &[x, y])),
        Some("floor") => arithmetic(c, floor_quotient),
        Some("trunc") => arithmetic(c, |b, x, y| {
            let quotient = op(b, ScalarOp::Div, &[x, y])?;
            if b.ty(quotient).is_float() { op(b, ScalarOp::Trunc, &[quotient]) } else { Ok(quotient) }
        }),
        Some(other) => Err(Fault::invalid("unknown rounding mode").expected("floor or trunc", other)),
    }
}

/// Tests whether a remainder is not zero and its sign differs from the divisor's.
fn crosses(b: &mut ExpressionBuilder, remainder: Node, divisor: Node) -> Built {
    let ty = b.ty(divisor);
    let zero = b.constant(Scalar::int(ty, 0));
    let is_left = op(b, ScalarOp::Compare(Comparison::NotEqual), &[remainder, zero])?;
    let negative = op(b, ScalarOp::Compare(Comparison::Less), &[divisor, zero])?;
    let below = op(b, ScalarOp::Compare(Comparison::Less), &[remainder, zero])?;
    let differs = op(b, ScalarOp::Xor, &[negative, below])?;
    op(b, ScalarOp::And, &[is_left, differs])
}

/// Division rounded down. Floats go through the exact remainder, as in Python: a quotient just below a whole number is not rounded up to it first.
fn floor_quotient(b: &mut ExpressionBuilder, x: Node, y: Node) -> Built {
    let remainder = op(b, ScalarOp::Rem, &[x, y])?;
    let crosses = crosses(b, remainder, y)?;
    if !b.ty(x).is_float() {
        let quotient = op(b, ScalarOp::Div, &[x, y])?;
        let ty = b.ty(x);
        let one = b.constant(Scalar::int(ty, 1));
        let below = op(b, ScalarOp::Sub, &[quotient, one])?;
        return op(b, ScalarOp::Select, &[crosses, below, quotient]);
    }
    let whole = op(b, ScalarOp::Sub, &[x, remainder])?;
    let quotient = op(b, ScalarOp::Div, &[whole, y])?;
    let below = with_number(b, ScalarOp::Sub, quotient, 1.0)?;
    let quotient = op(b, ScalarOp::Select, &[crosses, below, quotient])?;
    let rounded = op(b, ScalarOp::RoundEven, &[quotient])?;
    // A zero divisor has no remainder. ExecuTorch's kernel makes an infinity with the sign of the dividend of it, of any dividend.
    let infinity = number(b, x, f64::INFINITY);
    let infinity = with_sign(b, infinity, x)?;
    let by_zero = with_number(b, ScalarOp::Compare(Comparison::Equal), y, 0.0)?;
    op(b, ScalarOp::Select, &[by_zero, infinity, rounded])
}

/// The remainder that has the divisor's sign.
fn remainder(b: &mut ExpressionBuilder, x: Node, y: Node) -> Built {
    let remainder = op(b, ScalarOp::Rem, &[x, y])?;
    let crosses = crosses(b, remainder, y)?;
    let moved = op(b, ScalarOp::Add, &[remainder, y])?;
    op(b, ScalarOp::Select, &[crosses, moved, remainder])
}

/// x to the power of a number: small whole powers are products, ½ and −½ roots.
fn power_of_number(c: &mut Call<'_, '_, '_>) -> Outcome {
    let operands = [c.operand(0)?, c.operand(1)?];
    let exponent = c.number(1)?.as_f64();
    if exponent == 2.0 && complex::is_result(c)? {
        return complex::square(c);
    }
    let ty = compute_type(c.common_type(&operands)?);
    pair(c, operands, ty, move |b, x, y| {
        let is_float = b.ty(x).is_float();
        if exponent == 1.0 {
            Ok(x)
        } else if exponent == 2.0 || exponent == 3.0 {
            let square = op(b, ScalarOp::Mul, &[x, x])?;
            if exponent == 2.0 { Ok(square) } else { op(b, ScalarOp::Mul, &[square, x]) }
        } else if is_float && exponent == 0.5 {
            root(b, x, ScalarOp::Sqrt, f64::INFINITY)
        } else if is_float && exponent == -0.5 {
            root(b, x, ScalarOp::Rsqrt, 0.0)
        } else if is_float && (exponent == -1.0 || exponent == -2.0) {
            let one = number(b, x, 1.0);
            let divisor = if exponent == -1.0 { x } else { op(b, ScalarOp::Mul, &[x, x])? };
            op(b, ScalarOp::Div, &[one, divisor])
        } else {
            op(b, ScalarOp::Pow, &[x, y])
        }
    })
}

/// A power of ½ or −½ as a root, except for −∞, whose root is NaN, and −0, whose power is positive.
fn root(b: &mut ExpressionBuilder, x: Node, root: ScalarOp, of_negative_infinity: f64) -> Built {
    let root = op(b, root, &[x])?;
    let root = op(b, ScalarOp::Abs, &[root])?;
    let power = number(b, x, of_negative_infinity);
    let is_end = with_number(b, ScalarOp::Compare(Comparison::Equal), x, f64::NEG_INFINITY)?;
    op(b, ScalarOp::Select, &[is_end, power, root])
}
