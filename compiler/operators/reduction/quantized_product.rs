//! REDUCE_PROD on quantized scales.
//!
//! The reference multiplies one element after another and rescales every product. The factor is the input's scale over the n-th root of the output's
//! for n elements, so the last product has the output's scale.

use super::{Rescaling, count};
use crate::ir::{Comparison, ElementType, Extent, Node, Scalar, Value};
use crate::operators::contraction::scale_wide;
use crate::operators::quantization::{Affine, Multiplier, integer_range, multiplier};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{I32, I64};

/// Elements of one product; the factors are written out one after another.
const MOST_FACTORS: u64 = 1 << 10;

/// The factor between two products.
enum Factor {
    /// A static factor.
    Known(Multiplier),
    /// Run-time integers, one element each: the number of factors, mantissa, and shift.
    Measured([Value; 3]),
}

/// The product of quantized integers along axes, which keep extent 1.
///
/// # Errors
/// When there may be too many elements, or the ratio of the scales is out of range.
pub fn quantized_product(g: &mut Graph<'_>, input: Value, axes: &[usize], rescaling: &Rescaling) -> Result<Value, Error> {
    let Rescaling { from, to, element } = *rescaling;
    let count = count(g, input, axes)?;
    let most = g.bound(count);
    if !(1..=MOST_FACTORS).contains(&most) {
        return Err(Error::TooManyFactors { most: MOST_FACTORS, factors: most });
    }
    let factor = match count {
        Extent::Static(count) => Factor::Known(rescaling.factor(count)?),
        Extent::Value(_) => rescaling.measured_factor(g, count)?,
    };
    let bounds = integer_range(element).ok_or(Error::NotQuantized { element })?;
    let mut columns = columns(g, input, axes, count)?.into_iter();
    let first = columns.next().ok_or(Error::TooManyFactors { most: MOST_FACTORS, factors: 0 })?;
    let mut terms = Terms::new(&[element]);
    let distance = distance(&mut terms, from)?;
    let mut product = g.map(&[first], terms.finish(distance))?;
    for (number, column) in (1..).zip(columns) {
        product = multiplied(g, product, column, from, &factor, number)?;
    }
    let mut terms = Terms::new(&[&[I32][..], factor.types()].concat());
    let (x, zero_point) = (terms.input_as(0, I64), terms.i32(to.zero_point));
    let x = factor.scaled(&mut terms, x, 1)?;
    let x = terms.add(x, zero_point)?;
    let x = terms.clamp_i32(x, bounds)?;
    let x = terms.convert(x, element);
    let product = g.map(&[&[product][..], factor.operands()].concat(), terms.finish(x))?;
    let mut shape = g.extents(input);
    axes.iter().for_each(|&axis| shape[axis] = Extent::Static(1));
    g.reshape(product, &shape)
}

/// A product so far times factor `number`, if there is such a factor.
fn multiplied(g: &mut Graph<'_>, product: Value, column: Value, from: Affine, factor: &Factor, number: i32) -> Result<Value, Error> {
    let mut terms = Terms::new(&[&[g.element(column), I32][..], factor.types()].concat());
    let (x, so_far) = (distance(&mut terms, from)?, terms.input_as(1, I64));
    let x = terms.convert(x, I64);
    let wide = terms.mul(so_far, x)?;
    let mut next = factor.scaled(&mut terms, wide, 2)?;
    if let Factor::Measured(_) = factor {
        let (number, count, before) = (terms.i32(number), terms.input(2), terms.input(1));
        let is_there = terms.compare(Comparison::Less, number, count)?;
        next = terms.select(is_there, next, before)?;
    }
    g.map(&[&[column, product][..], factor.operands()].concat(), terms.finish(next))
}

impl Factor {
    fn operands(&self) -> &[Value] {
        if let Self::Measured(numbers) = self { numbers } else { &[] }
    }

    fn types(&self) -> &'static [ElementType] {
        if let Self::Measured(_) = self { &[I32; 3] } else { &[] }
    }

    /// A 64-bit product on the scale of products. The operands of the factor begin with input `first`.
    fn scaled(&self, terms: &mut Terms, x: Node, first: usize) -> Term {
        let (mantissa, shift) = match self {
            Self::Known(factor) => (terms.i32(factor.mantissa), terms.i32(factor.shift)),
            Self::Measured(_) => (terms.input(first + 1), terms.input(first + 2)),
        };
        scale_wide(terms, x, mantissa, shift)
    }
}

impl Rescaling {
    /// The factor for products of `count` elements.
    fn factor(&self, count: u64) -> Result<Multiplier, Error> {
        let ratio = f64::from(self.from.scale) / libm::pow(f64::from(self.to.scale), 1.0 / count as f64);
        let factor = multiplier(ratio)?;
        if factor.shift > 14 { Err(Error::ScaleRatio { ratio }) } else { Ok(factor) }
    }

    /// The factor for a run-time number of elements, looked up in a table of all possible numbers.
    fn measured_factor(&self, g: &mut Graph<'_>, count: Extent) -> Result<Factor, Error> {
        // An empty product does not use its factor.
        let factors = (0..=g.bound(count)).map(|count| self.factor(count.max(1))).collect::<Result<Vec<_>, _>>()?;
        let number = g.extent_tensor(count, I32)?;
        let mut looked_up = |list: Vec<i32>| {
            let table = g.constant_i32(&[list.len() as u64], &list)?;
            g.gather(table, number, 0)
        };
        let mantissa = looked_up(factors.iter().map(|factor| factor.mantissa).collect())?;
        let shift = looked_up(factors.iter().map(|factor| factor.shift).collect())?;
        Ok(Factor::Measured([number, mantissa, shift]))
    }
}

/// Input 0 less the zero point.
fn distance(terms: &mut Terms, from: Affine) -> Term {
    let (x, zero_point) = (terms.input_as(0, I32), terms.i32(from.zero_point));
    terms.sub(x, zero_point)
}

/// The factors of all products, the first factors first: tensors `[products, 1]`. For a run-time number of factors, there are as many tensors as its
/// bound. Tensors beyond the number are zeros.
fn columns(g: &mut Graph<'_>, input: Value, axes: &[usize], count: Extent) -> Result<Vec<Value>, Error> {
    let shape = g.extents(input);
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let products: Vec<Extent> = kept.iter().map(|&axis| shape[axis]).collect();
    let products = g.product(&products)?;
    let value = g.builder.transpose(input, kept.iter().chain(axes).copied().collect())?;
    let mut value = g.reshape(value, &[products, count])?;
    let most = g.bound(count);
    if count.as_static().is_none() {
        let zeros = g.filled(Scalar::int(g.element(input), 0), &[products, Extent::Static(most)])?;
        value = g.concat(&[value, zeros], 1)?;
    }
    (0..most).map(|index| g.slice_along(value, 1, Extent::Static(index), Extent::Static(1))).collect()
}
