//! Contractions: convolutions and matrix products in one geometry, and the choice among their schedules.

use super::expression::Unsupported;
use super::image_sizes::{Numbers, Sizes};
use super::phases::{Axis, Phases};
use super::weights::Weights;
use super::{Argument, Context, Schedule, bias, conv_direct, depthwise};
use crate::fuse::Epilogue;
use crate::ir::{ElementType, Expression, Inst, InstData, Operation, Value, operators};
use crate::kernel::KernelBuilder;
use crate::machine::{DotProduct, Machine};

/// A convolution over [batch, planes, rows, width, channels]; a matrix product is one row with a 1×1 window.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// The tensor that slides.
    pub input: Value,
    /// Batch.
    pub batch: u64,
    /// The outermost of three spatial dimensions.
    pub planes: Planes,
    /// Loops over products of matrices, each with its own right operand; none where all rows meet the same one.
    pub matrices: Vec<Matrices>,
    /// Rows and width of the input.
    pub input_size: [u64; 2],
    /// Channels of the input.
    pub channels: u64,
    /// Rows and width of the output.
    pub output_size: [u64; 2],
    /// Channels of the output.
    pub outputs: u64,
    /// Rows and width of the window.
    pub window: [u64; 2],
    /// Batch and sizes where they are not all known; those above are then their bounds.
    pub sizes: Option<Sizes>,
    /// Strides.
    pub strides: [u64; 2],
    /// What the taps of planes, rows and columns are.
    pub phases: [Phases; 3],
    /// Groups.
    pub groups: u64,
    /// Element type of the input.
    pub element: ElementType,
    /// Zero point of the input.
    pub input_zero_point: i64,
    /// Whether zero point and weights may be others when the program runs: see [`crate::ir::Module::open_constants`].
    pub open: bool,
    /// The filter, [output, planes, rows, width, channels ÷ groups].
    pub weights: Weights,
    /// The type of the sums.
    pub accumulator: ElementType,
    /// The epilogue without its bias.
    pub epilogue: Epilogue,
    /// Where integer sums begin, an output channel each.
    pub bias: Option<Vec<i32>>,
}

/// The outermost of three spatial dimensions; one plane where there are fewer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planes {
    /// Planes of the input.
    pub input: u64,
    /// Planes of the output.
    pub output: u64,
    /// Planes of the window.
    pub window: u64,
    /// Step between windows.
    pub stride: u64,
}

impl Planes {
    /// A plane alone.
    pub const ONE: Self = Self { input: 1, output: 1, window: 1, stride: 1 };
}

/// A loop over matrix products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrices {
    /// Products.
    pub count: u64,
    /// Elements from one left matrix to the next; 0 where it repeats.
    pub left: u64,
    /// Elements from one right matrix to the next; 0 where it repeats.
    pub right: u64,
}

/// Float contractions of fewer products are summed exactly as the reference does, without fused operations: they take no time,
/// and in so small a model a rounding that cancellation magnifies is a visible part of the result.
const REFERENCE_ROUNDING_BELOW: u64 = 4096;

/// An input that is dilated so much has more phases than are worth code of their own.
const MAX_PHASES: u64 = 256;

/// A window of more taps is no real model's, and they are listed.
const MAX_TAPS: u64 = 1 << 20;

/// How operands of the products are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// 16-bit input minus zero point, in pairs.
    Signed16,
    /// Unsigned bytes, in fours; the zero point is folded into the initial sums.
    Unsigned8,
    /// Signed bytes, in fours; the zero point is folded into the initial sums.
    Signed8,
    /// What [`Self::Unsigned8`] or [`Self::Signed8`] holds, in 16 bits, for a machine without products of bytes that reads the panels of
    /// one that has them. Neighbours are a pair: a four gives two sums, which are added at the end.
    Neighbours {
        /// As [`Self::Signed8`].
        signed: bool,
    },
    /// The same; the even bytes of a four are a pair and the odd ones another, as shifts take them apart. Input is staged in this order, for
    /// which every four must begin at a multiple of four elements.
    EvenAndOdd {
        /// As [`Self::Signed8`].
        signed: bool,
    },
    /// Binary32.
    Float,
}

/// For reports.
impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Neighbours { .. } => f.write_str("Bytes in neighbouring pairs"),
            Self::EvenAndOdd { .. } => f.write_str("Bytes in even and odd pairs"),
            form => write!(f, "{form:?}"),
        }
    }
}

