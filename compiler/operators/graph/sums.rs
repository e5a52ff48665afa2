//! Sums of a number and multiples of indices, their products and their quotients.

use crate::ir::{IndexOperation, Interval, Value, interval};
use std::collections::BTreeMap;

/// A number and multiples of terms.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sum {
    constant: i64,
    terms: BTreeMap<Term, i64>,
}

/// A term of a sum.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Term {
    /// An index.
    Index(Value),
    /// A sum divided by a number above 1, rounded down.
    Quotient(Box<Sum>, i64),
    /// Two or more other terms multiplied, in order.
    Product(Vec<Term>),
}

/// The condition under which a sum is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vanishing {
    /// The index has this value.
    AtNumber(Value, i64),
    /// The two indices are equal.
    AtIndex(Value, Value),
}

/// The maximum number of terms of a product of sums. Longer products have no form.
const MOST_TERMS: usize = 32;

impl Term {
    /// The factors of the term.
    fn factors(&self) -> &[Self] {
        match self {
            Self::Product(factors) => factors,
            other => std::slice::from_ref(other),
        }
    }

    /// The product of terms; `None` without factors.
    fn of_factors(mut factors: Vec<Self>) -> Option<Self> {
        factors.sort();
        if factors.len() > 1 { Some(Self::Product(factors)) } else { factors.pop() }
    }
}

impl Sum {
    /// A number.
    pub fn known(constant: i64) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    /// A term.
    pub fn of(term: Term) -> Self {
        Self { constant: 0, terms: BTreeMap::from([(term, 1)]) }
    }

    /// The number that it always is.
    pub fn as_known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The index that it always is.
    pub fn as_index(&self) -> Option<Value> {
        match (self.constant, self.terms.len(), self.terms.first_key_value()) {
            (0, 1, Some((&Term::Index(index), 1))) => Some(index),
            _ => None,
        }
    }

