//! Reductions along axes of numbers without scales.

use crate::ir::{ElementType, Extent, Reduction, Scalar, ScalarOp, Search, Value};
use crate::operators::{Error, Graph};
use ElementType::{Bool, I8, I16, I32, I64, U8};

/// The shape of a reduction's result along the reduced axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axes {
    /// They keep extent 1.
    Kept,
    /// They are left out.
    Dropped,
}

/// A reduction along axes. Without axes it is the operand. Truth values count as 0 and 1. Sums and products of narrow integers wrap. Wrapping at the
/// end gives the same as wrapping at each step.
///
/// # Errors
/// When the reduction is not defined on the type, or an axis is out of range.
pub fn reduce(g: &mut Graph<'_>, input: Value, reduction: Reduction, axes: &[usize], shape: Axes) -> Result<Value, Error> {
    let element = g.element(input);
    let reduction = if element.is_float() { reduction } else { reduction.of_integers() };
    let reduction = match (element, reduction) {
        (Bool, Reduction::Max | Reduction::Sum) => Reduction::Any,
        (Bool, Reduction::Min | Reduction::Product) => Reduction::All,
        _ => reduction,
    };
    let value = if axes.is_empty() {
        input
    } else if matches!(reduction, Reduction::Sum | Reduction::Product) && matches!(element, I8 | U8 | I16) {
        let wide = g.convert(input, I32)?;
        let wide = g.builder.reduce(wide, reduction, axes.to_vec())?;
        g.convert(wide, element)?
    } else {
        g.builder.reduce(input, reduction, axes.to_vec())?
    };
    if shape == Axes::Kept { Ok(value) } else { without(g, value, axes) }
}

/// A tensor without some axes of extent 1.
///
/// # Errors
/// When one has another extent.
pub fn without(g: &mut Graph<'_>, value: Value, axes: &[usize]) -> Result<Value, Error> {
    let shape = g.extents(value);
    let kept: Vec<Extent> = shape.into_iter().enumerate().filter(|(d, _)| !axes.contains(d)).map(|(_, extent)| extent).collect();
    g.reshape(value, &kept)
}

