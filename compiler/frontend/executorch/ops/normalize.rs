//! Normalization: softmax, and batches, layers and groups brought to mean 0 and variance 1.

use super::super::fault::Fault;
use super::Translate;
use super::call::{Call, compute_type, float_type};
use super::reduce::{moments, reduce};
use crate::ir::{Reduction, Scalar, ScalarOp, Value};
use crate::operators::terms::softmax_power;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::_softmax.out", |c| softmax(c, false)),
    ("aten::_log_softmax.out", |c| softmax(c, true)),
    ("aten::_native_batch_norm_legit_no_training.out", batch_norm),
    ("aten::native_layer_norm.out", layer_norm),
    ("aten::native_group_norm.out", group_norm),
];

/// e^(x − m) ÷ Σ e^(x − m) along a dimension, m being the largest; or its logarithm x − m − log Σ e^(x − m).
fn softmax(c: &mut Call<'_, '_, '_>, logarithm: bool) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let axis = c.axis(c.int(1)?, rank)?;
    let axes: Vec<usize> = (axis < rank).then_some(axis).into_iter().collect();
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let largest = reduce(c, x, Reduction::Max, &axes, true)?;
    let powers = c.map(&[x, largest], |b, n| {
        let difference = b.op(ScalarOp::Sub, n)?;
        Ok(softmax_power(b, difference)?)
    })?;
    let sum = reduce(c, powers, Reduction::Sum, &axes, true)?;
    let y = if logarithm {
        c.map(&[x, largest, sum], |b, n| {
            let difference = b.op(ScalarOp::Sub, &[n[0], n[1]])?;
            let log = b.op(ScalarOp::Log, &[n[2]])?;
            Ok(b.op(ScalarOp::Sub, &[difference, log])?)
        })?
    } else {
        c.map(&[powers, sum], |b, n| Ok(b.op(ScalarOp::Div, n)?))?
    };
    c.finish(y)
}

/// A vector over dimension 1, shaped to broadcast over a tensor of that rank, in a type.
fn over_channels(c: &mut Call<'_, '_, '_>, vector: Value, rank: usize, ty: crate::ir::ElementType) -> Result<Value, Fault> {
    let mut shape = vec![1; rank];
    shape[1] = c.shape(vector)?.iter().product();
    let vector = c.reshape(vector, &shape)?;
    c.cast(vector, ty)
}

/// (input, weight, bias, mean, variance, momentum, eps, out, save_mean, save_invstd): per channel, with known mean and variance,
/// x·a + b for a = weight ÷ √(variance + eps) and b = bias − mean·a. Both are computed apart, so that they fold for constants.
fn batch_norm(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, weight, bias) = (c.tensor(0)?, c.optional_tensor(1)?, c.optional_tensor(2)?);
    let (mean, variance, eps) = (c.tensor(3)?, c.tensor(4)?, c.double(6)?);
    let (rank, element) = (c.rank(x), c.element(x));
    if rank < 2 {
        return Err(Fault::invalid("needs channels").expected("2 dimensions or more", rank.to_string()));
    }
    let ty = compute_type(element);
    let mut vectors = [variance, mean].to_vec();
    vectors.extend(weight.into_iter().chain(bias));
    for vector in &mut vectors {
        *vector = over_channels(c, *vector, rank, ty)?;
    }
    let scale_inputs = [vec![vectors[0]], weight.map(|_| vectors[2]).into_iter().collect()].concat();
    let scale = c.map(&scale_inputs, |b, n| {
        let eps = b.constant(Scalar::float(ty, eps));
        let sum = b.op(ScalarOp::Add, &[n[0], eps])?;
        let root = b.op(ScalarOp::Sqrt, &[sum])?;
        let one = b.constant(Scalar::float(ty, 1.0));
        let numerator = n.get(1).copied().unwrap_or(one);
        Ok(b.op(ScalarOp::Div, &[numerator, root])?)
    })?;
    let offset_inputs = [vec![vectors[1], scale], bias.and(vectors.last().copied()).into_iter().collect()].concat();
    let offset = c.map(&offset_inputs, |b, n| {
        let product = b.op(ScalarOp::Mul, &[n[0], n[1]])?;
        let zero = b.constant(Scalar::float(ty, 0.0));
        let bias = n.get(2).copied().unwrap_or(zero);
        Ok(b.op(ScalarOp::Sub, &[bias, product])?)
    })?;
    let y = c.map(&[x, scale, offset], |b, n| {
        let x = b.convert(n[0], ty);
        let product = b.op(ScalarOp::Mul, &[x, n[1]])?;
        let sum = b.op(ScalarOp::Add, &[product, n[2]])?;
        Ok(b.convert(sum, element))
    })?;
    c.define(7, y)?;
    // The two statistics are empty: nothing is left to compute.
    Ok(())
}

