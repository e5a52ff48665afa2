//! Functions of one tensor, element by element.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::complex;
use crate::ir::{Comparison, ElementType, ExpressionBuilder, NanRule, Node, Scalar, ScalarOp};
use crate::operators::complex::is_complex;
use crate::operators::nonlinear::{self, Below, Gelu};
use crate::operators::promotion::{Number, Operand, compute_type, float_type};
use crate::operators::terms::{Term, Terms};

type Outcome = Result<(), Fault>;
type Built = Result<Node, Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::abs.out", magnitude),
    ("aten::neg.out", negative_of_call),
    ("aten::sign.out", |c| arithmetic(c, sign)),
    ("aten::relu.out", |c| arithmetic(c, |b, x| with_zero(b, ScalarOp::Max(NanRule::Propagate), x))),
    ("aten::ceil.out", |c| rounding(c, ScalarOp::Ceil)),
    ("aten::floor.out", |c| rounding(c, ScalarOp::Floor)),
    ("aten::trunc.out", |c| rounding(c, ScalarOp::Trunc)),
    ("aten::round.out", |c| rounding(c, ScalarOp::RoundEven)),
    ("aten::bitwise_not.out", |c| plain(c, ScalarOp::Not)),
    ("aten::logical_not.out", |c| test(c, |b, x| against(b, Comparison::Equal, x, 0.0))),
    ("aten::isnan.out", is_nan),
    ("aten::signbit.out", |c| test(c, is_signed)),
    ("aten::isinf.out", |c| test(c, is_infinite)),
    ("aten::exp.out", exponential),
    ("aten::log.out", |c| real(c, ScalarOp::Log)),
    ("aten::sqrt.out", |c| real(c, ScalarOp::Sqrt)),
    ("aten::rsqrt.out", |c| real(c, ScalarOp::Rsqrt)),
    ("aten::tanh.out", |c| real(c, ScalarOp::Tanh)),
    ("aten::sigmoid.out", |c| real(c, ScalarOp::Logistic)),
    ("aten::erf.out", |c| real(c, ScalarOp::Erf)),
    ("aten::erfc.out", |c| function(c, |b, x| op(b, ScalarOp::Erf, &[x]).and_then(|erf| from_number(b, ScalarOp::Sub, 1.0, erf)))),
    ("aten::exp2.out", |c| {
        function(c, |b, x| with_number(b, ScalarOp::Mul, x, std::f64::consts::LN_2).and_then(|x| op(b, ScalarOp::Exp, &[x])))
    }),
    ("aten::sin.out", |c| real(c, ScalarOp::Sin)),
    ("aten::cos.out", |c| real(c, ScalarOp::Cos)),
    ("aten::tan.out", |c| function(c, tangent)),
    ("aten::atan.out", |c| function(c, arc_tangent)),
    ("aten::asin.out", |c| function(c, arc_sine)),
    ("aten::acos.out", |c| function(c, arc_cosine)),
    ("aten::reciprocal.out", reciprocal),
    ("aten::log2.out", |c| function(c, |b, x| scaled_log(b, x, std::f64::consts::LOG2_E))),
    ("aten::log10.out", |c| function(c, |b, x| scaled_log(b, x, std::f64::consts::LOG10_E))),
    ("aten::log1p.out", |c| function(c, log1p)),
    ("aten::expm1.out", |c| function(c, expm1)),
    ("aten::sinh.out", |c| function(c, sinh)),
    ("aten::cosh.out", |c| function(c, cosh)),
    ("aten::asinh.out", |c| function(c, asinh)),
    ("aten::acosh.out", |c| function(c, acosh)),
    ("aten::atanh.out", |c| function(c, atanh)),
    ("aten::gelu.out", gelu),
    ("aten::elu.out", elu),
    ("aten::leaky_relu.out", leaky_relu),
    ("aten::hardtanh.out", hardtanh),
    ("aten::clamp.out", clamp),
    ("aten::clamp.Tensor_out", clamp),
    ("aten::logit.out", logit),
];

