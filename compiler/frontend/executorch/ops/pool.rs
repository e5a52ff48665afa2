//! Pooling.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::convolution::channels_last;
use crate::ir::{ElementType, Extent, Search, Summation, Value};
use crate::operators::activation::Activation;
use crate::operators::graph::movement::inverse;
use crate::operators::max_positions::max_with_positions;
use crate::operators::pooling::{self, Counts, Divisor, Means, Quotient};
use crate::operators::promotion::compute_type;
use crate::operators::windows::{Padding, Windows};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::max_pool2d_with_indices.out", |c| max_pool(c, 2)),
    ("aten::max_pool3d_with_indices.out", |c| max_pool(c, 3)),
    ("aten::avg_pool2d.out", |c| average_pool(c, 2)),
    ("aten::avg_pool3d.out", |c| average_pool(c, 3)),
    ("aten::_adaptive_avg_pool2d.out", |c| adaptive_average_pool(c, 2)),
    ("aten::_adaptive_avg_pool3d.out", |c| adaptive_average_pool(c, 3)),
    ("aten::adaptive_max_pool2d.out", |c| adaptive_max_pool(c, 2)),
    ("aten::adaptive_max_pool3d.out", |c| adaptive_max_pool(c, 3)),
];

/// (input, kernel_size, stride, padding, …): windows over some dimensions. A last one may be partial if it begins inside the input or the padding
/// before it.
pub(super) fn windows(c: &Call<'_, '_, '_>, dilation: Vec<i64>, partial: bool) -> Result<Windows, Fault> {
    let spatial = dilation.len();
    let size = small(c, 1, spatial)?;
    let strides = if c.ints(2)?.is_empty() { size.clone() } else { small(c, 2, spatial)? };
    let padding = small(c, 3, spatial)?;
    let positive = [&size, &strides, &dilation].into_iter().flatten().all(|&n| n > 0);
    if !positive || (0..spatial).any(|d| padding[d] > size[d] / 2) {
        return Err(Fault::invalid("the window is out of range")
            .expected("positive size, stride and dilation, padding of at most half the size", format!("{size:?} {padding:?}")));
    }
    let size = size.into_iter().map(i64::unsigned_abs).collect();
    Ok(Windows { size, strides, dilation, padding: Padding::Symmetric { elements: padding, partial } })
}

/// A number from 0 to 2³¹ − 1 for each of some dimensions, or a single number for all.
fn small(c: &Call<'_, '_, '_>, index: usize, spatial: usize) -> Result<Vec<i64>, Fault> {
    let list = c.per_dimension(index, spatial)?;
    if list.iter().all(|n| (0..=i64::from(i32::MAX)).contains(n)) {
        return Ok(list);
    }
    Err(Fault::invalid(format!("argument {index} is out of range")).expected("0 to 2^31 - 1", format!("{list:?}")))
}

/// The input as `[N, C, …]`, and whether the batch was added.
fn batched(c: &mut Call<'_, '_, '_>, spatial: usize) -> Result<(Value, bool), Fault> {
    let input = c.tensor(0)?;
    let g = c.graph();
    let mut shape = g.extents(input);
    let added = shape.len() == spatial + 1;
    if added {
        shape.insert(0, Extent::Static(1));
    }
    if shape.len() != spatial + 2 {
        let expected = format!("{} or {} dimensions", spatial + 1, spatial + 2);
        return Err(Fault::invalid("needs an image").expected(expected, shape.len().to_string()));
    }
    Ok((g.reshape(input, &shape)?, added))
}

/// An input with a batch, and with channels last.
fn image(c: &mut Call<'_, '_, '_>, spatial: usize) -> Result<(Value, bool), Fault> {
    let (input, added) = batched(c, spatial)?;
    Ok((c.transpose(input, &channels_last(spatial + 2))?, added))
}

/// Restores the order of dimensions, and removes an added batch.
fn restored(c: &mut Call<'_, '_, '_>, y: Value, added: bool) -> Result<Value, Fault> {
    let rank = c.rank(y);
    let y = c.transpose(y, &inverse(&channels_last(rank)))?;
    unbatched(c, y, added)
}

fn unbatched(c: &mut Call<'_, '_, '_>, y: Value, added: bool) -> Result<Value, Fault> {
    let shape = c.extents(y);
    if added { Ok(c.graph().reshape(y, &shape[1..])?) } else { Ok(y) }
}

/// Tests whether the second result, the positions of the maxima, is read. If not, it is withdrawn.
fn wants_positions(c: &mut Call<'_, '_, '_>, index: usize) -> Result<bool, Fault> {
    let register = c.register(index)?;
    let is_used = c.translator.is_used(register);
    if !is_used {
        c.translator.withdraw(register, Fault::invalid("the positions of the largest elements are read where none are named"));
    }
    Ok(is_used)
}

/// The largest element of each window over two or three dimensions, by the rule of `search`: (input, kernel_size, stride, padding, dilation,
/// ceil_mode).
///
/// # Errors
/// When the windows do not fit the input.
pub fn largest(c: &mut Call<'_, '_, '_>, spatial: usize, search: Search) -> Result<Value, Fault> {
    let (input, added) = image(c, spatial)?;
    let windows = windows(c, small(c, 4, spatial)?, c.flag(5)?)?;
    let y = pooling::max(c.graph(), input, &windows, search)?;
    restored(c, y, added)
}

