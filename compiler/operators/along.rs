//! One dimension multiplied by a matrix.

use super::activation::Activation;
use super::contraction::{Numerics, products};
use super::graph::movement::inverse;
use super::{Error, Graph};
use crate::ir::Value;

/// Returns a tensor whose elements along an axis are weighted sums of those of `x`. `matrix` is `[sums, extent]`, of the tensor's type.
///
/// # Errors
/// When the matrix does not fit, or elements are no floats.
pub fn weighted(g: &mut Graph<'_>, x: Value, axis: usize, matrix: Value) -> Result<Value, Error> {
    let element = g.element(x);
    let mut last: Vec<usize> = (0..g.rank(x)).filter(|&d| d != axis).collect();
    last.push(axis);
    let x = g.transpose(x, &last)?;
    let numerics = Numerics::plain(element, Activation::NONE);
    let x = products::linear(g, x, matrix, None, &numerics)?;
    g.transpose(x, &inverse(&last))
}
