//! Scalar expressions as vector code: evaluates the nodes of a `map` on kernel values.
//!
//! In registers, integers up to 32 bits are held in 32-bit lanes, extended by their own sign, binary16 as binary32, and truth values
//! are masks. Interval
//! analysis tells where wrapping to a narrow type does nothing, and where storing may saturate and so drop a clamp.

use crate::ir::{Comparison, ElementType, Expression, NanRule, Node, RequantizeRule, ScalarOp};
use crate::kernel::{BinaryOp, Bounds, Buffer, CompareOp, ConvertOp, KernelBuilder, Lane, Type, UnaryOp, Value, mathematics};
use cranelift_entity::EntityRef;

/// What cannot be lowered: an operation on a type that the back ends do not compute with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} is not compiled yet")]
pub struct Unsupported {
    /// The operation and its types.
    pub what: String,
}

impl Unsupported {
    /// An error that names something.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// The lane type of an element in memory.
///
/// # Errors
/// For elements that no kernel reads or writes yet (4-bit, bfloat16, complex).
pub fn memory_lane(element: ElementType) -> Result<Lane, Unsupported> {
    use ElementType as E;
    Ok(match element {
        E::Bool | E::I8 | E::U8 => Lane::I8,
        E::I16 | E::U16 | E::F16 => Lane::I16,
        E::I32 | E::U32 => Lane::I32,
        E::I64 | E::U64 => Lane::I64,
        E::F32 => Lane::F32,
        E::F64 => Lane::F64,
        E::I4 | E::Bf16 | E::C64 => return Err(Unsupported::new(format!("arithmetic on {element}"))),
    })
}

/// The lane type of an element in registers.
pub fn register_lane(element: ElementType) -> Result<Lane, Unsupported> {
    Ok(match (element, memory_lane(element)?) {
        (ElementType::Bool, _) => Lane::Mask,
        (ElementType::F16, _) => Lane::F32,
        (_, Lane::I8 | Lane::I16) => Lane::I32,
        (_, lane) => lane,
    })
}

/// A value as loaded from memory, in the form that expressions compute with.
pub fn widen(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    let ty = b.ty(value);
    match element {
        ElementType::Bool => {
            let zero = b.int(ty, 0);
            b.compare(CompareOp::NotEqual, value, zero)
        }
        ElementType::I8 | ElementType::I16 => b.convert(ConvertOp::SignExtend, value, Lane::I32),
        ElementType::U8 | ElementType::U16 => b.convert(ConvertOp::ZeroExtend, value, Lane::I32),
        ElementType::F16 => b.convert(ConvertOp::HalfToFloat, value, Lane::F32),
        _ => value,
    }
}

/// A computed value in the form that is stored.
pub fn narrow(b: &mut KernelBuilder, value: Computed, element: ElementType) -> Value {
    match element {
        ElementType::Bool => b.convert(ConvertOp::MaskToInteger, value.value, Lane::I8),
        ElementType::F16 => b.convert(ConvertOp::FloatToHalf, value.value, Lane::I16),
        ElementType::I8 | ElementType::I16 | ElementType::U8 | ElementType::U16 => {
            let lane = if element.bits() == 8 { Lane::I8 } else { Lane::I16 };
            // Saturating and wrapping agree on values that fit, and saturating is one instruction.
            let op = if element.is_signed_integer() { ConvertOp::NarrowSigned } else { ConvertOp::NarrowUnsigned };
            b.convert(op, value.value, lane)
        }
        _ => value.value,
    }
}

/// An interval of integers that a node's value lies in.
pub type Range = (i128, i128);

/// The interval of every node, from those of the inputs (where they are narrower than their types).
pub fn ranges(expression: &Expression, inputs: &[Option<(i64, i64)>]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::with_capacity(expression.nodes.len());
    for data in expression.nodes.values() {
        let full = type_range(data.ty);
        let operand = |i: usize| ranges[data.operands[i].index()];
        let raw = match data.op {
            _ if !data.ty.is_integer() => full,
            ScalarOp::Input(i) => inputs.get(i as usize).copied().flatten().map_or(full, |(l, h)| (l.into(), h.into())),
            _ => raw_range(data.op, data.ty, &operand, |i| expression.nodes[data.operands[i]].ty).unwrap_or(full),
        };
        ranges.push(if within(raw, full) { raw } else { full });
    }
    ranges
}

/// A result of an expression.
#[derive(Clone, Copy, Debug)]
pub struct Computed {
    /// The value in its register form.
    pub value: Value,
}

/// Evaluates expressions on vectors of a number of lanes.
pub struct Evaluator<'a> {
    /// The expression.
    pub expression: &'a Expression,
    /// Lanes of every value.
    pub lanes: u16,
    /// The range of each input, where it is narrower than its type's.
    pub input_ranges: &'a [Option<(i64, i64)>],
    /// The buffer and length of each look-up table, by constant.
    pub tables: &'a dyn Fn(crate::ir::Constant) -> (Buffer, u64),
    /// Whether a fused multiply-add is one instruction.
    pub fma: bool,
}

