//! The butterflies of a transform. A butterfly combines `radix` partial transforms at one place. The order of operations decides how fixed point
//! rounds and wraps, so it is kissfft's.

use super::format::{Complex, Format};
use crate::ir::Node;
use crate::ir::scalar::ExpressionError;
use crate::operators::terms::{Term, Terms};

/// Several complex numbers, or the mistake of combining types that do not fit.
type ComplexTerms = Result<Vec<Complex>, ExpressionError>;

/// The radices that have butterflies. The runtime aborts for other ones.
pub(super) const RADICES: [u64; 4] = [2, 3, 4, 5];

/// A butterfly under construction.
pub(super) struct Butterfly<'t> {
    /// The expression.
    pub terms: &'t mut Terms,
    /// Its numbers.
    pub format: Format,
    /// `true` for an inverse transform.
    pub inverse: bool,
}

impl Butterfly<'_> {
    /// The results for partial results `x`. All but the first have a factor each. `root(i)` is the root of unity e^(∓2πi/radix) to the power of `i`.
    pub fn results(&mut self, x: &[Complex], factors: &[Complex], root: impl Fn(u64) -> [f64; 2]) -> ComplexTerms {
        let radix = x.len() as u64;
        let mut inputs = Vec::new();
        for (position, &number) in x.iter().enumerate() {
            let divided = self.format.divided_complex(self.terms, number, radix)?;
            inputs.push(match position.checked_sub(1) {
                Some(factor) => self.format.mul_complex(self.terms, divided, factors[factor])?,
                None => divided,
            });
        }
        match inputs[..] {
            [a, b] => Ok(vec![self.add(a, b)?, self.sub(a, b)?]),
            [a, b, c] => self.of_three([a, b, c], root(1)[1]),
            [a, b, c, d] => self.of_four([a, b, c, d]),
            [a, b, c, d, e] => self.of_five([a, b, c, d, e], [root(1), root(2)]),
            _ => Ok(inputs),
        }
    }

    fn add(&mut self, a: Complex, b: Complex) -> Result<Complex, ExpressionError> {
        self.format.add(self.terms, a, b)
    }

    fn sub(&mut self, a: Complex, b: Complex) -> Result<Complex, ExpressionError> {
        self.format.sub(self.terms, a, b)
    }

    /// a + i·b and a − i·b.
    fn turned(&mut self, a: Complex, b: Complex) -> Result<[Complex; 2], ExpressionError> {
        let plus = Complex { re: self.terms.sub(a.re, b.im)?, im: self.terms.add(a.im, b.re)? };
        let minus = Complex { re: self.terms.add(a.re, b.im)?, im: self.terms.sub(a.im, b.re)? };
        Ok([plus, minus].map(|x| Complex { re: self.format.kept(self.terms, x.re), im: self.format.kept(self.terms, x.im) }))
    }

    fn of_three(&mut self, [a, b, c]: [Complex; 3], sine: f64) -> ComplexTerms {
        let (sum, difference) = (self.add(b, c)?, self.sub(b, c)?);
        let half = Complex { re: self.format.half(self.terms, sum.re)?, im: self.format.half(self.terms, sum.im)? };
        let middle = self.sub(a, half)?;
        let sine = self.format.node(self.terms, sine);
        let [re, im] = [difference.re, difference.im].map(|x| self.format.mul(self.terms, x, sine));
        let [plus, minus] = self.turned(middle, Complex { re: re?, im: im? })?;
        Ok(vec![self.add(a, sum)?, plus, minus])
    }

    fn of_four(&mut self, [a, b, c, d]: [Complex; 4]) -> ComplexTerms {
        let difference = self.sub(a, c)?;
        let sum = self.add(a, c)?;
        let (others, across) = (self.add(b, d)?, self.sub(b, d)?);
        let [plus, minus] = self.turned(difference, across)?;
        let (first, third) = if self.inverse { (plus, minus) } else { (minus, plus) };
        Ok(vec![self.add(sum, others)?, first, self.sub(sum, others)?, third])
    }

    fn of_five(&mut self, [a, b, c, d, e]: [Complex; 5], [near, far]: [[f64; 2]; 2]) -> ComplexTerms {
        let (outer, outer_difference) = (self.add(b, e)?, self.sub(b, e)?);
        let (inner, inner_difference) = (self.add(c, d)?, self.sub(c, d)?);
        let re = self.sum_of_three(a.re, outer.re, inner.re)?;
        let im = self.sum_of_three(a.im, outer.im, inner.im)?;
        let mut results = vec![Complex { re, im }; 5];
        let pairs = [(near, far, [1, 4]), (far, near, [2, 3])];
        for (position, (first, second, [low, high])) in pairs.into_iter().enumerate() {
            let even = Complex {
                re: self.weighted(a.re, [(outer.re, first[0]), (inner.re, second[0])])?,
                im: self.weighted(a.im, [(outer.im, first[0]), (inner.im, second[0])])?,
            };
            let x = self.products([outer_difference.im, outer_difference.re], first[1])?;
            let y = self.products([inner_difference.im, inner_difference.re], second[1])?;
            let odd = if position == 0 {
                // −(p + q) of the real parts is taken as −p − q.
                let (re, negated) = (self.terms.add(x[0], y[0])?, self.negative(x[1])?);
                Complex { re, im: self.terms.sub(negated, y[1])? }
            } else {
                let negated = self.negative(x[0])?;
                Complex { re: self.terms.add(negated, y[0])?, im: self.terms.sub(x[1], y[1])? }
            };
            let odd = Complex { re: self.format.kept(self.terms, odd.re), im: self.format.kept(self.terms, odd.im) };
            let (sum, difference) = (self.add(even, odd)?, self.sub(even, odd)?);
            (results[low], results[high]) = if position == 0 { (difference, sum) } else { (sum, difference) };
        }
        Ok(results)
    }

    fn negative(&mut self, x: Node) -> Term {
        self.terms.op(crate::ir::ScalarOp::Neg, &[x])
    }

    /// x + (y + z) as it is kept.
    fn sum_of_three(&mut self, x: Node, y: Node, z: Node) -> Term {
        let sum = self.terms.add(y, z)?;
        let sum = self.terms.add(x, sum)?;
        Ok(self.format.kept(self.terms, sum))
    }

    /// Two numbers times one, each rounded.
    fn products(&mut self, [x, y]: [Node; 2], factor: f64) -> Result<[Node; 2], ExpressionError> {
        let factor = self.format.node(self.terms, factor);
        Ok([self.format.mul(self.terms, x, factor)?, self.format.mul(self.terms, y, factor)?])
    }

    /// x + Σ number × factor, each product rounded, as it is kept.
    fn weighted(&mut self, x: Node, products: [(Node, f64); 2]) -> Term {
        let mut sum = x;
        for (x, factor) in products {
            let factor = self.format.node(self.terms, factor);
            let product = self.format.mul(self.terms, x, factor)?;
            sum = self.terms.add(sum, product)?;
        }
        Ok(self.format.kept(self.terms, sum))
    }
}
