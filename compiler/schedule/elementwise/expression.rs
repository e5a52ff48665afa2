//! Scalar expressions as vector code: evaluates the nodes of a `map` on kernel values.
//!
//! Registers hold integers up to 32 bits in 32-bit lanes, sign-extended or zero-extended by their type. They hold 16-bit floats as binary32, rounded
//! after every operation, and truth values as masks. Interval analysis finds wraps to a narrow type that change nothing, and clamps that a saturating
//! store makes redundant.

use super::division::Quotients;
use super::lanes::{memory_lane, narrow, widen, wrap};
use super::look_ups::{AsStored, Needed, ZERO, stored};
use super::ranges::{Range, clamped, ranges, raw_range, type_range, within};
use super::requantize::{MOST_ADDED, Requantizer};
use super::scalar_operations::{Call, round_to};
use crate::ir::scalar::interval::Operands;
use crate::ir::{Constant, ElementType, Exactness, Expression, Interval, Node, ScalarOp};
use crate::kernel::mathematics::Arithmetic;
use crate::kernel::{BinaryOp, Bounds, Buffer, KernelBuilder, Lane, Type, Value};
use crate::schedule::unsupported::Unsupported;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Evaluator of expressions on vectors with a fixed number of lanes.
pub struct Evaluator<'a> {
    /// The expression.
    pub expression: &'a Expression,
    /// Lanes of every value.
    pub lanes: u16,
    /// Range of each input, if it is narrower than its type's range.
    pub input_ranges: &'a [Option<Interval>],
    /// Buffer and length of each look-up table, by constant.
    pub tables: &'a dyn Fn(Constant) -> (Buffer, u64),
    /// Instruction sequences of requantizations with other operands: an offset sum and tables.
    pub requantizers: &'a FxHashMap<Node, Requantizer>,
    /// Nodes that are computed from stored forms, and their operands.
    pub as_stored: &'a AsStored,
    /// `true` if a fused multiply-add is one instruction.
    pub fma: bool,
    /// Way to compute quotients of integers. Quotients of floats need not be correctly rounded on a GPU.
    pub quotients: Quotients,
    /// Instructions that mathematical functions may use.
    pub arithmetic: Arithmetic,
}

struct State {
    /// Values of the nodes in register form.
    values: Vec<Option<Value>>,
    /// Values of narrow integers in stored form.
    stored: Vec<Option<Value>>,
    ranges: Vec<Range>,
}

