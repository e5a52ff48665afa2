//! The scalar language inside `map`: typed numbers, scalar operations, and expressions as hash-consed DAGs.
//!
//! An [`Expression`] is a list of nodes in topological order; equal nodes are one node, so that a chain of thirty
//! `add x, x` has thirty nodes and never 2³⁰. Every walk over it is a loop.

use super::module::Constant;
use super::types::ElementType;
use cranelift_entity::{PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;

/// A typed number, held by its bits so that NaN payloads and −0 survive and equality is exact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Scalar {
    element: ElementType,
    bits: u64,
}

impl Scalar {
    /// A number from its bits (low bits first; excess bits are cut). No type without arithmetic has scalars of its own: of `c128` only
    /// the real part is held.
    pub fn from_bits(element: ElementType, bits: u64) -> Self {
        let width = element.bits();
        let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        Self { element, bits: bits & mask }
    }

    /// An integer (or truth value); wraps to the type's width. Float types take the nearest float.
    pub fn int(element: ElementType, value: i64) -> Self {
        if element.is_float() { Self::float(element, value as f64) } else { Self::from_bits(element, value as u64) }
    }

    /// A float, rounded to the type; integer types take the truncated value.
    pub fn float(element: ElementType, value: f64) -> Self {
        let bits = match element {
            ElementType::F32 => u64::from((value as f32).to_bits()),
            ElementType::F64 => value.to_bits(),
            ElementType::F16 => u64::from(half::f16::from_f64(value).to_bits()),
            ElementType::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
            _ => value as i64 as u64,
        };
        Self::from_bits(element, bits)
    }

    /// An f32.
    pub fn f32(value: f32) -> Self {
        Self::from_bits(ElementType::F32, u64::from(value.to_bits()))
    }

    /// An i32.
    pub fn i32(value: i32) -> Self {
        Self::int(ElementType::I32, i64::from(value))
    }

    /// A truth value.
    pub fn bool(value: bool) -> Self {
        Self::from_bits(ElementType::Bool, u64::from(value))
    }

    /// Its type.
    pub fn element(self) -> ElementType {
        self.element
    }

    /// Its bits, zero-extended.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value of an integer or truth value, sign-extended if signed (u64 above `i64::MAX` wraps). Floats truncate.
    pub fn as_i64(self) -> i64 {
        if self.element.is_float() {
            return self.as_f64() as i64;
        }
        if self.element.is_signed_integer() {
            let shift = 64 - self.element.bits();
            return ((self.bits << shift) as i64) >> shift;
        }
        self.bits as i64
    }

    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self.element {
            ElementType::F32 => f64::from(f32::from_bits(self.bits as u32)),
            ElementType::F64 => f64::from_bits(self.bits),
            ElementType::F16 => half::f16::from_bits(self.bits as u16).to_f64(),
            ElementType::Bf16 => half::bf16::from_bits(self.bits as u16).to_f64(),
            ElementType::U64 => self.bits as f64,
            _ => self.as_i64() as f64,
        }
    }

    /// Its bytes in little-endian order (a 4-bit number takes one byte).
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.bits.to_le_bytes().to_vec();
        bytes.resize(self.element.bits().div_ceil(8) as usize, 0);
        bytes
    }
}

/// A node of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);
entity_impl!(Node, "n");

/// What minimum and maximum do with NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NanRule {
    /// A NaN operand makes the result NaN (PyTorch).
    Propagate,
    /// A NaN operand loses against a number (IEEE `minNum`).
    Ignore,
    /// `b < a ? b : a` for the minimum and `a < b ? b : a` for the maximum (C++ `std::min(a, b)` and `std::max(a, b)`):
    /// a comparison with NaN is false, so the first operand is the result.
    First,
}

/// How a 32-bit accumulator is scaled to the output's integer scale.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequantizeRule {
    /// TFLite's `MultiplyByQuantizedMultiplier` with double rounding: shift left by `max(shift, 0)` (wrapping), a saturating
    /// rounding doubling high multiplication, then a rounding division by `2^max(-shift, 0)`, ties away from zero.
    TfliteDouble,
    /// TFLite's single-rounding form: `(acc * multiplier + 2^(30 - shift)) >> (31 - shift)` in 64 bits.
    TfliteSingle,
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal (true for NaN).
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
}

