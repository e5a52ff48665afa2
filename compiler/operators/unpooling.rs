//! Max pooling that returns the position of each maximum, and its inverse. There are two formats. Positions in binary32 count taps of the window (row
//! × window width + column, plus 0.1). Positions in 32-bit integers count elements of the image.

use super::activation::Activation;
use super::indexing::placed;
use super::terms::Terms;
use super::windows::{Padding, Windows};
use super::{Error, Graph, extents};
use crate::ir::{Comparison, ElementType, Extent, Node, Scalar, ScalarOp, Value};
use ElementType::{F32, I32};

/// The windows of a pooling. Heights come before widths.
pub struct Pool {
    /// The border.
    pub padding: Padding,
    /// Elements between windows.
    pub strides: [i32; 2],
    /// Taps of a window.
    pub size: [i32; 2],
    /// The bounds of each maximum.
    pub activation: Activation,
}

impl Pool {
    fn windows(&self) -> Windows {
        Windows {
            size: self.size.map(|n| n as u64).to_vec(),
            strides: self.strides.map(i64::from).to_vec(),
            dilation: vec![1; 2],
            padding: self.padding.clone(),
        }
    }
}

/// The maxima of an image `[N, H, W, C]` and their positions, as taps or as elements of the image. Each tap of the window is a strided slice. Among
/// equal maxima the first wins.
///
/// # Errors
/// When windows do not fit, and for images of 2³¹ elements.
pub fn max_with_positions(g: &mut Graph<'_>, image: Value, pool: &Pool, counts_taps: bool) -> Result<[Value; 2], Error> {
    let [n, h, w, c] = shape_of(g, image)?;
    let geometry = pool.windows().known_geometry(&[h, w])?;
    let count = |d: usize, extent: u64| {
        let padded = extent as i64 + geometry.padding_low[d] + geometry.padding_high[d];
        ((padded - i64::from(pool.size[d])) / i64::from(pool.strides[d]) + 1).max(0) as u64
    };
    let (rows, columns) = (count(0, h), count(1, w));
    let low = [0, geometry.padding_low[0], geometry.padding_low[1], 0].to_vec();
    let high = [0, geometry.padding_high[0], geometry.padding_high[1], 0].to_vec();
    // Padding is the lowest number, so it never wins against an element of the image.
    let padded = g.builder.pad(image, low, high, Scalar::f32(f32::MIN))?;
    let mut taps = Vec::new();
    for y in 0..pool.size[0] {
        for x in 0..pool.size[1] {
            let start = [0, y as u64, x as u64, 0];
            let strides = vec![1, pool.strides[0].into(), pool.strides[1].into(), 1];
            taps.push(g.builder.slice(padded, extents(&start), extents(&[n, rows, columns, c]), strides)?);
        }
    }
    let (value, tap) = first_largest(g, &taps, pool.activation)?;
    let place = if counts_taps {
        let mut terms = Terms::new(&[I32]);
        let (number, rest) = (terms.input_as(0, F32), terms.f32(0.1));
        let place = terms.add(number, rest)?;
        g.map(&[tap], terms.finish(place))?
    } else {
        let low = [geometry.padding_low[0], geometry.padding_low[1]];
        position_in_image(g, pool, tap, [rows, columns, w, c], low)?
    };
    Ok([value, place])
}

/// The clamped maximum over tensors of one shape, and the number of the first that holds it.
fn first_largest(g: &mut Graph<'_>, taps: &[Value], activation: Activation) -> Result<(Value, Value), Error> {
    let mut terms = Terms::new(&vec![F32; taps.len()]);
    let (mut best, mut place) = (terms.f32(f32::MIN), terms.i32(0));
    for tap in 0..taps.len() {
        let (x, number) = (terms.input(tap), terms.i32(tap as i32));
        let larger = terms.compare(Comparison::Greater, x, best)?;
        best = terms.select(larger, x, best)?;
        place = terms.select(larger, number, place)?;
    }
    let best = activation.clamp_float(&mut terms, best)?;
    let results = g.builder.map_many(taps, terms.finish_many(vec![best, place]))?;
    Ok((results[0], results[1]))
}

/// Positions along rows, columns and channels of `[1, rows, columns, channels]`, as operands of a map.
fn coordinates(g: &mut Graph<'_>, [rows, columns, channels]: [u64; 3]) -> Result<[Value; 3], Error> {
    Ok([
        g.positions(&extents(&[1, rows, 1, 1]), 1, I32)?,
        g.positions(&extents(&[1, 1, columns, 1]), 2, I32)?,
        g.positions(&extents(&[1, 1, 1, channels]), 3, I32)?,
    ])
}

/// The position of a window's tap along one dimension: `position × stride − padding + tap`.
fn reached(terms: &mut Terms, position: Node, tap: Node, stride: i32, padding: i64) -> Result<Node, Error> {
    let (stride, padding) = (terms.i32(stride), terms.i32(padding as i32));
    let start = terms.mul(position, stride)?;
    let start = terms.sub(start, padding)?;
    Ok(terms.add(start, tap)?)
}

