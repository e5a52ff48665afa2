//! Extents, strides and offsets that may be known only at run time: sums of products of extents. Known quantities are constants in kernels, so one
//! schedule serves static and dynamic shapes.

use super::arguments::{Arguments, Elements};
use super::loops::{Outcome, for_range, for_values, if_then, row_between};
use super::unsupported::Unsupported;
use crate::ir::{Extent, Function, Value as Index};
use crate::kernel::{Active, CompareOp, KernelBuilder, Lane, Value};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// A polynomial in run-time extents with integer coefficients.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quantity {
    /// Products, each with its coefficient. Factors and products are sorted, and no coefficient is 0. Most quantities are a single number.
    terms: SmallVec<[(Vec<Index>, i64); 1]>,
}

/// The vectors of a walk along a row.
#[derive(Clone, Copy, Debug)]
pub struct RowVectors {
    /// Lanes of a vector.
    pub lanes: u16,
    /// Maximum lanes of a vector that the machine masks with a count known at run time.
    pub masked: u16,
}

/// A quantity in a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Number that is known at compile time.
    Known(i64),
    /// Value that is computed at run time.
    Computed(Value),
}

impl Quantity {
    /// Makes a known quantity.
    pub fn known(n: i64) -> Self {
        Self { terms: if n == 0 { smallvec![] } else { smallvec![(vec![], n)] } }
    }

    /// Makes the quantity of an extent whose aliases are resolved.
    pub fn of(extent: Extent) -> Self {
        match extent {
            Extent::Static(n) => Self::known(i64::try_from(n).unwrap_or(i64::MAX)),
            Extent::Value(index) => Self { terms: smallvec![(vec![index], 1)] },
        }
    }

    /// Returns the number, if it is known.
    pub fn as_known(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [(factors, n)] if factors.is_empty() => Some(*n),
            _ => None,
        }
    }

    /// Tests whether it is known and equal to `n`.
    pub fn is(&self, n: i64) -> bool {
        self.as_known() == Some(n)
    }

    /// Returns the sum. Coefficients stay far from overflow, since shapes have less than 2⁶⁰ elements.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (factors, n) in &other.terms {
            sum.add(factors.clone(), *n);
        }
        sum
    }

    /// Returns the product.
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::default();
        for (a, n) in &self.terms {
            for (b, m) in &other.terms {
                let mut factors = [&a[..], &b[..]].concat();
                factors.sort_unstable();
                product.add(factors, n.saturating_mul(*m));
            }
        }
        product
    }

    /// Returns the product with a number.
    pub fn scaled(&self, n: i64) -> Self {
        self.times(&Self::known(n))
    }

    fn add(&mut self, factors: Vec<Index>, n: i64) {
        match self.terms.binary_search_by(|term| term.0.cmp(&factors)) {
            Ok(i) => self.terms[i].1 = self.terms[i].1.saturating_add(n),
            Err(i) => self.terms.insert(i, (factors, n)),
        }
        self.terms.retain(|term| term.1 != 0);
    }

    /// Returns the extents in its terms.
    pub fn extents(&self) -> impl Iterator<Item = Index> + '_ {
        self.terms.iter().flat_map(|(factors, _)| factors.iter().copied())
    }

    /// Returns the largest value of a quantity without negative coefficients.
    ///
    /// # Errors
    /// [`Unsupported`] if an extent has no bound, or the value is beyond 62 bits.
    pub fn most(&self, function: &Function) -> Result<u64, Unsupported> {
        let largest = |factors: &[Index], n: i64| {
            factors.iter().try_fold(u64::try_from(n).ok()?, |product, &extent| {
                let interval = function.interval(Extent::Value(extent));
                product.checked_mul(u64::try_from(interval.high).ok().filter(|_| interval.is_bounded())?)
            })
        };
        let sum = self.terms.iter().try_fold(0u64, |sum, (factors, n)| sum.checked_add(largest(factors, *n)?));
        sum.filter(|&most| most < 1 << 62).ok_or(Unsupported::UnboundedTensor)
    }
}