impl Form {
    /// Whether products are of bytes in fours.
    fn is_of_bytes(self) -> bool {
        matches!(self, Self::Unsigned8 | Self::Signed8)
    }

    /// Whether fours of bytes are multiplied as pairs of 16 bits.
    fn is_widened(self) -> bool {
        matches!(self, Self::Neighbours { .. } | Self::EvenAndOdd { .. })
    }

    /// Whether products are of 16 bits in pairs.
    pub fn is_of_pairs(self) -> bool {
        self == Self::Signed16 || self.is_widened()
    }

    /// Whether the staged form may add something to every element of the input, for which the initial sums make up.
    pub fn has_excess(self) -> bool {
        self.is_of_bytes() || self.is_widened()
    }

    /// Elements of k that the products of one output take together.
    pub fn group(self) -> u64 {
        match self {
            Self::Signed16 => 2,
            Self::Unsigned8 | Self::Signed8 | Self::Neighbours { .. } | Self::EvenAndOdd { .. } => 4,
            Self::Float => 1,
        }
    }

    /// Lanes of the sums of one output.
    pub fn sums(self) -> u64 {
        if matches!(self, Self::Neighbours { .. }) { 2 } else { 1 }
    }

    /// Products of a vector that take a group of k one after the other.
    pub fn products(self) -> u64 {
        if matches!(self, Self::EvenAndOdd { .. }) { 2 } else { 1 }
    }
}

impl Contraction {
    /// Reads a `conv` or `matmul`.
    ///
    /// # Errors
    /// For geometries and types without a schedule.
    pub fn new(cx: &Context<'_>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let (input, filter) = (data.operands[0], data.operands[1]);
        let filter_shape = cx.shape(filter)?;
        let mut contraction = match &data.operation {
            Operation::Conv(conv) => Self::of_conv(cx, data, conv, &cx.largest_shape(input)?, &filter_shape)?,
            Operation::Matmul(matmul) => Self::of_matmul(cx, data, matmul, &cx.shape(input)?, &filter_shape)?,
            other => return Err(Unsupported::new(format!("operator {}", other.op()))),
        };
        let accumulates = match contraction.element {
            ElementType::F32 => contraction.weights.are_floats() && contraction.accumulator == ElementType::F32,
            ElementType::I8 | ElementType::U8 | ElementType::I16 => {
                !contraction.weights.are_floats() && matches!(contraction.accumulator, ElementType::I32 | ElementType::I64)
            }
            _ => false,
        };
        let whole = contraction.element != ElementType::I16 || contraction.input_zero_point == 0;
        if !accumulates || !whole {
            let (element, filter, sum) = (contraction.element, cx.element(filter), contraction.accumulator);
            return Err(Unsupported::new(format!("{} of {element} and {filter} summed in {sum}", data.op())));
        }
        contraction.take_bias(cx);
        Ok(contraction)
    }

