//! The kernel language: entities, types, instructions, regions.

use cranelift_entity::entity_impl;
use std::fmt;

/// An SSA value of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// A buffer of a kernel: a pointer parameter or a local array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buffer(u32);
entity_impl!(Buffer, "b");

/// The type of one lane. Integers have no sign; operations do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// A truth value; how wide it is in a register is the back end's affair. Never in memory.
    Mask,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// Binary32.
    F32,
    /// Binary64.
    F64,
}

impl Lane {
    /// Bytes in memory; 0 for masks, which are never in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Mask => 0,
            Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether it is binary32 or binary64.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether it is an integer.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Self::Mask
    }
}

/// The type of a value: `lanes` of one lane type. One lane is a scalar. A vector may be longer than the machine's registers
/// (the back end splits it) or shorter (it lives in the low lanes of one); lane counts are powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The type of each lane.
    pub lane: Lane,
    /// Number of lanes.
    pub lanes: u16,
}

impl Type {
    /// A 64-bit integer scalar: indices, counts. Schedules write no others; where registers have 32 bits, a pass narrows them.
    pub const INDEX: Self = Self::scalar(Lane::I64);

    /// Whether it is that of an index: a scalar integer of 64 bits, or of 32.
    pub const fn is_index(self) -> bool {
        self.lanes == 1 && matches!(self.lane, Lane::I32 | Lane::I64)
    }

    /// A scalar.
    pub const fn scalar(lane: Lane) -> Self {
        Self { lane, lanes: 1 }
    }

    /// A vector.
    pub const fn vector(lane: Lane, lanes: u16) -> Self {
        Self { lane, lanes }
    }

    /// The same lanes of another type.
    pub const fn with_lane(self, lane: Lane) -> Self {
        Self { lane, lanes: self.lanes }
    }
}

/// The bits of an integer lane as a signed number.
pub(super) fn signed(lane: Lane, bits: u64) -> i64 {
    let unused = 64 - 8 * lane.bytes().clamp(1, 8);
    (bits << unused) as i64 >> unused
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lane = match self.lane {
            Lane::Mask => "mask",
            Lane::I8 => "i8",
            Lane::I16 => "i16",
            Lane::I32 => "i32",
            Lane::I64 => "i64",
            Lane::F32 => "f32",
            Lane::F64 => "f64",
        };
        if self.lanes == 1 { f.write_str(lane) } else { write!(f, "{lane}x{}", self.lanes) }
    }
}

/// Lane-wise operations on two values of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Wrapping integer sum, or float sum.
    Add,
    /// Wrapping integer difference, or float difference.
    Sub,
    /// Wrapping integer product (low half), or float product.
    Mul,
    /// Float quotient.
    FloatDiv,
    /// Signed quotient, truncating; a zero divisor gives 0, the smallest number ÷ −1 wraps.
    SignedDiv,
    /// Unsigned quotient; a zero divisor gives 0.
    UnsignedDiv,
    /// Signed remainder, with the sign of the dividend; a zero divisor gives 0.
    SignedRem,
    /// Unsigned remainder; a zero divisor gives 0.
    UnsignedRem,
    /// Bitwise and; also on masks.
    And,
    /// Bitwise or; also on masks.
    Or,
    /// Bitwise exclusive or; also on masks.
    Xor,
    /// Shift left by the number in the same lane, which must be below the width.
    ShiftLeft,
    /// Arithmetic shift right by the number in the same lane, which must be below the width.
    ShiftRightSigned,
    /// Logical shift right by the number in the same lane, which must be below the width.
    ShiftRightUnsigned,
    /// Signed minimum.
    SignedMin,
    /// Signed maximum.
    SignedMax,
    /// Unsigned minimum.
    UnsignedMin,
    /// Unsigned maximum.
    UnsignedMax,
    /// `b < a ? b : a` (so NaN in either operand gives a).
    FloatMinFirst,
    /// `a < b ? b : a` (so NaN in either operand gives a).
    FloatMaxFirst,
    /// IEEE minimum; NaN wins.
    FloatMinPropagate,
    /// IEEE maximum; NaN wins.
    FloatMaxPropagate,
    /// IEEE minNum; a number beats NaN.
    FloatMinIgnore,
    /// IEEE maxNum; a number beats NaN.
    FloatMaxIgnore,
    /// Signed sum that saturates (i8, i16).
    SignedAddSaturating,
    /// Signed difference that saturates (i8, i16).
    SignedSubSaturating,
}

