//! Narrow integers that are computed in their memory form, without widening. These are look-ups of bytes in tables of 256 entries, if the machine has
//! instructions for them, and minima and maxima.

use super::ranges::{Range, ranges, type_range, within};
use crate::ir::{Constant, ElementType, Expression, Interval, Node, ScalarOp};
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Index of the entry for 0, in a table that is indexed by signed bytes.
pub(super) const ZERO: i64 = 128;

/// Alignment of tables, so that they span as few cache lines as possible.
pub(super) const TABLE_ALIGNMENT: u32 = 64;

/// Nodes that are computed from stored forms, with the operands that they take in stored form.
pub(super) type AsStored = FxHashMap<Node, Vec<Node>>;

/// Finds the look-ups of bytes in an expression. `length` returns the number of entries of a table. Entries are bytes, or 32-bit integers too if
/// `words`.
pub(super) fn look_ups(expression: &Expression, words: bool, length: impl Fn(Constant) -> u64) -> AsStored {
    let bytes = |node: Node| {
        let data = &expression.nodes[node];
        let ScalarOp::Lut(table) = data.op else { return None };
        let fits = data.ty.is_integer() && data.ty.bits() == 8 || words && data.ty.bits() == 32;
        let of_bytes = fits && length(table) == 256;
        of_bytes.then(|| indexed(expression, data.operands[0])).flatten()
    };
    expression.nodes.keys().filter_map(|node| Some((node, vec![bytes(node)?]))).collect()
}

/// Adds the minima and maxima of narrow integers. Their operands are numbers, look-ups, other such nodes, or inputs from memory that nothing else
/// reads.
pub(super) fn add_extremes(expression: &Expression, given: &[usize], nodes: &mut AsStored) {
    let is_narrow = |node: Node| expression.nodes[node].ty.is_integer() && matches!(expression.nodes[node].ty.bits(), 8 | 16);
    let is_extreme = |node: Node| matches!(expression.nodes[node].op, ScalarOp::Min(_) | ScalarOp::Max(_)) && is_narrow(node);
    let mut extremes: Vec<Node> = expression.nodes.keys().filter(|&node| is_extreme(node)).collect();
    loop {
        let is_stored = |node: Node| match expression.nodes[node].op {
            ScalarOp::Constant(_) => true,
            ScalarOp::Input(i) => {
                let mut readers = expression.nodes.iter().filter(|(_, data)| data.operands.contains(&node));
                !given.contains(&(i as usize)) && readers.all(|(reader, _)| extremes.contains(&reader))
            }
            _ => nodes.contains_key(&node) || extremes.contains(&node),
        };
        let kept: Vec<Node> = extremes.iter().copied().filter(|&n| expression.nodes[n].operands.iter().all(|&o| is_stored(o))).collect();
        if kept.len() == extremes.len() {
            break;
        }
        extremes = kept;
    }
    nodes.extend(extremes.into_iter().map(|node| (node, expression.nodes[node].operands.clone())));
}

/// Returns the bytes that an index is computed from: unsigned bytes, or signed ones plus 128.
fn indexed(expression: &Expression, index: Node) -> Option<Node> {
    let data = &expression.nodes[index];
    let widened = |node: Node, from: ElementType| {
        let data = &expression.nodes[node];
        let widens = data.op == ScalarOp::Convert && data.ty == ElementType::I32;
        data.operands.first().copied().filter(|&bytes| widens && expression.nodes[bytes].ty == from)
    };
    if data.op != ScalarOp::Add {
        return widened(index, ElementType::U8);
    }
    let is_zero = |node: Node| matches!(expression.nodes[node].op, ScalarOp::Constant(number) if number.as_i64() == ZERO);
    let &[x, zero] = &data.operands[..] else { return None };
    widened(x, ElementType::I8).filter(|_| is_zero(zero))
}

/// Returns the operands of a node that subtracts bytes. Byte lanes wrap in the same way.
pub(super) fn byte_difference(expression: &Expression, node: Node) -> Option<[Node; 2]> {
    let data = &expression.nodes[node];
    let is_byte = data.ty.is_integer() && data.ty.bits() == 8;
    <[Node; 2]>::try_from(&data.operands[..]).ok().filter(|_| is_byte && data.op == ScalarOp::Sub)
}

