//! Pooling.

use super::super::fault::Fault;
use super::call::{Call, Translate, compute_type};
use super::convolution::channels_last;
use crate::ir::{ElementType, Extent, Value};
use crate::operators::activation::Activation;
use crate::operators::graph::movement::inverse;
use crate::operators::max_positions::max_with_positions;
use crate::operators::pooling::{self, Counts, Divisor, Means, Quotient};
use crate::operators::windows::{Padding, Windows};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::max_pool2d_with_indices.out", max_pool),
    ("aten::avg_pool2d.out", average_pool),
    ("aten::_adaptive_avg_pool2d.out", adaptive_average_pool),
];

/// (input, kernel_size, stride, padding, …): windows over two dimensions. A last one may be partial if it begins inside the input or the padding
/// before it.
fn windows(c: &Call<'_, '_, '_>, dilation: [i64; 2], partial: bool) -> Result<Windows, Fault> {
    let size = two(c, 1)?;
    let strides = if c.ints(2)?.is_empty() { size } else { two(c, 2)? };
    let padding = two(c, 3)?;
    let positive = [size, strides, dilation].iter().flatten().all(|&n| n > 0);
    if !positive || (0..2).any(|d| padding[d] > size[d] / 2) {
        return Err(Fault::invalid("the window is out of range")
            .expected("positive size, stride and dilation, padding of at most half the size", format!("{size:?} {padding:?}")));
    }
    Ok(Windows {
        size: size.map(i64::unsigned_abs).to_vec(),
        strides: strides.to_vec(),
        dilation: dilation.to_vec(),
        padding: Padding::Symmetric { elements: padding.to_vec(), partial },
    })
}

/// Two numbers from 0 to 2³¹ − 1, or one that stands for both.
fn two(c: &Call<'_, '_, '_>, index: usize) -> Result<[i64; 2], Fault> {
    let list = c.per_dimension(index, 2)?;
    match list[..] {
        [a, b] if [a, b].iter().all(|n| (0..=i64::from(i32::MAX)).contains(n)) => Ok([a, b]),
        _ => Err(Fault::invalid(format!("argument {index} is out of range")).expected("0 to 2^31 - 1", format!("{list:?}"))),
    }
}

/// The input as [N, C, H, W], and whether the batch was added.
fn batched(c: &mut Call<'_, '_, '_>) -> Result<(Value, bool), Fault> {
    let input = c.tensor(0)?;
    let g = c.graph();
    let mut shape = g.extents(input);
    let added = shape.len() == 3;
    if added {
        shape.insert(0, Extent::Static(1));
    }
    if shape.len() != 4 {
        return Err(Fault::invalid("needs an image").expected("3 or 4 dimensions", shape.len().to_string()));
    }
    Ok((g.reshape(input, &shape)?, added))
}

/// The same with channels last.
fn image(c: &mut Call<'_, '_, '_>) -> Result<(Value, bool), Fault> {
    let (input, added) = batched(c)?;
    Ok((c.transpose(input, &channels_last(4))?, added))
}

/// Back from channels last, and without the batch that was added.
fn restored(c: &mut Call<'_, '_, '_>, y: Value, added: bool) -> Result<Value, Fault> {
    let y = c.transpose(y, &inverse(&channels_last(4)))?;
    unbatched(c, y, added)
}

fn unbatched(c: &mut Call<'_, '_, '_>, y: Value, added: bool) -> Result<Value, Fault> {
    let shape = c.extents(y);
    if added { Ok(c.graph().reshape(y, &shape[1..])?) } else { Ok(y) }
}

/// The largest element of each window: (input, kernel_size, stride, padding, dilation, ceil_mode).
///
/// # Errors
/// When the windows do not fit the input.
pub fn largest(c: &mut Call<'_, '_, '_>) -> Result<Value, Fault> {
    let (input, added) = image(c)?;
    let windows = windows(c, two(c, 4)?, c.flag(5)?)?;
    let y = pooling::max(c.graph(), input, &windows)?;
    restored(c, y, added)
}

fn max_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let y = largest(c)?;
    c.define(6, y)?;
    let windows = windows(c, two(c, 4)?, c.flag(5)?)?;
    let indices = c.register(7)?;
    if !c.translator.is_used(indices) {
        c.translator.withdraw(indices, Fault::invalid("the indices of max_pool2d_with_indices are read where none are named"));
        return Ok(());
    }
    let (input, added) = batched(c)?;
    c.settle(input, [2, 3])?;
    let [_, positions] = max_with_positions(c.graph(), input, &windows)?;
    let positions = unbatched(c, positions, added)?;
    c.define(7, positions)
}

fn average_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, added) = image(c)?;
    let (partial, include_padding, divisor) = (c.flag(4)?, c.flag(5)?, c.optional_int(6)?);
    let windows = windows(c, [1, 1], partial)?;
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
        return Ok(Means { accumulator: element, divisor, counts: Counts::Sides, quotient, result: element });
    }
    if !element.is_float() {
        return Err(Fault::unsupported(format!("averages of {element} are not supported")));
    }
    let (accumulator, quotient) = (compute_type(element), Quotient::Float(Activation::NONE));
    Ok(Means { accumulator, divisor, counts: Counts::Sides, quotient, result: element })
}

/// Averages over parts: part i of n goes from ⌊i·extent ÷ n⌋ to ⌈(i + 1)·extent ÷ n⌉. Parts of one size are windows.
fn adaptive_average_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, added) = batched(c)?;
    let out = two(c, 1)?.map(i64::unsigned_abs);
    let means = means(c, input, Divisor::Inside)?;
    if !means.result.is_float() {
        return Err(Fault::unsupported(format!("averages of {} over parts are not supported", means.result)));
    }
    let shape = c.extents(input);
    let extents = [shape[2].as_static(), shape[3].as_static()];
    if (0..2).any(|d| out[d] == 0 || extents[d] == Some(0)) {
        return Err(Fault::unsupported("an empty image is pooled"));
    }
    let y = match extents {
        [Some(rows), Some(columns)] if rows % out[0] == 0 && columns % out[1] == 0 => {
            let size = vec![rows / out[0], columns / out[1]];
            let strides = size.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
            let windows = Windows { size, strides, dilation: vec![1; 2], padding: Padding::Valid };
            let image = c.transpose(input, &channels_last(4))?;
            let y = pooling::average(c.graph(), image, &windows, &means)?;
            restored(c, y, added)?
        }
        _ => {
            let wide = c.cast(input, means.accumulator)?;
            let y = pooling::average_parts(c.graph(), wide, &[(2, out[0]), (3, out[1])])?;
            unbatched(c, y, added)?
        }
    };
    c.finish(y)
}