/// Lane-wise operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Integer or float negation.
    Neg,
    /// Integer (wrapping) or float magnitude.
    Abs,
    /// Bitwise complement; also on masks.
    Not,
    /// Float square root.
    Sqrt,
    /// Float, towards −∞.
    Floor,
    /// Float, towards +∞.
    Ceil,
    /// Float, towards zero.
    Trunc,
    /// Float, to nearest even.
    Nearest,
    /// Integer, count of leading zeros.
    CountLeadingZeros,
}

/// Which of the two floats beside a number takes its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounding {
    /// The nearest, or of two the one with an even last bit.
    Nearest,
    /// The one nearer to zero.
    TowardZero,
}

/// Conversions between lane types; the number of lanes stays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConvertOp {
    /// Integer, wider, sign repeated.
    SignExtend,
    /// Integer, wider, zeros.
    ZeroExtend,
    /// Integer, narrower, high bits cut.
    Wrap,
    /// Signed integer to narrower signed integer, saturating.
    NarrowSigned,
    /// Signed integer to narrower unsigned integer, saturating.
    NarrowUnsigned,
    /// Signed integer to float, to nearest even.
    SignedToFloat,
    /// Unsigned integer to float, to nearest even.
    UnsignedToFloat,
    /// Float to signed integer, towards zero, saturating, NaN to 0.
    FloatToSigned,
    /// Float to unsigned integer, towards zero, saturating, NaN to 0.
    FloatToUnsigned,
    /// Float to signed integer of the same width, towards zero, where the value is known to fit (else unspecified, never a trap).
    FloatToSignedInRange,
    /// Binary32 to binary64.
    Promote,
    /// Binary64 to binary32.
    Demote,
    /// The bits of a binary16 in 16-bit integer lanes to binary32, exact; NaN becomes quiet.
    HalfToFloat,
    /// Binary32 to the bits of a binary16 in 16-bit integer lanes, to nearest even; NaN becomes quiet.
    FloatToHalf,
    /// The same bits, same lane width.
    Bitcast,
    /// A mask to an integer: 0 or 1.
    MaskToInteger,
}

/// Comparisons; unordered operands compare false, except for `NotEqual`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    /// Integer or float.
    Equal,
    /// Integer or float.
    NotEqual,
    /// Signed integer or float.
    Less,
    /// Signed integer or float.
    LessEqual,
    /// Signed integer or float.
    Greater,
    /// Signed integer or float.
    GreaterEqual,
    /// Unsigned integer.
    UnsignedLess,
    /// Unsigned integer.
    UnsignedLessEqual,
}

/// Widening dot products: the lanes of acc plus products of the groups of narrow lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DotOp {
    /// a: unsigned i8×4N, b: signed i8×4N.
    UnsignedSigned8,
    /// a and b: signed i8×4N.
    Signed8,
    /// a and b: signed i16×2N.
    Signed16,
    /// a: unsigned i8×2N, b: signed i8×2N, and acc has lanes of 16 bits. The two products of a lane are added first, saturating.
    UnsignedSigned8To16,
}

impl DotOp {
    /// The type of both factors of a dot product of this many sums.
    pub const fn operand_type(self, lanes: u16) -> Type {
        Type::vector(self.factor_lane(), lanes.saturating_mul(self.group()))
    }

    /// The lane type of the factors.
    pub const fn factor_lane(self) -> Lane {
        if matches!(self, Self::Signed16) { Lane::I16 } else { Lane::I8 }
    }

    /// The lane type of the sums.
    pub const fn sum_lane(self) -> Lane {
        if matches!(self, Self::UnsignedSigned8To16) { Lane::I16 } else { Lane::I32 }
    }

    /// Products that a sum takes.
    pub const fn group(self) -> u16 {
        match self {
            Self::UnsignedSigned8 | Self::Signed8 => 4,
            Self::Signed16 | Self::UnsignedSigned8To16 => 2,
        }
    }

    /// Whether a is unsigned.
    pub const fn has_unsigned_factor(self) -> bool {
        matches!(self, Self::UnsignedSigned8 | Self::UnsignedSigned8To16)
    }
}

