//! Random chains of operators that work row by row, pools, regions that work batch by batch, gathered images, and graphs of element-wise work. Others
//! are extremes of saturated values, convolutions of long rows, and programs of views.

pub mod batches;
pub mod extremes;
pub mod graphs;
pub mod picked;
pub mod pools;
pub mod rows;
pub mod views;

use modelc::ir::{
    ElementType, ExpressionBuilder, Extent, Module, Reduction, Scalar, ScalarOp, Tensor, TensorType, Type, Value, ZeroPoints,
};
use modelc::ir::{FunctionBuilder, WindowGeometry};

/// SplitMix64, the pseudo-random numbers of most tests, the same on every computer.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Makes a chain of up to seven operators on an image of bytes, and an image.
pub fn module(seed: u64) -> (Module, Tensor) {
    let mut random = Random(seed);
    let shape = [1, 12 + random.below(30), 3 + random.below(9), 1 + random.below(9)];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let input = builder.param(Type::Tensor(TensorType::of(ElementType::I8, &shape)), "image".to_owned());
    // A caller's buffer takes no arena, so the chain starts from a tensor in memory.
    let mut value = next(&mut builder, &mut random, input, 0);
    for _ in 0..2 + random.below(5) {
        let kind = random.below(11);
        value = next(&mut builder, &mut random, value, kind);
    }
    builder.finish_method("forward", vec![value]);
    let bytes = random.bytes(shape.iter().product());
    (module, Tensor { element: ElementType::I8, shape: shape.to_vec(), bytes })
}

/// Adds an operator; returns the same value if the image has become too small for it.
fn next(builder: &mut FunctionBuilder<'_>, random: &mut Random, value: Value, kind: u64) -> Value {
    let shape = builder.tensor(value).static_shape().expect("chains are static");
    let channels = shape[3];
    let (more, fewer) = (1 + channels + random.below(20), 1 + random.below(channels));
    let built = match kind {
        0 => Some(pointwise(builder, random, value, more)),
        1 => Some(pointwise(builder, random, value, fewer)),
        2 => convolution(builder, random, value, channels),
        3 => convolution(builder, random, value, 1),
        4 => {
            let size = 1 + random.below(3) as i64;
            let (geometry, size) = (geometry(random, size), vec![size, 1]);
            builder.window(value, [Reduction::Max, Reduction::Min][random.below(2) as usize], size, geometry).ok()
        }
        5 => {
            let border = [0, random.below(3) as i64, random.below(2) as i64, 0];
            builder.pad(value, border.to_vec(), vec![0, random.below(3) as i64, 0, 0], Scalar::int(ElementType::I8, -7)).ok()
        }
        6 => Some(joined(builder, random, value)),
        7 => {
            let beside = pointwise(builder, random, value, more);
            builder.concat(&[beside, value], 3).ok()
        }
        8 => {
            let channels = 4 * (1 + random.below(4));
            let pixels = pointwise(builder, random, value, channels);
            pixels_of_channels(builder, pixels)
        }
        9 => channels_of_pixels(builder, value),
        _ => {
            let bytes = (0..1 + random.below(12)).flat_map(|_| (random.below(shape[2]) as i32).to_le_bytes()).collect::<Vec<u8>>();
            let ty = TensorType::of(ElementType::I32, &[bytes.len() as u64 / 4]);
            let columns = builder.literal(ty, bytes).expect("four bytes each");
            builder.gather(value, columns, 2, 0).ok()
        }
    };
    let fits = |v: &Value| builder.tensor(*v).static_shape().is_some_and(|shape| shape.iter().all(|&n| n > 0));
    built.filter(fits).unwrap_or(value)
}

/// Moves channels to pixels: each pixel becomes two by two pixels.
fn pixels_of_channels(builder: &mut FunctionBuilder<'_>, value: Value) -> Option<Value> {
    let shape = builder.tensor(value).static_shape()?;
    let (rows, columns, channels) = (shape[1], shape[2], shape[3] / 4);
    rearranged(builder, value, &[rows, columns, 2, 2, channels], &[1, 2 * rows, 2 * columns, channels])
}

/// Moves pixels to channels: two by two pixels become one.
fn channels_of_pixels(builder: &mut FunctionBuilder<'_>, value: Value) -> Option<Value> {
    let shape = builder.tensor(value).static_shape()?;
    let (rows, columns, channels) = (shape[1] / 2, shape[2] / 2, shape[3]);
    rearranged(builder, value, &[rows, 2, columns, 2, channels], &[1, rows, columns, 4 * channels])
}

