//! Reals that are multiples of an extent, exactly: a size times a factor, before it is rounded to a size again.

use super::Graph;
use crate::ir::{ElementType, Extent};
use crate::operators::Error;

/// The largest exponent of two in a factor's denominator. Other results are rounded.
const MOST_HALVINGS: u32 = 20;

/// An extent × `numerator` ÷ 2^`halvings`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Multiple {
    extent: Extent,
    numerator: u64,
    halvings: u32,
}

impl Multiple {
    /// The extent itself, as a float; `None` of one that the type does not hold exactly, or that may be below 0.
    pub fn of(g: &Graph<'_>, extent: Extent, ty: ElementType) -> Option<Self> {
        (g.interval(extent).low >= 0).then_some(Self { extent, numerator: 1, halvings: 0 })?.held(g, ty)
    }

    /// The product with a number above 0; `None` where the type rounds it.
    pub fn times(self, g: &Graph<'_>, factor: f64, ty: ElementType) -> Option<Self> {
        let halvings = (0..=MOST_HALVINGS).find(|&n| (factor * f64::from(1u32 << n)).fract() == 0.0)?;
        let numerator = factor * f64::from(1u32 << halvings);
        let numerator = (numerator > 0.0 && numerator < 2f64.powi(53)).then_some(numerator as u64)?;
        let numerator = self.numerator.checked_mul(numerator)?;
        let halvings = self.halvings.checked_add(halvings)?;
        let common = numerator.trailing_zeros().min(halvings);
        Self { numerator: numerator >> common, halvings: halvings - common, ..self }.held(g, ty)
    }

    /// Returns the multiple if a float type holds it exactly for every value of the extent.
    fn held(self, g: &Graph<'_>, ty: ElementType) -> Option<Self> {
        let digits = match ty {
            ElementType::F32 => 24,
            ElementType::F64 => 53,
            _ => return None,
        };
        let largest = g.bound(self.extent).checked_mul(self.numerator)?;
        (largest <= 1 << digits && self.halvings <= MOST_HALVINGS).then_some(self)
    }

    /// The multiple, rounded down.
    ///
    /// # Errors
    /// No errors if a float type holds the multiple exactly.
    pub fn floor(self, g: &mut Graph<'_>) -> Result<Extent, Error> {
        let product = g.mul(self.extent, Extent::Static(self.numerator))?;
        g.floor_div(product, Extent::Static(1 << self.halvings))
    }

    /// The smallest integer that is not below it.
    ///
    /// # Errors
    /// Never for one that a float type holds.
    pub fn ceil(self, g: &mut Graph<'_>) -> Result<Extent, Error> {
        let product = g.mul(self.extent, Extent::Static(self.numerator))?;
        g.ceil_div(product, Extent::Static(1 << self.halvings))
    }
}