/// A scalar operation. Integers wrap unless the operation says otherwise; shifts of a signed value are arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarOp {
    /// The element of map operand number *n* at this position.
    Input(u32),
    /// A number.
    Constant(Scalar),
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a × b.
    Mul,
    /// a ÷ b: IEEE for floats; integers truncate, and a zero divisor gives zero.
    Div,
    /// The remainder of truncating division (C's `%`, `fmod`); an integer zero divisor gives zero.
    Rem,
    /// −a.
    Neg,
    /// |a|; the smallest integer stays itself.
    Abs,
    /// The smaller.
    Min(NanRule),
    /// The larger.
    Max(NanRule),
    /// Bitwise and; logical on truth values.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise complement; negation of a truth value.
    Not,
    /// a << b; counts outside the width give zero.
    ShiftLeft,
    /// a >> b, arithmetic when signed; counts beyond the width fill with the sign (or zero).
    ShiftRight,
    /// A truth value.
    Compare(Comparison),
    /// c ? a : b.
    Select,
    /// Conversion: integers wrap, floats truncate towards zero and saturate (NaN becomes 0), integers to float round to nearest
    /// even; to bool: not equal to zero.
    Convert,
    /// Conversion to a narrower integer that saturates; float sources truncate first.
    ConvertSaturating,
    /// Towards −∞.
    Floor,
    /// Towards +∞.
    Ceil,
    /// Towards zero.
    Trunc,
    /// To nearest, ties to even.
    RoundEven,
    /// To nearest, ties away from zero (C's `round`).
    RoundAway,
    /// Square root, correctly rounded.
    Sqrt,
    /// 1 ÷ √a.
    Rsqrt,
    /// eᵃ.
    Exp,
    /// Natural logarithm.
    Log,
    /// Hyperbolic tangent.
    Tanh,
    /// 1 ÷ (1 + e⁻ᵃ).
    Logistic,
    /// Error function.
    Erf,
    /// 1 − the error function, accurate where that cancels.
    Erfc,
    /// Sine, radians.
    Sin,
    /// Cosine, radians.
    Cos,
    /// aᵇ.
    Pow,
    /// The angle of the point (b, a), in −π..=π (C's `atan2`).
    Atan2,
    /// a × b + c with one rounding.
    Fma,
    /// Count of leading zero bits.
    CountLeadingZeros,
    /// The element of a one-dimensional constant at index a; the index is clamped into the table.
    Lut(Constant),
    /// Saturating rounding doubling high multiplication of two i32: `(a·b + 2³⁰) >> 31` in 64 bits; −2³¹ × −2³¹ gives 2³¹ − 1 (gemmlowp).
    SaturatingRoundingDoublingHighMul,
    /// a ÷ 2ᵇ rounded to nearest, ties away from zero (gemmlowp); b in 0..=31.
    RoundingDivideByPowerOfTwo,
    /// (acc i32, multiplier i32, shift i32; a positive shift is to the left) → i32.
    Requantize(RequantizeRule),
    /// An f32 rounded to the precision of a narrower type, still f32; never elided.
    RoundTo(ElementType),
}

impl ScalarOp {
    /// Number of operands.
    pub fn arity(self) -> usize {
        use ScalarOp::*;
        match self {
            Input(_) | Constant(_) => 0,
            Neg | Abs | Not | Convert | ConvertSaturating | Floor | Ceil | Trunc | RoundEven | RoundAway | Sqrt | Rsqrt | Exp | Log
            | Tanh | Logistic | Erf | Erfc | Sin | Cos | CountLeadingZeros | Lut(_) | RoundTo(_) => 1,
            Add
            | Sub
            | Mul
            | Div
            | Rem
            | Min(_)
            | Max(_)
            | And
            | Or
            | Xor
            | ShiftLeft
            | ShiftRight
            | Compare(_)
            | Pow
            | Atan2
            | SaturatingRoundingDoublingHighMul
            | RoundingDivideByPowerOfTwo => 2,
            Select | Fma | Requantize(_) => 3,
        }
    }

