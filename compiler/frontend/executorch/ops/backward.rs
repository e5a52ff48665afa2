//! Gradients, which training programs have beside their forward operators.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::convolution::{Geometry, channels_last, geometry, windows};
use super::matrix::{accumulator, plain, widened};
use crate::ir::{Combination, Extent, Reduction, Scalar, Value};
use crate::operators::contraction::{Transposed, gradients, transposed_filter};
use crate::operators::graph::movement::inverse;
use crate::operators::indexing::placed;
use crate::operators::promotion::compute_type;
use crate::operators::reduction::{self, Axes};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::convolution_backward.out", convolution), ("aten::max_pool2d_with_indices_backward.grad_input", max_pool)];

/// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask, out0, out1, out2). The mask
/// says which of the gradients of input, weight and bias are computed.
fn convolution(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (gradient, input, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let rank = c.rank(input);
    if rank < 3 || c.rank(weight) != rank || c.rank(gradient) != rank {
        return Err(Fault::unsupported("needs tensors with batch and channels").expected("3 to 5 dimensions", rank.to_string()));
    }
    if c.flag(7)? {
        return Err(Fault::unsupported("gradients of transposed convolutions are not supported"));
    }
    let wanted = c.flags(10)?;
    let &[input_wanted, weight_wanted, bias_wanted] = &wanted[..] else {
        return Err(Fault::invalid("the length of the mask is wrong").expected("3", wanted.len().to_string()));
    };
    let geometry = geometry(c, [4, 5, 6, 8, 9], rank - 2)?;
    check_extents(c, [gradient, input, weight], &geometry)?;
    let element = c.element(input);
    let gradient = widened(c, gradient)?;
    for (i, is_wanted) in [input_wanted, weight_wanted, bias_wanted].into_iter().enumerate() {
        let out = 11 + i;
        if !is_wanted {
            let register = c.register(out)?;
            c.translator.withdraw(register, Fault::invalid("a gradient is read that the mask excludes"));
            continue;
        }
        let value = match i {
            0 => of_input(c, [gradient, input, weight], &geometry)?,
            1 => of_weight(c, [gradient, input, weight], &geometry)?,
            _ => of_bias(c, gradient, rank)?,
        };
        let value = c.cast(value, element)?;
        c.define(out, value)?;
    }
    Ok(())
}

/// Refuses a gradient that no convolution of this image with this filter has, as far as extents are known.
fn check_extents(c: &mut Call<'_, '_, '_>, [gradient, input, weight]: [Value; 3], geometry: &Geometry) -> Outcome {
    let (results, image, filter) = (c.extents(gradient), c.extents(input), c.shape(weight)?);
    // Factors are below 2^31 and extents below 2^63.
    let along = |d: usize, extent: u64| {
        let reach = i128::from(geometry.dilation[d]) * (i128::from(filter[d + 2]) - 1) + 1;
        (i128::from(extent) + 2 * i128::from(geometry.padding[d]) - reach).div_euclid(i128::from(geometry.stride[d])) + 1
    };
    let mut wanted = vec![(results[0].as_static(), image[0].as_static().map(i128::from))];
    wanted.push((results[1].as_static(), Some(i128::from(filter[0]))));
    wanted.extend((2..image.len()).map(|d| (results[d].as_static(), image[d].as_static().map(|extent| along(d - 2, extent)))));
    wanted.push((Some(filter[1]), image[1].as_static().map(|channels| i128::from(channels / geometry.groups))));
    for (found, expected) in wanted {
        if let (Some(found), Some(expected)) = (found, expected)
            && i128::from(found) != expected
        {
            return Err(
                Fault::invalid("the gradient is not one of this image and filter").expected(expected.to_string(), found.to_string())
            );
        }
    }
    Ok(())
}

/// Each element of the result's gradient spreads over the window that it was made of: a transposed convolution.
fn of_input(c: &mut Call<'_, '_, '_>, [gradient, input, weight]: [Value; 3], geometry: &Geometry) -> Result<Value, Fault> {
    let numerics = plain(accumulator(c.element(gradient))?, c.element(gradient));
    let weight = widened(c, weight)?;
    let filter = transposed_filter(c.graph(), weight, geometry.groups)?;
    let order = channels_last(c.rank(input));
    let gradient = c.transpose(gradient, &order)?;
    let transposed = Transposed {
        input: gradient,
        filter,
        groups: geometry.groups,
        strides: geometry.stride.clone(),
        dilation: geometry.dilation.clone(),
        cut: geometry.padding.iter().map(|n| Extent::Static(n.unsigned_abs())).collect(),
        wanted: c.extents(input)[2..].to_vec(),
    };
    let y = transposed.build(c.graph(), None, &numerics)?;
    c.transpose(y, &inverse(&order))
}

fn of_weight(c: &mut Call<'_, '_, '_>, [gradient, input, weight]: [Value; 3], geometry: &Geometry) -> Result<Value, Fault> {
    let numerics = plain(accumulator(c.element(gradient))?, c.element(gradient));
    let windows = windows(geometry, c.shape(weight)?[2..].to_vec());
    let input = widened(c, input)?;
    Ok(gradients::of_filter(c.graph(), [input, gradient], &windows, geometry.groups, &numerics)?)
}

/// Every element of a channel has the bias in it once.
fn of_bias(c: &mut Call<'_, '_, '_>, gradient: Value, rank: usize) -> Result<Value, Fault> {
    let axes: Vec<usize> = (0..rank).filter(|&axis| axis != 1).collect();
    Ok(reduction::reduce(c.graph(), gradient, Reduction::Sum, &axes, Axes::Dropped)?)
}

/// (grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices). An element gets the sum of the gradients of windows whose maximum
/// it was. The indices count inside a plane. They were found with the same windows, so the windows are not needed.
fn max_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (gradient, input, indices) = (c.tensor(0)?, c.tensor(1)?, c.tensor(7)?);
    let (shape, listed) = (c.extents(input), c.extents(gradient));
    let (rank, found) = (shape.len(), c.rank(indices));
    if !(3..=4).contains(&rank) || listed.len() != rank || found != rank {
        return Err(Fault::unsupported("needs images").expected("3 or 4 dimensions", format!("{rank}, {}, {found}", listed.len())));
    }
    let element = c.element(input);
    if !element.is_float() {
        return Err(Fault::unsupported(format!("gradients of {element} are not supported")));
    }
    let sum = compute_type(element);
    let gradient = c.cast(gradient, sum)?;
    let g = c.graph();
    let planes = g.product(&shape[..rank - 2])?;
    let (plane, windows) = (g.product(&shape[rank - 2..])?, g.product(&listed[rank - 2..])?);
    let nothing = g.filled(Scalar::float(sum, 0.0), &[planes, plane])?;
    let (gradient, indices) = (g.reshape(gradient, &[planes, windows])?, g.reshape(indices, &[planes, windows])?);
    let sums = placed::elements(g, [nothing, indices, gradient], 1, Combination::Sum)?;
    let sums = g.reshape(sums, &shape)?;
    let y = c.cast(sums, element)?;
    c.finish(y)
}
