//! Nonlinear functions of one element: GELU, hard swish, ELU, leaky ReLU. Formats agree on the function and differ in how it is rounded, which each takes
//! as an argument.

use super::terms::{Term, Terms};
use crate::ir::{Comparison, Node, Scalar, ScalarOp};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// The form in which GELU computes its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gelu {
    /// erfc(−x ÷ √2), which keeps all digits where the sum would cancel.
    Complement,
    /// 1 + erf(x ÷ √2).
    Sum,
    /// 1 + tanh(√(2 ÷ π) · (x + 0.044715 x³)).
    Tanh,
}

/// A number of the type of another term.
fn number(terms: &mut Terms, like: Node, value: f64) -> Node {
    let element = terms.ty(like);
    terms.constant(Scalar::float(element, value))
}

/// GELU: x ÷ 2 times a weight.
///
/// # Errors
/// The errors of an x that is no float, here and below.
pub fn gelu(terms: &mut Terms, x: Node, form: Gelu) -> Term {
    let weight = match form {
        Gelu::Complement => {
            let root = number(terms, x, -FRAC_1_SQRT_2);
            let argument = terms.mul(x, root)?;
            terms.op(ScalarOp::Erfc, &[argument])?
        }
        Gelu::Sum => {
            let share = terms.op(ScalarOp::NormalCdf, &[x])?;
            return terms.mul(x, share);
        }
        Gelu::Tanh => {
            let square = terms.mul(x, x)?;
            let cube = terms.mul(square, x)?;
            let cubic = number(terms, x, 0.044715);
            let cube = terms.mul(cube, cubic)?;
            let sum = terms.add(x, cube)?;
            let factor = number(terms, x, FRAC_2_SQRT_PI * FRAC_1_SQRT_2);
            let argument = terms.mul(sum, factor)?;
            let tanh = terms.op(ScalarOp::Tanh, &[argument])?;
            let one = number(terms, x, 1.0);
            terms.add(tanh, one)?
        }
    };
    let half = number(terms, x, 0.5);
    let half = terms.mul(x, half)?;
    terms.mul(half, weight)
}

/// The place of the division by 6 in hard swish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sixth {
    /// The product is multiplied by 1 ÷ 6.
    Product,
    /// The gate is multiplied by 1 ÷ 6.
    Factor,
}

/// x · min(max(x + 3, 0), 6) ÷ 6.
///
/// # Errors
/// The errors of [`gelu`].
pub fn hard_swish(terms: &mut Terms, x: Node, sixth: Sixth) -> Term {
    let [zero, three, six] = [0.0, 3.0, 6.0].map(|n| number(terms, x, n));
    let shifted = terms.add(x, three)?;
    // The order of the operands determines the result for NaN.
    let gate = match sixth {
        Sixth::Product => terms.max(zero, shifted)?,
        Sixth::Factor => terms.max(shifted, zero)?,
    };
    let gate = terms.min(gate, six)?;
    let factor = number(terms, x, 1.0 / 6.0);
    match sixth {
        Sixth::Product => {
            let product = terms.mul(x, gate)?;
            terms.mul(product, factor)
        }
        Sixth::Factor => {
            let gate = terms.mul(gate, factor)?;
            terms.mul(x, gate)
        }
    }
}

/// The condition under which a number takes the lower side of a function. It decides the results for 0 and NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below {
    /// Numbers less than 0 take the lower side.
    Less,
    /// Numbers that do not compare greater than 0 take the lower side, so NaN does.
    NotGreater,
    /// Numbers that do not compare greater than or equal to 0 take the lower side, so NaN does.
    NotGreaterEqual,
}

/// x, or `lower` on the lower side of 0.
fn split_at(terms: &mut Terms, zero: Node, x: Node, lower: Node, below: Below) -> Term {
    let (comparison, is_lower) = match below {
        Below::Less => (Comparison::Less, true),
        Below::NotGreater => (Comparison::Greater, false),
        Below::NotGreaterEqual => (Comparison::GreaterEqual, false),
    };
    let holds = terms.compare(comparison, x, zero)?;
    if is_lower { terms.select(holds, lower, x) } else { terms.select(holds, x, lower) }
}

/// x, or slope · x on the lower side of 0.
///
/// # Errors
/// The errors of [`gelu`].
pub fn leaky_relu(terms: &mut Terms, x: Node, slope: Node, below: Below) -> Term {
    let zero = number(terms, x, 0.0);
    let scaled = terms.mul(x, slope)?;
    split_at(terms, zero, x, scaled, below)
}

/// x, or alpha · (eˣ − 1) below 0. The power is rounded before 1 is subtracted. For an alpha of 1 there is no product to round.
///
/// # Errors
/// The errors of [`gelu`].
pub fn elu(terms: &mut Terms, x: Node, alpha: f32) -> Term {
    let power = terms.op(ScalarOp::Exp, &[x])?;
    let one = number(terms, x, 1.0);
    let mut lower = terms.sub(power, one)?;
    if alpha != 1.0 {
        let alpha = number(terms, x, f64::from(alpha));
        lower = terms.mul(lower, alpha)?;
    }
    let zero = number(terms, x, 0.0);
    split_at(terms, zero, x, lower, Below::Less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::Error;
    use crate::operators::testing::{Floats, run};

    const POINTS: [f32; 7] = [-4.0, -1.0, -0.25, 0.0, 0.5, 2.0, 7.0];

    fn at_points(function: impl Fn(&mut Terms, Node) -> Term) -> Vec<f32> {
        let x = Floats::new(&[7], POINTS.to_vec());
        run(&[&x], &|g, v| g.compute::<Error>(v, |terms, x| Ok(function(terms, x[0])?))).numbers
    }

    fn assert_near(found: &[f32], wanted: impl Fn(f64) -> f64, tolerance: f64) {
        for (&x, &y) in POINTS.iter().zip(found) {
            assert!((f64::from(y) - wanted(f64::from(x))).abs() <= tolerance, "f({x}) = {y}, not {}", wanted(f64::from(x)));
        }
    }

    #[test]
    fn every_form_of_gelu_is_gelu() {
        let exact = |x: f64| x * 0.5 * (1.0 + libm::erf(x * FRAC_1_SQRT_2));
        for (form, tolerance) in [(Gelu::Complement, 1e-6), (Gelu::Sum, 1e-6), (Gelu::Tanh, 2e-3)] {
            assert_near(&at_points(|terms, x| gelu(terms, x, form)), exact, tolerance);
        }
    }

    #[test]
    fn both_sixths_are_hard_swish() {
        for sixth in [Sixth::Product, Sixth::Factor] {
            let found = at_points(|terms, x| hard_swish(terms, x, sixth));
            assert_near(&found, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0, 1e-6);
        }
    }

    #[test]
    fn the_lower_side_is_bent() {
        assert_near(&at_points(|terms, x| elu(terms, x, 1.0)), |x| if x < 0.0 { x.exp() - 1.0 } else { x }, 1e-6);
        assert_near(&at_points(|terms, x| elu(terms, x, 2.0)), |x| if x < 0.0 { 2.0 * (x.exp() - 1.0) } else { x }, 1e-6);
        for below in [Below::Less, Below::NotGreater, Below::NotGreaterEqual] {
            let found = at_points(|terms, x| {
                let slope = terms.f32(0.1);
                leaky_relu(terms, x, slope, below)
            });
            assert_near(&found, |x| if x < 0.0 { x * 0.1 } else { x }, 1e-6);
        }
    }
}
