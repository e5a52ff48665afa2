//! `conv` and `matmul`. Sums are taken in the accumulator's type, tap by tap and channel by channel. Integers wrap. f32 rounds each product and each
//! sum, as the reference kernels of TFLite do. Other floats are added in binary64 and rounded once.

use super::array::{Array, elements, strides, walk};
use super::column::Column;
use super::error::{Step, fail};
use super::evaluation::Evaluation;
use super::map;
use crate::operators::WindowGeometry;
use crate::types::{ElementType, ZeroPoints};

/// The accumulator of a sum of products.
trait Sum: Copy {
    const ZERO: Self;
    fn add_product(self, a: Self, b: Self) -> Self;
}

impl Sum for i32 {
    const ZERO: i32 = 0;
    fn add_product(self, a: i32, b: i32) -> i32 {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

impl Sum for i64 {
    const ZERO: i64 = 0;
    fn add_product(self, a: i64, b: i64) -> i64 {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

impl Sum for f32 {
    const ZERO: f32 = 0.0;
    fn add_product(self, a: f32, b: f32) -> f32 {
        self + a * b
    }
}

impl Sum for f64 {
    const ZERO: f64 = 0.0;
    fn add_product(self, a: f64, b: f64) -> f64 {
        self + a * b
    }
}

fn dot<T: Sum>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::ZERO, |sum, (&x, &y)| sum.add_product(x, y))
}

/// The operands in the accumulator's arithmetic, zero points subtracted.
enum Pair {
    I32(Vec<i32>, Vec<i32>),
    I64(Vec<i64>, Vec<i64>),
    F32(Vec<f32>, Vec<f32>),
    Float(Vec<f64>, Vec<f64>),
}

fn pair(left: &Array<'_>, right: &Array<'_>, zero_points: ZeroPoints, accumulator: ElementType) -> Step<Pair> {
    let decode = |array: &Array<'_>| Column::decode(array.element, &array.bytes, 0..array.len());
    match (decode(left), decode(right)) {
        (Column::Int(a), Column::Int(b)) if accumulator == ElementType::I32 => {
            // Arithmetic modulo 2³² may start at the operands.
            let narrow = |list: Vec<i64>, zero: i64| list.into_iter().map(|x| x.wrapping_sub(zero) as i32).collect();
            Ok(Pair::I32(narrow(a, zero_points.left), narrow(b, zero_points.right)))
        }
        (Column::Int(a), Column::Int(b)) => {
            let shift = |list: Vec<i64>, zero: i64| list.into_iter().map(|x| x.wrapping_sub(zero)).collect();
            Ok(Pair::I64(shift(a, zero_points.left), shift(b, zero_points.right)))
        }
        (Column::F32(a), Column::F32(b)) if accumulator == ElementType::F32 => {
            let shift = |list: Vec<f32>, zero: i64| list.into_iter().map(|x| x - zero as f32).collect();
            Ok(Pair::F32(shift(a, zero_points.left), shift(b, zero_points.right)))
        }
        (Column::F32(a), Column::F32(b)) => {
            let widen = |list: Vec<f32>, zero: i64| list.into_iter().map(|x| f64::from(x) - zero as f64).collect();
            Ok(Pair::Float(widen(a, zero_points.left), widen(b, zero_points.right)))
        }
        (Column::F64(a), Column::F64(b)) => {
            let shift = |list: Vec<f64>, zero: i64| list.into_iter().map(|x| x - zero as f64).collect();
            Ok(Pair::Float(shift(a, zero_points.left), shift(b, zero_points.right)))
        }
        _ => fail(format!("{} × {} has no product", left.element, right.element)),
    }
}

fn integers<'m>(element: ElementType, shape: Vec<usize>, sums: Vec<i64>) -> Array<'m> {
    let mut bytes = Vec::new();
    Column::Int(sums).store(element, shape.iter().product(), &mut bytes);
    Array::new(element, shape, bytes)
}

fn singles<'m>(shape: Vec<usize>, sums: Vec<f32>) -> Array<'m> {
    Array::new(ElementType::F32, shape, sums.iter().flat_map(|sum| sum.to_le_bytes()).collect())
}

/// Sums of binary64 rounded once to a float type.
pub(crate) fn floats<'m>(element: ElementType, shape: Vec<usize>, sums: Vec<f64>) -> Array<'m> {
    let mut bytes = Vec::new();
    for sum in sums {
        bytes.extend(crate::scalar::Scalar::float(element, sum).to_bytes());
    }
    Array::new(element, shape, bytes)
}

/// `matmul`
pub(crate) fn matmul<'m>(left: &Array<'m>, right: &Array<'m>, zero_points: ZeroPoints, accumulator: ElementType) -> Step<Array<'m>> {
    let (batch_left, rest_left) = left.shape.split_at(left.rank() - 2);
    let (batch_right, rest_right) = right.shape.split_at(right.rank() - 2);
    let (m, n, k) = (rest_left[0], rest_right[0], rest_left[1]);
    if rest_right[1] != k {
        return fail(format!("inner dimensions {k} and {} differ", rest_right[1]));
    }
    let batch = map::broadcast(&[batch_left, batch_right])?;
    let mut shape = batch.clone();
    shape.extend([m, n]);
    elements(accumulator, &shape)?;
    if shape.contains(&0) {
        return Ok(Array::new(accumulator, shape, vec![]));
    }
    let matrices = |own: &[usize]| -> Vec<usize> {
        let mut steps = vec![0; batch.len() - own.len()];
        steps.extend(strides(own).iter().zip(own).map(|(&s, &extent)| if extent == 1 { 0 } else { s }));
        let mut list = Vec::new();
        walk(&batch, &steps, 0, |offset| list.push(offset as usize));
        list
    };
    let matrices = matrices(batch_left).into_iter().zip(matrices(batch_right));
    let matrices: Vec<Matrices> = matrices.map(|(left, right)| Matrices { left, right }).collect();
    let size = [m, n, k];
    Ok(match pair(left, right, zero_points, accumulator)? {
        Pair::I32(a, b) => integers(accumulator, shape, products(&a, &b, &matrices, size).into_iter().map(i64::from).collect()),
        Pair::I64(a, b) => integers(accumulator, shape, products(&a, &b, &matrices, size)),
        Pair::F32(a, b) => singles(shape, products(&a, &b, &matrices, size)),
        Pair::Float(a, b) => floats(accumulator, shape, products(&a, &b, &matrices, size)),
    })
}

/// `block_matmul`
pub(crate) fn block_matmul<'m>(left: &Array<'m>, right: &Array<'m>, scales: &Array<'m>, excess: bool) -> Step<Array<'m>> {
    let decode = |array: &Array<'_>| Column::decode(array.element, &array.bytes, 0..array.len());
    let (Column::Int(weights), Column::F32(scales)) = (decode(right), decode(scales)) else {
        return fail(format!("{} × {} in blocks has no product", left.element, right.element));
    };
    // The highest bit, read as a sign, is the other way round in excess code.
    let turned = if excess { -1 << (right.element.bits() - 1) } else { 0 };
    let weights = weights.into_iter().map(|weight| weight as i8 ^ turned);
    let (units, depth) = (right.shape[0], right.shape[1]);
    let blocked = Blocked { depth, blocks: (scales.len() / units.max(1)).max(1) };
    let mut shape = left.shape.clone();
    shape.pop();
    shape.push(units);
    elements(ElementType::F32, &shape)?;
    let sums = match decode(left) {
        Column::Int(rows) => {
            let (rows, weights): (Vec<i32>, Vec<i32>) = (rows.into_iter().map(|x| x as i32).collect(), weights.map(i32::from).collect());
            in_blocks(&rows, &weights, &scales, blocked, |sum| sum as f32)
        }
        Column::F32(rows) => in_blocks(&rows, &weights.map(f32::from).collect::<Vec<f32>>(), &scales, blocked, |sum| sum),
        _ => return fail(format!("{} × {} in blocks has no product", left.element, right.element)),
    };
    Ok(singles(shape, sums))
}

