//! Contractions: convolutions and matrix products in one geometry.

use super::bias;
use super::image_sizes::Sizes;
use super::phases::{Axis, Phases};
use super::windows::{Geometry, Planes, matrices, pointwise};
use crate::fuse::Epilogue;
use crate::ir::{Accumulation, ElementType, Expression, Inst, InstData, Operation, Value, operators};
use crate::machine::Machine;
use crate::schedule::context::Context;
use crate::schedule::contraction::operands::right::read;
use crate::schedule::contraction::operands::types::{Factor, Operand};
use crate::schedule::contraction::operands::weights::Weights;
use crate::schedule::elementwise::epilogue::epilogue_of;
use crate::schedule::unsupported::Unsupported;

/// A convolution or a product of matrices.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// Input, over which the window slides.
    pub input: Value,
    /// Extents, windows and their order.
    pub geometry: Geometry,
    /// Element type of the input.
    pub element: ElementType,
    /// Zero point of the input.
    pub input_zero_point: i64,
    /// `true` if zero point and weights may change at run time: see [`crate::ir::Module::open_constants`].
    pub open: bool,
    /// Filter, [output, planes, rows, width, channels ÷ groups].
    pub weights: Weights,
    /// Type of the sums.
    pub accumulator: ElementType,
    /// Epilogue without its bias.
    pub epilogue: Epilogue,
    /// Initial value of the integer sums, for each output channel.
    pub bias: Option<Vec<i32>>,
    /// Rounding of float sums.
    accumulation: Accumulation,
}

/// Tests whether sums with a rounding use fused operations on a machine.
pub fn fuses(machine: &Machine, accumulation: Accumulation) -> bool {
    machine.fma && accumulation == Accumulation::Fused
}

/// Maximum input dilation. More phases are not worth their code.
const MAX_PHASES: u64 = 256;

/// Maximum number of taps in a window, since they are listed. No real model has more.
const MAX_TAPS: u64 = 1 << 20;

impl Contraction {
    /// Reads a `conv` or `matmul`.
    ///
    /// # Errors
    /// [`Unsupported`] if the geometry or the types have no schedule.
    pub fn new(cx: &Context<'_>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let (input, filter) = (data.operands[0], data.operands[1]);
        let filter_shape = cx.shape(filter)?;
        let mut contraction = match &data.operation {
            Operation::Conv(conv) => Self::of_conv(cx, data, conv, &cx.largest_shape(input)?, &filter_shape)?,
            Operation::Matmul(matmul) => Self::of_matmul(cx, data, matmul, &cx.shape(input)?, &filter_shape)?,
            other => return Err(Unsupported::Operator(other.op())),
        };
        let accumulates = Operand::of(contraction.element).is_some_and(|left| {
            left.is_summed_in(contraction.accumulator) && (left.factor() == Factor::Float) == contraction.weights.are_floats()
        });
        let whole = contraction.element != ElementType::I16 || contraction.input_zero_point == 0;
        if !accumulates || !whole {
            let (left, right, sum) = (contraction.element, cx.element(filter), contraction.accumulator);
            return Err(Unsupported::Products { op: data.op(), left, right, sum });
        }
        contraction.take_bias(cx);
        Ok(contraction)
    }