struct State {
    values: Vec<Option<Value>>,
    ranges: Vec<Range>,
}

impl Evaluator<'_> {
    /// The results on the given inputs, which are in their register form.
    ///
    /// # Errors
    /// When an operation is not defined on its types in any back end.
    pub fn run(&self, b: &mut KernelBuilder, inputs: &[Value]) -> Result<Vec<Computed>, Unsupported> {
        let ranges = ranges(self.expression, self.input_ranges);
        let mut state = State { values: vec![None; self.expression.nodes.len()], ranges };
        let stored: Vec<Node> = self.expression.results.iter().map(|&n| self.stored(&state, n)).collect();
        let needed = self.needed(&stored);
        for (node, data) in &self.expression.nodes {
            if needed[node.index()] {
                let value = match data.op {
                    ScalarOp::Input(i) => inputs[i as usize],
                    _ => self.node(b, &state, node)?,
                };
                state.values[node.index()] = Some(value);
            }
        }
        let value = |n: &Node| Computed { value: state.values[n.index()].expect("stored nodes are needed") };
        Ok(stored.iter().map(value).collect())
    }

    /// The node that gives the same result when it is stored with saturation: conversions and clamps that saturation repeats
    /// are left out.
    fn stored(&self, state: &State, result: Node) -> Node {
        let data = &self.expression.nodes[result];
        let converts = matches!(data.op, ScalarOp::Convert | ScalarOp::ConvertSaturating);
        if !converts || data.ty.bits() >= 32 || !data.ty.is_integer() {
            return result;
        }
        let source = data.operands[0];
        let fits = data.op == ScalarOp::ConvertSaturating || within(state.ranges[source.index()], type_range(data.ty));
        let from_i32 = self.expression.nodes[source].ty == ElementType::I32;
        if from_i32 && fits { self.strip_clamps(source, data.ty) } else { result }
    }

    /// The node under clamps that are no tighter than the type.
    fn strip_clamps(&self, mut node: Node, ty: ElementType) -> Node {
        let (low, high) = type_range(ty);
        loop {
            let data = &self.expression.nodes[node];
            let bound = match data.operands.get(1).map(|&n| self.expression.nodes[n].op) {
                Some(ScalarOp::Constant(value)) => i128::from(value.as_i64()),
                _ => return node,
            };
            match data.op {
                ScalarOp::Min(_) if bound == high => node = data.operands[0],
                ScalarOp::Max(_) if bound == low => node = data.operands[0],
                _ => return node,
            }
        }
    }

    fn needed(&self, stored: &[Node]) -> Vec<bool> {
        let mut needed = vec![false; self.expression.nodes.len()];
        for node in stored {
            needed[node.index()] = true;
        }
        for index in (0..needed.len()).rev() {
            if needed[index] {
                for operand in &self.expression.nodes[Node::new(index)].operands {
                    needed[operand.index()] = true;
                }
            }
        }
        needed
    }

    /// Wraps or rounds a value computed in 32-bit lanes to its narrow type, unless its range shows that this changes nothing.
    fn wrap(&self, b: &mut KernelBuilder, value: Value, ty: ElementType, raw: Option<Range>) -> Value {
        if ty == ElementType::F16 {
            // Binary32 has more than twice the digits: rounding its sums, products, quotients and roots again is rounding once.
            let half = b.convert(ConvertOp::FloatToHalf, value, Lane::I16);
            return b.convert(ConvertOp::HalfToFloat, half, Lane::F32);
        }
        if !ty.is_integer() || ty.bits() >= 32 || raw.is_some_and(|r| within(r, type_range(ty))) {
            return value;
        }
        let bits = ty.bits() as u8;
        if ty.is_unsigned_integer() {
            let vector = b.ty(value);
            let mask = b.int(vector, (1 << bits) - 1);
            return b.binary(BinaryOp::And, value, mask);
        }
        let up = b.shift(BinaryOp::ShiftLeft, value, 32 - bits);
        b.shift(BinaryOp::ShiftRightSigned, up, 32 - bits)
    }

    fn node(&self, b: &mut KernelBuilder, state: &State, node: Node) -> Result<Value, Unsupported> {
        let data = &self.expression.nodes[node];
        let arguments: Vec<Value> =
            data.operands.iter().map(|n| state.values[n.index()].expect("operands of a needed node are computed")).collect();
        let types: Vec<ElementType> = data.operands.iter().map(|&n| self.expression.nodes[n].ty).collect();
        let operand = |i: usize| state.ranges[data.operands[i].index()];
        let raw = raw_range(data.op, data.ty, &operand, |i| types[i]);
        let ranges: Vec<Range> = (0..data.operands.len()).map(operand).collect();
        let call = Call { at: self, ty: data.ty, types: &types, ranges: &ranges, arguments: &arguments };
        let value = match data.op {
            ScalarOp::Constant(value) => call.constant(b, value)?,
            ScalarOp::Lut(table) => {
                let (buffer, length) = (self.tables)(table);
                let (low, high) = operand(0);
                let proven = low >= 0 && high < i128::from(length);
                let raw = b.gather(buffer, arguments[0], 0, if proven { Bounds::Proven } else { Bounds::Clamp });
                widen(b, raw, data.ty)
            }
            ScalarOp::ShiftLeft | ScalarOp::ShiftRight => call.shift(b, data.op, operand(1))?,
            op => call.emit(b, op)?,
        };
        Ok(match data.op {
            // These give values of their type already.
            ScalarOp::Constant(_) | ScalarOp::Lut(_) | ScalarOp::Convert | ScalarOp::ConvertSaturating => value,
            _ => self.wrap(b, value, data.ty, raw),
        })
    }
}