/// Rows that are cut into blocks.
#[derive(Clone, Copy)]
struct Blocked {
    /// Elements of a row.
    depth: usize,
    /// Blocks of a row.
    blocks: usize,
}

/// The sums of blocks as `single` has them, scaled and added in order, for each row and unit.
fn in_blocks<T: Sum>(rows: &[T], weights: &[T], scales: &[f32], blocked: Blocked, single: impl Fn(T) -> f32) -> Vec<f32> {
    let Blocked { depth, blocks } = blocked;
    let mut sums = Vec::new();
    for row in rows.chunks_exact(depth) {
        for (unit, scales) in weights.chunks_exact(depth).zip(scales.chunks_exact(blocks)) {
            let of_blocks = row.chunks_exact(depth / blocks).zip(unit.chunks_exact(depth / blocks)).zip(scales);
            sums.push(of_blocks.fold(0.0, |sum: f32, ((x, w), scale)| sum + single(dot(x, w)) * scale));
        }
    }
    sums
}

/// The numbers of the two matrices that are multiplied.
struct Matrices {
    left: usize,
    right: usize,
}

fn products<T: Sum>(left: &[T], right: &[T], matrices: &[Matrices], [m, n, k]: [usize; 3]) -> Vec<T> {
    let mut sums = Vec::with_capacity(matrices.len() * m * n);
    for of in matrices {
        let (left, right) = (&left[of.left * m * k..][..m * k], &right[of.right * n * k..][..n * k]);
        for i in 0..m {
            sums.extend((0..n).map(|j| dot(&left[i * k..(i + 1) * k], &right[j * k..(j + 1) * k])));
        }
    }
    sums
}

