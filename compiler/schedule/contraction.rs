//! Contractions: convolutions and matrix products in one geometry, and the choice among their schedules.

use super::expression::Unsupported;
use super::{Context, Schedule, bias, conv_direct, depthwise};
use crate::fuse::Epilogue;
use crate::ir::{ElementType, Expression, Inst, Op, Scalar, Value};
use crate::machine::DotProduct;

/// A convolution over [batch, rows, width, channels]; a matrix product is one row with a 1×1 window.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// The tensor that slides.
    pub input: Value,
    /// Batch.
    pub batch: u64,
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
    /// Strides.
    pub strides: [u64; 2],
    /// Dilation.
    pub dilation: [u64; 2],
    /// Padding before the first row and column.
    pub padding_low: [u64; 2],
    /// Padding behind the last row and column.
    pub padding_high: [u64; 2],
    /// Groups.
    pub groups: u64,
    /// Element type of the input.
    pub element: ElementType,
    /// Zero point of the input.
    pub input_zero_point: i64,
    /// Whether zero point and weights may be others when the program runs: see [`crate::ir::Module::open_constants`].
    pub open: bool,
    /// Whether every integer weight fits a signed byte, whatever takes its place.
    pub weights_fit_byte: bool,
    /// The filter minus its zero point, [output, rows, width, channels ÷ groups]: integers, or floats by value.
    pub weights: Weights,
    /// The epilogue without its bias.
    pub epilogue: Epilogue,
    /// Where integer sums begin, an output channel each.
    pub bias: Option<Vec<i32>>,
}

/// Float contractions of fewer products are summed exactly as the reference does, without fused operations: they take no time,
/// and in so small a model a rounding that cancellation magnifies is a visible part of the result.
const REFERENCE_ROUNDING_BELOW: u64 = 4096;

/// The constant right operand, zero point subtracted.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Integers that fit 16 bits.
    Integers(Vec<i16>),
    /// Floats.
    Floats(Vec<f32>),
}

impl Weights {
    /// Number of weights.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(list) => list.len(),
            Self::Floats(list) => list.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every integer fits a signed byte.
    pub fn fit_signed_byte(&self) -> bool {
        matches!(self, Self::Integers(list) if list.iter().all(|&w| i8::try_from(w).is_ok()))
    }
}

/// How operands of the products are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// 16-bit input minus zero point, in pairs.
    Signed16,
    /// Unsigned bytes, in fours; the zero point is folded into the initial sums.
    Unsigned8,
    /// Signed bytes, in fours; the zero point is folded into the initial sums.
    Signed8,
    /// Binary32.
    Float,
}

impl Contraction {
    /// Reads a `conv` or `matmul`.
    ///
    /// # Errors
    /// For geometries and types without a schedule.
    pub fn new(cx: &Context<'_>, root: Inst) -> Result<Self, Unsupported> {
        let data = &cx.function.insts[root];
        let (input, filter) = (data.operands[0], data.operands[1]);
        let (shape, filter_shape) = (cx.shape(input)?, cx.shape(filter)?);
        let element = cx.element(input);
        let mut contraction = match data.op {
            Op::Conv => Self::of_conv(cx, data, &shape, &filter_shape)?,
            _ => Self::of_matmul(data, &shape, &filter_shape)?,
        };
        contraction.weights = read_weights(cx, filter, data.op, data)?;
        contraction.open = cx.module.open_constants;
        contraction.weights_fit_byte = match contraction.open {
            true => cx.element(filter) == ElementType::I8 && filter_zero_point(data) == 0,
            false => contraction.weights.fit_signed_byte(),
        };
        let fits = match element {
            ElementType::F32 => matches!(contraction.weights, Weights::Floats(_)),
            ElementType::I8 | ElementType::U8 => matches!(contraction.weights, Weights::Integers(_)),
            _ => false,
        };
        contraction.take_bias(cx);
        let accumulator = data.element("accumulator");
        if !fits || !matches!(accumulator, ElementType::I32 | ElementType::F32) {
            let filter = cx.element(filter);
            return Err(Unsupported::new(format!("{} of {element} and {filter} summed in {accumulator}", data.op.row().name)));
        }
        Ok(contraction)
    }