    fn of_conv(cx: &Context<'_>, data: &InstData, conv: &operators::Conv, shape: &[u64], filter: &[u64]) -> Result<Self, Unsupported> {
        let output = cx.largest_shape(data.results[0])?;
        let (spatial, sizes) = (shape.len() - 2, Sizes::of(cx, data, &conv.geometry)?);
        if spatial > 3 {
            return Err(Unsupported::new(format!("convolution over {spatial} dimensions")));
        }
        // Fewer dimensions are a single row, and a single plane.
        let three = |list: &[u64], one: u64| -> [u64; 3] {
            let at = |d: usize| (d + spatial).checked_sub(3).map_or(one, |i| list[i]);
            [at(0), at(1), at(2)]
        };
        let signed = |list: &[i64], one: u64| three(&list.iter().map(|&n| n as u64).collect::<Vec<_>>(), one);
        let geometry = &conv.geometry;
        let (input_size, output_size, window) = (three(&shape[1..], 1), three(&output[1..], 1), three(&filter[1..], 1));
        if product(&window) > MAX_TAPS {
            return Err(Unsupported::new(format!("a convolution with a window of {window:?}")));
        }
        let (strides, dilation) = (signed(&geometry.strides, 1), signed(&geometry.dilation, 1));
        let (low, high) = (signed(&geometry.padding_low, 0), signed(&geometry.padding_high, 0));
        let input_dilation = signed(&conv.input_dilation, 1);
        if product(&input_dilation) > MAX_PHASES {
            return Err(Unsupported::new(format!("convolution of an input dilated by {input_dilation:?}")));
        }
        if sizes.is_some() && input_dilation != [1; 3] {
            return Err(Unsupported::new("convolution of a dilated input whose extents are known only when the program runs"));
        }
        let high = if sizes.is_some() {
            [0, 1, 2].map(|d| needed_behind(input_size[d] + low[d], output_size[d], strides[d], (window[d], dilation[d])))
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
        Ok(Self {
            input: data.operands[0],
            batch: shape[0],
            planes: Planes { input: input_size[0], output: output_size[0], window: window[0], stride: strides[0] },
            matrices: vec![],
            input_size: rows_and_width(input_size),
            channels: shape[shape.len() - 1],
            output_size: rows_and_width(output_size),
            outputs: filter[0],
            window: rows_and_width(window),
            sizes,
            strides: rows_and_width(strides),
            phases,
            groups: conv.groups,
            element: cx.element(data.operands[0]),
            input_zero_point: conv.input_zero_point,
            open: cx.module.open_constants,
            weights: Weights::read(cx, data.operands[1], conv.filter_zero_point, false)?,
            accumulator: conv.accumulator,
            epilogue: Epilogue { operands: vec![], expression: Expression::default() },
            bias: None,
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
            batch: 1,
            planes: Planes::ONE,
            matrices,
            input_size: [1, rows],
            channels: inner,
            output_size: [1, rows],
            outputs,
            window: [1, 1],
            sizes: None,
            strides: [1, 1],
            phases: [1, 1, rows].map(pointwise),
            groups: 1,
            element: cx.element(data.operands[0]),
            input_zero_point: matmul.left_zero_point,
            open: cx.module.open_constants,
            weights: Weights::read(cx, data.operands[1], matmul.right_zero_point, !shared)?,
            accumulator: matmul.accumulator,
            epilogue: Epilogue { operands: vec![], expression: Expression::default() },
            bias: None,
        })
    }

    fn take_bias(&mut self, cx: &Context<'_>) {
        if self.accumulator == ElementType::I64 {
            self.epilogue = super::epilogue_of(cx);
            return;
        }
        let biased = bias::take_bias(cx);
        self.epilogue = biased.epilogue;
        let word = |b: &[u8]| i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        self.bias = biased.bias.map(|bytes| bytes.chunks_exact(4).map(word).collect());
    }

    /// Where the sum of each listed output channel over some taps of the window begins, as bytes: the bias, less what the staged
    /// form's `excess` over `input − zero point` adds at those taps, and the epilogue's offset ([`ElementWise::offsets`]). Channels that are
    /// `None` pad.
    ///
    /// [`ElementWise::offsets`]: super::operands::ElementWise::offsets
    pub fn initial_sums(&self, excess: i64, offsets: &[i32], taps: &[u64], channels: impl Iterator<Item = Option<u64>>) -> Vec<u8> {
        let (per_output, per_tap) = (self.per_output(), self.channels / self.groups);
        let sum = |channel: Option<u64>| -> [u8; 4] {
            let Some(channel) = channel else { return [0; 4] };
            let weights: i64 = match &self.weights {
                Weights::Integers(integers) if excess != 0 => {
                    let (reader, per_tap) = (integers.reader(), per_tap as usize);
                    let firsts = taps.iter().map(|tap| (channel * per_output) as usize + *tap as usize * per_tap);
                    firsts.map(|first| reader.sum(first..first + per_tap)).sum()
                }
                _ => 0,
            };
            let begin = self.bias.as_ref().map_or(0, |bias| i64::from(bias[channel as usize]));
            let offset = if offsets.len() == 1 { offsets[0] } else { offsets.get(channel as usize).copied().unwrap_or(0) };
            ((begin - excess * weights + i64::from(offset)) as i32).to_le_bytes()
        };
        channels.flat_map(sum).collect()
    }

    /// Products that one output element adds.
    pub fn per_output(&self) -> u64 {
        self.planes.window * self.window[0] * self.window[1] * (self.channels / self.groups)
    }

    /// Multiply-accumulate operations, padded taps counted.
    pub fn multiply_accumulates(&self) -> u64 {
        let [rows, width] = self.output_size;
        let factors = [self.batch, self.planes.output, rows, width, self.outputs, self.per_output()];
        self.matrices.iter().map(|m| m.count).chain(factors).fold(1, u64::saturating_mul)
    }

    /// Whether products are added with a fused operation on a machine.
    pub fn fuses(&self, machine: &Machine) -> bool {
        machine.fma && self.multiply_accumulates() >= REFERENCE_ROUNDING_BELOW
    }

    /// The sizes in a kernel. To stand before all loops.
    pub fn numbers(&self, b: &mut KernelBuilder, arguments: &mut Vec<Argument>) -> Numbers {
        let sizes = self.sizes.clone().unwrap_or_else(|| Sizes::known(self.batch, self.input_size, self.output_size));
        sizes.load(b, arguments, self.channels)
    }

    /// Whether taps fall outside the input, or may do so.
    pub fn is_padded(&self) -> bool {
        self.sizes.is_some() || self.phases.iter().any(|p| p.padding_low != 0 || p.padding_high != 0)
    }

    /// Whether neighbouring output positions meet the same taps of the filter.
    pub fn is_one_phase(&self) -> bool {
        self.phases.iter().all(|p| p.list.len() == 1 && p.step == 1)
    }

    /// Whether every output pixel reads its own input pixel alone.
    pub fn is_pointwise(&self) -> bool {
        self.planes.window == 1
            && self.planes.stride == 1
            && self.is_one_phase()
            && self.window == [1, 1]
            && self.strides == [1, 1]
            && !self.is_padded()
    }

    /// The largest magnitude of an integer input minus its zero point.
    fn input_magnitude(&self) -> Option<i64> {
        let (low, high) = self.element.integer_range()?;
        if self.open {
            return Some((high - low) as i64);
        }
        Some((low as i64 - self.input_zero_point).abs().max((high as i64 - self.input_zero_point).abs()))
    }

    /// The interval of the sums, from the weights and the type of the input; `None` when it is not known.
    pub fn range(&self) -> Option<(i64, i64)> {
        if self.open {
            return None;
        }
        let weights = self.weights.magnitudes(self.per_output())?.largest_sum;
        let bias = self.bias.iter().flatten().map(|&b| i64::from(b).abs()).max().unwrap_or(0);
        let bound = weights.checked_mul(self.input_magnitude()?)?.checked_add(bias)?;
        Some((-bound, bound))
    }

    /// The intervals of the sums of all output channels, for constant weights whose sums stay within 32 bits; else none. That of one channel lies
    /// around its bias, which may be far from 0 and from those of others.
    fn channel_ranges(&self) -> Option<Vec<(i64, i64)>> {
        let magnitudes = self.weights.magnitudes(self.per_output()).filter(|_| !self.open)?;
        let input = self.input_magnitude()?;
        let range = |(channel, &weights): (usize, &i64)| {
            let bias = self.bias.as_ref().map_or(Some(0), |bias| bias.get(channel).copied())?;
            let bound = weights.checked_mul(input)?;
            let (low, high) = (i64::from(bias) - bound, i64::from(bias) + bound);
            (i32::try_from(low).is_ok() && i32::try_from(high).is_ok()).then_some((low, high))
        };
        let ranges: Vec<(i64, i64)> = magnitudes.sums.iter().enumerate().map(range).collect::<Option<_>>()?;
        (ranges.len() as u64 == self.outputs).then_some(ranges)
    }

    /// What is known of the sums.
    pub fn sum_ranges(&self) -> SumRanges {
        SumRanges { all: self.range(), channels: self.channel_ranges().unwrap_or_default() }
    }

    /// How many products a 32-bit sum holds before it must be added to a 64-bit one; `None` where it holds all of them, or where
    /// the result is modulo 2³² anyway.
    pub fn products_in_32_bits(&self) -> Option<u64> {
        if self.accumulator != ElementType::I64 || self.range().is_some_and(|(_, high)| high <= i64::from(i32::MAX)) {
            return None;
        }
        let weight = self.weights.magnitudes(self.per_output())?.largest;
        let weight = if self.open { i64::from(u8::MAX) } else { weight };
        let product = weight.checked_mul(self.input_magnitude()?)?.max(1);
        Some((i64::from(i32::MAX) / product) as u64)
    }

    /// The form of the operands on a machine that reads the same panels as those of all levels.
    pub fn form(&self, machine: &Machine, levels: &[&Machine]) -> Form {
        let own = self.form_alone(machine.dot);
        let bytes = levels.iter().map(|level| self.form_alone(level.dot)).find(|form| form.is_of_bytes());
        let Some(bytes) = bytes.filter(|_| own == Form::Signed16) else { return own };
        let signed = bytes == Form::Signed8;
        // Where vectors are short and shifts overwrite their operand, or no other pixel shares the weights, taking bytes apart costs more
        // than two sums.
        let pixels = self.batch * self.planes.output * self.output_size[0] * self.output_size[1];
        let apart = machine.splits_bytes && pixels > 1 && self.reads_whole_fours();
        if apart { Form::EvenAndOdd { signed } } else { Form::Neighbours { signed } }
    }

    /// Whether every tap of every pixel begins at a multiple of four elements, and products read the weights as they are stored.
    fn reads_whole_fours(&self) -> bool {
        (self.channels / self.groups).is_multiple_of(4) && self.weights.are_whole_bytes()
    }

    /// The form of the operands on a machine alone.
    fn form_alone(&self, dot: DotProduct) -> Form {
        let bytes = self.weights.fit_signed_byte(self.open) && self.element.bits() == 8 && self.products_in_32_bits().is_none();
        match dot {
            _ if self.weights.are_floats() => Form::Float,
            DotProduct::UnsignedSigned8 if bytes => Form::Unsigned8,
            DotProduct::Signed8 if bytes && self.element == ElementType::I8 => Form::Signed8,
            _ => Form::Signed16,
        }
    }
}

/// Intervals of the sums of a contraction.
pub struct SumRanges {
    /// Of all, if it is known.
    pub all: Option<(i64, i64)>,
    /// Of those of each output channel, if they are known.
    pub channels: Vec<(i64, i64)>,
}

/// The product of some numbers, or the largest number if it is larger.
fn product(numbers: &[u64]) -> u64 {
    numbers.iter().fold(1, |product, &n| product.saturating_mul(n))
}

/// How much padding windows need after this many elements.
fn needed_behind(elements: u64, windows: u64, stride: u64, (taps, dilation): (u64, u64)) -> u64 {
    let reach = windows.saturating_sub(1).saturating_mul(stride).saturating_add((taps - 1) * dilation + 1);
    reach.saturating_sub(elements)
}

/// Phases of a dimension with a window of one tap.
pub fn pointwise(extent: u64) -> Phases {
    let axis = Axis { input: extent, output: extent, window: 1, dilation: 1, input_dilation: 1, padding_low: 0, padding_high: 0 };
    Phases::new(&axis)
}

/// The loops over matrix products of broadcast leading dimensions, neighbours joined where one step does for both.
fn matrices(left: &[u64], right: &[u64], output: &[u64]) -> Vec<Matrices> {
    let rank = output.len() - 2;
    let steps = |shape: &[u64]| -> Vec<u64> {
        let (leading, matrix) = shape.split_at(shape.len() - 2);
        let mut step = matrix.iter().product();
        let mut steps = vec![0; rank];
        for (d, &extent) in leading.iter().enumerate().rev() {
            steps[rank - leading.len() + d] = if extent == 1 { 0 } else { step };
            step *= extent;
        }
        steps
    };
    let (left, right) = (steps(left), steps(right));
    let mut loops: Vec<Matrices> = Vec::new();
    for d in (0..rank).rev().filter(|&d| output[d] != 1) {
        let outer = Matrices { count: output[d], left: left[d], right: right[d] };
        match loops.first_mut() {
            Some(inner) if outer.left == inner.left * inner.count && outer.right == inner.right * inner.count => inner.count *= outer.count,
            _ => loops.insert(0, outer),
        }
    }
    loops
}

/// The schedule of a `conv` or `matmul`.
///
/// # Errors
/// For geometries and types without a schedule.
pub fn choose<'a>(cx: Context<'a>, root: Inst) -> Result<Box<dyn Schedule + 'a>, Unsupported> {
    let contraction = Contraction::new(&cx, root)?;
    let multiplied = contraction.groups == contraction.channels && contraction.channels > 1;
    let taps = contraction.window[0] * contraction.window[1];
    if multiplied && taps <= depthwise::MAX_TAPS && contraction.planes == Planes::ONE && contraction.is_one_phase() {
        return Ok(Box::new(depthwise::DepthwiseSchedule::new(cx, contraction)?));
    }
    Ok(Box::new(conv_direct::DirectSchedule::new(cx, contraction)?))
}