fn op(b: &mut ExpressionBuilder, operation: ScalarOp, operands: &[Node]) -> Built {
    Ok(b.op(operation, operands)?)
}

/// A number of the node's type.
pub(super) fn number(b: &mut ExpressionBuilder, like: Node, value: f64) -> Node {
    let ty = b.ty(like);
    b.constant(Scalar::float(ty, value))
}

/// `operation(x, value)`.
pub(super) fn with_number(b: &mut ExpressionBuilder, operation: ScalarOp, x: Node, value: f64) -> Built {
    let value = number(b, x, value);
    op(b, operation, &[x, value])
}

fn from_number(b: &mut ExpressionBuilder, operation: ScalarOp, value: f64, x: Node) -> Built {
    let value = number(b, x, value);
    op(b, operation, &[value, x])
}

fn with_zero(b: &mut ExpressionBuilder, operation: ScalarOp, x: Node) -> Built {
    let ty = b.ty(x);
    let zero = b.constant(Scalar::int(ty, 0));
    op(b, operation, &[x, zero])
}

fn against(b: &mut ExpressionBuilder, comparison: Comparison, x: Node, value: f64) -> Built {
    if b.ty(x) == ElementType::Bool {
        let value = b.constant(Scalar::bool(value != 0.0));
        return op(b, ScalarOp::Compare(comparison), &[x, value]);
    }
    with_number(b, ScalarOp::Compare(comparison), x, value)
}

/// Computes in the element's own type; half precision computes in single.
fn arithmetic(c: &mut Call<'_, '_, '_>, build: fn(&mut ExpressionBuilder, Node) -> Built) -> Outcome {
    let (x, out) = (c.tensor(0)?, c.out_form(c.out())?.element);
    let ty = compute_type(c.element(x));
    let y = c.map(&[x], |b, n| {
        let x = b.convert(n[0], ty);
        let y = build(b, x)?;
        Ok(b.convert(y, out))
    })?;
    c.finish(y)
}

/// Computes in the element's own type.
fn plain(c: &mut Call<'_, '_, '_>, operation: ScalarOp) -> Outcome {
    let x = c.tensor(0)?;
    let y = c.map(&[x], |b, n| op(b, operation, n))?;
    c.finish(y)
}

/// Rounds to a whole number. Integers stay.
fn rounding(c: &mut Call<'_, '_, '_>, operation: ScalarOp) -> Outcome {
    let x = c.tensor(0)?;
    if !c.element(x).is_float() {
        return c.finish(x);
    }
    function(c, move |b, x| op(b, operation, &[x]))
}

fn test(c: &mut Call<'_, '_, '_>, build: fn(&mut ExpressionBuilder, Node) -> Built) -> Outcome {
    let (x, out) = (c.tensor(0)?, c.out_form(c.out())?.element);
    let y = c.map(&[x], |b, n| {
        let y = build(b, n[0])?;
        Ok(b.convert(y, out))
    })?;
    c.finish(y)
}

fn is_infinite(b: &mut ExpressionBuilder, x: Node) -> Built {
    if !b.ty(x).is_float() {
        return Ok(b.constant(Scalar::bool(false)));
    }
    let size = op(b, ScalarOp::Abs, &[x])?;
    against(b, Comparison::Equal, size, f64::INFINITY)
}

/// Tests whether the sign is negative, also of −0.
pub(super) fn is_signed(b: &mut ExpressionBuilder, x: Node) -> Built {
    let ty = b.ty(x);
    if ty == ElementType::Bool {
        return Ok(b.constant(Scalar::bool(false)));
    }
    let below = against(b, Comparison::Less, x, 0.0)?;
    if !ty.is_float() {
        return Ok(below);
    }
    let inverse = from_number(b, ScalarOp::Div, 1.0, x)?;
    let inverse_below = against(b, Comparison::Less, inverse, 0.0)?;
    op(b, ScalarOp::Or, &[below, inverse_below])
}

