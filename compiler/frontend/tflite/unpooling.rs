//! MaxPoolingWithArgmax2D and MaxUnpooling2D: pooling that says where each maximum was, and its inverse.
//!
//! There are two definitions, told apart by the type of the positions: MediaPipe's are f32 and count taps of the window
//! (row × window width + column, plus 0.1), those of TFLite's perception kernels are i32 and count elements of the image.

use super::error::{invalid, unsupported};
use super::operator::{Lowered, Operand, Operator, extents};
use super::{external, options};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Combination, Comparison, ElementType, Node, Scalar, ScalarOp, Scatter, Value};
use crate::operators::activation::Activation;
use crate::operators::terms::Terms;
use crate::operators::windows::{Padding, Windows};
use crate::schema::tflite::ActivationFunctionType;
use ElementType::{F32, I32};

/// Windows of more taps are no real model's.
const MAX_TAPS: i64 = 256;

/// What the options hold: six 32-bit integers of the C structure of pooling parameters.
struct Pool {
    padding: Padding,
    /// Height, then width.
    strides: [i32; 2],
    size: [i32; 2],
    activation: Activation,
}

impl Pool {
    fn read(options: &[u8]) -> Result<Self, Diagnostic> {
        let missing =
            || invalid(codes::OPTIONS_UNREADABLE, "the options are too short").expected("at least 24 bytes", options.len().to_string());
        let bytes = options.get(..24).ok_or_else(missing)?;
        let numbers: Vec<i32> = bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let [padding, stride_width, stride_height, width, height, activation] = numbers[..] else { return Err(missing()) };
        let padding = match padding {
            1 => Padding::Same,
            2 => Padding::Valid,
            other => return Err(invalid(codes::OPTION_CHOICE, "unknown padding").expected("1 (same) or 2 (valid)", other.to_string())),
        };
        let activation = match activation {
            0 => ActivationFunctionType::NONE,
            1 => ActivationFunctionType::RELU,
            2 => ActivationFunctionType::RELU_N1_TO_1,
            3 => ActivationFunctionType::RELU6,
            other => return Err(unsupported(format!("the fused activation number {other} is not supported"))),
        };
        let positive = [stride_width, stride_height, width, height].iter().all(|&n| n >= 1);
        if !positive || i64::from(width) * i64::from(height) > MAX_TAPS {
            let found = format!("{height}x{width}, strides {stride_height}x{stride_width}");
            return Err(unsupported(format!("a window of {found} is not supported")));
        }
        let activation = options::activation(activation)?;
        Ok(Self { padding, strides: [stride_height, stride_width], size: [height, width], activation })
    }

    fn windows(&self) -> Windows {
        Windows {
            size: self.size.map(|n| n as u64).to_vec(),
            strides: self.strides.map(i64::from).to_vec(),
            dilation: vec![1; 2],
            padding: self.padding.clone(),
        }
    }
}

fn image(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<(Operand, [u64; 4]), Diagnostic> {
    let input = operator.input(index)?;
    match input.shape[..] {
        [n, h, w, c] => Ok((input, [n, h, w, c])),
        _ => Err(invalid(codes::RANK, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape))),
    }
}

