//! Expressions: hash-consed DAGs of scalar operations.

use super::number::Scalar;
use super::operations::ScalarOp;
use crate::entities::Constant;
use crate::types::ElementType;
use cranelift_entity::{PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;

/// A node of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);
entity_impl!(Node, "n");

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

impl Expression {
    /// The cost of computing it, in additions.
    pub fn cost(&self) -> u64 {
        self.nodes.values().map(|node| node.op.row().cost).fold(0, u64::saturating_add)
    }
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
        let ty = op
            .result_type(&types)
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
}