/// Returns the product of quantities.
pub fn product<'q>(quantities: impl IntoIterator<Item = &'q Quantity>) -> Quantity {
    quantities.into_iter().fold(Quantity::known(1), |product, factor| product.times(factor))
}

/// Returns the products of the dimensions before, at and after an axis.
pub fn around(shape: &[Quantity], axis: usize) -> [Quantity; 3] {
    [product(&shape[..axis]), shape[axis].clone(), product(&shape[axis + 1..])]
}

/// Returns the row-major strides of a shape, in elements.
pub fn strides(shape: &[Quantity]) -> Vec<Quantity> {
    let mut strides = vec![Quantity::known(0); shape.len()];
    let mut step = Quantity::known(1);
    for d in (0..shape.len()).rev() {
        strides[d] = step.clone();
        step = step.times(&shape[d]);
    }
    strides
}

/// The extents that a kernel has loaded.
#[derive(Default)]
pub struct Cells {
    loaded: Vec<(Index, Value)>,
}

impl Cells {
    /// Declares a buffer for each extent that is not yet loaded, and loads it. Calls come before all loops.
    pub fn load(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments, extents: impl IntoIterator<Item = Index>) {
        for extent in extents {
            if self.loaded.iter().any(|(known, _)| *known == extent) {
                continue;
            }
            let buffer = arguments.input(b, format!("extent{}", self.loaded.len()), extent, Elements::new(Lane::I64, 1));
            let zero = b.index(0);
            let value = b.load(buffer, zero, 0, 1);
            self.loaded.push((extent, value));
        }
    }

    /// Computes a quantity from loaded extents.
    pub fn number(&self, b: &mut KernelBuilder, quantity: &Quantity) -> Number {
        if let Some(n) = quantity.as_known() {
            return Number::Known(n);
        }
        let mut sum: Option<Value> = None;
        for (factors, n) in &quantity.terms {
            let mut product: Option<Value> = None;
            for factor in factors {
                let (_, value) = self.loaded.iter().find(|(known, _)| known == factor).expect("the extent is loaded");
                product = Some(product.map_or(*value, |product| b.mul(product, *value)));
            }
            let term = match product {
                Some(product) => b.scale_index(product, *n, 0),
                None => b.index(*n),
            };
            sum = Some(sum.map_or(term, |sum| b.add(sum, term)));
        }
        Number::Computed(sum.expect("what is not known has terms"))
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(n) => write!(f, "{n}"),
            Self::Computed(_) => f.write_str("n"),
        }
    }
}

impl Number {
    /// Returns it as a value.
    pub fn value(self, b: &mut KernelBuilder) -> Value {
        match self {
            Self::Known(n) => b.index(n),
            Self::Computed(value) => value,
        }
    }

    /// Tests whether it is known and equal to `n`.
    pub fn is(self, n: u64) -> bool {
        matches!(self, Self::Known(known) if u64::try_from(known) == Ok(n))
    }

    /// Returns the product with an index.
    pub fn scale(self, b: &mut KernelBuilder, index: Value) -> Value {
        match self {
            Self::Known(n) => b.scale_index(index, n, 0),
            Self::Computed(value) => b.mul(index, value),
        }
    }

    /// Returns the number minus one.
    pub fn less_one(self, b: &mut KernelBuilder) -> Value {
        match self {
            Self::Known(n) => b.index(n - 1),
            Self::Computed(value) => {
                let one = b.index(1);
                b.sub(value, one)
            }
        }
    }

    /// Returns the product with a known number, as a value.
    pub fn scale_known(self, b: &mut KernelBuilder, n: i64) -> Value {
        match self {
            Self::Known(m) => b.index(n.saturating_mul(m)),
            Self::Computed(value) => b.scale_index(value, n, 0),
        }
    }

    /// Returns the product with a known number.
    pub fn times(self, b: &mut KernelBuilder, n: u64) -> Self {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        match self {
            Self::Known(m) => Self::Known(n.saturating_mul(m)),
            Self::Computed(value) => Self::Computed(b.scale_index(value, n, 0)),
        }
    }

