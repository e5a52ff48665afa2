//! Products of floats with matrices of integers, and sums of integers of different scales.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Interval, Value};
use crate::operators::activation::Activation;
use crate::operators::contraction::Numerics;
use crate::operators::contraction::products::{self, swapped};
use crate::operators::promotion::compute_type;
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use ElementType::F32;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("quantized_decomposed::add.out", sum),
    ("quantized_decomposed::mixed_mm.out", product),
    ("quantized_decomposed::mixed_linear.out", linear),
];

/// (a, scale, zero point, low, high, b, scale, …, out scale, out zero point, out low, out high).
fn sum(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut sides = Vec::new();
    for first in [0, 5] {
        let (x, scale) = (c.tensor(first)?, numbers(c, first + 1)?);
        sides.push(quantize::dequantize(c.graph(), x, &scale, Rounding::Even, F32)?);
    }
    let sum = c.map(&sides, |b, n| Ok(b.op(crate::ir::ScalarOp::Add, n)?))?;
    let (scale, bounds) = (numbers(c, 10)?, Interval::new(c.int(12)?, c.int(13)?));
    let out = c.out_form(c.out())?.element;
    let y = quantize::quantize(c.graph(), sum, &scale, bounds, Rounding::Even, out)?;
    c.finish(y)
}

fn numbers(c: &Call<'_, '_, '_>, first: usize) -> Result<Scale, Fault> {
    Ok(Scale { scale: Parameter::Number(c.double(first)?), zero_point: Parameter::Number(c.double(first + 1)?) })
}

/// A matrix of integers as floats: each row has a scale, or one for each group of neighbours.
fn floats(c: &mut Call<'_, '_, '_>) -> Result<Value, Fault> {
    let (weight, scales, zero_points) = (c.tensor(1)?, c.tensor(2)?, c.optional_tensor(3)?);
    let (shape, ty) = (c.shape(weight)?, compute_type(c.element(scales)));
    let &[rows, columns] = &shape[..] else {
        return Err(Fault::invalid("the weights are not a matrix").expected("2 dimensions", shape.len().to_string()));
    };
    let groups = c.shape(scales)?.iter().product::<u64>() / rows.max(1);
    if groups == 0 || !columns.is_multiple_of(groups) {
        return Err(Fault::invalid("the scales do not fit the weights").expected(format!("a divisor of {columns}"), groups.to_string()));
    }
    let grouped = c.reshape(weight, &[rows, groups, columns / groups])?;
    let mut parameters = [Parameter::Number(0.0); 2];
    for (parameter, tensor) in parameters.iter_mut().zip([Some(scales), zero_points]) {
        if let Some(tensor) = tensor {
            *parameter = Parameter::Tensor(c.reshape(tensor, &[rows, groups, 1])?);
        }
    }
    let scale = Scale { scale: parameters[0], zero_point: parameters[1] };
    let wide = quantize::dequantize(c.graph(), grouped, &scale, Rounding::Even, ty)?;
    c.reshape(wide, &shape)
}

/// (input, weight, scales, zero points). The weights have a row for each column of the input.
fn product(c: &mut Call<'_, '_, '_>) -> Outcome {
    let weights = floats(c)?;
    let columns = swapped(c.graph(), weights)?;
    multiply(c, columns)
}

/// (input, weight, scales, zero points, dtype). The weights have a row for each column of the result.
fn linear(c: &mut Call<'_, '_, '_>) -> Outcome {
    let weights = floats(c)?;
    multiply(c, weights)
}

fn multiply(c: &mut Call<'_, '_, '_>, columns: Value) -> Outcome {
    let (x, ty) = (c.tensor(0)?, c.element(columns));
    let x = c.cast(x, ty)?;
    let numerics = Numerics::plain(ty, Activation::NONE);
    let y = products::linear(c.graph(), x, columns, None, &numerics)?;
    c.finish(y)
}