/// Reshapes the elements to rows, swaps the second and third dimension of each, and reshapes them to an image.
fn rearranged(builder: &mut FunctionBuilder<'_>, value: Value, apart: &[u64], image: &[u64]) -> Option<Value> {
    let extents = |shape: &[u64]| shape.iter().map(|&n| Extent::Static(n)).collect();
    let apart = builder.reshape(value, extents(apart)).ok()?;
    let turned = builder.transpose(apart, vec![0, 2, 1, 3, 4]).ok()?;
    builder.reshape(turned, extents(image)).ok()
}

fn geometry(random: &mut Random, size: i64) -> WindowGeometry {
    let mut pair = |limit: u64, from: i64| vec![from + random.below(limit) as i64, from];
    let (strides, dilation) = (pair(2, 1), pair(2, 1));
    // A window of padding alone has no greatest element.
    let reach = (size.max(1) as u64).min(3);
    let (padding_low, padding_high) = (pair(reach, 0), pair(reach, 0));
    WindowGeometry { strides, dilation, padding_low, padding_high, ..WindowGeometry::default() }
}

/// Adds a convolution of rows, with sums converted to bytes. A group has one channel, or all.
fn convolution(builder: &mut FunctionBuilder<'_>, random: &mut Random, value: Value, groups: u64) -> Option<Value> {
    let channels = builder.tensor(value).static_shape()?[3];
    let size = [1, 2, 3, 5][random.below(4) as usize];
    let (outputs, depth) = if groups == 1 { (1 + random.below(12), channels) } else { (channels, 1) };
    let filter = filter(builder, random, [outputs, size, 1, depth]);
    let geometry = geometry(random, size as i64);
    let sums = builder.conv(value, filter, geometry, groups, ZeroPoints::of_left(random.below(9) as i64 - 4), ElementType::I32).ok()?;
    Some(narrowed(builder, &[sums]))
}

fn pointwise(builder: &mut FunctionBuilder<'_>, random: &mut Random, value: Value, outputs: u64) -> Value {
    let channels = builder.tensor(value).static_shape().expect("chains are static")[3];
    let filter = filter(builder, random, [outputs, 1, 1, channels]);
    let one = WindowGeometry {
        strides: vec![1; 2],
        dilation: vec![1; 2],
        padding_low: vec![0; 2],
        padding_high: vec![0; 2],
        ..WindowGeometry::default()
    };
    let sums = builder.conv(value, filter, one, 1, ZeroPoints::NONE, ElementType::I32).expect("one pixel always fits");
    narrowed(builder, &[sums])
}

fn filter(builder: &mut FunctionBuilder<'_>, random: &mut Random, shape: [u64; 4]) -> Value {
    let bytes = random.bytes(shape.iter().product());
    builder.literal(TensorType::of(ElementType::I8, &shape), bytes).expect("a literal fits its own type")
}

/// Combines the value with another tensor of its shape, of a row, or of a channel.
fn joined(builder: &mut FunctionBuilder<'_>, random: &mut Random, value: Value) -> Value {
    let mut shape: [u64; 4] = builder.tensor(value).static_shape().expect("chains are static").try_into().expect("images");
    match random.below(3) {
        0 => {}
        1 => shape[1] = 1,
        _ => (shape[1], shape[2]) = (1, 1),
    }
    let other = filter(builder, random, shape);
    narrowed(builder, &[value, other])
}

/// Adds tensors, shifts the sum, and saturates it to bytes.
fn narrowed(builder: &mut FunctionBuilder<'_>, operands: &[Value]) -> Value {
    let types: Vec<ElementType> = operands.iter().map(|&v| builder.tensor(v).element).collect();
    let mut e = ExpressionBuilder::new(&types);
    let terms: Vec<_> = (0..types.len()).map(|i| e.input(i)).collect();
    let terms: Vec<_> = terms.into_iter().map(|n| e.convert(n, ElementType::I32)).collect();
    let sum = terms[1..].iter().fold(terms[0], |sum, &n| e.op(ScalarOp::Add, &[sum, n]).expect("sums of i32"));
    let shift = e.constant(Scalar::int(ElementType::I32, if types[0] == ElementType::I32 { 7 } else { 1 }));
    let shifted = e.op(ScalarOp::ShiftRight, &[sum, shift]).expect("shifts of i32");
    let bytes = e.convert_saturating(shifted, ElementType::I8);
    let expression = e.finish(vec![bytes]);
    builder.map(operands, expression).expect("shapes that broadcast")
}