    /// The terms that are indices, with their factors.
    pub fn indices(&self) -> impl Iterator<Item = (Value, i64)> + '_ {
        self.terms.iter().filter_map(|(term, &factor)| if let Term::Index(index) = *term { Some((index, factor)) } else { None })
    }

    /// The smallest possible value, from the ranges of indices. `None` if it is unknown or beyond 64 bits.
    pub fn least(&self, interval: impl Fn(Value) -> Interval) -> Option<i64> {
        let terms = self.indices().map(|(index, factor)| {
            let Interval { low, high } = interval(index);
            factor.checked_mul(if factor > 0 { low } else { high })
        });
        let mut sum = (self.indices().count() == self.terms.len()).then_some(self.constant)?;
        for term in terms {
            sum = sum.checked_add(term?)?;
        }
        Some(sum)
    }

    /// The condition on one index under which the sum is 0, if there is a single one: a number, or another index.
    pub fn vanishing(&self) -> Option<Vanishing> {
        let mut terms = self.terms.iter();
        match (terms.next()?, terms.next(), terms.next()) {
            ((&Term::Index(index), &factor), None, None) => {
                let (number, rest) = (self.constant.checked_div(factor)?, self.constant.checked_rem(factor)?);
                (rest == 0).then_some(Vanishing::AtNumber(index, number.checked_neg()?))
            }
            ((&Term::Index(a), &x), Some((&Term::Index(b), &y)), None) if self.constant == 0 && x.checked_neg() == Some(y) => {
                Some(Vanishing::AtIndex(a, b))
            }
            _ => None,
        }
    }

    /// A number added.
    pub fn raised(mut self, n: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(n)?;
        Some(self)
    }

    /// A multiple of another sum added.
    pub fn plus(mut self, other: &Self, factor: i64) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (term, n) in &other.terms {
            let sum = self.terms.entry(term.clone()).or_insert(0);
            *sum = sum.checked_add(n.checked_mul(factor)?)?;
        }
        self.terms.retain(|_, n| *n != 0);
        Some(self)
    }

    /// Multiplied by another sum.
    pub fn times(&self, other: &Self) -> Option<Self> {
        if self.terms.len() * other.terms.len() > MOST_TERMS {
            return None;
        }
        let scaled = Self { constant: 0, terms: other.terms.clone() };
        let mut product = Self::default().plus(self, other.constant)?.plus(&scaled, self.constant)?;
        for (x, n) in &self.terms {
            for (y, m) in &other.terms {
                let term = Term::of_factors([x.factors(), y.factors()].concat())?;
                product = product.plus(&Self::of(term), n.checked_mul(*m)?)?;
            }
        }
        Some(product)
    }

    /// Divided by another sum that is not 0. `None` unless that is one multiple of a term, which all terms hold.
    pub fn shared(&self, divisor: &Self) -> Option<Self> {
        let (term, by) = divisor.terms.first_key_value().filter(|_| divisor.terms.len() == 1)?;
        if divisor.constant != 0 || self.constant != 0 {
            return None;
        }
        let mut quotient = Self::default();
        for (whole, n) in &self.terms {
            let mut factors = whole.factors().to_vec();
            for factor in term.factors() {
                factors.remove(factors.iter().position(|other| other == factor)?);
            }
            let n = (n % by == 0).then_some(n / by)?;
            quotient = match Term::of_factors(factors) {
                Some(rest) => quotient.plus(&Self::of(rest), n)?,
                None => quotient.raised(n)?,
            };
        }
        Some(quotient)
    }

    /// Divided by a positive number, rounded down.
    pub fn divided(self, divisor: i64) -> Option<Self> {
        // ⌊(⌊x ÷ d⌋ + c) ÷ e⌋ is ⌊(x + c·d) ÷ (d·e)⌋.
        if let Some((Term::Quotient(inner, by), 1)) = self.terms.first_key_value().filter(|_| self.terms.len() == 1) {
            let inner = inner.as_ref().clone().raised(self.constant.checked_mul(*by)?)?;
            return inner.divided(by.checked_mul(divisor)?);
        }
        let (mut whole, mut rest) = (Self::default(), Self::default());
        for (term, n) in self.terms {
            let part = if n % divisor == 0 { &mut whole } else { &mut rest };
            part.terms.insert(term, if n % divisor == 0 { n / divisor } else { n });
        }
        // Common factors of the divisor and the remaining terms cancel. The quotient of the constant is rounded down.
        let common = rest.terms.values().fold(divisor, |common, &n| greatest_common_divisor(common, n));
        let divisor = divisor / common;
        rest.terms.values_mut().for_each(|n| *n /= common);
        let constant = interval::evaluate(IndexOperation::FloorDivide, self.constant, common);
        whole.constant = interval::evaluate(IndexOperation::FloorDivide, constant, divisor);
        rest.constant = interval::evaluate(IndexOperation::Remainder, constant, divisor);
        if rest.terms.is_empty() {
            return Some(whole);
        }
        whole.plus(&Self::of(Term::Quotient(Box::new(rest), divisor)), 1)
    }
}

