//! Instructions of the kernel language, and regions of them.

use super::operations::{BinaryOp, Bounds, CompareOp, ConvertOp, DotOp, HorizontalOp, Rounding, UnaryOp};
use super::types::{Buffer, Value};
use smallvec::SmallVec;

/// A few values.
pub type Values = SmallVec<[Value; 4]>;

/// One instruction.
#[allow(missing_docs, reason = "operands are named in the sentence of their instruction")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Inst {
    /// A number in every lane, by its bits.
    Constant { bits: u64 },
    /// An operation on two values, lane by lane.
    Binary { op: BinaryOp, a: Value, b: Value },
    /// An operation on one value, lane by lane.
    Unary { op: UnaryOp, a: Value },
    /// Shift of integer lanes by one constant count below the width.
    ShiftConstant { op: BinaryOp, a: Value, count: u8 },
    /// a × b + c with one rounding. Products of binary32 may round towards zero. A kernel with such a product has no instruction that rounds to
    /// nearest, because processors have one mode for all. So its conversions of integers to floats must be exact.
    Fma { a: Value, b: Value, c: Value, rounding: Rounding },
    /// A comparison to a mask, lane by lane.
    Compare { op: CompareOp, a: Value, b: Value },
    /// mask ? a : b.
    Select { mask: Value, a: Value, b: Value },
    /// A conversion to another lane type.
    Convert { op: ConvertOp, a: Value },
    /// A scalar in every lane.
    Splat { a: Value },
    /// A mask whose first `count` lanes are true; all lanes if there are fewer. The count is not negative.
    FirstLanes { count: Value },
    /// One lane of a vector.
    Extract { a: Value, lane: u16 },
    /// The lanes of a, then those of b.
    Join { a: Value, b: Value },
    /// A range of lanes from `first` on, as many as the result has.
    Part { a: Value, first: u16 },
    /// Lanes picked from the lanes of a and b, joined.
    Shuffle { a: Value, b: Value, lanes: Vec<u16> },
    /// i32 × i32 → the high 32 bits of the 64-bit product, lane-wise, of signed or of unsigned lanes.
    MulHigh { signed: bool, a: Value, b: Value },
    /// gemmlowp's saturating rounding doubling high multiplication of i32 lanes: `(a·b + 2³⁰) >> 31`, saturating. `saturates` is false if the operands are
    /// known not to be both −2³¹, the only case that saturates.
    SaturatingRoundingDoublingHighMul { a: Value, b: Value, saturates: bool },
    /// gemmlowp's rounding division of i32 lanes by 2ᵇ, ties away from zero; b per lane in 0..=31.
    RoundingDivideByPowerOfTwo { a: Value, b: Value },
    /// Dot products, added to an accumulator.
    Dot { op: DotOp, accumulator: Value, a: Value, b: Value },
    /// A reduction of a vector to a scalar.
    Horizontal { op: HorizontalOp, a: Value },
    /// `active` lanes from `buffer[index + offset …]`, the others zero. Elements have the buffer's lane type. With a mask, only active lanes whose mask is
    /// true are loaded.
    Load { buffer: Buffer, index: Value, offset: i64, active: u16, mask: Option<Value> },
    /// `buffer[index + offset]` in every lane.
    LoadSplat { buffer: Buffer, index: Value, offset: i64 },
    /// A group of consecutive elements, repeated over all lanes. This is the operand broadcast of dot products (4 × i8 or 2 × i16). It needs no alignment.
    LoadSplatGroup { buffer: Buffer, index: Value, offset: i64, group: u16 },
    /// Each lane from `buffer[indices[lane] + offset]`. Indices are signed i8, i32 or i64 lanes. Indices of i8 must be proven to lie inside.
    Gather { buffer: Buffer, indices: Value, offset: i64, bounds: Bounds },
    /// `active` lanes to `buffer[index + offset …]`. With a mask, only active lanes whose mask is true are stored.
    Store { buffer: Buffer, index: Value, offset: i64, active: u16, value: Value, mask: Option<Value> },
    /// A counted loop: for i in (start..end).step_by(step), carrying values. Region parameters: the counter, then the carried values; the region
    /// yields their next values; the loop's results are the last ones. If it is `each`, rounds are independent: they may run in any order, and at the
    /// same time. It carries nothing then, and each round has its own copy of the private scratch buffers, and of the local arrays that the body
    /// writes. Their contents are undefined when a round begins. The contents of private buffers are undefined after the loop, too.
    For { start: Value, end: Value, step: i64, each: bool, private: Vec<Buffer>, carried: Vec<Value>, body: Region },
    /// The rounds from 0 to below an extent, divided into ranges. Region parameters: the first round of a range, and the first one after it. The body
    /// does one range. Ranges that together are all rounds do the work, in any order, and at the same time. Each range that runs has its own copy of
    /// the private scratch buffers, and of the local arrays that the body writes. Their contents are undefined when a range begins. A kernel does
    /// nothing else: no other statement of its body has an effect.
    Divide { extent: Value, private: Vec<Buffer>, body: Region },
    /// A loop that repeats while its region's first yield, a scalar mask, is true (tested after the body: do … while). Region
    /// parameters: the carried values; the region yields the mask, then their next values.
    Loop { carried: Vec<Value>, body: Region },
    /// One of two regions without parameters; each yields the results.
    If { condition: Value, then: Region, otherwise: Region },
    /// Leaves the kernel with a non-zero status if the scalar mask is true.
    FailIf { condition: Value, status: i32 },
    /// A barrier: the positions of a workgroup wait for each other, and then see each other's earlier writes. It requires that positions fill workgroups, and
    /// that no position may fail. All positions of a workgroup must reach it equally often, so conditions and loops around it are uniform.
    Barrier,
}

/// A sequence of instructions with parameters and yields.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Region {
    /// Parameters.
    pub params: Vec<Value>,
    /// Statements in order: an instruction and its results.
    pub statements: Vec<Statement>,
    /// Values that the region yields.
    pub yields: Vec<Value>,
}

/// An instruction and the values it defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Statement {
    /// Values defined.
    pub results: Values,
    /// The instruction.
    pub inst: Inst,
}
