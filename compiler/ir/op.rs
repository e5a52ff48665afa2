//! The one table of operators. The text form, arity checks, the verifier, the coverage document and the random-graph
//! generator all read it; an operator that is not a row here does not exist.

use super::attribute::AttributeKind::{self, *};
use super::infer::{self, Infer};

/// An operator of the tensor language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Op {
    /// A constant tensor.
    Constant,
    /// An element-wise expression over broadcast operands.
    Map,
    /// N-dimensional convolution, channels last.
    Conv,
    /// Batched product with a transposed right operand.
    Matmul,
    /// Fourier transforms of complex numbers.
    Fourier,
    /// Fourier transforms of real numbers.
    RealFourier,
    /// A reduction over a sliding window, channels last.
    Window,
    /// A reduction over whole axes, which stay with extent 1.
    Reduce,
    /// The position of the smallest or largest element along an axis.
    ArgReduce,
    /// The same elements in row-major order under another shape.
    Reshape,
    /// The same bytes as elements of another type.
    Bitcast,
    /// Permutation of dimensions.
    Transpose,
    /// Repetition along axes of extent 1 and new leading axes.
    Broadcast,
    /// A strided box.
    Slice,
    /// A border of one value.
    Pad,
    /// A border mirrored from the inside.
    MirrorPad,
    /// Tensors joined along an axis.
    Concat,
    /// Slices picked by an index tensor.
    Gather,
    /// Slices combined into a tensor at places picked by an index tensor.
    Scatter,
    /// Partial results of a reduction along an axis.
    Scan,
    /// The largest or smallest elements of the last dimension, in order.
    TopK,
    /// The best of overlapping boxes.
    NonMaxSuppression,
    /// 0, 1, 2, … along an axis.
    Iota,
    /// An extent of a tensor.
    ExtentOf,
    /// An index number.
    IndexConstant,
    /// Arithmetic on two index values.
    IndexBinary,
    /// An index read from a one-element integer tensor.
    IndexLoad,
    /// A one-element integer tensor holding an index.
    IndexTensor,
    /// One of two functions.
    If,
    /// A function repeated while another says so.
    While,
    /// A function.
    Call,
    /// The contents of a state.
    LoadState,
    /// New contents of a state.
    StoreState,
    /// A function of the application.
    External,
}

/// How many operands or results an instruction has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Exactly so many.
    Exactly(usize),
    /// That many or more.
    AtLeast(usize),
}

impl Arity {
    /// Whether a count is allowed.
    pub fn allows(self, count: usize) -> bool {
        match self {
            Self::Exactly(n) => count == n,
            Self::AtLeast(n) => count >= n,
        }
    }
}

/// One row of the table.
pub struct OpRow {
    /// The operator.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// Operands.
    pub operands: Arity,
    /// Attributes, in order: name and kind.
    pub attributes: &'static [(&'static str, AttributeKind)],
    /// Result types from operand types and attributes.
    pub infer: Infer,
    /// What it computes, in one sentence for the coverage document.
    pub meaning: &'static str,
}

/// The reductions of `window` and `reduce`, in the order of their word.
pub const REDUCTIONS: &[&str] = &["sum", "max", "min", "product", "any", "all"];
/// What `scatter` does with an element and its update, in the order of their word.
pub const COMBINATIONS: &[&str] = &["set", "sum", "product", "max", "min"];
/// The reductions of `scan`, in the order of their word.
pub const SCANS: &[&str] = &["sum", "product", "max", "min"];
/// The two orders of `top_k`.
pub const ORDERS: &[&str] = &["largest", "smallest"];
/// The two searches of `arg_reduce`.
pub const SEARCHES: &[&str] = &["max", "min"];
/// The operations of `index_binary`; division and remainder floor, and a zero divisor gives zero.
pub const INDEX_OPERATIONS: &[&str] = &["add", "sub", "mul", "floordiv", "ceildiv", "mod", "min", "max"];

// The geometry of a sliding window: one number a spatial dimension.
const STRIDES: (&str, AttributeKind) = ("strides", Ints);
const DILATION: (&str, AttributeKind) = ("dilation", Ints);
const PADDING_LOW: (&str, AttributeKind) = ("padding_low", Ints);
const PADDING_HIGH: (&str, AttributeKind) = ("padding_high", Ints);
// Where the extents of the input are known only when the program runs, and else nothing: how many windows there are, of which the first
// is so much further, and of the padding behind there is what they need.
const POSITIONS: (&str, AttributeKind) = ("positions", Extents);
const SHIFT: (&str, AttributeKind) = ("shift", Extents);