/// |x| with the sign of y, of −0 too.
pub(super) fn with_sign(b: &mut ExpressionBuilder, x: Node, y: Node) -> Built {
    let size = op(b, ScalarOp::Abs, &[x])?;
    let minus = op(b, ScalarOp::Neg, &[size])?;
    let is_signed = is_signed(b, y)?;
    op(b, ScalarOp::Select, &[is_signed, minus, size])
}

fn real(c: &mut Call<'_, '_, '_>, operation: ScalarOp) -> Outcome {
    function(c, move |b, x| op(b, operation, &[x]))
}

/// A function of real numbers; integers become single precision.
fn function(c: &mut Call<'_, '_, '_>, build: impl FnOnce(&mut ExpressionBuilder, Node) -> Built) -> Outcome {
    let (x, out) = (c.tensor(0)?, c.out_form(c.out())?.element);
    let ty = float_type(c.element(x));
    let y = c.map(&[x], |b, n| {
        let x = b.convert(n[0], ty);
        let y = build(b, x)?;
        Ok(b.convert(y, out))
    })?;
    c.finish(y)
}

/// A function of real numbers that the operator library has; integers become single precision.
fn of_library(c: &mut Call<'_, '_, '_>, build: impl FnOnce(&mut Terms, Node) -> Term) -> Outcome {
    let (x, out) = (c.tensor(0)?, c.out_form(c.out())?.element);
    let ty = float_type(c.element(x));
    let y = c.graph().compute::<Fault>(&[x], |terms, x| {
        let x = terms.convert(x[0], ty);
        let y = build(terms, x)?;
        Ok(terms.convert(y, out))
    })?;
    c.finish(y)
}

fn magnitude(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    if is_complex(c.element(x)) { complex::magnitude(c) } else { arithmetic(c, absolute) }
}

fn absolute(b: &mut ExpressionBuilder, x: Node) -> Built {
    if b.ty(x).is_unsigned_integer() { Ok(x) } else { op(b, ScalarOp::Abs, &[x]) }
}

fn is_nan(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.operand(0)?;
    if complex::is_among(c, &[x]) {
        return complex::is_nan(c);
    }
    test(c, |b, x| op(b, ScalarOp::Compare(Comparison::NotEqual), &[x, x]))
}

fn reciprocal(c: &mut Call<'_, '_, '_>) -> Outcome {
    if complex::is_result(c)? { complex::reciprocal(c) } else { function(c, |b, x| from_number(b, ScalarOp::Div, 1.0, x)) }
}

fn exponential(c: &mut Call<'_, '_, '_>) -> Outcome {
    if complex::is_result(c)? { complex::exponential(c) } else { real(c, ScalarOp::Exp) }
}

fn negative_of_call(c: &mut Call<'_, '_, '_>) -> Outcome {
    if complex::is_result(c)? { complex::negative(c) } else { arithmetic(c, negative) }
}

fn negative(b: &mut ExpressionBuilder, x: Node) -> Built {
    let ty = b.ty(x);
    if ty.is_unsigned_integer() {
        let zero = b.constant(Scalar::int(ty, 0));
        return op(b, ScalarOp::Sub, &[zero, x]);
    }
    op(b, ScalarOp::Neg, &[x])
}

/// −1, 0 or 1; NaN stays, as ExecuTorch's kernel has it and PyTorch does not. A truth value is its own sign.
fn sign(b: &mut ExpressionBuilder, x: Node) -> Built {
    let ty = b.ty(x);
    if ty == ElementType::Bool {
        return Ok(x);
    }
    let zero = b.constant(Scalar::int(ty, 0));
    let above = op(b, ScalarOp::Compare(Comparison::Greater), &[x, zero])?;
    let below = op(b, ScalarOp::Compare(Comparison::Less), &[x, zero])?;
    let (above, below) = (b.convert(above, ty), b.convert(below, ty));
    let sign = op(b, ScalarOp::Sub, &[above, below])?;
    if !ty.is_float() {
        return Ok(sign);
    }
    let unordered = op(b, ScalarOp::Compare(Comparison::NotEqual), &[x, x])?;
    op(b, ScalarOp::Select, &[unordered, x, sign])
}