/// One operation on computed operands.
struct Call<'a> {
    at: &'a Evaluator<'a>,
    ty: ElementType,
    types: &'a [ElementType],
    ranges: &'a [Range],
    arguments: &'a [Value],
}

impl Call<'_> {
    fn unsupported<T>(&self, op: ScalarOp) -> Result<T, Unsupported> {
        let types = self.types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
        Err(Unsupported::new(format!("scalar operation {} on ({types}) to {}", op.name(), self.ty)))
    }

    fn vector(&self) -> Result<Type, Unsupported> {
        Ok(Type::vector(register_lane(self.ty)?, self.at.lanes))
    }

    fn constant(&self, b: &mut KernelBuilder, value: crate::ir::Scalar) -> Result<Value, Unsupported> {
        let ty = self.vector()?;
        Ok(match ty.lane {
            Lane::Mask => b.mask(ty.lanes, value.bits() != 0),
            Lane::F32 if self.ty == ElementType::F16 => b.float(ty, half::f16::from_bits(value.bits() as u16).to_f64()),
            Lane::F32 | Lane::F64 => b.float_bits(ty, value.bits()),
            _ => b.int(ty, value.as_i64()),
        })
    }

    fn emit(&self, b: &mut KernelBuilder, op: ScalarOp) -> Result<Value, Unsupported> {
        use ScalarOp as S;
        let a = self.arguments;
        let operand = self.types.first().copied().unwrap_or(self.ty);
        let float = operand.is_float();
        let unsigned = operand.is_unsigned_integer();
        let integer = |signed: BinaryOp, other: BinaryOp| if unsigned { other } else { signed };
        let is_mask = operand == ElementType::Bool;
        Ok(match op {
            S::Add => b.binary(BinaryOp::Add, a[0], a[1]),
            S::Sub => b.binary(BinaryOp::Sub, a[0], a[1]),
            S::Mul => b.binary(BinaryOp::Mul, a[0], a[1]),
            S::Div if float => b.binary(BinaryOp::FloatDiv, a[0], a[1]),
            S::Div => b.binary(integer(BinaryOp::SignedDiv, BinaryOp::UnsignedDiv), a[0], a[1]),
            S::Rem if !float => b.binary(integer(BinaryOp::SignedRem, BinaryOp::UnsignedRem), a[0], a[1]),
            S::Neg => b.unary(UnaryOp::Neg, a[0]),
            S::Abs => b.unary(UnaryOp::Abs, a[0]),
            S::Min(rule) if float => b.binary(float_min(rule), a[0], a[1]),
            S::Max(rule) if float => b.binary(float_max(rule), a[0], a[1]),
            S::Min(_) => b.binary(integer(BinaryOp::SignedMin, BinaryOp::UnsignedMin), a[0], a[1]),
            S::Max(_) => b.binary(integer(BinaryOp::SignedMax, BinaryOp::UnsignedMax), a[0], a[1]),
            S::And => b.binary(BinaryOp::And, a[0], a[1]),
            S::Or => b.binary(BinaryOp::Or, a[0], a[1]),
            S::Xor => b.binary(BinaryOp::Xor, a[0], a[1]),
            S::Not => b.unary(UnaryOp::Not, a[0]),
            S::Compare(comparison) if is_mask => self.compare_masks(b, comparison),
            S::Compare(comparison) => compare(b, comparison, unsigned, a[0], a[1]),
            S::Select if self.ty == ElementType::Bool => {
                let yes = b.binary(BinaryOp::And, a[0], a[1]);
                let not = b.unary(UnaryOp::Not, a[0]);
                let no = b.binary(BinaryOp::And, not, a[2]);
                b.binary(BinaryOp::Or, yes, no)
            }
            S::Select => b.select(a[0], a[1], a[2]),
            S::Convert => self.convert(b, false)?,
            S::ConvertSaturating => self.convert(b, true)?,
            S::Floor => b.unary(UnaryOp::Floor, a[0]),
            S::Ceil => b.unary(UnaryOp::Ceil, a[0]),
            S::Trunc => b.unary(UnaryOp::Trunc, a[0]),
            S::RoundEven => b.unary(UnaryOp::Nearest, a[0]),
            S::RoundAway => round_away(b, a[0]),
            S::Sqrt => b.unary(UnaryOp::Sqrt, a[0]),
            S::Rsqrt => {
                let root = b.unary(UnaryOp::Sqrt, a[0]);
                let ty = b.ty(root);
                let one = b.float(ty, 1.0);
                b.binary(BinaryOp::FloatDiv, one, root)
            }
            S::Exp | S::Log | S::Tanh | S::Logistic | S::Erf | S::Sin | S::Cos | S::Pow
                if matches!(operand, ElementType::F32 | ElementType::F16) =>
            {
                self.mathematics(b, op)
            }
            S::Fma if self.at.fma => b.fma(a[0], a[1], a[2]),
            S::CountLeadingZeros => {
                let ty = b.ty(a[0]);
                // A narrow number lies in a wider lane, with copies of its sign above it.
                let narrow = operand.is_signed_integer() && operand.bits() < 32;
                let mask = b.int(ty, (1 << operand.bits().min(32)) - 1);
                let bits = if narrow { b.binary(BinaryOp::And, a[0], mask) } else { a[0] };
                let zeros = b.unary(UnaryOp::CountLeadingZeros, bits);
                let extra = b.int(ty, i64::from(32u32.saturating_sub(operand.bits())));
                let zeros = b.sub(zeros, extra);
                // A negative narrow number has its sign in all the extra bits: no zeros, not fewer than none.
                let none = b.int(ty, 0);
                b.binary(BinaryOp::SignedMax, zeros, none)
            }
            S::SaturatingRoundingDoublingHighMul => {
                let smallest = i128::from(i32::MIN);
                let saturates = self.ranges.iter().all(|r| r.0 == smallest);
                b.saturating_rounding_doubling_high_mul(a[0], a[1], saturates)
            }
            S::RoundingDivideByPowerOfTwo => b.rounding_divide_by_power_of_two(a[0], a[1]),
            S::Requantize(RequantizeRule::TfliteDouble) => self.requantize_double(b),
            S::Requantize(RequantizeRule::TfliteSingle) => self.requantize_single(b),
            _ => return self.unsupported(op),
        })
    }

    fn mathematics(&self, b: &mut KernelBuilder, op: ScalarOp) -> Value {
        let a = self.arguments;
        match op {
            ScalarOp::Exp => mathematics::exp(b, a[0]),
            ScalarOp::Tanh => mathematics::tanh(b, a[0]),
            ScalarOp::Log => mathematics::log(b, a[0]),
            ScalarOp::Logistic => mathematics::logistic(b, a[0]),
            ScalarOp::Erf => mathematics::erf(b, a[0]),
            ScalarOp::Sin => mathematics::sin(b, a[0]),
            ScalarOp::Cos => mathematics::cos(b, a[0]),
            _ => mathematics::pow(b, a[0], a[1]),
        }
    }

    fn compare_masks(&self, b: &mut KernelBuilder, comparison: Comparison) -> Value {
        let [x, y] = [self.arguments[0], self.arguments[1]].map(|v| b.convert(ConvertOp::MaskToInteger, v, Lane::I32));
        compare(b, comparison, false, x, y)
    }

    /// Shift with counts outside the width made harmless.
    fn shift(&self, b: &mut KernelBuilder, op: ScalarOp, counts: Range) -> Result<Value, Unsupported> {
        let (value, count) = (self.arguments[0], self.arguments[1]);
        let bits = i128::from(self.ty.bits());
        let binary = match op {
            ScalarOp::ShiftLeft => BinaryOp::ShiftLeft,
            _ if self.ty.is_unsigned_integer() => BinaryOp::ShiftRightUnsigned,
            _ => BinaryOp::ShiftRightSigned,
        };
        if counts.0 == counts.1 && (0..bits).contains(&counts.0) {
            return Ok(b.shift(binary, value, counts.0 as u8));
        }
        if counts.0 >= 0 && counts.1 < bits {
            return Ok(b.binary(binary, value, count));
        }
        let ty = b.ty(count);
        let last = b.int(ty, bits as i64 - 1);
        let inside = b.compare(CompareOp::UnsignedLessEqual, count, last);
        let safe = b.select(inside, count, last);
        let shifted = b.binary(binary, value, safe);
        if binary == BinaryOp::ShiftRightSigned {
            return Ok(shifted);
        }
        let zero = b.int(ty, 0);
        Ok(b.select(inside, shifted, zero))
    }

    fn convert(&self, b: &mut KernelBuilder, saturating: bool) -> Result<Value, Unsupported> {
        let (value, from, to) = (self.arguments[0], self.types[0], self.ty);
        let (from_lane, to_lane) = (register_lane(from)?, register_lane(to)?);
        if to == ElementType::Bool {
            let ty = b.ty(value);
            let zero = if from.is_float() { b.float(ty, 0.0) } else { b.int(ty, 0) };
            return Ok(b.compare(CompareOp::NotEqual, value, zero));
        }
        if from == ElementType::Bool {
            let integer = b.convert(ConvertOp::MaskToInteger, value, if to_lane == Lane::I64 { Lane::I64 } else { Lane::I32 });
            return Ok(if to.is_float() { b.convert(ConvertOp::SignedToFloat, integer, to_lane) } else { integer });
        }
        if from == ElementType::F64 && to == ElementType::F16 {
            return self.unsupported(ScalarOp::Convert);
        }
        if to == ElementType::F16 && from.bits() != 16 {
            let value = if from.is_float() { value } else { self.integer_to_float(b, value, from, Lane::F32) };
            return Ok(self.at.wrap(b, value, to, None));
        }
        if from.is_float() && to.is_float() {
            let op = if from_lane == Lane::F32 { ConvertOp::Promote } else { ConvertOp::Demote };
            return Ok(if from_lane == to_lane { value } else { b.convert(op, value, to_lane) });
        }
        if from.is_float() {
            let unsigned = matches!(to, ElementType::U32 | ElementType::U64);
            let op = if unsigned { ConvertOp::FloatToUnsigned } else { ConvertOp::FloatToSigned };
            let integer = b.convert(op, value, to_lane);
            return Ok(if to.bits() < 32 { clamp(b, integer, to) } else { integer });
        }
        if to.is_float() {
            return Ok(self.integer_to_float(b, value, from, to_lane));
        }
        let mut value = value;
        if saturating {
            if from.is_unsigned_integer() && from.bits() >= 32 {
                return self.unsupported(ScalarOp::ConvertSaturating);
            }
            if to.bits() < b.ty(value).lane.bytes() * 8 {
                value = clamp(b, value, to);
            }
        }
        Ok(match (from_lane, to_lane) {
            (Lane::I32, Lane::I64) if from == ElementType::U32 => b.convert(ConvertOp::ZeroExtend, value, Lane::I64),
            (Lane::I32, Lane::I64) => b.convert(ConvertOp::SignExtend, value, Lane::I64),
            (Lane::I64, Lane::I32) => {
                let low = b.convert(ConvertOp::Wrap, value, Lane::I32);
                if saturating { low } else { self.at.wrap(b, low, to, None) }
            }
            _ if saturating => value,
            _ if within(type_range(from), type_range(to)) => value,
            _ => self.at.wrap(b, value, to, None),
        })
    }

    fn integer_to_float(&self, b: &mut KernelBuilder, value: Value, from: ElementType, lane: Lane) -> Value {
        let unsigned = matches!(from, ElementType::U32 | ElementType::U64);
        b.convert(if unsigned { ConvertOp::UnsignedToFloat } else { ConvertOp::SignedToFloat }, value, lane)
    }

    /// `MultiplyByQuantizedMultiplier` with shifts that are only known when the program runs.
    fn requantize_double(&self, b: &mut KernelBuilder) -> Value {
        let (accumulator, multiplier, shift) = (self.arguments[0], self.arguments[1], self.arguments[2]);
        let ty = b.ty(shift);
        let zero = b.int(ty, 0);
        let left = b.binary(BinaryOp::SignedMax, shift, zero);
        let negated = b.unary(UnaryOp::Neg, shift);
        let right = b.binary(BinaryOp::SignedMax, negated, zero);
        let shifted = b.binary(BinaryOp::ShiftLeft, accumulator, left);
        let product = b.saturating_rounding_doubling_high_mul(shifted, multiplier, true);
        b.rounding_divide_by_power_of_two(product, right)
    }

    /// `(acc · multiplier + 2^(30 − shift)) >> (31 − shift)` in 64-bit lanes.
    fn requantize_single(&self, b: &mut KernelBuilder) -> Value {
        let [accumulator, multiplier, shift] = [0, 1, 2].map(|i| b.convert(ConvertOp::SignExtend, self.arguments[i], Lane::I64));
        let ty = b.ty(shift);
        let thirty_one = b.int(ty, 31);
        let total = b.sub(thirty_one, shift);
        let one = b.int(ty, 1);
        let below = b.sub(total, one);
        let half = b.binary(BinaryOp::ShiftLeft, one, below);
        let product = b.mul(accumulator, multiplier);
        let rounded = b.add(product, half);
        let wide = b.binary(BinaryOp::ShiftRightSigned, rounded, total);
        b.convert(ConvertOp::Wrap, wide, Lane::I32)
    }
}