    fn of_conv(cx: &Context<'_>, data: &crate::ir::InstData, shape: &[u64], filter: &[u64]) -> Result<Self, Unsupported> {
        let attributes = data.conv();
        let output = cx.shape(data.results[0])?;
        let spatial = shape.len() - 2;
        if spatial > 2 {
            return Err(Unsupported::new(format!("convolution over {spatial} dimensions")));
        }
        // One spatial dimension is a single row.
        let pair = |list: &[u64], one: u64| if spatial == 2 { [list[0], list[1]] } else { [one, list[0]] };
        let signed = |list: &[i64], one: u64| pair(&list.iter().map(|&n| n as u64).collect::<Vec<_>>(), one);
        let geometry = &attributes.geometry;
        Ok(Self {
            input: data.operands[0],
            batch: shape[0],
            input_size: pair(&shape[1..], 1),
            channels: shape[shape.len() - 1],
            output_size: pair(&output[1..], 1),
            outputs: filter[0],
            window: pair(&filter[1..], 1),
            strides: signed(&geometry.strides, 1),
            dilation: signed(&geometry.dilation, 1),
            padding_low: signed(&geometry.padding_low, 0),
            padding_high: signed(&geometry.padding_high, 0),
            groups: attributes.groups,
            element: cx.element(data.operands[0]),
            input_zero_point: attributes.input_zero_point,
            open: false,
            weights_fit_byte: false,
            weights: Weights::Floats(vec![]),
            epilogue: Epilogue { operands: vec![], expression: Expression::default() },
            bias: None,
        })
    }

    fn of_matmul(data: &crate::ir::InstData, shape: &[u64], filter: &[u64]) -> Result<Self, Unsupported> {
        if filter[..filter.len() - 2].iter().any(|&n| n != 1) {
            return Err(Unsupported::new("matmul with a batched right operand"));
        }
        let (inner, rows) = (shape[shape.len() - 1], shape[..shape.len() - 1].iter().product());
        Ok(Self {
            input: data.operands[0],
            batch: 1,
            input_size: [1, rows],
            channels: inner,
            output_size: [1, rows],
            outputs: filter[filter.len() - 2],
            window: [1, 1],
            strides: [1, 1],
            dilation: [1, 1],
            padding_low: [0, 0],
            padding_high: [0, 0],
            groups: 1,
            element: ElementType::F32,
            input_zero_point: data.int("left_zero_point"),
            open: false,
            weights_fit_byte: false,
            weights: Weights::Floats(vec![]),
            epilogue: Epilogue { operands: vec![], expression: Expression::default() },
            bias: None,
        })
    }

    fn take_bias(&mut self, cx: &Context<'_>) {
        let biased = bias::take_bias(cx);
        self.epilogue = biased.epilogue;
        let word = |b: &[u8]| i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        self.bias = biased.bias.map(|bytes| bytes.chunks_exact(4).map(word).collect());
    }

    /// Where the sum of each listed output channel begins, as bytes: the bias, less what the staged form's `excess` over
    /// `input − zero point` adds. Channels that are `None` pad.
    pub fn initial_sums(&self, excess: i64, channels: impl Iterator<Item = Option<u64>>) -> Vec<u8> {
        let per_output = (self.weights.len() as u64 / self.outputs.max(1)) as usize;
        let sum = |channel: Option<u64>| -> [u8; 4] {
            let Some(channel) = channel.map(|c| c as usize) else { return [0; 4] };
            let Weights::Integers(weights) = &self.weights else { return [0; 4] };
            let first = channel * per_output;
            let weights: i64 = weights[first..first + per_output].iter().map(|&w| i64::from(w)).sum();
            let begin = self.bias.as_ref().map_or(0, |bias| i64::from(bias[channel]));
            ((begin - excess * weights) as i32).to_le_bytes()
        };
        channels.flat_map(sum).collect()
    }

    /// Multiply-accumulate operations, padded taps counted.
    pub fn multiply_accumulates(&self) -> u64 {
        let [rows, width] = self.output_size;
        self.batch * rows * width * self.outputs * self.window[0] * self.window[1] * (self.channels / self.groups)
    }

