//! An XNNPACK graph as plain data: tensors, and nodes in the order in which they run. Every id names a tensor, every list is as long as it must be.

use crate::frontend::delegates::container::Source;
use crate::ir::{ElementType, Interval};
use crate::operators::quantization::Affine;
use std::fmt;

/// A graph of one delegate.
#[derive(Clone, Debug)]
pub struct Subgraph {
    /// The tensors; nodes name them by position.
    pub tensors: Vec<Tensor>,
    /// The nodes, in the order of their dependences.
    pub nodes: Vec<Node>,
    /// The arguments that the caller gives.
    pub inputs: Vec<External>,
    /// The arguments that the caller gets.
    pub outputs: Vec<External>,
    /// Bytes of constants.
    pub constants: Vec<Source>,
}

impl Subgraph {
    /// The arguments of a call after the graph's inputs that are none of its outputs.
    pub fn missing(&self, count: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.inputs.iter().map(|external| external.argument + 1).max().unwrap_or(0);
        (first..count).filter(|&argument| !self.outputs.iter().any(|external| external.argument == argument))
    }
}

/// A tensor that is an argument of the delegate's call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct External {
    /// The position of the argument.
    pub argument: usize,
    /// The tensor.
    pub tensor: usize,
}

/// Elements as the format names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datatype {
    /// Elements of a type of ours, quantized or not.
    Element(ElementType),
    /// Bytes whose scale and zero point are found when the graph runs, one each row.
    DynamicBytes,
    /// Four bits in excess code (8 more), two a byte, rows in whole bytes.
    Nibbles,
}

impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(element) => write!(f, "{element}"),
            Self::DynamicBytes => f.write_str("qd8"),
            Self::Nibbles => f.write_str("i4"),
        }
    }
}

/// The mapping of integers to real numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Quantization {
    /// None: the elements are no quantized integers.
    None,
    /// One scale and zero point.
    Tensor(Affine),
    /// A scale for each index along a dimension.
    Channels {
        /// The dimension.
        axis: usize,
        /// The scales.
        scales: Scales,
    },
    /// A scale and zero point for each row, computed at run time. A row is the elements of the last dimensions.
    Rows {
        /// The number of dimensions of a row.
        dimensions: usize,
    },
    /// A scale for each run of elements along the last dimension.
    Groups {
        /// Elements of a run.
        size: u64,
        /// The scales, row by row.
        scales: Scales,
    },
}

/// Scales of channels or groups.
#[derive(Clone, PartialEq, Debug)]
pub enum Scales {
    /// Numbers in the graph.
    Numbers(Vec<f32>),
    /// A constant: binary32 of channels, bfloat16 of groups.
    Constant {
        /// Its number.
        constant: usize,
        /// The number of scales.
        count: u64,
    },
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its elements.
    pub datatype: Datatype,
    /// The extents; for other tensors than constants they are bounds.
    pub dims: Vec<u64>,
    /// The mapping of integers to real numbers.
    pub quantization: Quantization,
    /// The number of the constant, if it is one.
    pub constant: Option<usize>,
}

/// No clamp.
pub const UNBOUNDED: Interval<f32> = Interval::new(f32::NEG_INFINITY, f32::INFINITY);

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the format.
    pub name: &'static str,
    /// Its function.
    pub work: Work,
    /// The bounds to which its result is clamped.
    pub clamp: Option<Interval<f32>>,
    /// The result.
    pub output: usize,
}

/// A function of one number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Function {
    /// |x|
    Abs,
    /// ⌈x⌉
    Ceiling,
    /// x between the node's bounds.
    Clamp,
    /// x in another type.
    Convert,
    /// x
    Copy,
    /// cos x
    Cos,
    /// x, or α(eˣ − 1) below 0.
    Elu(f32),
    /// eˣ
    Exp,
    /// ⌊x⌋
    Floor,
    /// x · Φ(x), Φ being the normal distribution.
    Gelu,
    /// x · min(max(x + 3, 0), 6) ÷ 6
    HardSwish,
    /// x, or αx below 0.
    LeakyRelu(f32),
    /// ln x
    Log,
    /// −x
    Negate,
    /// 1 ÷ √x
    ReciprocalSquareRoot,
    /// 1 ÷ (1 + e⁻ˣ)
    Sigmoid,
    /// sin x
    Sin,
    /// x²
    Square,
    /// √x
    SquareRoot,
    /// tanh x
    Tanh,
}