fn float_min(rule: NanRule) -> BinaryOp {
    match rule {
        NanRule::Propagate => BinaryOp::FloatMinPropagate,
        NanRule::Ignore => BinaryOp::FloatMinIgnore,
        NanRule::First => BinaryOp::FloatMinFirst,
    }
}

fn float_max(rule: NanRule) -> BinaryOp {
    match rule {
        NanRule::Propagate => BinaryOp::FloatMaxPropagate,
        NanRule::Ignore => BinaryOp::FloatMaxIgnore,
        NanRule::First => BinaryOp::FloatMaxFirst,
    }
}

fn compare(b: &mut KernelBuilder, comparison: Comparison, unsigned: bool, x: Value, y: Value) -> Value {
    let (op, x, y) = match (comparison, unsigned) {
        (Comparison::Equal, _) => (CompareOp::Equal, x, y),
        (Comparison::NotEqual, _) => (CompareOp::NotEqual, x, y),
        (Comparison::Less, false) => (CompareOp::Less, x, y),
        (Comparison::LessEqual, false) => (CompareOp::LessEqual, x, y),
        (Comparison::Greater, false) => (CompareOp::Greater, x, y),
        (Comparison::GreaterEqual, false) => (CompareOp::GreaterEqual, x, y),
        (Comparison::Less, true) => (CompareOp::UnsignedLess, x, y),
        (Comparison::LessEqual, true) => (CompareOp::UnsignedLessEqual, x, y),
        (Comparison::Greater, true) => (CompareOp::UnsignedLess, y, x),
        (Comparison::GreaterEqual, true) => (CompareOp::UnsignedLessEqual, y, x),
    };
    b.compare(op, x, y)
}

