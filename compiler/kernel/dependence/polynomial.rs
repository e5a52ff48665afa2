//! Sums of products of run-time numbers.

use crate::Value;

/// Factors of a product, sorted; empty for 1.
pub type Monomial = Vec<Value>;

/// A sum of products, in which each product occurs once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polynomial(Vec<(Monomial, i128)>);

impl Polynomial {
    /// Makes a constant.
    pub fn number(number: i128) -> Self {
        let mut sum = Self::default();
        sum.add(vec![], number);
        sum
    }

    /// Adds `factor` times a product.
    pub fn add(&mut self, monomial: Monomial, factor: i128) {
        match self.0.iter_mut().find(|known| known.0 == monomial) {
            Some(known) => known.1 += factor,
            None => self.0.push((monomial, factor)),
        }
        self.0.retain(|known| known.1 != 0);
    }

    /// Adds another polynomial times a product.
    pub fn add_times(&mut self, other: &Self, monomial: &Monomial, factor: i128) {
        other.0.iter().for_each(|(of_other, times)| self.add(product(of_other, monomial), times * factor));
    }

    /// Returns the products with their factors.
    pub fn terms(&self) -> &[(Monomial, i128)] {
        &self.0
    }
}

/// Multiplies two products.
pub fn product(a: &Monomial, b: &Monomial) -> Monomial {
    let mut all = [&a[..], &b[..]].concat();
    all.sort_unstable();
    all
}

/// Divides a product by another one. Returns `None` if this leaves a rest.
pub fn quotient(monomial: &Monomial, by: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for value in by {
        left.remove(left.iter().position(|other| other == value)?);
    }
    Some(left)
}