    fn of_conv(cx: &Context<'_>, data: &InstData, conv: &operators::Conv, shape: &[u64], filter: &[u64]) -> Result<Self, Unsupported> {
        let output = cx.largest_shape(data.results[0])?;
        let (spatial, sizes) = (shape.len() - 2, Sizes::of(cx, data, &conv.geometry)?);
        if spatial > 3 {
            return Err(Unsupported::Convolution(spatial));
        }
        // With fewer dimensions there is a single row and a single plane. The same holds for leading dimensions if the last ones have one
        // element: a tile runs along columns.
        let of_one = if sizes.is_some() { 0 } else { trailing_ones(conv, [&shape[1..], &output[1..], &filter[1..]]) };
        let three = |list: &[u64], one: u64| -> [u64; 3] {
            let at = |d: usize| (d + spatial).checked_sub(3 + of_one).map_or(one, |i| list[i]);
            [at(0), at(1), at(2)]
        };
        let signed = |list: &[i64], one: u64| three(&list.iter().map(|&n| n as u64).collect::<Vec<_>>(), one);
        let geometry = &conv.geometry;
        let (input_size, output_size, window) = (three(&shape[1..], 1), three(&output[1..], 1), three(&filter[1..], 1));
        if product(&window) > MAX_TAPS {
            return Err(Unsupported::Taps(window));
        }
        let (strides, dilation) = (signed(&geometry.strides, 1), signed(&geometry.dilation, 1));
        let (low, high) = (signed(&geometry.padding_low, 0), signed(&geometry.padding_high, 0));
        let input_dilation = signed(&conv.input_dilation, 1);
        if product(&input_dilation) > MAX_PHASES {
            return Err(Unsupported::InputDilation(input_dilation));
        }
        if sizes.is_some() && input_dilation != [1; 3] {
            return Err(Unsupported::OpenInputDilation);
        }
        let high = if sizes.is_some() {
            [0, 1, 2].map(|d| needed_behind(input_size[d] + low[d], output_size[d], strides[d], window[d], dilation[d]))
        } else {
            high
        };
        let phases = [0, 1, 2].map(|d| {
            Phases::new(&Axis {
                input: input_size[d],
                output: output_size[d],
                window: window[d],
                dilation: dilation[d],
                input_dilation: input_dilation[d],
                padding_low: low[d],
                padding_high: high[d],
            })
        });
        let rows_and_width = |list: [u64; 3]| [list[1], list[2]];
        let channel_planes = cx.group.channel_planes().map(|(planes, _)| *planes);
        Ok(Self {
            input: channel_planes.map_or(data.operands[0], |planes| planes.source),
            geometry: Geometry {
                channel_planes,
                batch: shape[0],
                planes: Planes { input: input_size[0], output: output_size[0], window: window[0], stride: strides[0] },
                matrices: vec![],
                input_size: rows_and_width(input_size),
                channels: shape[shape.len() - 1],
                output_size: rows_and_width(output_size),
                outputs: filter[0],
                window: rows_and_width(window),
                sizes,
                sections: None,
                joined: None,
                strides: rows_and_width(strides),
                phases,
                groups: conv.groups,
            },
            element: cx.element(data.operands[0]),
            input_zero_point: conv.input_zero_point,
            open: cx.module.open_constants,
            weights: read(cx, data, conv.filter_zero_point, false)?,
            accumulator: conv.accumulator,
            epilogue: Epilogue { operands: vec![], expression: Expression::default() },
            bias: None,
            accumulation: conv.accumulation,
        })
    }

    fn of_matmul(
        cx: &Context<'_>,
        data: &InstData,
        matmul: &operators::Matmul,
        shape: &[u64],
        filter: &[u64],
    ) -> Result<Self, Unsupported> {
        let (inner, outputs) = (shape[shape.len() - 1], filter[filter.len() - 2]);
        let shared = filter[..filter.len() - 2].iter().all(|&n| n == 1);
        let matrices = if shared { vec![] } else { matrices(shape, filter, &cx.shape(data.results[0])?) };
        let rows = if shared { shape[..shape.len() - 1].iter().product() } else { shape[shape.len() - 2] };
        Ok(Self {
            input: data.operands[0],
            geometry: Geometry {
                channel_planes: None,
                batch: 1,
                planes: Planes::ONE,
                matrices,
                input_size: [1, rows],
                channels: inner,
                output_size: [1, rows],
                outputs,
                window: [1, 1],
                sizes: None,
                sections: None,
                joined: None,
                strides: [1, 1],
                phases: [1, 1, rows].map(pointwise),
                groups: 1,
            },
            element: cx.element(data.operands[0]),
            input_zero_point: matmul.left_zero_point,
            open: cx.module.open_constants,
            weights: read(cx, data, matmul.right_zero_point, !shared)?,
            accumulator: matmul.accumulator,
            epilogue: Epilogue { operands: vec![], expression: Expression::default() },
            bias: None,
            accumulation: matmul.accumulation,
        })
    }