    /// The name in the text form; parameters follow it.
    pub fn name(self) -> &'static str {
        use ScalarOp::*;
        match self {
            Input(_) => "input",
            Constant(_) => "constant",
            Add => "add",
            Sub => "sub",
            Mul => "mul",
            Div => "div",
            Rem => "rem",
            Neg => "neg",
            Abs => "abs",
            Min(NanRule::Propagate) => "min.propagate",
            Min(NanRule::Ignore) => "min.ignore",
            Min(NanRule::First) => "min.first",
            Max(NanRule::Propagate) => "max.propagate",
            Max(NanRule::Ignore) => "max.ignore",
            Max(NanRule::First) => "max.first",
            And => "and",
            Or => "or",
            Xor => "xor",
            Not => "not",
            ShiftLeft => "shl",
            ShiftRight => "shr",
            Compare(Comparison::Equal) => "eq",
            Compare(Comparison::NotEqual) => "ne",
            Compare(Comparison::Less) => "lt",
            Compare(Comparison::LessEqual) => "le",
            Compare(Comparison::Greater) => "gt",
            Compare(Comparison::GreaterEqual) => "ge",
            Select => "select",
            Convert => "convert",
            ConvertSaturating => "convert.saturating",
            Floor => "floor",
            Ceil => "ceil",
            Trunc => "trunc",
            RoundEven => "round_even",
            RoundAway => "round_away",
            Sqrt => "sqrt",
            Rsqrt => "rsqrt",
            Exp => "exp",
            Log => "log",
            Tanh => "tanh",
            Logistic => "logistic",
            Erf => "erf",
            Erfc => "erfc",
            Sin => "sin",
            Cos => "cos",
            Pow => "pow",
            Atan2 => "atan2",
            Fma => "fma",
            CountLeadingZeros => "clz",
            Lut(_) => "lut",
            SaturatingRoundingDoublingHighMul => "srdhm",
            RoundingDivideByPowerOfTwo => "rdivpot",
            Requantize(RequantizeRule::TfliteDouble) => "requant.tflite_double",
            Requantize(RequantizeRule::TfliteSingle) => "requant.tflite_single",
            RoundTo(_) => "round_to",
        }
    }

    /// Every operation without parameters of its own, for the parser, the random-graph generator and the coverage table.
    pub const PLAIN: &'static [Self] = {
        use ScalarOp::*;
        &[
            Add,
            Sub,
            Mul,
            Div,
            Rem,
            Neg,
            Abs,
            Min(NanRule::Propagate),
            Min(NanRule::Ignore),
            Min(NanRule::First),
            Max(NanRule::Propagate),
            Max(NanRule::Ignore),
            Max(NanRule::First),
            And,
            Or,
            Xor,
            Not,
            ShiftLeft,
            ShiftRight,
            Compare(Comparison::Equal),
            Compare(Comparison::NotEqual),
            Compare(Comparison::Less),
            Compare(Comparison::LessEqual),
            Compare(Comparison::Greater),
            Compare(Comparison::GreaterEqual),
            Select,
            Convert,
            ConvertSaturating,
            Floor,
            Ceil,
            Trunc,
            RoundEven,
            RoundAway,
            Sqrt,
            Rsqrt,
            Exp,
            Log,
            Tanh,
            Logistic,
            Erf,
            Erfc,
            Sin,
            Cos,
            Pow,
            Atan2,
            Fma,
            CountLeadingZeros,
            SaturatingRoundingDoublingHighMul,
            RoundingDivideByPowerOfTwo,
            Requantize(RequantizeRule::TfliteDouble),
            Requantize(RequantizeRule::TfliteSingle),
        ]
    };
}