fn tangent(b: &mut ExpressionBuilder, x: Node) -> Built {
    let (sine, cosine) = (op(b, ScalarOp::Sin, &[x])?, op(b, ScalarOp::Cos, &[x])?);
    op(b, ScalarOp::Div, &[sine, cosine])
}

/// The angle of the point (1, x).
fn arc_tangent(b: &mut ExpressionBuilder, x: Node) -> Built {
    with_number(b, ScalarOp::Atan2, x, 1.0)
}

/// The angle of the point (√(1 − x²), x): NaN where the root is.
fn arc_sine(b: &mut ExpressionBuilder, x: Node) -> Built {
    let other = other_leg(b, x)?;
    op(b, ScalarOp::Atan2, &[x, other])
}

/// The angle of the point (x, √(1 − x²)).
fn arc_cosine(b: &mut ExpressionBuilder, x: Node) -> Built {
    let other = other_leg(b, x)?;
    op(b, ScalarOp::Atan2, &[other, x])
}

/// √(1 − x²), as √((1 − x)(1 + x)) so that it keeps its digits near 1.
fn other_leg(b: &mut ExpressionBuilder, x: Node) -> Built {
    let (below, above) = (from_number(b, ScalarOp::Sub, 1.0, x)?, with_number(b, ScalarOp::Add, x, 1.0)?);
    let square = op(b, ScalarOp::Mul, &[below, above])?;
    op(b, ScalarOp::Sqrt, &[square])
}

fn scaled_log(b: &mut ExpressionBuilder, x: Node, scale: f64) -> Built {
    let log = op(b, ScalarOp::Log, &[x])?;
    with_number(b, ScalarOp::Mul, log, scale)
}

/// log(1 + x) that keeps its digits near zero: with u = 1 + x rounded, log(u)·(x ÷ (u − 1)) (Kahan).
fn log1p(b: &mut ExpressionBuilder, x: Node) -> Built {
    let u = with_number(b, ScalarOp::Add, x, 1.0)?;
    let log = op(b, ScalarOp::Log, &[u])?;
    let rounded = with_number(b, ScalarOp::Sub, u, 1.0)?;
    // The quotient is near 1; a product with x may overflow.
    let correction = op(b, ScalarOp::Div, &[x, rounded])?;
    let corrected = op(b, ScalarOp::Mul, &[log, correction])?;
    let is_one = against(b, Comparison::Equal, u, 1.0)?;
    let is_infinite = against(b, Comparison::Equal, u, f64::INFINITY)?;
    let corrected = op(b, ScalarOp::Select, &[is_infinite, u, corrected])?;
    op(b, ScalarOp::Select, &[is_one, x, corrected])
}

/// eˣ − 1 that keeps its digits near zero: with u = eˣ rounded, (u − 1)·x ÷ log(u) (Kahan).
fn expm1(b: &mut ExpressionBuilder, x: Node) -> Built {
    let u = op(b, ScalarOp::Exp, &[x])?;
    let difference = with_number(b, ScalarOp::Sub, u, 1.0)?;
    let log = op(b, ScalarOp::Log, &[u])?;
    let product = op(b, ScalarOp::Mul, &[difference, x])?;
    let corrected = op(b, ScalarOp::Div, &[product, log])?;
    let size = op(b, ScalarOp::Abs, &[x])?;
    // Away from zero the plain difference is exact enough, and the correction may overflow.
    let is_small = against(b, Comparison::Less, size, 0.5)?;
    let away = op(b, ScalarOp::Select, &[is_small, corrected, difference])?;
    let is_one = against(b, Comparison::Equal, u, 1.0)?;
    op(b, ScalarOp::Select, &[is_one, x, away])
}