    /// Returns the sum with an index.
    pub fn plus(self, b: &mut KernelBuilder, index: Value) -> Value {
        match self {
            Self::Known(n) => b.scale_index(index, 1, n),
            Self::Computed(value) => b.add(index, value),
        }
    }

    /// Builds a loop over this many elements by `step`. The rest follows at once if its size is known, otherwise one by one.
    pub fn tiles<R: Outcome>(self, b: &mut KernelBuilder, step: u64, mut body: impl FnMut(&mut KernelBuilder, Value, u64) -> R) -> R {
        let by = i64::try_from(step).unwrap_or(i64::MAX);
        match self {
            Self::Known(n) => {
                let whole = n / by * by;
                let outcome = for_range(b, 0..whole, by, |b, i| body(b, i, step));
                if n <= whole {
                    return outcome;
                }
                outcome.then(|| {
                    let i = b.index(whole);
                    body(b, i, (n - whole) as u64)
                })
            }
            Self::Computed(end) => {
                let (zero, divisor) = (b.index(0), b.index(by));
                let whole = b.binary(crate::kernel::BinaryOp::SignedDiv, end, divisor);
                let whole = b.scale_index(whole, by, 0);
                let outcome = for_values(b, zero..whole, by, |b, i| body(b, i, step));
                if step <= 1 {
                    return outcome;
                }
                outcome.then(|| for_values(b, whole..end, 1, |b, i| body(b, i, 1)))
            }
        }
    }

    /// Builds a loop from this number to `end`.
    pub fn up_to(self, b: &mut KernelBuilder, end: Self, step: i64, body: impl FnOnce(&mut KernelBuilder, Value)) {
        if let (Self::Known(start), Self::Known(end)) = (self, end) {
            return b.for_range(start, end, step, body);
        }
        let (start, end) = (self.value(b), end.value(b));
        b.for_values(start, end, step, body);
    }

    /// Builds a loop with this many iterations.
    pub fn repeat<R: Outcome>(self, b: &mut KernelBuilder, body: impl FnOnce(&mut KernelBuilder, Value) -> R) -> R {
        match self {
            Self::Known(n) => for_range(b, 0..n, 1, body),
            Self::Computed(end) => {
                let zero = b.index(0);
                for_values(b, zero..end, 1, body)
            }
        }
    }

    /// Builds a loop over this many elements by `lanes`, then the rest with fewer active lanes. The rest is one vector if its size is known, or if
    /// the machine masks vectors of up to `masked` lanes. Otherwise elements follow one by one.
    pub fn row<R: Outcome>(
        self,
        b: &mut KernelBuilder,
        lanes: u16,
        masked: u16,
        body: impl FnMut(&mut KernelBuilder, Value, Active) -> R,
    ) -> R {
        self.row_of(b, RowVectors { lanes, masked }, 1, body)
    }

    /// Builds [`Self::row`] for elements in units of `unit`.
    pub fn row_of<R: Outcome>(
        self,
        b: &mut KernelBuilder,
        vectors: RowVectors,
        unit: u16,
        body: impl FnMut(&mut KernelBuilder, Value, Active) -> R,
    ) -> R {
        self.row_after(b, Self::Known(0), vectors, unit, body)
    }

    /// Builds [`Self::row_of`] for the elements from `start` on, a multiple of `lanes`.
    pub fn row_after<R: Outcome>(
        self,
        b: &mut KernelBuilder,
        start: Self,
        RowVectors { lanes, masked }: RowVectors,
        unit: u16,
        mut body: impl FnMut(&mut KernelBuilder, Value, Active) -> R,
    ) -> R {
        match (start, self) {
            (Self::Known(start), Self::Known(end)) => {
                let [start, end] = [start, end].map(|n| u64::try_from(n).unwrap_or(0));
                row_between(b, start..end, lanes, |b, i, active| body(b, i, active.into()))
            }
            (_, Self::Known(_) | Self::Computed(_)) => {
                let end = self.value(b);
                let (start, whole) = (start.value(b), self.whole(b, lanes));
                let outcome = for_values(b, start..whole, i64::from(lanes), |b, i| body(b, i, lanes.into()));
                if lanes <= unit {
                    return outcome;
                }
                outcome.then(|| {
                    if lanes > masked {
                        return for_values(b, whole..end, unit.into(), |b, i| body(b, i, unit.into()));
                    }
                    let some = b.compare(CompareOp::Less, whole, end);
                    if_then(b, some, |b| {
                        let mask = first_lanes(b, whole..end, lanes);
                        body(b, whole, Active::Where(mask))
                    })
                })
            }
        }
    }