/// One node: an operation on earlier nodes, with the type of its result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NodeData {
    /// The operation.
    pub op: ScalarOp,
    /// Operands, all earlier in the list.
    pub operands: Vec<Node>,
    /// Result type.
    pub ty: ElementType,
}

/// A scalar expression with several inputs and results.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Expression {
    /// The element type of each input.
    pub inputs: Vec<ElementType>,
    /// Nodes in topological order.
    pub nodes: PrimaryMap<Node, NodeData>,
    /// The nodes that are the results.
    pub results: Vec<Node>,
}

/// A mistake in an expression: an operation applied to types it is not defined on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("scalar operation {op} is not defined on ({operands})")]
pub struct ExpressionError {
    op: &'static str,
    operands: String,
}

/// Builds an expression; equal nodes are made once.
#[derive(Default)]
pub struct ExpressionBuilder {
    expression: Expression,
    known: FxHashMap<NodeData, Node>,
}

impl ExpressionBuilder {
    /// An expression over inputs of these types.
    pub fn new(inputs: &[ElementType]) -> Self {
        Self { expression: Expression { inputs: inputs.to_vec(), ..Expression::default() }, known: FxHashMap::default() }
    }

    /// The node of input number `index`.
    ///
    /// # Panics
    /// When there is no such input: a bug of the caller.
    pub fn input(&mut self, index: usize) -> Node {
        let ty = self.expression.inputs[index];
        self.intern(NodeData { op: ScalarOp::Input(index as u32), operands: vec![], ty })
    }

    /// Adds one more input and gives its node.
    pub fn add_input(&mut self, ty: ElementType) -> Node {
        self.expression.inputs.push(ty);
        self.input(self.expression.inputs.len() - 1)
    }

    /// A node copied from a checked expression, with its result type as it was.
    pub fn raw(&mut self, op: ScalarOp, operands: Vec<Node>, ty: ElementType) -> Node {
        self.intern(NodeData { op, operands, ty })
    }

    /// A number.
    pub fn constant(&mut self, value: Scalar) -> Node {
        self.intern(NodeData { op: ScalarOp::Constant(value), operands: vec![], ty: value.element() })
    }

    /// The type of a node.
    pub fn ty(&self, node: Node) -> ElementType {
        self.expression.nodes[node].ty
    }