// Extents with their border, where some are known only when the program runs, and else nothing.
const PADDED: (&str, AttributeKind) = ("padded", Extents);

/// The table, in the order of [`Op`].
pub const OPS: &[OpRow] = &[
    OpRow {
        op: Op::Constant,
        name: "constant",
        operands: Arity::Exactly(0),
        attributes: &[("data", Constant)],
        infer: infer::constant,
        meaning: "A constant tensor.",
    },
    OpRow {
        op: Op::Map,
        name: "map",
        operands: Arity::AtLeast(0),
        attributes: &[("expression", Expression)],
        infer: infer::map,
        meaning: "An element-wise scalar expression over operands broadcast as NumPy does; one tensor a result of the expression.",
    },
    OpRow {
        op: Op::Conv,
        name: "conv",
        operands: Arity::Exactly(2),
        attributes: &[
            STRIDES,
            DILATION,
            PADDING_LOW,
            PADDING_HIGH,
            POSITIONS,
            SHIFT,
            ("input_dilation", Ints),
            ("groups", Int),
            ("input_zero_point", Int),
            ("filter_zero_point", Int),
            ("accumulator", Element),
        ],
        infer: infer::conv,
        meaning: "Sum of (input − input zero point) × (filter − filter zero point) over the window and the group's channels; input [N, spatial…, C], its elements `input_dilation` apart, filter [O, window…, C ÷ groups], result [N, spatial…, O] in the accumulator's type; taps on padding and between elements contribute nothing. `positions` and `shift` say how many windows there are and how much further the first one is, where that is known only when the program runs, and else nothing.",
    },
    OpRow {
        op: Op::Matmul,
        name: "matmul",
        operands: Arity::Exactly(2),
        attributes: &[("left_zero_point", Int), ("right_zero_point", Int), ("accumulator", Element)],
        infer: infer::matmul,
        meaning: "Batched product of [… M, K] with the transpose of [… N, K], zero points subtracted first; leading dimensions broadcast; result [… M, N] in the accumulator's type.",
    },
    OpRow {
        op: Op::Fourier,
        name: "fft",
        operands: Arity::Exactly(1),
        attributes: &[],
        infer: infer::fourier,
        meaning: "Fourier transforms Σ x[j] e^(−2πi jk ÷ n) of complex numbers: floats [… n, 2], real and imaginary parts in the last dimension; n is a power of two.",
    },
    OpRow {
        op: Op::RealFourier,
        name: "rfft",
        operands: Arity::Exactly(1),
        attributes: &[],
        infer: infer::real_fourier,
        meaning: "Fourier transforms of floats [… n], n a power of two; the first half and the middle of each, [… n ÷ 2 + 1, 2], since the rest are their conjugates.",
    },
    OpRow {
        op: Op::Window,
        name: "window",
        operands: Arity::Exactly(1),
        attributes: &[("reduction", Word(REDUCTIONS)), ("size", Ints), STRIDES, DILATION, PADDING_LOW, PADDING_HIGH, POSITIONS, SHIFT],
        infer: infer::window,
        meaning: "A reduction over each position of a sliding window on [N, spatial…, C]; padded taps are left out. `positions` and `shift` as `conv` has them.",
    },
    OpRow {
        op: Op::Reduce,
        name: "reduce",
        operands: Arity::Exactly(1),
        attributes: &[("reduction", Word(REDUCTIONS)), ("axes", Ints)],
        infer: infer::reduce,
        meaning: "A reduction over axes, which keep extent 1; integers wrap.",
    },
    OpRow {
        op: Op::ArgReduce,
        name: "arg_reduce",
        operands: Arity::Exactly(1),
        attributes: &[("search", Word(SEARCHES)), ("axis", Int), ("element", Element)],
        infer: infer::arg_reduce,
        meaning: "The first position of the extreme element along an axis, which keeps extent 1.",
    },
    OpRow {
        op: Op::Reshape,
        name: "reshape",
        operands: Arity::Exactly(1),
        attributes: &[("shape", Extents)],
        infer: infer::reshape,
        meaning: "The same elements in row-major order under another shape of as many elements.",
    },
    OpRow {
        op: Op::Bitcast,
        name: "bitcast",
        operands: Arity::Exactly(1),
        attributes: &[("element", Element)],
        infer: infer::bitcast,
        meaning: "The same bytes as elements of another type: a narrower one adds a last dimension for the parts of each element, a wider one takes it away.",
    },
    OpRow {
        op: Op::Transpose,
        name: "transpose",
        operands: Arity::Exactly(1),
        attributes: &[("permutation", Ints)],
        infer: infer::transpose,
        meaning: "Result dimension i is operand dimension permutation[i].",
    },
    OpRow {
        op: Op::Broadcast,
        name: "broadcast",
        operands: Arity::Exactly(1),
        attributes: &[("shape", Extents)],
        infer: infer::broadcast,
        meaning: "Repetition along axes of extent 1 and new leading axes.",
    },
    OpRow {
        op: Op::Slice,
        name: "slice",
        operands: Arity::Exactly(1),
        attributes: &[("start", Extents), ("size", Extents), ("stride", Ints)],
        infer: infer::slice,
        meaning: "Element i of the result is element start + i × stride; a negative stride walks backwards from start.",
    },
    OpRow {
        op: Op::Pad,
        name: "pad",
        operands: Arity::Exactly(1),
        attributes: &[("low", Ints), ("high", Ints), ("value", Scalar), PADDED],
        infer: infer::pad,
        meaning: "A border of one value; a negative amount crops. `padded` are the extents with the border where some are known only when the program runs, and else nothing.",
    },
    OpRow {
        op: Op::MirrorPad,
        name: "mirror_pad",
        operands: Arity::Exactly(1),
        attributes: &[("low", Ints), ("high", Ints), ("edge", Bool), PADDED],
        infer: infer::mirror_pad,
        meaning: "A border mirrored at the edge, repeating the edge element itself if `edge`. `padded` as `pad` has it.",
    },
    OpRow {
        op: Op::Concat,
        name: "concat",
        operands: Arity::AtLeast(1),
        attributes: &[("axis", Int), ("extent", Extents)],
        infer: infer::concat,
        meaning: "Tensors joined along an axis; `extent` is the joined extent where it is known only when the program runs, and else nothing.",
    },
    OpRow {
        op: Op::Gather,
        name: "gather",
        operands: Arity::Exactly(2),
        attributes: &[("axis", Int), ("batch", Int)],
        infer: infer::gather,
        meaning: "Slices of the first operand along `axis`, picked by the integers of the second; the first `batch` dimensions of both are common.",
    },
    OpRow {
        op: Op::Scatter,
        name: "scatter",
        operands: Arity::Exactly(3),
        attributes: &[("axis", Int), ("batch", Int), ("combination", Word(COMBINATIONS)), ("skips_negative", Bool)],
        infer: infer::scatter,
        meaning: "The first operand with the slices that `gather` would pick by the second operand combined with the slices of the third, one after another in row-major order; an index outside the axis is an error, or leaves its slice out if it is negative and `skips_negative`.",
    },
    OpRow {
        op: Op::Scan,
        name: "scan",
        operands: Arity::Exactly(1),
        attributes: &[("reduction", Word(SCANS)), ("axis", Int), ("exclusive", Bool), ("reverse", Bool)],
        infer: infer::scan,
        meaning: "The reduction of all elements up to each one along an axis, that one left out if `exclusive`, from the end if `reverse`; integers wrap.",
    },
    OpRow {
        op: Op::TopK,
        name: "top_k",
        operands: Arity::Exactly(1),
        attributes: &[("order", Word(ORDERS)), ("count", Extents)],
        infer: infer::top_k,
        meaning: "The `count` largest or smallest elements of the last dimension in order, and their positions in i32; of equal elements the first comes first, and NaN is larger than any number.",
    },
    OpRow {
        op: Op::NonMaxSuppression,
        name: "non_max_suppression",
        operands: Arity::Exactly(5),
        attributes: &[("count", Int)],
        infer: infer::non_max_suppression,
        meaning: "For each row of scores [R, N] of boxes [N, 4] (two opposite corners y, x, y, x): at most `count` times the first box of the highest score above the score threshold, which drops every box that overlaps it by the overlap threshold or more (intersection ÷ union) and, where sigma is above 0, multiplies the other scores by exp(−overlap² ÷ 2 sigma). Operands: boxes, scores, overlap threshold, score threshold, sigma. Results: positions [R, count] and their scores, zeros behind the last, and how many [R].",
    },
    OpRow {
        op: Op::Iota,
        name: "iota",
        operands: Arity::Exactly(0),
        attributes: &[("shape", Extents), ("axis", Int), ("element", Element)],
        infer: infer::iota,
        meaning: "The position along an axis.",
    },
    OpRow {
        op: Op::ExtentOf,
        name: "extent_of",
        operands: Arity::Exactly(1),
        attributes: &[("axis", Int)],
        infer: infer::extent_of,
        meaning: "An extent of a tensor as an index.",
    },
    OpRow {
        op: Op::IndexConstant,
        name: "index",
        operands: Arity::Exactly(0),
        attributes: &[("value", Int)],
        infer: infer::index_constant,
        meaning: "An index number.",
    },
    OpRow {
        op: Op::IndexBinary,
        name: "index_binary",
        operands: Arity::Exactly(2),
        attributes: &[("operation", Word(INDEX_OPERATIONS))],
        infer: infer::index_binary,
        meaning: "Arithmetic on two index values; division and remainder floor, and a zero divisor gives zero.",
    },
    OpRow {
        op: Op::IndexLoad,
        name: "index_load",
        operands: Arity::Exactly(1),
        attributes: &[("interval", Interval)],
        infer: infer::index_load,
        meaning: "The index in a one-element integer tensor; a value outside the interval is an error when the program runs.",
    },
    OpRow {
        op: Op::IndexTensor,
        name: "index_tensor",
        operands: Arity::Exactly(1),
        attributes: &[("element", Element)],
        infer: infer::index_tensor,
        meaning: "A zero-dimensional integer tensor holding an index.",
    },
    OpRow {
        op: Op::If,
        name: "if",
        operands: Arity::AtLeast(1),
        attributes: &[("then", Function), ("otherwise", Function)],
        infer: infer::if_else,
        meaning: "One of two functions called on the operands behind the condition, a one-element truth value.",
    },
    OpRow {
        op: Op::While,
        name: "while",
        operands: Arity::AtLeast(1),
        attributes: &[("condition", Function), ("body", Function)],
        infer: infer::while_loop,
        meaning: "The body applied to the operands as long as the condition on them is true.",
    },
    OpRow {
        op: Op::Call,
        name: "call",
        operands: Arity::AtLeast(0),
        attributes: &[("function", Function)],
        infer: infer::call,
        meaning: "A function called on the operands.",
    },
    OpRow {
        op: Op::LoadState,
        name: "load_state",
        operands: Arity::Exactly(1),
        attributes: &[("state", State)],
        infer: infer::load_state,
        meaning: "The contents of a state, and the effect token after reading it.",
    },
    OpRow {
        op: Op::StoreState,
        name: "store_state",
        operands: Arity::Exactly(2),
        attributes: &[("state", State)],
        infer: infer::store_state,
        meaning: "New contents of a state (effect, tensor); gives the effect token after writing it.",
    },
    OpRow {
        op: Op::External,
        name: "external",
        operands: Arity::AtLeast(0),
        attributes: &[("symbol", Text), ("options", Constant), ("scales", Constant), ("zero_points", Constant), ("results", Types)],
        infer: infer::external,
        meaning: "A function of the application (a custom operator) on whole tensors, with the bytes of its options, and a scale and zero point for each operand and result.",
    },
];

impl Op {
    /// The operator's row.
    pub fn row(self) -> &'static OpRow {
        &OPS[self as usize]
    }

    /// The operator of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        OPS.iter().find(|row| row.name == name).map(|row| row.op)
    }

    /// The position of an attribute in the row.
    ///
    /// # Panics
    /// When the operator has no such attribute: a bug of the caller.
    pub fn attribute_index(self, name: &str) -> usize {
        let position = self.row().attributes.iter().position(|(n, _)| *n == name);
        position.unwrap_or_else(|| panic!("{} has no attribute {name}", self.row().name))
    }
}