/// With t = e^|x| − 1, (t + t ÷ (t + 1)) ÷ 2 keeps its digits near zero. Far from it half of e^|x| is left, which overflows later than e^|x|.
fn sinh(b: &mut ExpressionBuilder, x: Node) -> Built {
    let size = op(b, ScalarOp::Abs, &[x])?;
    let t = expm1(b, size)?;
    let above = with_number(b, ScalarOp::Add, t, 1.0)?;
    let rest = op(b, ScalarOp::Div, &[t, above])?;
    let sum = op(b, ScalarOp::Add, &[t, rest])?;
    let near = with_number(b, ScalarOp::Mul, sum, 0.5)?;
    let far = half_exp(b, size)?;
    let is_far = against(b, Comparison::Greater, size, 40.0)?;
    let size = op(b, ScalarOp::Select, &[is_far, far, near])?;
    with_sign(b, size, x)
}

/// (eˣ + e⁻ˣ) ÷ 2.
fn cosh(b: &mut ExpressionBuilder, x: Node) -> Built {
    let minus = op(b, ScalarOp::Neg, &[x])?;
    let (up, down) = (half_exp(b, x)?, half_exp(b, minus)?);
    op(b, ScalarOp::Add, &[up, down])
}

/// eˣ ÷ 2, as a product with the root of eˣ, which is finite where the result is.
fn half_exp(b: &mut ExpressionBuilder, x: Node) -> Built {
    let half = with_number(b, ScalarOp::Mul, x, 0.5)?;
    let root = op(b, ScalarOp::Exp, &[half])?;
    let half = with_number(b, ScalarOp::Mul, root, 0.5)?;
    op(b, ScalarOp::Mul, &[half, root])
}

/// sign(x) · log1p(|x| + x² ÷ (1 + √(x² + 1))).
fn asinh(b: &mut ExpressionBuilder, x: Node) -> Built {
    let size = op(b, ScalarOp::Abs, &[x])?;
    let square = op(b, ScalarOp::Mul, &[x, x])?;
    let above = with_number(b, ScalarOp::Add, square, 1.0)?;
    let root = op(b, ScalarOp::Sqrt, &[above])?;
    let divisor = with_number(b, ScalarOp::Add, root, 1.0)?;
    let quotient = op(b, ScalarOp::Div, &[square, divisor])?;
    let sum = op(b, ScalarOp::Add, &[size, quotient])?;
    let log = log_of_twice(b, size, sum)?;
    with_sign(b, log, x)
}

/// With t = x − 1, log1p(t + √t · √(t + 2)), which keeps its digits near 1: NaN where a root is, below 1.
fn acosh(b: &mut ExpressionBuilder, x: Node) -> Built {
    let t = with_number(b, ScalarOp::Sub, x, 1.0)?;
    let above = with_number(b, ScalarOp::Add, x, 1.0)?;
    let (below, above) = (op(b, ScalarOp::Sqrt, &[t])?, op(b, ScalarOp::Sqrt, &[above])?);
    let root = op(b, ScalarOp::Mul, &[below, above])?;
    let sum = op(b, ScalarOp::Add, &[t, root])?;
    log_of_twice(b, x, sum)
}

/// log(1 + sum) of a sum that nears 2x where x is large. The sum, or a square that leads to it, overflows for some of these. There the result is
/// log(x) + log(2), since 1 is below the last digit of x.
fn log_of_twice(b: &mut ExpressionBuilder, x: Node, sum: Node) -> Built {
    let is_large = against(b, Comparison::Greater, x, 1e18)?;
    let argument = op(b, ScalarOp::Select, &[is_large, x, sum])?;
    let log = log1p(b, argument)?;
    let more = with_number(b, ScalarOp::Add, log, std::f64::consts::LN_2)?;
    op(b, ScalarOp::Select, &[is_large, more, log])
}