/// A function of two numbers, which broadcast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combination {
    /// a + b
    Add,
    /// a ÷ b
    Divide,
    /// The larger.
    Maximum,
    /// The smaller.
    Minimum,
    /// a × b
    Multiply,
    /// a, or a × b below 0.
    Prelu,
    /// a − b
    Subtract,
}

/// Windows over rows and columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Rows and columns of taps.
    pub size: [u64; 2],
    /// Steps between windows.
    pub strides: [u64; 2],
    /// Steps between taps.
    pub dilation: [u64; 2],
    /// Elements before the first row and column.
    pub before: [u64; 2],
    /// Elements after the last.
    pub after: [u64; 2],
    /// `true` if padding is for ⌈extent ÷ stride⌉ windows.
    pub same: bool,
}

/// The kind of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConvolutionKind {
    /// Filter `[O, rows, columns, C ÷ groups]`.
    Plain,
    /// Filter `[1, rows, columns, O]`.
    Depthwise,
    /// The transpose of a plain one. The result has these additional rows and columns at its end.
    Transposed([u64; 2]),
}

/// Pooling over windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pooling {
    /// The mean of the elements inside the image.
    Average,
    /// The maximum.
    Max,
}

/// The operation of a node, with tensors by position.
#[derive(Clone, Debug)]
pub enum Work {
    /// A function of each element.
    Unary { function: Function, input: usize },
    /// A function of pairs of elements.
    Binary { combination: Combination, inputs: [usize; 2] },
    /// A convolution of an image, channels last.
    Convolution { kind: ConvolutionKind, window: Window, groups: u64, input: usize, filter: usize, bias: Option<usize> },
    /// Rows times a matrix `[O, K]`, or `[K, O]` if `turned`.
    Product { input: usize, filter: usize, bias: Option<usize>, turned: bool },
    /// `[… M, K] × [… K, N]`; `turned` operands are transposed.
    BatchProduct { inputs: [usize; 2], turned: [bool; 2] },
    /// Softmax over the last dimension.
    Softmax { input: usize },
    /// softmax(q · scale × kᵀ + mask) × v
    Attention { query: usize, key: usize, value: usize, scale: usize, mask: usize },
    /// Pooling over windows.
    Pool { pooling: Pooling, window: Window, input: usize },
    /// The largest of each of the windows that lie side by side, and which it is.
    LargestOf { size: [u64; 2], input: usize, index: usize },
    /// The mean of each channel of an image, with rows and columns kept as dimensions or not.
    Mean { input: usize, keeps_dimensions: bool },
    /// Bilinear interpolation.
    Resize { size: [u64; 2], aligned: bool, input: usize },
    /// Dimensions permuted.
    Transpose { permutation: Vec<usize>, input: usize },
    /// Another shape; the extent for 0 follows from the number of elements.
    Reshape { shape: Vec<u64>, input: usize },
    /// A box; a size of 0 extends to the end.
    Slice { offsets: Vec<u64>, sizes: Vec<u64>, input: usize },
    /// A border of a number.
    Pad { before: Vec<u64>, after: Vec<u64>, number: f32, input: usize },
    /// Joined along a dimension.
    Join { axis: usize, inputs: Vec<usize> },
}

impl Work {
    /// The tensors that it reads.
    pub fn operands(&self) -> Vec<usize> {
        match *self {
            Self::Unary { input, .. }
            | Self::Softmax { input }
            | Self::Pool { input, .. }
            | Self::LargestOf { input, .. }
            | Self::Mean { input, .. }
            | Self::Resize { input, .. }
            | Self::Transpose { input, .. }
            | Self::Reshape { input, .. }
            | Self::Slice { input, .. }
            | Self::Pad { input, .. } => vec![input],
            Self::Binary { inputs, .. } | Self::BatchProduct { inputs, .. } => inputs.to_vec(),
            Self::Convolution { input, filter, bias, .. } | Self::Product { input, filter, bias, .. } => {
                [input, filter].into_iter().chain(bias).collect()
            }
            Self::Attention { query, key, value, scale, mask } => vec![query, key, value, scale, mask],
            Self::Join { ref inputs, .. } => inputs.clone(),
        }
    }
}
