//! Normalization: softmax, and batches, layers and groups brought to mean 0 and variance 1.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::Value;
use crate::operators::norms::{self, Channels};
use crate::operators::promotion::{compute_type, float_type};
use crate::operators::{reduction, softmax};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::_softmax.out", |c| softmax(c, false)),
    ("aten::_log_softmax.out", |c| softmax(c, true)),
    ("aten::_native_batch_norm_legit_no_training.out", batch_norm),
    ("aten::_native_batch_norm_legit.out", batch_norm_of_kind),
    ("aten::_native_batch_norm_legit.no_stats_out", batch_norm_of_batch),
    ("aten::native_layer_norm.out", layer_norm),
    ("aten::native_group_norm.out", group_norm),
];

/// (self, dim, …)
fn softmax(c: &mut Call<'_, '_, '_>, logarithm: bool) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.graph().rank(x);
    let axis = c.axis(c.int(1)?, rank)?;
    let axes: Vec<usize> = (axis < rank).then_some(axis).into_iter().collect();
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let g = c.graph();
    let y = if logarithm { softmax::log_softmax(g, x, &axes)? } else { softmax::softmax(g, x, &axes, 1.0, ty)? };
    c.finish(y)
}

/// (input, weight, bias, mean, variance, momentum, eps, out, save_mean, save_invstd): per channel, with known mean and variance. The two statistics
/// are empty.
fn batch_norm(c: &mut Call<'_, '_, '_>) -> Outcome {
    known_batch_norm(c, 6, 7)
}

/// (input, weight, bias, mean, variance, training, momentum, eps, out, save_mean, save_invstd): the same, outside training.
fn batch_norm_of_kind(c: &mut Call<'_, '_, '_>) -> Outcome {
    if c.flag(5)? {
        return Err(Fault::unsupported("running statistics are learned").help("export the module in evaluation mode: `module.eval()`"));
    }
    known_batch_norm(c, 7, 8)
}

fn known_batch_norm(c: &mut Call<'_, '_, '_>, epsilon: usize, out: usize) -> Outcome {
    let (x, weight, bias) = (c.tensor(0)?, c.optional_tensor(1)?, c.optional_tensor(2)?);
    let (mean, variance, epsilon) = (c.tensor(3)?, c.tensor(4)?, c.double(epsilon)?);
    let (rank, ty) = (c.graph().rank(x), compute_type(c.element(x)));
    if rank < 2 {
        return Err(Fault::invalid("needs channels").expected("2 dimensions or more", rank.to_string()));
    }
    let channels = Channels { weight, bias, mean, variance };
    let y = norms::batch_norm(c.graph(), x, channels, (1, ty), epsilon)?;
    c.define(out, y)
}

/// (input, weight, bias, training, momentum, eps, out, save_mean, save_invstd): each channel by its own mean and variance in the batch.
fn batch_norm_of_batch(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, weight, bias) = (c.tensor(0)?, c.optional_tensor(1)?, c.optional_tensor(2)?);
    let (rank, ty, epsilon) = (c.graph().rank(x), float_type(c.element(x)), c.double(5)?);
    if rank < 2 {
        return Err(Fault::invalid("needs channels").expected("2 dimensions or more", rank.to_string()));
    }
    let x = c.cast(x, ty)?;
    let axes: Vec<usize> = (0..rank).filter(|&d| d != 1).collect();
    let [y, mean, inverse] = reduction::normalized(c.graph(), x, &axes, epsilon)?;
    let mut vectors = [weight, bias];
    for vector in vectors.iter_mut().flatten() {
        *vector = norms::over_dimension(c.graph(), *vector, 1, rank, ty)?;
    }
    let y = norms::scaled_and_moved(c.graph(), y, vectors[0], vectors[1])?;
    c.define(6, y)?;
    for (index, statistic) in [(7, mean), (8, inverse)] {
        let statistic = reduction::without(c.graph(), statistic, &axes)?;
        statistics(c, index, statistic)?;
    }
    Ok(())
}

/// (input, normalized_shape, weight, bias, eps, out, mean, rstd): over the last dimensions.
fn layer_norm(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, count) = (c.tensor(0)?, c.ints(1)?.len());
    let (weight, bias, epsilon) = (c.optional_tensor(2)?, c.optional_tensor(3)?, c.double(4)?);
    let rank = c.graph().rank(x);
    if count > rank {
        return Err(Fault::invalid("more dimensions are normalized than there are"));
    }
    let ty = float_type(c.element(x));
    let x = c.cast(x, ty)?;
    let axes: Vec<usize> = (rank - count..rank).collect();
    let [y, mean, inverse] = reduction::normalized(c.graph(), x, &axes, epsilon)?;
    let y = norms::scaled_and_moved(c.graph(), y, weight, bias)?;
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
    let (groups, epsilon, rank) = (c.int(6)?, c.double(7)?, c.graph().rank(x));
    let groups = u64::try_from(groups).ok().filter(|&g| g > 0 && rank >= 2);
    let groups = groups.ok_or_else(|| Fault::invalid("the channels do not divide into groups"))?;
    let (own, channels) = (c.extents(x)[1], c.whole(4)?);
    let channels = c.extent(channels)?;
    c.translator.equate(own, channels)?;
    let ty = float_type(c.element(x));
    let wide = c.cast(x, ty)?;
    let [y, mean, inverse] = norms::group_norm(c.graph(), wide, groups, epsilon)?;
    let mut vectors = [weight, bias];
    for vector in vectors.iter_mut().flatten() {
        *vector = norms::over_dimension(c.graph(), *vector, 1, rank, ty)?;
    }
    let y = norms::scaled_and_moved(c.graph(), y, vectors[0], vectors[1])?;
    c.define(8, y)?;
    for (index, statistic) in [(9, mean), (10, inverse)] {
        let statistic = reduction::without(c.graph(), statistic, &[2])?;
        statistics(c, index, statistic)?;
    }
    Ok(())
}