    /// Whether products are added with a fused operation on a machine.
    pub fn fuses(&self, machine: &crate::machine::Machine) -> bool {
        machine.fma && self.multiply_accumulates() >= REFERENCE_ROUNDING_BELOW
    }

    /// Whether taps fall outside the input.
    pub fn is_padded(&self) -> bool {
        self.padding_low != [0, 0] || self.padding_high != [0, 0]
    }

    /// Whether every output pixel reads its own input pixel alone.
    pub fn is_pointwise(&self) -> bool {
        self.window == [1, 1] && self.strides == [1, 1] && !self.is_padded()
    }

    /// The interval of the sums, from the weights and the type of the input; `None` when it is not known.
    pub fn range(&self) -> Option<(i64, i64)> {
        let Weights::Integers(weights) = &self.weights else { return None };
        if self.open {
            return None;
        }
        let (low, high) = self.element.integer_range()?;
        let largest = (low as i64 - self.input_zero_point).abs().max((high as i64 - self.input_zero_point).abs());
        let per_output = (weights.len() as u64 / self.outputs.max(1)) as usize;
        let sums = weights.chunks(per_output.max(1)).map(|w| w.iter().map(|&w| i64::from(w).abs()).sum::<i64>());
        let bias = self.bias.iter().flatten().map(|&b| i64::from(b).abs()).max().unwrap_or(0);
        let bound = sums.max().unwrap_or(0).checked_mul(largest)?.checked_add(bias)?;
        Some((-bound, bound))
    }

    /// The form of the operands on a machine.
    pub fn form(&self, dot: DotProduct) -> Form {
        match (&self.weights, dot) {
            (Weights::Floats(_), _) => Form::Float,
            (Weights::Integers(_), DotProduct::UnsignedSigned8) if self.weights_fit_byte => Form::Unsigned8,
            (Weights::Integers(_), DotProduct::Signed8) if self.weights_fit_byte && self.element == ElementType::I8 => Form::Signed8,
            (Weights::Integers(_), _) => Form::Signed16,
        }
    }
}

fn filter_zero_point(data: &crate::ir::InstData) -> i64 {
    data.int(if data.op == Op::Conv { "filter_zero_point" } else { "right_zero_point" })
}

fn read_weights(cx: &Context<'_>, filter: Value, op: Op, data: &crate::ir::InstData) -> Result<Weights, Unsupported> {
    let element = cx.element(filter);
    let Some(constant) = cx.constant_data(filter) else {
        return Err(Unsupported::new(format!("{} with a right operand that is no constant", op.row().name)));
    };
    let bytes = constant.bytes();
    let zero_point = filter_zero_point(data);
    Ok(match element {
        ElementType::F32 => {
            let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            Weights::Floats(bytes.chunks_exact(4).map(float).collect())
        }
        ElementType::I8 | ElementType::U8 => {
            let integer = |&b: &u8| Scalar::from_bits(element, u64::from(b)).as_i64() - zero_point;
            let list: Option<Vec<i16>> = bytes.iter().map(|b| i16::try_from(integer(b)).ok()).collect();
            Weights::Integers(list.ok_or_else(|| Unsupported::new("a filter zero point outside its type"))?)
        }
        other => return Err(Unsupported::new(format!("{} with a {other} right operand", op.row().name))),
    })
}

/// The schedule of a `conv` or `matmul`.
///
/// # Errors
/// For geometries and types without a schedule.
pub fn choose<'a>(cx: Context<'a>, root: Inst) -> Result<Box<dyn Schedule + 'a>, Unsupported> {
    let mut contraction = Contraction::new(&cx, root)?;
    contraction.element = cx.element(contraction.input);
    let multiplied = contraction.groups == contraction.channels && contraction.channels > 1;
    let taps = contraction.window[0] * contraction.window[1];
    if multiplied && taps <= depthwise::MAX_TAPS {
        return Ok(Box::new(depthwise::DepthwiseSchedule::new(cx, contraction)?));
    }
    Ok(Box::new(conv_direct::DirectSchedule::new(cx, contraction)?))
}