/// The run-time part of a window's geometry: a number for each spatial dimension, or none.
pub(crate) struct RunTime {
    /// The number of windows.
    pub positions: Vec<usize>,
    /// The padding left out before the first window, in elements.
    pub shift: Vec<usize>,
}

impl RunTime {
    /// The numbers of windows and shifts of a geometry.
    pub fn new(geometry: &WindowGeometry, cx: &Evaluation<'_, '_>) -> Step<Self> {
        Ok(Self { positions: cx.shape(&geometry.positions)?, shift: cx.shape(&geometry.shift)? })
    }
}

/// A tap of a window that meets an element of the tensor.
#[derive(Clone, Copy)]
pub(crate) struct Tap {
    /// The number of the tap in the window.
    pub number: usize,
    /// The number of the element along the spatial dimensions.
    pub element: usize,
}

/// The taps inside the tensor at each position of a sliding window in row-major order, padded taps left out.
pub(crate) type Windows = Vec<Vec<Tap>>;

/// A window of `size` over an input of spatial extents `extents`, with elements `steps` apart. The operator's rule has checked the lists of the
/// geometry. `run_time` holds their positions and shifts.
#[derive(Clone, Copy)]
pub(crate) struct Slid<'a> {
    pub extents: &'a [usize],
    pub steps: &'a [i64],
    pub size: &'a [usize],
    pub geometry: &'a WindowGeometry,
    pub run_time: &'a RunTime,
}

impl Slid<'_> {
    /// Positions along each spatial dimension.
    pub fn positions(&self) -> Vec<usize> {
        let Self { extents, steps, size, geometry, run_time } = self;
        let along = |d: usize| {
            if let Some(&positions) = run_time.positions.get(d) {
                return positions;
            }
            let dilated = (extents[d] as i64 - 1).max(0) * steps[d] + i64::from(extents[d] > 0);
            let padded = dilated + geometry.padding_low[d] + geometry.padding_high[d];
            let room = padded - (size[d] as i64 - 1) * geometry.dilation[d] - 1;
            if room < 0 { 0 } else { (room / geometry.strides[d]) as usize + 1 }
        };
        (0..extents.len()).map(along).collect()
    }

    /// The windows at these positions, which are as many as a result has elements: it must have some.
    pub fn windows(self, positions: &[usize]) -> Step<Windows> {
        let Self { extents, steps, size, geometry, run_time } = self;
        elements(ElementType::I64, positions)?;
        // Per dimension and position: the taps inside.
        let inside = |d: usize, position: usize| -> Vec<Tap> {
            let first = position as i64 * geometry.strides[d] - geometry.padding_low[d] + run_time.shift.get(d).map_or(0, |&n| n as i64);
            let dilation = geometry.dilation[d];
            // Windows may be far larger than the input: only the taps that can meet an element are looked at.
            let last = (extents[d] as i64 - 1) * steps[d];
            let low = (-first).max(0).div_euclid(dilation);
            let high = (last - first).div_euclid(dilation).min(size[d] as i64 - 1);
            let element = |tap: i64| {
                let place = first + tap * dilation;
                ((0..=last).contains(&place) && place % steps[d] == 0)
                    .then(|| Tap { number: tap as usize, element: (place / steps[d]) as usize })
            };
            (low..=high).filter_map(element).collect()
        };
        let mut taps: Windows = vec![vec![Tap { number: 0, element: 0 }]];
        for d in 0..extents.len() {
            let along: Vec<_> = (0..positions[d]).map(|p| inside(d, p)).collect();
            let within = |outer: Tap, inner: Tap| Tap {
                number: outer.number * size[d] + inner.number,
                element: outer.element * extents[d] + inner.element,
            };
            let join = |outer: &[Tap], inner: &[Tap]| -> Vec<Tap> {
                outer.iter().flat_map(|&outer| inner.iter().map(move |&inner| within(outer, inner))).collect()
            };
            taps = taps.iter().flat_map(|outer| along.iter().map(|inner| join(outer, inner)).collect::<Vec<_>>()).collect();
        }
        Ok(taps)
    }
}

