//! Scalar expressions as vector code: evaluates the nodes of a `map` on kernel values.
//!
//! In registers, integers up to 32 bits are held in 32-bit lanes, extended by their own sign; 16-bit floats are binary32, rounded after every
//! operation; truth values are masks. Interval analysis tells where wrapping to a narrow type does nothing, and where storing may saturate and so drop a clamp.

use super::lanes::{widen, wrap};
use super::ranges::{Range, clamped, ranges, raw_range, type_range, within};
use super::requantize::{MOST_ADDED, Requantizer};
use super::scalar_operations::{Call, round_to};
use crate::ir::scalar::interval::Operands;
use crate::ir::{ElementType, Exactness, Expression, Node, ScalarOp};
use crate::kernel::{BinaryOp, Bounds, Buffer, KernelBuilder, Value};
use crate::schedule::unsupported::Unsupported;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

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
    /// How requantizations are computed whose operands are an offset sum and tables.
    pub requantizers: &'a FxHashMap<Node, Requantizer>,
    /// Whether a fused multiply-add is one instruction.
    pub fma: bool,
}

struct State {
    values: Vec<Option<Value>>,
    ranges: Vec<Range>,
}

impl Evaluator<'_> {
    /// The results on the given inputs, which are in their register form. Narrow integers are as a store takes them: it saturates them. Whoever reads
    /// them otherwise does that itself, by [`exact`].
    ///
    /// # Errors
    /// When an operation is not defined on its types in any back end.
    pub fn run(&self, b: &mut KernelBuilder, inputs: &[Value]) -> Result<Vec<Value>, Unsupported> {
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
        let value = |n: &Node| state.values[n.index()].expect("stored nodes are needed");
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

    /// Whether a sum of 32-bit integers is known to be one, from the range of the exact sum, or as scaled sums leave room for small numbers.
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
        let call = Call { lanes: self.lanes, fma: self.fma, ty: data.ty, types: &types, ranges: &ranges, clamped, arguments: &arguments };
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
            ScalarOp::Add if data.ty == ElementType::I32 && self.never_wraps(&data.operands, raw) => {
                b.binary(BinaryOp::SignedAddInRange, arguments[0], arguments[1])
            }
            op => match self.requantizers.get(&node) {
                Some(requantizer) => requantizer.emit(b, &arguments),
                None => call.emit(b, op)?,
            },
        };
        Ok(match data.op {
            // These give values of their type already.
            ScalarOp::Constant(_) | ScalarOp::Lut(_) | ScalarOp::Convert | ScalarOp::ConvertSaturating => value,
            _ if matches!(data.ty, ElementType::F16 | ElementType::Bf16) && data.op.row().exactness != Exactness::Exact => {
                round_to(b, value, data.ty)
            }
            _ => wrap(b, value, data.ty, raw),
        })
    }
}
