//! Pooling.

use super::super::fault::Fault;
use super::Translate;
use super::call::{Call, compute_type};
use super::convolution::channels_last;
use crate::ir::{Reduction, Scalar, ScalarOp, Value, WindowGeometry};
use crate::operators::graph::inverse;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::max_pool2d_with_indices.out", max_pool),
    ("aten::avg_pool2d.out", average_pool),
    ("aten::_adaptive_avg_pool2d.out", adaptive_average_pool),
];

/// Windows along one side of an image; their divisors are counted one by one.
const MAX_POSITIONS: i64 = 1 << 20;

/// A window over two dimensions.
struct Window {
    size: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
    /// Positions along each dimension.
    positions: [i64; 2],
    extents: [i64; 2],
}

impl Window {
    fn new(c: &Call<'_, '_, '_>, shape: &[u64], dilation: [i64; 2], ceil: bool) -> Result<Self, Fault> {
        let size = two(c, 1)?;
        let stride = if c.ints(2)?.is_empty() { size } else { two(c, 2)? };
        let padding = two(c, 3)?;
        let extents = [shape[2], shape[3]].map(|n| n.min(i32::MAX as u64) as i64);
        let mut window = Self { size, stride, padding, dilation, positions: [0; 2], extents };
        for d in 0..2 {
            window.positions[d] = window.count(d, ceil)?;
        }
        Ok(window)
    }

    /// Positions along a dimension. Rounded up, the last window must still begin inside the input or the padding before it.
    fn count(&self, d: usize, ceil: bool) -> Result<i64, Fault> {
        let positive = self.size[d] > 0 && self.stride[d] > 0 && self.dilation[d] > 0;
        if !positive || self.padding[d] < 0 || self.padding[d] > self.size[d] / 2 {
            return Err(Fault::invalid("the window is out of range").expected(
                "positive size, stride and dilation, padding of at most half the size",
                format!("{:?} {:?}", self.size, self.padding),
            ));
        }
        let room = self.extents[d] + 2 * self.padding[d] - self.dilation[d] * (self.size[d] - 1) - 1;
        if room < 0 {
            return Err(Fault::invalid("the window is larger than its input"));
        }
        let mut count = (room + if ceil { self.stride[d] - 1 } else { 0 }) / self.stride[d] + 1;
        if (count - 1) * self.stride[d] >= self.extents[d] + self.padding[d] {
            count -= 1;
        }
        Ok(count)
    }

    fn geometry(&self) -> WindowGeometry {
        let high = [0, 1].map(|d| {
            let reach = self.dilation[d] * (self.size[d] - 1) + 1;
            ((self.positions[d] - 1) * self.stride[d] + reach - self.extents[d] - self.padding[d]).max(0)
        });
        WindowGeometry {
            strides: self.stride.to_vec(),
            dilation: self.dilation.to_vec(),
            padding_low: self.padding.to_vec(),
            padding_high: high.to_vec(),
            ..WindowGeometry::default()
        }
    }

    /// What each window along a dimension is divided by: its taps inside the input, or inside the padded input.
    fn divisors(&self, d: usize, include_padding: bool) -> Vec<i64> {
        let (low, high) = if include_padding { (-self.padding[d], self.extents[d] + self.padding[d]) } else { (0, self.extents[d]) };
        let taps = |position: i64| {
            let start = position * self.stride[d] - self.padding[d];
            (start + self.size[d]).min(high) - start.max(low)
        };
        (0..self.positions[d]).map(taps).collect()
    }
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
fn batched(c: &mut Call<'_, '_, '_>) -> Result<(Value, Vec<u64>, bool), Fault> {
    let input = c.tensor(0)?;
    let mut shape = c.shape(input)?;
    let added = shape.len() == 3;
    if added {
        shape.insert(0, 1);
    }
    if shape.len() != 4 {
        return Err(Fault::invalid("needs an image").expected("3 or 4 dimensions", shape.len().to_string()));
    }
    Ok((c.reshape(input, &shape)?, shape, added))
}

/// Back from channels last, and without the batch that was added.
fn restored(c: &mut Call<'_, '_, '_>, y: Value, added: bool) -> Result<Value, Fault> {
    let y = c.transpose(y, &inverse(&channels_last(4)))?;
    if !added {
        return Ok(y);
    }
    let shape = c.shape(y)?;
    c.reshape(y, &shape[1..])
}

fn max_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, shape, added) = batched(c)?;
    let (dilation, ceil) = (two(c, 4)?, c.flag(5)?);
    let window = Window::new(c, &shape, dilation, ceil)?;
    let x = c.transpose(input, &channels_last(4))?;
    let y = c.builder().window(x, Reduction::Max, window.size.to_vec(), window.geometry())?;
    let y = restored(c, y, added)?;
    c.define(6, y)?;
    let indices = c.register(7)?;
    c.translator.withdraw(indices, Fault::unsupported("the indices of max_pool2d_with_indices are used; only its values are supported"));
    Ok(())
}