/// MaxPoolingWithArgmax2D: each tap of the window is a strided slice; the first of the largest wins.
pub(super) fn max_pool_with_positions(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    let pool = Pool::read(&external::options(operator)?)?;
    let (input, [n, h, w, c]) = image(operator, 0)?;
    let (output, places) = (operator.output(0)?, operator.output(1)?);
    if [input.element(), output.element] != [F32, F32] || !matches!(places.element, F32 | I32) {
        return Err(operator.type_error(&[input.element(), output.element, places.element]));
    }
    let geometry = pool.windows().known_geometry(&[h, w])?;
    let count = |d: usize, extent: u64| {
        let padded = extent as i64 + geometry.padding_low[d] + geometry.padding_high[d];
        ((padded - i64::from(pool.size[d])) / i64::from(pool.strides[d]) + 1).max(0) as u64
    };
    let (rows, columns) = (count(0, h), count(1, w));
    let low = [0, geometry.padding_low[0], geometry.padding_low[1], 0].to_vec();
    let high = [0, geometry.padding_high[0], geometry.padding_high[1], 0].to_vec();
    // Nothing is larger than the lowest number but what lies in the image.
    let padded = operator.builder().pad(input.value, low, high, Scalar::f32(f32::MIN))?;
    let mut taps = Vec::new();
    for y in 0..pool.size[0] {
        for x in 0..pool.size[1] {
            let start = [0, y as u64, x as u64, 0];
            let strides = vec![1, pool.strides[0].into(), pool.strides[1].into(), 1];
            taps.push(operator.builder().slice(padded, extents(&start), extents(&[n, rows, columns, c]), strides)?);
        }
    }
    let (value, tap) = first_largest(operator, &taps, pool.activation)?;
    operator.bind(0, value)?;
    let place = if places.element == F32 {
        let mut terms = Terms::new(&[I32]);
        let (number, rest) = (terms.input_as(0, F32), terms.f32(0.1));
        let place = terms.add(number, rest)?;
        operator.map(&[tap], terms.finish(place))?
    } else {
        let low = [geometry.padding_low[0], geometry.padding_low[1]];
        position_in_image(operator, &pool, tap, [rows, columns, w, c], low)?
    };
    operator.bind(1, place)
}

/// The clamped maximum over tensors of one shape, and the number of the first that holds it.
fn first_largest(operator: &mut Operator<'_, '_, '_>, taps: &[Value], activation: Activation) -> Result<(Value, Value), Diagnostic> {
    let mut terms = Terms::new(&vec![F32; taps.len()]);
    let (mut best, mut place) = (terms.f32(f32::MIN), terms.i32(0));
    for tap in 0..taps.len() {
        let (x, number) = (terms.input(tap), terms.i32(tap as i32));
        let larger = terms.compare(Comparison::Greater, x, best)?;
        best = terms.select(larger, x, best)?;
        place = terms.select(larger, number, place)?;
    }
    let best = activation.clamp_float(&mut terms, best)?;
    let results = operator.builder().map_many(taps, terms.finish_many(vec![best, place]))?;
    Ok((results[0], results[1]))
}

/// Positions along rows, columns and channels of `[1, rows, columns, channels]`, as operands of a map.
fn coordinates(operator: &mut Operator<'_, '_, '_>, [rows, columns, channels]: [u64; 3]) -> Result<[Value; 3], Diagnostic> {
    Ok([
        operator.graph().positions(&extents(&[1, rows, 1, 1]), 1, I32)?,
        operator.graph().positions(&extents(&[1, 1, columns, 1]), 2, I32)?,
        operator.graph().positions(&extents(&[1, 1, 1, channels]), 3, I32)?,
    ])
}

/// Where a tap of the window at a position lies along one dimension: `position × stride − padding + tap`.
fn reached(terms: &mut Terms, position: Node, tap: Node, stride: i32, padding: i64) -> Result<Node, Diagnostic> {
    let (stride, padding) = (terms.i32(stride), terms.i32(padding as i32));
    let start = terms.mul(position, stride)?;
    let start = terms.sub(start, padding)?;
    Ok(terms.add(start, tap)?)
}

/// The number of the element `(y, x, channel)` in an image of that many columns and channels.
fn element_number(terms: &mut Terms, [y, x, channel]: [Node; 3], columns: u64, channels: u64) -> Result<Node, Diagnostic> {
    let (columns, channels) = (terms.i32(columns as i32), terms.i32(channels as i32));
    let row = terms.mul(y, columns)?;
    let pixel = terms.add(row, x)?;
    let first = terms.mul(pixel, channels)?;
    Ok(terms.add(first, channel)?)
}

/// Images of more elements would overflow positions of 32 bits.
fn small(extents: &[u64]) -> Result<(), Diagnostic> {
    let elements = extents.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= i32::MAX as u64);
    elements.map(|_| ()).ok_or_else(|| unsupported("images of 2^31 elements and more are not supported"))
}