/// The greatest common divisor of a positive number and another one.
fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(n: u32) -> Sum {
        Sum::of(Term::Index(Value::from_u32(n)))
    }

    fn times(factor: i64, n: u32) -> Sum {
        Sum::default().plus(&index(n), factor).unwrap()
    }

    #[test]
    fn sums_cancel() {
        let x = index(1).raised(3).unwrap();
        assert_eq!(x.clone().plus(&index(1), -1).unwrap(), Sum::known(3));
        assert_eq!(x.clone().plus(&x, -1).unwrap(), Sum::default());
    }

    #[test]
    fn strided_windows_one_after_another_are_one_quotient() {
        // Windows of 10 by steps of 5, then of 3 by steps of 2, are ⌊n ÷ 10⌋ − 1.
        let windows = |extent: Sum, size: i64, step: i64| extent.raised(-size)?.divided(step)?.raised(1);
        let found = windows(index(7), 10, 5).and_then(|rows| windows(rows, 3, 2)).unwrap();
        assert_eq!(found, index(7).divided(10).unwrap().raised(-1).unwrap());
        assert_ne!(found, index(7).divided(10).unwrap());
    }

    #[test]
    fn what_a_divisor_divides_is_taken_out() {
        let four = times(4, 2).raised(2).unwrap();
        assert_eq!(four.clone().divided(2).unwrap(), times(2, 2).raised(1).unwrap());
        assert_eq!(four.clone().divided(4).unwrap(), index(2));
        // ⌊(4x + 2) ÷ 6⌋ is ⌊(2x + 1) ÷ 3⌋, and so is ⌊(4x + 3) ÷ 6⌋.
        let third = times(2, 2).raised(1).unwrap().divided(3).unwrap();
        assert_eq!(four.clone().divided(6).unwrap(), third);
        assert_eq!(four.raised(1).unwrap().divided(6).unwrap(), third);
    }

    #[test]
    fn sums_vanish_where_one_index_is_a_number_or_another_index() {
        assert_eq!(times(2, 3).raised(-6).unwrap().vanishing(), Some(Vanishing::AtNumber(Value::from_u32(3), 3)));
        assert_eq!(times(2, 3).raised(-5).unwrap().vanishing(), None);
        let [x, y] = [index(1), index(2)];
        let difference = x.plus(&y, -1).unwrap();
        assert_eq!(difference.vanishing(), Some(Vanishing::AtIndex(Value::from_u32(1), Value::from_u32(2))));
        assert_eq!(difference.clone().raised(1).unwrap().vanishing(), None);
        assert_eq!((difference.plus(&index(3), 1).unwrap().vanishing(), Sum::known(0).vanishing()), (None, None));
    }

    #[test]
    fn products_are_multiplied_out() {
        let [x, y] = [index(1), index(2)];
        let sum = x.clone().raised(2).unwrap().times(&y.clone().raised(-1).unwrap()).unwrap();
        let product = x.times(&y).unwrap();
        let expected = product.clone().plus(&y, 2).and_then(|s| s.plus(&x, -1)).and_then(|s| s.raised(-2)).unwrap();
        assert_eq!(sum, expected);
        assert_eq!(y.times(&x).unwrap().times(&y), product.times(&y));
        // Their quotients, as shapes with one open extent have them.
        let many = Sum::default().plus(&product, 144).unwrap();
        assert_eq!(many.clone().divided(72).unwrap(), product.clone().plus(&product, 1).unwrap());
        assert_eq!(many.shared(&times(72, 1)).unwrap(), times(2, 2));
        assert_eq!(product.shared(&product).unwrap(), Sum::known(1));
        assert_eq!((many.shared(&times(7, 1)), product.shared(&index(3)), sum.shared(&x)), (None, None, None));
    }

    #[test]
    fn the_least_of_a_sum_is_that_of_its_terms() {
        let interval = |index: Value| if index == Value::from_u32(1) { Interval { low: 2, high: 5 } } else { Interval::UNBOUNDED };
        assert_eq!(times(3, 1).raised(1).unwrap().least(interval), Some(7));
        assert_eq!(times(-3, 1).raised(1).unwrap().least(interval), Some(-14));
        assert_eq!((times(3, 2).least(interval), times(-3, 2).least(interval)), (Some(0), None));
        assert_eq!(index(1).divided(2).unwrap().least(interval), None);
    }

    #[test]
    fn a_sum_of_one_index_is_that_index() {
        let x = index(3).raised(2).unwrap();
        assert_eq!(x.as_index(), None);
        assert_eq!(x.raised(-2).unwrap().as_index(), Some(Value::from_u32(3)));
        assert_eq!((times(2, 3).as_index(), Sum::known(0).as_index()), (None, None));
        assert_eq!(index(1).divided(2).unwrap().as_index(), None);
    }
}