fn average_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, shape, added) = batched(c)?;
    let (ceil, include_padding, divisor) = (c.flag(4)?, c.flag(5)?, c.optional_int(6)?);
    let window = Window::new(c, &shape, [1, 1], ceil)?;
    if window.positions.iter().any(|&n| n > MAX_POSITIONS) {
        return Err(
            Fault::unsupported("the image is too large to be pooled").expected(format!("at most {MAX_POSITIONS} windows a side"), "more")
        );
    }
    let divisors = match divisor {
        Some(0) => return Err(Fault::invalid("the divisor is zero")),
        Some(n) => [vec![n; 1], vec![1; 1]],
        None => [0, 1].map(|d| window.divisors(d, include_padding)),
    };
    let y = average(c, input, &window, divisors)?;
    let y = restored(c, y, added)?;
    c.finish(y)
}

/// Sums over a window, divided by the product of a number for the row and one for the column.
fn average(c: &mut Call<'_, '_, '_>, input: Value, window: &Window, divisors: [Vec<i64>; 2]) -> Result<Value, Fault> {
    let (ty, element) = (compute_type(c.element(input)), c.element(input));
    if !element.is_float() {
        return Err(Fault::unsupported(format!("averages of {element} are not supported")));
    }
    let x = c.transpose(input, &channels_last(4))?;
    let x = c.cast(x, ty)?;
    let sum = c.builder().window(x, Reduction::Sum, window.size.to_vec(), window.geometry())?;
    if let [Some(rows), Some(columns)] = [0, 1].map(|d| uniform(&divisors[d])) {
        return c.map(&[sum], |b, n| {
            let divisor = b.constant(Scalar::float(ty, (rows * columns) as f64));
            let y = b.op(ScalarOp::Div, &[n[0], divisor])?;
            Ok(b.convert(y, element))
        });
    }
    let mut factors = Vec::with_capacity(2);
    for (list, shape) in divisors.iter().zip([[1, divisors[0].len() as u64, 1, 1], [1, 1, divisors[1].len() as u64, 1]]) {
        let numbers: Vec<Scalar> = list.iter().map(|&n| Scalar::float(ty, n as f64)).collect();
        factors.push(c.graph().numbers(ty, &shape, &numbers)?);
    }
    c.map(&[sum, factors[0], factors[1]], |b, n| {
        let divisor = b.op(ScalarOp::Mul, &[n[1], n[2]])?;
        let y = b.op(ScalarOp::Div, &[n[0], divisor])?;
        Ok(b.convert(y, element))
    })
}

fn uniform(list: &[i64]) -> Option<i64> {
    list.first().copied().filter(|first| list.iter().all(|n| n == first))
}

/// Averages over parts: part i of n goes from ⌊i·extent ÷ n⌋ to ⌈(i + 1)·extent ÷ n⌉.
fn adaptive_average_pool(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, shape, added) = batched(c)?;
    let out = two(c, 1)?;
    let extents = [shape[2], shape[3]].map(|n| n.min(i32::MAX as u64) as i64);
    if (0..2).any(|d| out[d] == 0 || extents[d] == 0) {
        return Err(Fault::unsupported("an empty image is pooled"));
    }
    if (0..2).any(|d| extents[d] % out[d] != 0) {
        return uneven_parts(c, input, out, added);
    }
    let size = [extents[0] / out[0], extents[1] / out[1]];
    let window = Window { size, stride: size, padding: [0; 2], dilation: [1; 2], positions: out, extents };
    let y = average(c, input, &window, [vec![size[0]], vec![size[1]]])?;
    let y = restored(c, y, added)?;
    c.finish(y)
}

/// As a product with a matrix for the columns and one for the rows: the average over a rectangle is that of averages over its sides.
fn uneven_parts(c: &mut Call<'_, '_, '_>, input: Value, out: [i64; 2], added: bool) -> Outcome {
    let ty = compute_type(c.element(input));
    let mut x = c.cast(input, ty)?;
    for side in [1, 0] {
        let shape = c.shape(x)?;
        let (extent, parts) = (shape[3] as usize, out[side] as usize);
        if extent.saturating_mul(parts) > MAX_POSITIONS as usize {
            return Err(Fault::unsupported("the image is too large to be pooled in uneven parts"));
        }
        let mut matrix = vec![Scalar::float(ty, 0.0); extent * parts];
        for part in 0..parts {
            let (start, end) = (part * extent / parts, ((part + 1) * extent).div_ceil(parts));
            matrix[part * extent + start..part * extent + end].fill(Scalar::float(ty, 1.0 / (end - start) as f64));
        }
        let matrix = c.graph().numbers(ty, &[parts as u64, extent as u64], &matrix)?;
        let lead = shape[0].saturating_mul(shape[1]).saturating_mul(shape[2]);
        let flat = c.reshape(x, &[lead, shape[3]])?;
        let y = c.builder().matmul(flat, matrix, (0, 0), ty)?;
        let y = c.reshape(y, &[shape[0], shape[1], shape[2], parts as u64])?;
        x = c.transpose(y, &[0, 1, 3, 2])?;
    }
    let shape = c.shape(x)?;
    let y = if added { c.reshape(x, &shape[1..])? } else { x };
    c.finish(y)
}