fn max_pool(c: &mut Call<'_, '_, '_>, spatial: usize) -> Outcome {
    let y = largest(c, spatial, Search::MaxOrNan)?;
    c.define(6, y)?;
    let windows = windows(c, small(c, 4, spatial)?, c.flag(5)?)?;
    if !wants_positions(c, 7)? {
        return Ok(());
    }
    let (input, added) = batched(c, spatial)?;
    let [_, positions] = max_with_positions(c.graph(), input, &windows)?;
    let positions = unbatched(c, positions, added)?;
    c.define(7, positions)
}

fn average_pool(c: &mut Call<'_, '_, '_>, spatial: usize) -> Outcome {
    let (input, added) = image(c, spatial)?;
    let (partial, include_padding, divisor) = (c.flag(4)?, c.flag(5)?, c.optional_int(6)?);
    let windows = windows(c, vec![1; spatial], partial)?;
    let divisor = match divisor {
        Some(n) => Divisor::Number(n),
        None if include_padding => Divisor::Padded,
        None => Divisor::Inside,
    };
    let means = means(c, input, divisor)?;
    let y = pooling::average(c.graph(), input, &windows, &means)?;
    let y = restored(c, y, added)?;
    c.finish(y)
}

/// Means of floats, half precision in single; of integers of 64 bits without the fraction.
fn means(c: &Call<'_, '_, '_>, input: Value, divisor: Divisor) -> Result<Means, Fault> {
    let element: ElementType = c.element(input);
    if element == ElementType::I64 {
        let quotient = Quotient::Truncated;
        return Ok(Means { accumulator: element, summation: Summation::Rows, divisor, counts: Counts::Sides, quotient, result: element });
    }
    if !element.is_float() {
        return Err(Fault::unsupported(format!("averages of {element} are not supported")));
    }
    let (accumulator, quotient) = (compute_type(element), Quotient::Float(Activation::NONE));
    Ok(Means { accumulator, summation: Summation::Rows, divisor, counts: Counts::Sides, quotient, result: element })
}

/// The result's spatial extents, argument 1. Extents of the result and of the image must not be 0.
fn parts(c: &mut Call<'_, '_, '_>, input: Value, spatial: usize) -> Result<Vec<Extent>, Fault> {
    let mut out = Vec::new();
    for size in c.wholes(1)? {
        let extent = c.extent(size)?;
        out.push(c.graph().function().resolved(extent));
    }
    if let [one] = out[..] {
        out = vec![one; spatial];
    }
    if out.len() != spatial {
        return Err(Fault::invalid("argument 1 is of the wrong length").expected(spatial.to_string(), out.len().to_string()));
    }
    if out.iter().chain(&c.extents(input)[2..]).any(|&extent| extent == Extent::Static(0)) {
        return Err(Fault::unsupported("an empty image is pooled"));
    }
    Ok(out)
}

/// Windows that cover an image of these extents in this many parts, if the parts are of one size.
fn even_parts(extents: &[Extent], parts: &[Extent]) -> Option<Windows> {
    let size = |(extent, part): (&Extent, &Extent)| match (extent, part) {
        _ if extent == part => Some(1),
        (Extent::Static(extent), Extent::Static(n)) if extent % n == 0 => Some(extent / n),
        _ => None,
    };
    let size: Vec<u64> = extents.iter().zip(parts).map(size).collect::<Option<_>>()?;
    let strides = size.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
    Some(Windows { strides, dilation: vec![1; size.len()], size, padding: Padding::Valid })
}

/// Averages over parts: part i of n goes from ⌊i·extent ÷ n⌋ to ⌈(i + 1)·extent ÷ n⌉. Parts of one size are windows.
fn adaptive_average_pool(c: &mut Call<'_, '_, '_>, spatial: usize) -> Outcome {
    let (input, added) = batched(c, spatial)?;
    let out = parts(c, input, spatial)?;
    let means = means(c, input, Divisor::Inside)?;
    if !means.result.is_float() {
        return Err(Fault::unsupported(format!("averages of {} over parts are not supported", means.result)));
    }
    let shape = c.extents(input);
    let image = c.transpose(input, &channels_last(spatial + 2))?;
    let y = match even_parts(&shape[2..], &out) {
        Some(windows) => pooling::average(c.graph(), image, &windows, &means)?,
        None => pooling::average_parts(c.graph(), image, &out, &means)?,
    };
    let y = restored(c, y, added)?;
    c.finish(y)
}

/// The largest elements of parts, as averages over them are taken.
fn adaptive_max_pool(c: &mut Call<'_, '_, '_>, spatial: usize) -> Outcome {
    let (input, added) = batched(c, spatial)?;
    let out = parts(c, input, spatial)?;
    let wants = wants_positions(c, 3)?;
    let shape = c.extents(input);
    let (y, positions) = match even_parts(&shape[2..], &out) {
        Some(windows) if wants => {
            let [y, positions] = max_with_positions(c.graph(), input, &windows)?;
            (y, Some(positions))
        }
        Some(windows) => {
            let image = c.transpose(input, &channels_last(spatial + 2))?;
            let y = pooling::max(c.graph(), image, &windows, Search::MaxOrNan)?;
            (c.transpose(y, &inverse(&channels_last(spatial + 2)))?, None)
        }
        None if wants => {
            return Err(Fault::unsupported("the positions of the largest elements of parts of several sizes are not supported"));
        }
        None => (pooling::max_parts(c.graph(), input, &out)?, None),
    };
    let y = unbatched(c, y, added)?;
    c.define(2, y)?;
    match positions {
        Some(positions) => {
            let positions = unbatched(c, positions, added)?;
            c.define(3, positions)
        }
        None => Ok(()),
    }
}
