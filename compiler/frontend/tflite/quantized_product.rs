//! REDUCE_PROD on quantized scales.
//!
//! The reference takes one element after another, and brings every product to a scale of which the last one is the output's: for n
//! elements the input's scale over the n-th root of the output's.

use super::operator::{Affine, Operator, extents, invalid, unsupported};
use super::reduction::Reduction;
use super::requantize::{multiplier, scale_wide};
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Node, Value};
use crate::operators::quantization::{Multiplier, integer_range};
use crate::operators::terms::{Term, Terms};
use ElementType::{I32, I64};

/// Elements of one product; the factors are written out one after another.
const MOST_FACTORS: u64 = 1 << 10;

/// The products, of the input's type.
pub(super) fn reduce(
    operator: &mut Operator<'_, '_, '_>,
    reduction: &Reduction,
    (from, to): (Affine, Affine),
) -> Result<Value, Diagnostic> {
    let element = reduction.input.element();
    if !(1..=MOST_FACTORS).contains(&reduction.count) {
        let error = unsupported("products of so many quantized elements are not supported");
        return Err(error.expected(format!("1 to {MOST_FACTORS}"), reduction.count.to_string()));
    }
    let factor = multiplier(f64::from(from.scale) / libm::pow(f64::from(to.scale), 1.0 / reduction.count as f64))?;
    if factor.shift > 14 {
        return Err(invalid(304, "the output's scale is too small for the input's").expected("a ratio below 2^14", format!("{factor:?}")));
    }
    let bounds = integer_range(element).ok_or_else(|| unsupported("no such quantized type"))?;
    let mut columns = columns(operator, reduction)?.into_iter();
    let first = columns.next().ok_or_else(|| unsupported("a product of nothing"))?;
    let mut terms = Terms::new(&[element]);
    let distance = distance(&mut terms, from)?;
    let mut product = operator.map(&[first], terms.finish(distance))?;
    for column in columns {
        let mut terms = Terms::new(&[element, I32]);
        let (x, so_far) = (self::distance(&mut terms, from)?, terms.input_as(1, I64));
        let x = terms.convert(x, I64);
        let wide = terms.mul(so_far, x)?;
        let x = scaled(&mut terms, wide, factor)?;
        product = operator.map(&[column, product], terms.finish(x))?;
    }
    let mut terms = Terms::new(&[I32]);
    let (x, zero_point) = (terms.input_as(0, I64), terms.i32(to.zero_point));
    let x = scaled(&mut terms, x, factor)?;
    let x = terms.add(x, zero_point)?;
    let x = terms.clamp_i32(x, bounds)?;
    let x = terms.convert(x, element);
    operator.map(&[product], terms.finish(x))
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

/// The factors of all products, first ones first.
fn columns(operator: &mut Operator<'_, '_, '_>, reduction: &Reduction) -> Result<Vec<Value>, Diagnostic> {
    let kept: Vec<usize> = (0..reduction.input.rank()).filter(|axis| !reduction.axes.contains(axis)).collect();
    let products: u64 = kept.iter().map(|&axis| reduction.input.shape[axis]).product();
    let value = operator.builder().transpose(reduction.input.value, [kept, reduction.axes.clone()].concat())?;
    let value = operator.reshape(value, &[products, reduction.count])?;
    let column = |index: u64| {
        let starts = vec![Extent::Static(0), Extent::Static(index)];
        Ok(operator.builder().slice(value, starts, extents(&[products, 1]), vec![1, 1])?)
    };
    (0..reduction.count).map(column).collect()
}