fn position_in_image(
    operator: &mut Operator<'_, '_, '_>,
    pool: &Pool,
    tap: Value,
    [rows, columns, width, channels]: [u64; 4],
    padding: [i64; 2],
) -> Result<Value, Diagnostic> {
    small(&[rows, columns, channels, pool.strides[0] as u64, pool.strides[1] as u64])?;
    let [y, x, channel] = coordinates(operator, [rows, columns, channels])?;
    let mut terms = Terms::new(&[I32; 4]);
    let inputs = [0, 1, 2, 3].map(|i| terms.input(i));
    let window = terms.i32(pool.size[1]);
    let (row, column) = (terms.div(inputs[0], window)?, terms.op(ScalarOp::Rem, &[inputs[0], window])?);
    let row = reached(&mut terms, inputs[1], row, pool.strides[0], padding[0])?;
    let column = reached(&mut terms, inputs[2], column, pool.strides[1], padding[1])?;
    let number = element_number(&mut terms, [row, column, inputs[3]], width, channels)?;
    operator.map(&[tap, y, x, channel], terms.finish(number))
}

/// MaxUnpooling2D: each element goes to the position that pooling found, the rest is zero.
pub(super) fn max_unpool(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let pool = Pool::read(&external::options(operator)?)?;
    let ((input, [n, h, w, c]), (places, found)) = (image(operator, 0)?, image(operator, 1)?);
    let output = operator.output(0)?;
    if [input.element(), output.element] != [F32, F32] || !matches!(places.element(), F32 | I32) {
        return Err(operator.type_error(&[input.element(), places.element(), output.element]));
    }
    if found != [n, h, w, c] {
        let expected = format!("{:?}", input.shape);
        return Err(invalid(codes::SHAPES_DIFFER, "the positions do not fit the input").expected(expected, format!("{found:?}")));
    }
    let counts_taps = places.element() == F32;
    let side = |d: usize, extent: u64| {
        let (window, stride) = (pool.size[d] as u64, pool.strides[d] as u64);
        match (counts_taps, &pool.padding) {
            (true, _) => extent.checked_mul(window),
            (false, Padding::Same) => extent.checked_mul(stride),
            _ => extent.saturating_sub(1).checked_mul(stride).and_then(|n| n.checked_add(window)),
        }
    };
    let too_large = || invalid(codes::TOO_MANY_ELEMENTS, "the image has too many elements");
    let shape = [n, side(0, h).ok_or_else(too_large)?, side(1, w).ok_or_else(too_large)?, c];
    small(&shape[1..])?;
    let place = if counts_taps { unpooled_taps(operator, &pool, &places, shape)? } else { places.value };
    let (image, listed) = (shape[1] * shape[2] * c, h * w * c);
    let target = operator.graph().filled(Scalar::f32(0.0), &extents(&[n, image]))?;
    let place = operator.reshape(place, &[n, listed])?;
    let updates = operator.reshape(input.value, &[n, listed])?;
    let scatter = Scatter { axis: 1, batch: 1, combination: Combination::Set, skips_negative: counts_taps };
    let value = operator.builder().scatter([target, place, updates], scatter)?;
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)
}

/// MediaPipe's positions as numbers of elements in the unpooled image; −1, which is left out, for those outside of it.
fn unpooled_taps(operator: &mut Operator<'_, '_, '_>, pool: &Pool, places: &Operand, shape: [u64; 4]) -> Result<Value, Diagnostic> {
    let [_, height, width, channels] = shape;
    // The padding of the pooling that would have made this of the unpooled image.
    let padding = [0, 1].map(|d| {
        let apart = (places.shape[d + 1] as i64 - 1).saturating_mul(pool.strides[d].into());
        let needed = apart.saturating_add(pool.size[d].into()).saturating_sub(shape[d + 1] as i64);
        needed.max(0) / 2
    });
    let [y, x, channel] = coordinates(operator, [places.shape[1], places.shape[2], channels])?;
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
    operator.map(&[places.value, y, x, channel], terms.finish(number))
}