impl Evaluator<'_> {
    /// Computes the results. Inputs are in register form; bytes that are only used in stored form are inputs as they are in memory. Narrow integers
    /// are for a store, which saturates them. Other users call [`exact`] first. Bytes that come from a table stay bytes.
    ///
    /// # Errors
    /// [`Unsupported`] if an operation is not defined on its types in any back end.
    pub fn run(&self, b: &mut KernelBuilder, inputs: &[Value]) -> Result<Vec<Value>, Unsupported> {
        let ranges = ranges(self.expression, self.input_ranges);
        let none = vec![None; self.expression.nodes.len()];
        let mut state = State { values: none.clone(), stored: none, ranges };
        let results: Vec<Node> = self.expression.results.iter().map(|&n| stored(self.expression, &state.ranges, n)).collect();
        let needed = Needed::new(self.expression, self.as_stored, &state.ranges, &results);
        for (node, data) in &self.expression.nodes {
            if !needed.any(node) {
                continue;
            }
            let value = match (data.op, self.as_stored.get(&node).map(Vec::as_slice)) {
                (ScalarOp::Input(i), _) => inputs[i as usize],
                (ScalarOp::Lut(table), Some(&[bytes])) => self.look_up(b, &mut state, table, bytes),
                (op, Some(&[first, second])) => {
                    let [first, second] = [first, second].map(|operand| self.as_stored(b, &mut state, operand));
                    b.binary(extreme(op, data.ty), first, second)
                }
                _ if needed.is_byte_difference(self.expression, node) => {
                    let [x, y] = [0, 1].map(|i| self.as_stored(b, &mut state, data.operands[i]));
                    b.binary(BinaryOp::Sub, x, y)
                }
                _ => self.node(b, &state, node)?,
            };
            let is_stored = matches!(data.ty.bits(), 8 | 16) && matches!(b.ty(value).lane, Lane::I8 | Lane::I16);
            state.stored[node.index()] = Some(value).filter(|_| is_stored);
            if needed.wide[node.index()] || !is_stored {
                state.values[node.index()] = Some(if is_stored { widen(b, value, data.ty) } else { value });
            }
        }
        let value = |n: &Node| state.stored[n.index()].or(state.values[n.index()]).expect("results are needed");
        Ok(results.iter().map(value).collect())
    }

    /// Returns a node in stored form.
    fn as_stored(&self, b: &mut KernelBuilder, state: &mut State, node: Node) -> Value {
        let data = &self.expression.nodes[node];
        if let (ScalarOp::Constant(number), Ok(lane)) = (data.op, memory_lane(data.ty)) {
            return b.int(Type::vector(lane, self.lanes), number.as_i64());
        }
        let value = state.stored[node.index()].unwrap_or_else(|| {
            let source = stored(self.expression, &state.ranges, node);
            narrow(b, state.values[source.index()].expect("operands of a needed node are computed"), data.ty)
        });
        state.stored[node.index()] = Some(value);
        value
    }

    /// Looks bytes up in a table. The entries stay in stored form.
    fn look_up(&self, b: &mut KernelBuilder, state: &mut State, table: Constant, node: Node) -> Value {
        let mut bytes = self.as_stored(b, state, node);
        if self.expression.nodes[node].ty == ElementType::U8 {
            let ty = b.ty(bytes);
            let zero = b.int(ty, -ZERO);
            bytes = b.binary(BinaryOp::Xor, bytes, zero);
        }
        b.gather((self.tables)(table).0, bytes, ZERO, Bounds::Proven)
    }

    /// Tests whether a sum of 32-bit integers cannot wrap. Either the exact sum's range proves it, or a small number is added to a scaled sum.
    fn never_wraps(&self, operands: &[Node], exact: Option<Range>) -> bool {
        let is_small = |node: &Node| match self.expression.nodes[*node].op {
            ScalarOp::Constant(number) => number.as_i64().abs() <= MOST_ADDED,
            _ => false,
        };
        let is_scaled = |node: &Node| self.requantizers.contains_key(node);
        exact.is_some_and(|range| within(range, type_range(ElementType::I32)))
            || operands.iter().all(|node| is_small(node) || is_scaled(node)) && operands.iter().any(is_small)
    }

    fn node(&self, b: &mut KernelBuilder, state: &State, node: Node) -> Result<Value, Unsupported> {
        let data = &self.expression.nodes[node];
        let arguments: Vec<Value> =
            data.operands.iter().map(|n| state.values[n.index()].expect("operands of a needed node are computed")).collect();
        let types: Vec<ElementType> = data.operands.iter().map(|&n| self.expression.nodes[n].ty).collect();
        let operand = |i: usize| state.ranges[data.operands[i].index()];
        let ranges: Vec<Range> = (0..data.operands.len()).map(operand).collect();
        let raw = raw_range(data.op, &Operands { ty: data.ty, types: &types, ranges: &ranges });
        let clamped = data.operands.first().and_then(|&operand| clamped(self.expression, operand));
        let call = Call {
            lanes: self.lanes,
            fma: self.fma,
            quotients: self.quotients,
            arithmetic: self.arithmetic,
            ty: data.ty,
            types: &types,
            ranges: &ranges,
            clamped,
            arguments: &arguments,
        };
        let value = match data.op {
            ScalarOp::Constant(value) => call.constant(b, value)?,
            ScalarOp::Lut(table) => {
                let (buffer, length) = (self.tables)(table);
                let Range { low, high } = operand(0);
                let proven = low >= 0 && high < i128::from(length);
                let raw = b.gather(buffer, arguments[0], 0, if proven { Bounds::Proven } else { Bounds::Clamp });
                widen(b, raw, data.ty)
            }
            ScalarOp::ShiftLeft | ScalarOp::ShiftRight => call.shift(b, data.op, operand(1))?,
            ScalarOp::Add if data.ty == ElementType::I32 && self.never_wraps(&data.operands, raw) => {
                b.binary(BinaryOp::SignedAddInRange, arguments[0], arguments[1])
            }
            op => match self.requantizers.get(&node) {
                Some(requantizer) => requantizer.emit(b, &arguments),
                None => call.emit(b, op)?,
            },
        };
        Ok(match data.op {
            // These results have their type already.
            ScalarOp::Constant(_) | ScalarOp::Lut(_) | ScalarOp::Convert | ScalarOp::ConvertSaturating => value,
            _ if data.ty.is_half() && data.op.row().exactness != Exactness::Exact => round_to(b, value, data.ty),
            _ => wrap(b, value, data.ty, raw),
        })
    }
}

/// Returns the minimum or maximum instruction for narrow integers in stored form.
fn extreme(op: ScalarOp, ty: ElementType) -> BinaryOp {
    match (op, ty.is_unsigned_integer()) {
        (ScalarOp::Min(_), true) => BinaryOp::UnsignedMin,
        (ScalarOp::Min(_), false) => BinaryOp::SignedMin,
        (_, true) => BinaryOp::UnsignedMax,
        (_, false) => BinaryOp::SignedMax,
    }
}