    fn take_bias(&mut self, cx: &Context<'_>) {
        if self.accumulator == ElementType::I64 {
            self.epilogue = epilogue_of(cx);
            return;
        }
        let biased = bias::take_bias(cx);
        self.epilogue = biased.epilogue;
        let word = |b: &[u8]| i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        self.bias = biased.bias.map(|bytes| bytes.chunks_exact(4).map(word).collect());
    }

    /// Returns the initial sum of each listed output channel, as bytes, over some taps of the window. It is the bias, minus the `excess` of the
    /// staged form over `input − zero point` at these taps, plus the epilogue's offset ([`ElementWise::offsets`]). Channels that are `None` are
    /// padding.
    ///
    /// [`ElementWise::offsets`]: crate::schedule::elementwise::operands::ElementWise::offsets
    pub fn initial_sums(&self, excess: i64, offsets: &[i32], taps: &[u64], channels: impl Iterator<Item = Option<u64>>) -> Vec<u8> {
        let geometry = &self.geometry;
        let (per_output, per_tap) = (geometry.per_output(), (geometry.channels / geometry.groups) as usize);
        let read = match &self.weights {
            Weights::Integers(integers) if excess != 0 => Some((integers, integers.read())),
            _ => None,
        };
        let reader = read.as_ref().map(|(integers, bytes)| integers.reader(bytes));
        let sum = |channel: Option<u64>| -> [u8; 4] {
            let Some(channel) = channel else { return [0; 4] };
            let weights: i64 = reader.map_or(0, |reader| {
                let firsts = taps.iter().map(|tap| (channel * per_output) as usize + *tap as usize * per_tap);
                firsts.map(|first| reader.sum(first..first + per_tap)).sum()
            });
            let begin = self.bias.as_ref().map_or(0, |bias| i64::from(bias[channel as usize]));
            let offset = if offsets.len() == 1 { offsets[0] } else { offsets.get(channel as usize).copied().unwrap_or(0) };
            ((begin - excess * weights + i64::from(offset)) as i32).to_le_bytes()
        };
        channels.flat_map(sum).collect()
    }

    /// Tests whether the input is of halves, which are widened to binary32 as rows are staged.
    pub fn reads_halves(&self) -> bool {
        self.element.is_half()
    }

    /// Tests whether products are added with fused operations on a machine. All parts of a contraction agree, so that sums do not depend on the
    /// division.
    pub fn fuses(&self, machine: &Machine) -> bool {
        fuses(machine, self.accumulation.or_of_products(self.geometry.multiply_accumulates()))
    }
}

/// Returns the saturated product of some numbers.
fn product(numbers: &[u64]) -> u64 {
    numbers.iter().fold(1, |product, &n| product.saturating_mul(n))
}

/// Returns the number of last spatial dimensions with one element, without padding, in the image, its windows and its result.
fn trailing_ones(conv: &operators::Conv, extents: [&[u64]; 3]) -> usize {
    let geometry = &conv.geometry;
    let is_one = |d: &usize| extents.iter().all(|list| list[*d] == 1) && geometry.padding_low[*d] == 0 && geometry.padding_high[*d] == 0;
    (0..geometry.strides.len()).rev().take_while(is_one).count()
}

/// Returns the padding that windows need after this many elements.
fn needed_behind(elements: u64, windows: u64, stride: u64, taps: u64, dilation: u64) -> u64 {
    let reach = windows.saturating_sub(1).saturating_mul(stride).saturating_add((taps - 1) * dilation + 1);
    reach.saturating_sub(elements)
}