/// The number of elements that go into one result.
///
/// # Errors
/// [`Error::TooManyElements`].
pub fn count(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Extent, Error> {
    let shape = g.extents(input);
    let reduced: Vec<Extent> = axes.iter().filter_map(|&axis| shape.get(axis).copied()).collect();
    g.product(&reduced)
}

/// Sums of floats over a number of elements, less `correction`, and at least 0; the number may be known at run time only.
fn divided(g: &mut Graph<'_>, sums: Value, count: Extent, correction: f64) -> Result<Value, Error> {
    let element = g.element(sums);
    match count {
        Extent::Static(n) => g.compute(&[sums], |terms, x| {
            let divisor = terms.constant(Scalar::float(element, (n as f64 - correction).max(0.0)));
            Ok(terms.div(x[0], divisor)?)
        }),
        Extent::Value(_) => {
            let count = g.extent_tensor(count, I64)?;
            let count = g.convert(count, element)?;
            g.compute(&[sums, count], |terms, x| {
                let mut divisor = x[1];
                if correction != 0.0 {
                    let (less, none) = (terms.constant(Scalar::float(element, correction)), terms.constant(Scalar::float(element, 0.0)));
                    divisor = terms.sub(divisor, less)?;
                    divisor = terms.max(divisor, none)?;
                }
                Ok(terms.div(x[0], divisor)?)
            })
        }
    }
}

/// The mean of floats along axes: their sum over their number. NaN of none.
///
/// # Errors
/// When elements are no floats, or an axis is out of range.
pub fn mean(g: &mut Graph<'_>, input: Value, axes: &[usize], shape: Axes) -> Result<Value, Error> {
    let count = count(g, input, axes)?;
    let sums = reduce(g, input, Reduction::Sum, axes, shape)?;
    divided(g, sums, count, 0.0)
}

/// The mean of integers along axes, summed in 64 bits, without its fraction.
///
/// # Errors
/// When there are too many elements, or an axis is out of range.
pub fn integer_mean(g: &mut Graph<'_>, input: Value, axes: &[usize], shape: Axes) -> Result<Value, Error> {
    let element = g.element(input);
    let count = count(g, input, axes)?;
    let count = g.max(count, Extent::Static(1))?;
    let known = count.as_static().map(|n| i64::try_from(n).map_err(|_| Error::TooManyElements)).transpose()?;
    let wide = g.convert(input, I64)?;
    let mut operands = vec![reduce(g, wide, Reduction::Sum, axes, shape)?];
    if known.is_none() {
        operands.push(g.extent_tensor(count, I64)?);
    }
    g.compute(&operands, |terms, x| {
        let count = if let Some(count) = known { terms.i64(count) } else { x[1] };
        let mean = terms.div(x[0], count)?;
        Ok(terms.convert(mean, element))
    })
}

/// Mean and variance of floats along axes, which keep extent 1. The variance is the sum of squared differences from the mean over the number of
/// elements less `correction`.
///
/// # Errors
/// When elements are no floats, or an axis is out of range.
pub fn moments(g: &mut Graph<'_>, input: Value, axes: &[usize], correction: f64) -> Result<(Value, Value), Error> {
    let count = count(g, input, axes)?;
    let sums = reduce(g, input, Reduction::Sum, axes, Axes::Kept)?;
    let mean = divided(g, sums, count, 0.0)?;
    let squares = centred_squares(g, input, mean)?;
    let sums = reduce(g, squares, Reduction::Sum, axes, Axes::Kept)?;
    Ok((mean, divided(g, sums, count, correction)?))
}

/// (x − mean)².
///
/// # Errors
/// When they do not broadcast.
pub fn centred_squares(g: &mut Graph<'_>, input: Value, mean: Value) -> Result<Value, Error> {
    g.compute(&[input, mean], |terms, x| {
        let difference = terms.sub(x[0], x[1])?;
        Ok(terms.mul(difference, difference)?)
    })
}

/// 1 ÷ √(x + epsilon).
///
/// # Errors
/// When elements are no floats.
pub fn inverse_root(g: &mut Graph<'_>, input: Value, epsilon: f64) -> Result<Value, Error> {
    let element = g.element(input);
    g.compute(&[input], |terms, x| {
        let epsilon = terms.constant(Scalar::float(element, epsilon));
        let sum = terms.add(x[0], epsilon)?;
        Ok(terms.op(ScalarOp::Rsqrt, &[sum])?)
    })
}

/// (x − mean) × factor.
///
/// # Errors
/// When they do not broadcast.
pub fn scaled_differences(g: &mut Graph<'_>, input: Value, mean: Value, factor: Value) -> Result<Value, Error> {
    g.compute(&[input, mean, factor], |terms, x| {
        let difference = terms.sub(x[0], x[1])?;
        Ok(terms.mul(difference, x[2])?)
    })
}

/// (x − mean) ÷ √(variance + epsilon) along axes, the mean, and the inverse of the root.
///
/// # Errors
/// When elements are no floats, or an axis is out of range.
pub fn normalized(g: &mut Graph<'_>, input: Value, axes: &[usize], epsilon: f64) -> Result<[Value; 3], Error> {
    let (mean, variance) = moments(g, input, axes, 0.0)?;
    let inverse = inverse_root(g, variance, epsilon)?;
    Ok([scaled_differences(g, input, mean, inverse)?, mean, inverse])
}

/// The first position of the extreme along an axis, which is left out.
///
/// # Errors
/// When elements have no order, or the axis is out of range.
pub fn position(g: &mut Graph<'_>, input: Value, search: Search, axis: usize, result: ElementType) -> Result<Value, Error> {
    let search = if g.element(input).is_float() { search } else { search.of_integers() };
    let positions = g.builder.arg_reduce(input, search, axis, result)?;
    let mut shape = g.extents(input);
    shape.remove(axis);
    g.reshape(positions, &shape)
}