    /// Builds a loop over whole tiles of `size` elements. Returns the end of the last one.
    ///
    /// # Errors
    /// The errors of `body`.
    pub fn whole_tiles(
        self,
        b: &mut KernelBuilder,
        size: u16,
        body: impl FnOnce(&mut KernelBuilder, Value) -> Result<(), Unsupported>,
    ) -> Result<Self, Unsupported> {
        let by = i64::from(size);
        match self {
            Self::Known(n) => for_range(b, 0..n / by * by, by, body).map(|()| Self::Known(n / by * by)),
            Self::Computed(_) => {
                let (zero, whole) = (b.index(0), self.whole(b, size));
                for_values(b, zero..whole, by, body).map(|()| Self::Computed(whole))
            }
        }
    }

    /// Tests whether the elements after whole vectors become one masked vector, on a machine that masks up to `masked` lanes.
    pub fn masks_rest(self, lanes: u16, masked: u16) -> bool {
        matches!(self, Self::Computed(_)) && (2..=masked).contains(&lanes)
    }

    /// Updates values with the elements after whole vectors, if there are any. `body` gets the first of these elements and the mask of their lanes.
    ///
    /// # Errors
    /// The errors of `body`.
    pub fn with_rest(
        self,
        b: &mut KernelBuilder,
        lanes: u16,
        values: &[Value],
        body: impl FnOnce(&mut KernelBuilder, Value, Value) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        let (start, end) = self.stretch(b, lanes, true);
        let some = b.compare(CompareOp::Less, start, end);
        let mut inside = Ok(());
        let rest = |b: &mut KernelBuilder| {
            let mask = first_lanes(b, start..end, lanes);
            body(b, start, mask).unwrap_or_else(|error| {
                inside = Err(error);
                values.to_vec()
            })
        };
        let values = b.if_else(some, rest, |_| values.to_vec());
        inside.map(|()| values)
    }

    /// Returns the start and the end of the whole vectors of `lanes`, or of the rest after them.
    pub fn stretch(self, b: &mut KernelBuilder, lanes: u16, is_rest: bool) -> (Value, Value) {
        if is_rest { (self.whole(b, lanes), self.value(b)) } else { (b.index(0), self.whole(b, lanes)) }
    }

    /// Rounds the number down to a multiple of `lanes`.
    pub fn whole(self, b: &mut KernelBuilder, lanes: u16) -> Value {
        match self {
            Self::Known(n) => b.index(n / i64::from(lanes) * i64::from(lanes)),
            Self::Computed(end) => {
                // Lane counts are powers of two, and numbers of elements are not negative.
                let mask = b.index(-i64::from(lanes));
                b.binary(crate::kernel::BinaryOp::And, end, mask)
            }
        }
    }
}

/// Returns a mask of the lanes from `start` to `end`, of a vector that begins at `start`.
fn first_lanes(b: &mut KernelBuilder, Range { start, end }: Range<Value>, lanes: u16) -> Value {
    let count = b.sub(end, start);
    b.first_lanes(count, lanes)
}

/// Builds one loop for each dimension, the first outermost. The body gets the position in each dimension and the number of the pixel. Both continue
/// from the given ones.
pub fn nest<R: Outcome>(
    b: &mut KernelBuilder,
    dimensions: &[Number],
    (digits, pixel): (&[Value], Value),
    body: &mut dyn FnMut(&mut KernelBuilder, &[Value], Value) -> R,
) -> R {
    let Some((first, rest)) = dimensions.split_first() else { return body(b, digits, pixel) };
    let outer = first.scale(b, pixel);
    first.repeat(b, |b, digit| {
        let pixel = b.add(outer, digit);
        nest(b, rest, (&[digits, &[digit]].concat(), pixel), body)
    })
}
