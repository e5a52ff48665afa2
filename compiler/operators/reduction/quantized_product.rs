//! REDUCE_PROD on quantized scales.
//!
//! The reference takes one element after another, and brings every product to a scale of which the last one is the output's: for n
//! elements the input's scale over the n-th root of the output's.

use super::{Rescaling, count};
use crate::ir::{ElementType, Extent, Node, Value};
use crate::operators::contraction::scale_wide;
use crate::operators::quantization::{Affine, Multiplier, integer_range, multiplier};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{I32, I64};

/// Elements of one product; the factors are written out one after another.
const MOST_FACTORS: u64 = 1 << 10;

/// The product of quantized integers along axes, which keep extent 1.
///
/// # Errors
/// When the number of elements is not known or too large, or the ratio of the scales is out of range.
pub fn quantized_product(g: &mut Graph<'_>, input: Value, axes: &[usize], rescaling: &Rescaling) -> Result<Value, Error> {
    let Rescaling { from, to, element } = *rescaling;
    let count = count(g, input, axes)?.as_static().ok_or(Error::DynamicExtent)?;
    if !(1..=MOST_FACTORS).contains(&count) {
        return Err(Error::TooManyFactors { most: MOST_FACTORS, factors: count });
    }
    let ratio = f64::from(from.scale) / libm::pow(f64::from(to.scale), 1.0 / count as f64);
    let factor = multiplier(ratio)?;
    if factor.shift > 14 {
        return Err(Error::ScaleRatio { ratio });
    }
    let bounds = integer_range(element).ok_or(Error::NotQuantized { element })?;
    let mut columns = columns(g, input, axes, count)?.into_iter();
    let first = columns.next().ok_or(Error::TooManyFactors { most: MOST_FACTORS, factors: 0 })?;
    let mut terms = Terms::new(&[element]);
    let distance = distance(&mut terms, from)?;
    let mut product = g.map(&[first], terms.finish(distance))?;
    for column in columns {
        let mut terms = Terms::new(&[element, I32]);
        let (x, so_far) = (self::distance(&mut terms, from)?, terms.input_as(1, I64));
        let x = terms.convert(x, I64);
        let wide = terms.mul(so_far, x)?;
        let x = scaled(&mut terms, wide, factor)?;
        product = g.map(&[column, product], terms.finish(x))?;
    }
    let mut terms = Terms::new(&[I32]);
    let (x, zero_point) = (terms.input_as(0, I64), terms.i32(to.zero_point));
    let x = scaled(&mut terms, x, factor)?;
    let x = terms.add(x, zero_point)?;
    let x = terms.clamp_i32(x, bounds)?;
    let x = terms.convert(x, element);
    let product = g.map(&[product], terms.finish(x))?;
    let mut shape = g.extents(input);
    axes.iter().for_each(|&axis| shape[axis] = Extent::Static(1));
    g.reshape(product, &shape)
}

/// Input 0 less the zero point.
fn distance(terms: &mut Terms, from: Affine) -> Term {
    let (x, zero_point) = (terms.input_as(0, I32), terms.i32(from.zero_point));
    terms.sub(x, zero_point)
}

fn scaled(terms: &mut Terms, x: Node, factor: Multiplier) -> Term {
    let (mantissa, shift) = (terms.i32(factor.mantissa), terms.i32(factor.shift));
    scale_wide(terms, x, mantissa, shift)
}

/// The factors of all products, first ones first: tensors `[products, 1]`.
fn columns(g: &mut Graph<'_>, input: Value, axes: &[usize], count: u64) -> Result<Vec<Value>, Error> {
    let shape = g.extents(input);
    let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let products: Vec<Extent> = kept.iter().map(|&axis| shape[axis]).collect();
    let products = g.product(&products)?;
    let value = g.builder.transpose(input, kept.iter().chain(axes).copied().collect())?;
    let value = g.reshape(value, &[products, Extent::Static(count)])?;
    (0..count).map(|index| g.slice_along(value, 1, Extent::Static(index), Extent::Static(1))).collect()
}