/// The numbers of a convolution beside its operands.
#[derive(Clone, Copy)]
pub(crate) struct Convolution<'a> {
    pub geometry: &'a WindowGeometry,
    pub run_time: &'a RunTime,
    /// Steps between neighbouring input elements.
    pub input_dilation: &'a [i64],
    /// Groups of channels.
    pub groups: usize,
    /// Zero points of input and filter.
    pub zero_points: ZeroPoints,
    /// The type of the sums.
    pub accumulator: ElementType,
}

/// `conv`
pub(crate) fn conv<'m>(input: &Array<'m>, filter: &Array<'m>, convolution: &Convolution<'_>) -> Step<Array<'m>> {
    let Convolution { geometry, run_time, input_dilation, groups, zero_points, accumulator } = *convolution;
    let last = input.rank() - 1;
    let (extents, size) = (&input.shape[1..last], &filter.shape[1..last]);
    let slid = Slid { extents, steps: input_dilation, size, geometry, run_time };
    let mut shape = vec![input.shape[0]];
    shape.extend(slid.positions());
    shape.push(filter.shape[0]);
    elements(accumulator, &shape)?;
    if shape.contains(&0) {
        return Ok(Array::new(accumulator, shape, vec![]));
    }
    let windows = slid.windows(&shape[1..last])?;
    let sizes = Sizes {
        batches: input.shape[0],
        spatial: input.shape[1..last].iter().product(),
        channels: input.shape[last],
        taps: filter.shape[1..last].iter().product(),
        outputs: filter.shape[0],
        groups,
    };
    Ok(match pair(input, filter, zero_points, accumulator)? {
        Pair::I32(a, b) => integers(accumulator, shape, convolve(&a, &b, &windows, &sizes).into_iter().map(i64::from).collect()),
        Pair::I64(a, b) => integers(accumulator, shape, convolve(&a, &b, &windows, &sizes)),
        Pair::F32(a, b) => singles(shape, convolve(&a, &b, &windows, &sizes)),
        Pair::Float(a, b) => floats(accumulator, shape, convolve(&a, &b, &windows, &sizes)),
    })
}

struct Sizes {
    batches: usize,
    spatial: usize,
    channels: usize,
    taps: usize,
    outputs: usize,
    groups: usize,
}

fn convolve<T: Sum>(input: &[T], filter: &[T], windows: &[Vec<Tap>], sizes: &Sizes) -> Vec<T> {
    let Sizes { batches, spatial, channels, outputs, groups, .. } = *sizes;
    let (depth, per_group) = (channels / groups, outputs / groups);
    let filter = outputs_innermost(filter, depth, sizes);
    let mut sums = Vec::with_capacity(batches * windows.len() * outputs);
    for batch in 0..batches {
        for taps in windows {
            let start = sums.len();
            sums.resize(start + outputs, T::ZERO);
            let sums = &mut sums[start..];
            for &Tap { number: tap, element } in taps {
                let pixel = &input[(batch * spatial + element) * channels..][..channels];
                let filter = &filter[tap * depth * outputs..][..depth * outputs];
                if depth == 1 && per_group == 1 {
                    add_products(sums, pixel.iter().copied(), filter);
                    continue;
                }
                for (channel, &x) in pixel.iter().enumerate() {
                    let first = channel / depth * per_group;
                    let weights = &filter[channel % depth * outputs + first..][..per_group];
                    add_products(&mut sums[first..first + per_group], std::iter::repeat(x), weights);
                }
            }
        }
    }
    sums
}

/// Adds one product to each sum. All outputs of a position advance together, and each still takes its products in order.
fn add_products<T: Sum>(sums: &mut [T], values: impl Iterator<Item = T>, weights: &[T]) {
    for ((sum, &weight), value) in sums.iter_mut().zip(weights).zip(values) {
        *sum = sum.add_product(value, weight);
    }
}

/// The filter `[outputs, taps, depth]` as `[taps, depth, outputs]`.
fn outputs_innermost<T: Sum>(filter: &[T], depth: usize, sizes: &Sizes) -> Vec<T> {
    let Sizes { taps, outputs, .. } = *sizes;
    let weights = (0..taps * depth).flat_map(|weight| (0..outputs).map(move |output| output * taps * depth + weight));
    weights.map(|position| filter[position]).collect()
}