/// log1p(2x ÷ (1 − x)) ÷ 2.
fn atanh(b: &mut ExpressionBuilder, x: Node) -> Built {
    let twice = op(b, ScalarOp::Add, &[x, x])?;
    let rest = from_number(b, ScalarOp::Sub, 1.0, x)?;
    let quotient = op(b, ScalarOp::Div, &[twice, rest])?;
    let log = log1p(b, quotient)?;
    with_number(b, ScalarOp::Mul, log, 0.5)
}

fn gelu(c: &mut Call<'_, '_, '_>) -> Outcome {
    let form = match c.text(1)?.as_deref() {
        Some("tanh") => Gelu::Tanh,
        Some("none") | None => Gelu::Sum,
        Some(other) => return Err(Fault::invalid("unknown approximation").expected("none or tanh", other)),
    };
    of_library(c, |terms, x| nonlinear::gelu(terms, x, form))
}

/// x·scale above zero, alpha·scale·(e^(x·input_scale) − 1) elsewhere.
fn elu(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (alpha, scale, input_scale) = (c.double(1)?, c.double(2)?, c.double(3)?);
    function(c, move |b, x| {
        let scaled = with_number(b, ScalarOp::Mul, x, input_scale)?;
        let curve = expm1(b, scaled)?;
        let below = with_number(b, ScalarOp::Mul, curve, alpha * scale)?;
        let above = with_number(b, ScalarOp::Mul, x, scale)?;
        let is_below = against(b, Comparison::LessEqual, x, 0.0)?;
        op(b, ScalarOp::Select, &[is_below, below, above])
    })
}

fn leaky_relu(c: &mut Call<'_, '_, '_>) -> Outcome {
    let slope = c.double(1)?;
    of_library(c, |terms, x| {
        let slope = terms.constant(Scalar::float(terms.ty(x), slope));
        nonlinear::leaky_relu(terms, x, slope, Below::NotGreater)
    })
}

fn hardtanh(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, low, high) = (c.operand(0)?, c.number(1)?, c.number(2)?);
    limited(c, x, Some(Operand::Number(low)), Some(Operand::Number(high)))
}

fn clamp(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.operand(0)?;
    let low = if c.is_none(1)? { None } else { Some(c.operand(1)?) };
    let high = if c.is_none(2)? { None } else { Some(c.operand(2)?) };
    limited(c, x, low, high)
}

/// min(max(x, low), high); a NaN stays.
fn limited(c: &mut Call<'_, '_, '_>, x: Operand, low: Option<Operand>, high: Option<Operand>) -> Outcome {
    let operands: Vec<Operand> = [Some(x), low, high].into_iter().flatten().collect();
    let bounds: Vec<ScalarOp> =
        [low.map(|_| ScalarOp::Max(NanRule::Propagate)), high.map(|_| ScalarOp::Min(NanRule::Propagate))].into_iter().flatten().collect();
    let ty = match compute_type(c.common_type(&operands)?) {
        ElementType::Bool => ElementType::U8,
        other => other,
    };
    let out = c.out_form(c.out())?.element;
    let y = c.map_operands(&operands, ty, |b, n| {
        let mut x = n[0];
        for (bound, operation) in n[1..].iter().zip(bounds) {
            x = op(b, operation, &[x, *bound])?;
        }
        Ok(b.convert(x, out))
    })?;
    c.finish(y)
}

/// log(x ÷ (1 − x)), x first limited to [eps, 1 − eps].
fn logit(c: &mut Call<'_, '_, '_>) -> Outcome {
    let eps = c.optional_number(1)?.map(Number::as_f64);
    function(c, move |b, mut x| {
        if let Some(eps) = eps {
            x = with_number(b, ScalarOp::Max(NanRule::Propagate), x, eps)?;
            x = with_number(b, ScalarOp::Min(NanRule::Propagate), x, 1.0 - eps)?;
        }
        let rest = from_number(b, ScalarOp::Sub, 1.0, x)?;
        let odds = op(b, ScalarOp::Div, &[x, rest])?;
        op(b, ScalarOp::Log, &[odds])
    })
}