/// To nearest, ties away from zero: the truncated value, one further out if at least half was cut.
fn round_away(b: &mut KernelBuilder, x: Value) -> Value {
    let ty = b.ty(x);
    let truncated = b.unary(UnaryOp::Trunc, x);
    let rest = b.sub(x, truncated);
    let cut = b.unary(UnaryOp::Abs, rest);
    let half = b.float(ty, 0.5);
    let out = b.compare(CompareOp::GreaterEqual, cut, half);
    let zero = b.float(ty, 0.0);
    let negative = b.compare(CompareOp::Less, x, zero);
    let (minus, plus) = (b.float(ty, -1.0), b.float(ty, 1.0));
    let step = b.select(negative, minus, plus);
    let further = b.add(truncated, step);
    b.select(out, further, truncated)
}

/// Signed lanes clamped to the range of an integer type.
fn clamp(b: &mut KernelBuilder, value: Value, to: ElementType) -> Value {
    let ty = b.ty(value);
    let (low, high) = type_range(to);
    let (low, high) = (b.int(ty, low as i64), b.int(ty, high as i64));
    let above = b.binary(BinaryOp::SignedMax, value, low);
    b.binary(BinaryOp::SignedMin, above, high)
}

fn type_range(ty: ElementType) -> Range {
    ty.integer_range().unwrap_or((i128::MIN / 4, i128::MAX / 4))
}