/// (x − mean) ÷ √(variance + eps), and that root's inverse.
fn normalized(c: &mut Call<'_, '_, '_>, x: Value, axes: &[usize], eps: f64) -> Result<(Value, Value, Value), Fault> {
    let ty = c.element(x);
    let (mean, variance) = moments(c, x, axes, 0.0)?;
    let inverse = c.map(&[variance], |b, n| {
        let eps = b.constant(Scalar::float(ty, eps));
        let sum = b.op(ScalarOp::Add, &[n[0], eps])?;
        Ok(b.op(ScalarOp::Rsqrt, &[sum])?)
    })?;
    let y = c.map(&[x, mean, inverse], |b, n| {
        let difference = b.op(ScalarOp::Sub, &[n[0], n[1]])?;
        Ok(b.op(ScalarOp::Mul, &[difference, n[2]])?)
    })?;
    Ok((y, mean, inverse))
}

/// x·weight + bias, either of which may be missing.
fn scaled_and_moved(c: &mut Call<'_, '_, '_>, x: Value, weight: Option<Value>, bias: Option<Value>) -> Result<Value, Fault> {
    let ty = c.element(x);
    let operands: Vec<Value> = [Some(x), weight, bias].into_iter().flatten().collect();
    c.map(&operands, |b, n| {
        let mut rest = n[1..].iter();
        let mut y = n[0];
        for (present, operation) in [(weight.is_some(), ScalarOp::Mul), (bias.is_some(), ScalarOp::Add)] {
            if let (true, Some(&vector)) = (present, rest.as_slice().first()) {
                rest.next();
                let vector = b.convert(vector, ty);
                y = b.op(operation, &[y, vector])?;
            }
        }
        Ok(y)
    })
}

/// (input, normalized_shape, weight, bias, eps, out, mean, rstd): over the last dimensions.
fn layer_norm(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, count) = (c.tensor(0)?, c.ints(1)?.len());
    let (weight, bias, eps) = (c.optional_tensor(2)?, c.optional_tensor(3)?, c.double(4)?);
    let rank = c.rank(x);
    if count > rank {
        return Err(Fault::invalid("more dimensions are normalized than there are"));
    }
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let axes: Vec<usize> = (rank - count..rank).collect();
    let (y, mean, inverse) = normalized(c, x, &axes, eps)?;
    let y = scaled_and_moved(c, y, weight, bias)?;
    c.define(5, y)?;
    statistics(c, 6, mean)?;
    statistics(c, 7, inverse)
}

/// A statistic in the shape that the file gives it, unless that is a bound.
fn statistics(c: &mut Call<'_, '_, '_>, index: usize, value: Value) -> Outcome {
    let shape = c.out_form(index)?.shape;
    let is_known = c.extents(value).iter().all(|extent| extent.as_static().is_some());
    let value = if is_known { c.reshape_to(value, &shape)? } else { value };
    c.define(index, value)
}

/// (input, weight, bias, N, C, HxW, groups, eps, out, mean, rstd): over each group of channels.
fn group_norm(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, weight, bias) = (c.tensor(0)?, c.optional_tensor(1)?, c.optional_tensor(2)?);
    let (groups, eps, shape) = (c.int(6)?, c.double(7)?, c.shape(x)?);
    let groups = u64::try_from(groups).ok().filter(|&g| g > 0 && shape.len() >= 2 && shape[1] % g == 0);
    let groups = groups.ok_or_else(|| Fault::invalid("the channels do not divide into groups"))?;
    let ty = float_type(c.element(x));
    let wide = c.cast(x, ty)?;
    let rest: u64 = shape[1..].iter().product();
    let split = c.reshape(wide, &[shape[0], groups, rest / groups])?;
    let (y, mean, inverse) = normalized(c, split, &[2], eps)?;
    let y = c.reshape(y, &shape)?;
    let mut vectors = [weight, bias];
    for vector in vectors.iter_mut().flatten() {
        *vector = over_channels(c, *vector, shape.len(), ty)?;
    }
    let y = scaled_and_moved(c, y, vectors[0], vectors[1])?;
    c.define(8, y)?;
    statistics(c, 9, mean)?;
    statistics(c, 10, inverse)
}