/// Horizontal reductions of a vector to a scalar. Float sums are taken pairwise by halves: lane i with lane i + n/2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HorizontalOp {
    /// Sum.
    Add,
    /// Signed or float ([`BinaryOp::FloatMaxFirst`]) maximum.
    Max,
    /// Signed or float ([`BinaryOp::FloatMinFirst`]) minimum.
    Min,
}

/// What an indexed access does with an index outside the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bounds {
    /// The schedule has proved that there is none; affine accesses are of this kind.
    Proven,
    /// The index is clamped into the buffer.
    Clamp,
}

/// One instruction.
#[allow(missing_docs, reason = "operands are named in the sentence of their instruction")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Inst {
    /// A number in every lane, by its bits.
    Constant { bits: u64 },
    /// Lane-wise on two.
    Binary { op: BinaryOp, a: Value, b: Value },
    /// Lane-wise on one.
    Unary { op: UnaryOp, a: Value },
    /// Shift of integer lanes by one constant count below the width.
    ShiftConstant { op: BinaryOp, a: Value, count: u8 },
    /// a × b + c with one rounding. A kernel with one that rounds towards zero (binary32 only) has no other instruction that rounds to
    /// nearest, for processors have one mode for all: its conversions of integers to floats must be exact.
    Fma { a: Value, b: Value, c: Value, rounding: Rounding },
    /// A mask.
    Compare { op: CompareOp, a: Value, b: Value },
    /// mask ? a : b.
    Select { mask: Value, a: Value, b: Value },
    /// Another lane type.
    Convert { op: ConvertOp, a: Value },
    /// A scalar in every lane.
    Splat { a: Value },
    /// One lane of a vector.
    Extract { a: Value, lane: u16 },
    /// The lanes of a, then those of b.
    Join { a: Value, b: Value },
    /// Some lanes from `first` on; the result's lane count says how many.
    Part { a: Value, first: u16 },
    /// Lanes picked from the lanes of a followed by those of b.
    Shuffle { a: Value, b: Value, lanes: Vec<u16> },
    /// i32 × i32 → the high 32 bits of the unsigned 64-bit product, lane-wise.
    MulHighUnsigned { a: Value, b: Value },
    /// gemmlowp's saturating rounding doubling high multiplication of i32 lanes: `(a·b + 2³⁰) >> 31`, saturating. `saturates` is
    /// false where the operands are known not to be −2³¹ both, the one case that saturates.
    SaturatingRoundingDoublingHighMul { a: Value, b: Value, saturates: bool },
    /// gemmlowp's rounding division of i32 lanes by 2ᵇ, ties away from zero; b per lane in 0..=31.
    RoundingDivideByPowerOfTwo { a: Value, b: Value },
    /// acc + dot products.
    Dot { op: DotOp, accumulator: Value, a: Value, b: Value },
    /// A vector to a scalar.
    Horizontal { op: HorizontalOp, a: Value },
    /// `active` lanes from `buffer[index + offset …]`, the others zero; elements are of the buffer's lane type.
    Load { buffer: Buffer, index: Value, offset: i64, active: u16 },
    /// `buffer[index + offset]` in every lane.
    LoadSplat { buffer: Buffer, index: Value, offset: i64 },
    /// A group of consecutive elements as one wider scalar in every lane, then seen as lanes of the buffer's type again: the
    /// operand broadcast of dot products (4 × i8 or 2 × i16). Needs no alignment.
    LoadSplatGroup { buffer: Buffer, index: Value, offset: i64, group: u16 },
    /// Each lane from `buffer[indices[lane] + offset]`; indices are i32 or i64 lanes.
    Gather { buffer: Buffer, indices: Value, offset: i64, bounds: Bounds },
    /// `active` lanes to `buffer[index + offset …]`.
    Store { buffer: Buffer, index: Value, offset: i64, active: u16, value: Value },
    /// A counted loop: for i in (start..end).step_by(step), carrying values. Region parameters: the counter, then the carried
    /// values; the region yields their next values; the loop's results are the last ones.
    For { start: Value, end: Value, step: i64, carried: Vec<Value>, body: Region },
    /// A loop that repeats while its region's first yield, a scalar mask, is true (tested after the body: do … while). Region
    /// parameters: the carried values; the region yields the mask, then their next values.
    Loop { carried: Vec<Value>, body: Region },
    /// One of two regions without parameters; each yields the results.
    If { condition: Value, then: Region, otherwise: Region },
    /// Leaves the kernel with a non-zero status if the scalar mask is true.
    FailIf { condition: Value, status: i32 },
    /// The positions of a workgroup wait for each other. What they wrote before, all of them see after. Only where positions fill workgroups
    /// and none may fail; all of them come to it equally often: it stands under no condition, and loops around it count the same.
    Barrier,
}