/// The number of the element `(y, x, channel)` in an image with these columns and channels.
fn element_number(terms: &mut Terms, [y, x, channel]: [Node; 3], columns: u64, channels: u64) -> Result<Node, Error> {
    let (columns, channels) = (terms.i32(columns as i32), terms.i32(channels as i32));
    let row = terms.mul(y, columns)?;
    let pixel = terms.add(row, x)?;
    let first = terms.mul(pixel, channels)?;
    Ok(terms.add(first, channel)?)
}

/// Images of more elements would overflow positions of 32 bits.
fn small(extents: &[u64]) -> Result<(), Error> {
    let elements = extents.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= i32::MAX as u64);
    elements.map(|_| ()).ok_or(Error::ImageTooLarge)
}

fn position_in_image(
    g: &mut Graph<'_>,
    pool: &Pool,
    tap: Value,
    [rows, columns, width, channels]: [u64; 4],
    padding: [i64; 2],
) -> Result<Value, Error> {
    small(&[rows, columns, channels, pool.strides[0] as u64, pool.strides[1] as u64])?;
    let [y, x, channel] = coordinates(g, [rows, columns, channels])?;
    let mut terms = Terms::new(&[I32; 4]);
    let inputs = [0, 1, 2, 3].map(|i| terms.input(i));
    let window = terms.i32(pool.size[1]);
    let (row, column) = (terms.div(inputs[0], window)?, terms.op(ScalarOp::Rem, &[inputs[0], window])?);
    let row = reached(&mut terms, inputs[1], row, pool.strides[0], padding[0])?;
    let column = reached(&mut terms, inputs[2], column, pool.strides[1], padding[1])?;
    let number = element_number(&mut terms, [row, column, inputs[3]], width, channels)?;
    g.map(&[tap, y, x, channel], terms.finish(number))
}

/// Writes each element to the position that pooling found, and zeros elsewhere.
///
/// # Errors
/// [`Error::ImageTooLarge`] of images with 2³¹ elements.
pub fn spread(g: &mut Graph<'_>, [values, places]: [Value; 2], pool: &Pool) -> Result<Value, Error> {
    let [n, h, w, c] = shape_of(g, values)?;
    let counts_taps = g.element(places) == F32;
    let side = |d: usize, extent: u64| {
        let (window, stride) = (pool.size[d] as u64, pool.strides[d] as u64);
        match (counts_taps, &pool.padding) {
            (true, _) => extent.checked_mul(window),
            (false, Padding::Same) => extent.checked_mul(stride),
            _ => extent.saturating_sub(1).checked_mul(stride).and_then(|n| n.checked_add(window)),
        }
    };
    let too_large = || Error::ImageTooLarge;
    let shape = [n, side(0, h).ok_or_else(too_large)?, side(1, w).ok_or_else(too_large)?, c];
    small(&shape[1..])?;
    let place = if counts_taps { unpooled_taps(g, pool, places, shape)? } else { places };
    let (image, listed) = (shape[1] * shape[2] * c, h * w * c);
    let place = reshape(g, place, &[n, listed])?;
    let updates = reshape(g, values, &[n, listed])?;
    let value = placed::in_rows(g, [place, updates], Extent::Static(image), counts_taps)?;
    reshape(g, value, &shape)
}

/// Converts MediaPipe's positions to numbers of elements in the unpooled image. Positions outside of it become −1, which is left out.
fn unpooled_taps(g: &mut Graph<'_>, pool: &Pool, places: Value, shape: [u64; 4]) -> Result<Value, Error> {
    let ([_, height, width, channels], pooled) = (shape, shape_of(g, places)?);
    // The padding of a pooling from the unpooled image to this one.
    let padding = [0, 1].map(|d| {
        let apart = (pooled[d + 1] as i64 - 1).saturating_mul(pool.strides[d].into());
        let needed = apart.saturating_add(pool.size[d].into()).saturating_sub(shape[d + 1] as i64);
        needed.max(0) / 2
    });
    let [y, x, channel] = coordinates(g, [pooled[1], pooled[2], channels])?;
    let mut terms = Terms::new(&[F32, I32, I32, I32]);
    let tap = terms.input_as(0, I32);
    let inputs = [1, 2, 3].map(|i| terms.input(i));
    let (window, zero, none) = (terms.i32(pool.size[1]), terms.i32(0), terms.i32(-1));
    let (row, column) = (terms.div(tap, window)?, terms.op(ScalarOp::Rem, &[tap, window])?);
    let row = reached(&mut terms, inputs[0], row, pool.strides[0], padding[0])?;
    let column = reached(&mut terms, inputs[1], column, pool.strides[1], padding[1])?;
    let mut number = element_number(&mut terms, [row, column, inputs[2]], width, channels)?;
    for (place, extent) in [(row, height), (column, width)] {
        let extent = terms.i32(extent as i32);
        let before = terms.compare(Comparison::Less, place, zero)?;
        let inside = terms.compare(Comparison::Less, place, extent)?;
        number = terms.select(before, none, number)?;
        number = terms.select(inside, number, none)?;
    }
    g.map(&[places, y, x, channel], terms.finish(number))
}

fn shape_of(g: &Graph<'_>, image: Value) -> Result<[u64; 4], Error> {
    let shape = g.shape(image)?;
    <[u64; 4]>::try_from(shape).map_err(|shape| Error::NoImage { rank: shape.len() })
}

fn reshape(g: &mut Graph<'_>, value: Value, shape: &[u64]) -> Result<Value, Error> {
    g.reshape(value, &extents(shape))
}
