//! Filters of antialiased interpolation.

use crate::ir::{Comparison, Node, ScalarOp};
use crate::operators::terms::{Term, Terms};

/// A filter: the weights of pixels by their distance from the centre.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    /// Weights that fall linearly to 0.
    Triangle,
    /// Keys' cubic with a = −½.
    Cubic,
}

impl Filter {
    /// The coefficient of the cubic.
    const A: f64 = -0.5;

    /// The distance up to which weights are not 0, in pixels of the coarser image.
    pub fn reach(self) -> f64 {
        match self {
            Self::Triangle => 1.0,
            Self::Cubic => 2.0,
        }
    }

    /// The weight at a distance.
    pub fn weight(self, distance: f64) -> f64 {
        let (x, a) = (distance.abs(), Self::A);
        match self {
            Self::Triangle => (1.0 - x).max(0.0),
            Self::Cubic if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Self::Cubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * a,
            Self::Cubic => 0.0,
        }
    }

    /// The weight at a distance that is computed at run time.
    ///
    /// # Errors
    /// A mistake of type: the distance is no binary64.
    pub fn term(self, terms: &mut Terms, distance: Node) -> Term {
        let x = terms.op(ScalarOp::Abs, &[distance])?;
        let (zero, one, two) = (terms.f64(0.0), terms.f64(1.0), terms.f64(2.0));
        if self == Self::Triangle {
            let weight = terms.sub(one, x)?;
            return terms.max(weight, zero);
        }
        let [a, near, nearer] = [Self::A, Self::A + 2.0, Self::A + 3.0].map(|n| terms.f64(n));
        let [four, five, eight] = [4.0, 5.0, 8.0].map(|n| terms.f64(n));
        let inner = terms.mul(near, x)?;
        let inner = terms.sub(inner, nearer)?;
        let inner = terms.mul(inner, x)?;
        let inner = terms.mul(inner, x)?;
        let inner = terms.add(inner, one)?;
        let outer = terms.sub(x, five)?;
        let outer = terms.mul(outer, x)?;
        let outer = terms.add(outer, eight)?;
        let outer = terms.mul(outer, x)?;
        let outer = terms.sub(outer, four)?;
        let outer = terms.mul(outer, a)?;
        let is_inner = terms.compare(Comparison::Less, x, one)?;
        let is_outer = terms.compare(Comparison::Less, x, two)?;
        let beyond = terms.select(is_outer, outer, zero)?;
        terms.select(is_inner, inner, beyond)
    }
}