/// A sequence of instructions with parameters and yields.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Region {
    /// Parameters.
    pub params: Vec<Value>,
    /// Statements in order: an instruction and its results.
    pub statements: Vec<Statement>,
    /// What the region hands on.
    pub yields: Vec<Value>,
}

/// An instruction and the values it defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Statement {
    /// Values defined.
    pub results: Vec<Value>,
    /// The instruction.
    pub inst: Inst,
}

/// What a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferKind {
    /// A pointer parameter, only read; nothing writes it while the kernel runs.
    Input,
    /// A pointer parameter, written and perhaps read.
    Output,
    /// A pointer parameter to scratch memory, contents undefined on entry.
    Scratch,
    /// An array on the kernel's stack, contents undefined on entry.
    Local,
    /// An array that the positions of a workgroup share, contents undefined on entry. In kernels with grids only.
    Shared,
}

impl BufferKind {
    /// Whether a pointer to it is passed.
    pub fn is_parameter(self) -> bool {
        !matches!(self, Self::Local | Self::Shared)
    }
}

/// A buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BufferData {
    /// Name in listings.
    pub name: String,
    /// What it is.
    pub kind: BufferKind,
    /// The lane type of its elements.
    pub lane: Lane,
    /// Number of elements; every access stays inside. Reads may be proven against `elements` only.
    pub elements: u64,
    /// Known alignment of its first element in bytes.
    pub alignment: u32,
}

/// A body that is run once for every position, in any order and at the same time.
///
/// The kernel has one integer, the position: a number below `positions`. A workgroup is a run of positions that starts at a multiple of
/// `workgroup`. Two positions never meet in an element that one of them writes, except in words that only fail sets, and in a workgroup where
/// there is a barrier between.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// How many positions there are.
    pub positions: u64,
    /// Positions of a workgroup.
    pub workgroup: u32,
}

/// A kernel: one function of pointers, then 64-bit integers, to a status (0 is good).
///
/// One with a grid returns nothing. Where it has [`Inst::FailIf`], its last pointer parameter is an output of one i32, to which a position
/// that fails writes its status before it ends; the others go on.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kernel {
    /// Name in listings and, with the model's prefix, of the symbol.
    pub name: String,
    /// Buffers; those that are parameters come in this order.
    pub buffers: Vec<BufferData>,
    /// Number of 64-bit integer parameters, the first parameters of `body`.
    pub integers: usize,
    /// How often the body is run, for machines that run many at the same time. CPUs refuse a kernel that has one.
    pub grid: Option<Grid>,
    /// Types of all values.
    pub types: Vec<Type>,
    /// The body; its parameters are the integer parameters.
    pub body: Region,
}

impl Kernel {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.0 as usize]
    }

    /// A buffer's data.
    pub fn buffer(&self, buffer: Buffer) -> &BufferData {
        &self.buffers[buffer.0 as usize]
    }

    /// Whether it has a [`Inst::FailIf`].
    pub fn may_fail(&self) -> bool {
        self.statements().any(|statement| matches!(statement.inst, Inst::FailIf { .. }))
    }

    /// Whether it has a [`Inst::Barrier`].
    pub fn has_barrier(&self) -> bool {
        self.statements().any(|statement| statement.inst == Inst::Barrier)
    }

    /// Where a kernel with a grid that may fail stores its status: the last pointer parameter, an output of one i32.
    pub fn status(&self) -> Option<Buffer> {
        let (status, data) = self.pointer_params().last().filter(|_| self.grid.is_some() && self.may_fail())?;
        (data.kind == BufferKind::Output && data.lane == Lane::I32 && data.elements == 1).then_some(status)
    }

    /// Buffers that are pointer parameters, in order.
    pub fn pointer_params(&self) -> impl Iterator<Item = (Buffer, &BufferData)> {
        self.buffers.iter().enumerate().filter(|(_, b)| b.kind.is_parameter()).map(|(i, b)| (Buffer(i as u32), b))
    }
}
