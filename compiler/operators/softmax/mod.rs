//! Softmax and its logarithm: floats here, integers of 8 and 16 bits in `narrow.rs` and `wide.rs`.

pub mod narrow;
#[cfg(test)]
mod tests;
pub mod wide;

use super::reduction::{Axes, reduce};
use super::terms::Terms;
use super::{Error, Graph};
use crate::ir::{ElementType, Reduction, ScalarOp, Value};

/// e^(β·(x − m)) ÷ Σ e^(β·(x − m)) along axes, m being the largest. The exponentials lie in memory, and so are rounded to the result's type, between
/// the sum and the division.
///
/// # Errors
/// When elements are no floats.
pub fn softmax(g: &mut Graph<'_>, input: Value, axes: &[usize], beta: f32, result: ElementType) -> Result<Value, Error> {
    let element = g.element(input);
    let largest = reduce(g, input, Reduction::Max, axes, Axes::Kept)?;
    let mut terms = Terms::new(&[element, element]);
    let (x, largest_term) = (terms.input(0), terms.input(1));
    let mut difference = terms.sub(x, largest_term)?;
    if beta != 1.0 {
        let beta = terms.constant(crate::ir::Scalar::float(element, f64::from(beta)));
        difference = terms.mul(difference, beta)?;
    }
    let exponential = terms.softmax_power(difference)?;
    let exponentials = g.map(&[input, largest], terms.finish(exponential))?;
    let sum = reduce(g, exponentials, Reduction::Sum, axes, Axes::Kept)?;
    let stored = g.convert(exponentials, result)?;
    let mut terms = Terms::new(&[result, element]);
    let (x, sum_term) = (terms.input_as(0, element), terms.input(1));
    let quotient = terms.div(x, sum_term)?;
    let quotient = terms.convert(quotient, result);
    g.map(&[stored, sum], terms.finish(quotient))
}

/// x − m − log Σ e^(x − m) along axes, m being the largest.
///
/// # Errors
/// When elements are no floats.
pub fn log_softmax(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Value, Error> {
    let element = g.element(input);
    let largest = reduce(g, input, Reduction::Max, axes, Axes::Kept)?;
    let mut terms = Terms::new(&[element, element]);
    let (x, top) = (terms.input(0), terms.input(1));
    let difference = terms.sub(x, top)?;
    let exponential = terms.softmax_power(difference)?;
    let exponentials = g.map(&[input, largest], terms.finish(exponential))?;
    let sums = reduce(g, exponentials, Reduction::Sum, axes, Axes::Kept)?;
    let mut terms = Terms::new(&[element, element, element]);
    let (x, top, sum) = (terms.input(0), terms.input(1), terms.input(2));
    let logarithm = terms.op(ScalarOp::Log, &[sum])?;
    let difference = terms.sub(x, top)?;
    let x = terms.sub(difference, logarithm)?;
    g.map(&[input, largest, sums], terms.finish(x))
}