    /// An operation whose result type follows from its operands.
    ///
    /// # Errors
    /// When the operation is not defined on these types, or needs [`Self::convert`] or [`Self::lut`].
    pub fn op(&mut self, op: ScalarOp, operands: &[Node]) -> Result<Node, ExpressionError> {
        let types: Vec<_> = operands.iter().map(|&n| self.ty(n)).collect();
        let ty = result_type(op, &types)
            .ok_or_else(|| ExpressionError { op: op.name(), operands: types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ") })?;
        Ok(self.intern(NodeData { op, operands: operands.to_vec(), ty }))
    }

    /// An operation with its result type, taken from another expression where it is known to be sound.
    pub fn node(&mut self, op: ScalarOp, operands: &[Node], ty: ElementType) -> Node {
        self.intern(NodeData { op, operands: operands.to_vec(), ty })
    }

    /// Wrapping or truncating conversion; the node itself when it has that type already.
    pub fn convert(&mut self, node: Node, ty: ElementType) -> Node {
        if self.ty(node) == ty {
            return node;
        }
        self.intern(NodeData { op: ScalarOp::Convert, operands: vec![node], ty })
    }

    /// Saturating conversion to an integer type.
    pub fn convert_saturating(&mut self, node: Node, ty: ElementType) -> Node {
        if self.ty(node) == ty {
            return node;
        }
        self.intern(NodeData { op: ScalarOp::ConvertSaturating, operands: vec![node], ty })
    }

    /// A table look-up; `ty` is the table's element type.
    pub fn lut(&mut self, table: Constant, ty: ElementType, index: Node) -> Node {
        self.intern(NodeData { op: ScalarOp::Lut(table), operands: vec![index], ty })
    }

    /// Appends a whole expression, with `inputs` in the place of its inputs; returns the nodes of its results.
    pub fn inline(&mut self, other: &Expression, inputs: &[Node]) -> Vec<Node> {
        let mut moved: Vec<Node> = Vec::with_capacity(other.nodes.len());
        for data in other.nodes.values() {
            let node = match data.op {
                ScalarOp::Input(i) => inputs[i as usize],
                _ => {
                    let operands = data.operands.iter().map(|n| moved[cranelift_entity::EntityRef::index(*n)]).collect();
                    self.intern(NodeData { op: data.op, operands, ty: data.ty })
                }
            };
            moved.push(node);
        }
        other.results.iter().map(|n| moved[cranelift_entity::EntityRef::index(*n)]).collect()
    }

    /// The finished expression.
    pub fn finish(mut self, results: Vec<Node>) -> Expression {
        self.expression.results = results;
        self.expression
    }

    fn intern(&mut self, data: NodeData) -> Node {
        if let Some(&node) = self.known.get(&data) {
            return node;
        }
        let node = self.expression.nodes.push(data.clone());
        self.known.insert(data, node);
        node
    }
}

/// The result type of an operation on operands of these types, or `None` when it is not defined on them. Conversions and
/// table look-ups carry their own type and have none here.
pub fn result_type(op: ScalarOp, operands: &[ElementType]) -> Option<ElementType> {
    use ElementType as E;
    use ScalarOp::*;
    if operands.len() != op.arity() {
        return None;
    }
    let first = operands.first().copied();
    let all_equal = operands.windows(2).all(|w| w[0] == w[1]);
    let number = |e: E| e.is_float() || e.is_integer();
    let same = |ok: bool| if ok && all_equal { first } else { None };
    match op {
        Constant(value) => Some(value.element()),
        Input(_) | Convert | ConvertSaturating | Lut(_) => None,
        Add | Sub | Mul => same(first.is_some_and(|e| number(e) || e == E::C64)),
        Div | Rem | Min(_) | Max(_) | Pow => same(first.is_some_and(number)),
        Neg | Abs => same(first.is_some_and(|e| e.is_float() || e.is_signed_integer())),
        And | Or | Xor | Not => same(first.is_some_and(|e| e.is_integer() || e == E::Bool)),
        ShiftLeft | ShiftRight => same(first.is_some_and(E::is_integer)),
        Compare(Comparison::Equal | Comparison::NotEqual) => all_equal.then_some(E::Bool),
        Compare(_) => (all_equal && first != Some(E::C64)).then_some(E::Bool),
        Select => (first == Some(E::Bool) && operands[1] == operands[2]).then_some(operands[1]),
        Floor | Ceil | Trunc | RoundEven | RoundAway | Sqrt | Rsqrt | Exp | Log | Tanh | Logistic | Erf | Erfc | Sin | Cos | Atan2
        | Fma => same(first.is_some_and(E::is_float)),
        CountLeadingZeros => same(first.is_some_and(E::is_integer)),
        SaturatingRoundingDoublingHighMul | RoundingDivideByPowerOfTwo | Requantize(_) => same(first == Some(E::I32)),
        RoundTo(narrow) => same(first == Some(E::F32) && matches!(narrow, E::F16 | E::Bf16 | E::I8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_equal_operands_stays_a_chain() {
        let mut b = ExpressionBuilder::new(&[ElementType::F32]);
        let mut x = b.input(0);
        for _ in 0..30 {
            x = b.op(ScalarOp::Add, &[x, x]).unwrap();
        }
        assert_eq!(b.finish(vec![x]).nodes.len(), 31);
    }

    #[test]
    fn scalars_keep_sign_and_bits() {
        assert_eq!(Scalar::int(ElementType::I8, -128).as_i64(), -128);
        assert_eq!(Scalar::int(ElementType::U8, 255).as_i64(), 255);
        assert_eq!(Scalar::f32(-0.0).bits(), 0x8000_0000);
        assert_eq!(Scalar::int(ElementType::I32, -2).to_bytes(), [254, 255, 255, 255]);
    }
}