fn within(inner: Range, outer: Range) -> bool {
    inner.0 >= outer.0 && inner.1 <= outer.1
}

/// The range of an operation's exact result, before it wraps to its type; `None` when nothing is known.
fn raw_range(op: ScalarOp, ty: ElementType, operand: &dyn Fn(usize) -> Range, operand_ty: impl Fn(usize) -> ElementType) -> Option<Range> {
    use ScalarOp as S;
    if !ty.is_integer() {
        return None;
    }
    let full = type_range(ty);
    Some(match op {
        S::Constant(value) => (i128::from(value.as_i64()), i128::from(value.as_i64())),
        S::Add => (operand(0).0 + operand(1).0, operand(0).1 + operand(1).1),
        S::Sub => (operand(0).0 - operand(1).1, operand(0).1 - operand(1).0),
        S::Mul => {
            let (a, b) = (operand(0), operand(1));
            let corners = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            (*corners.iter().min()?, *corners.iter().max()?)
        }
        S::Min(_) => (operand(0).0.min(operand(1).0), operand(0).1.min(operand(1).1)),
        S::Max(_) => (operand(0).0.max(operand(1).0), operand(0).1.max(operand(1).1)),
        S::Select => (operand(1).0.min(operand(2).0), operand(1).1.max(operand(2).1)),
        S::Neg => (-operand(0).1, -operand(0).0),
        S::Convert if operand_ty(0).is_integer() && within(operand(0), full) => operand(0),
        S::ConvertSaturating if operand_ty(0).is_integer() => (operand(0).0.clamp(full.0, full.1), operand(0).1.clamp(full.0, full.1)),
        S::CountLeadingZeros => (0, i128::from(ty.bits())),
        _ => return None,
    })
}