/// Returns the inputs that are only used in stored form, either by `nodes` or by differences of bytes that these use. `inputs` are the inputs'
/// ranges.
pub(super) fn only_stored(expression: &Expression, nodes: &AsStored, inputs: &[Option<Interval>]) -> Vec<usize> {
    if nodes.is_empty() {
        return vec![];
    }
    let ranges = ranges(expression, inputs);
    let results: Vec<Node> = expression.results.iter().map(|&node| stored(expression, &ranges, node)).collect();
    let needed = Needed::new(expression, nodes, &ranges, &results);
    let taken = |node: Node| {
        let is_part = |&operand: &Node| byte_difference(expression, operand).is_some_and(|operands| operands.contains(&node));
        nodes.values().flatten().any(|operand| *operand == node || is_part(operand))
    };
    let is_stored = |node: Node| taken(node) && !needed.wide[node.index()] && !results.contains(&node);
    let input = |(node, op): (Node, ScalarOp)| if let ScalarOp::Input(i) = op { is_stored(node).then_some(i as usize) } else { None };
    expression.nodes.iter().filter_map(|(node, data)| input((node, data.op))).collect()
}

/// The forms in which the nodes of an expression are needed.
pub(super) struct Needed {
    /// Nodes that are needed in register form.
    pub wide: Vec<bool>,
    /// Nodes that are needed in stored form.
    pub stored: Vec<bool>,
}

impl Needed {
    /// Finds the forms that are needed to store some results. `ranges` are the nodes' ranges.
    pub fn new(expression: &Expression, nodes: &AsStored, ranges: &[Range], results: &[Node]) -> Self {
        let none = vec![false; expression.nodes.len()];
        let mut needed = Self { wide: none.clone(), stored: none };
        for &result in results {
            needed.stored[result.index()] = true;
        }
        for (node, data) in expression.nodes.iter().rev() {
            match nodes.get(&node) {
                _ if !needed.any(node) => {}
                Some(operands) => operands.iter().for_each(|&operand| needed.stored[stored(expression, ranges, operand).index()] = true),
                None if needed.is_byte_difference(expression, node) => {
                    data.operands.iter().for_each(|operand| needed.stored[operand.index()] = true);
                }
                None => data.operands.iter().for_each(|operand| needed.wide[operand.index()] = true),
            }
        }
        needed
    }

    /// Tests whether a node is a difference of bytes that is needed only as a byte.
    pub fn is_byte_difference(&self, expression: &Expression, node: Node) -> bool {
        self.stored[node.index()] && !self.wide[node.index()] && byte_difference(expression, node).is_some()
    }

    /// Tests whether a node is needed in any form.
    pub fn any(&self, node: Node) -> bool {
        self.wide[node.index()] || self.stored[node.index()]
    }
}

/// Skips conversions and clamps that a saturating store does anyway. Returns the node that can be stored instead of `result`.
pub(super) fn stored(expression: &Expression, ranges: &[Range], result: Node) -> Node {
    let data = &expression.nodes[result];
    let converts = matches!(data.op, ScalarOp::Convert | ScalarOp::ConvertSaturating);
    if !converts || data.ty.bits() >= 32 || !data.ty.is_integer() {
        return result;
    }
    let source = data.operands[0];
    let fits = data.op == ScalarOp::ConvertSaturating || within(ranges[source.index()], type_range(data.ty));
    let from_i32 = expression.nodes[source].ty == ElementType::I32;
    if from_i32 && fits { strip_clamps(expression, source, data.ty) } else { result }
}

/// Skips clamps to exactly the range of the type.
fn strip_clamps(expression: &Expression, mut node: Node, ty: ElementType) -> Node {
    let Range { low, high } = type_range(ty);
    loop {
        let data = &expression.nodes[node];
        let bound = match data.operands.get(1).map(|&n| expression.nodes[n].op) {
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
