//! Scalar expressions: order, arity and types of nodes.

use super::{Check, VerifyError, require};
use crate::ir::module::{Constant, Module};
use crate::ir::scalar::{Expression, Node, NodeData, ScalarOp, result_type};
use crate::ir::types::ElementType;

pub(super) fn check(module: &Module, expression: &Expression) -> Check {
    for (node, data) in expression.nodes.iter() {
        check_node(module, expression, node, data).map_err(|e| VerifyError::new(format!("{node}: {}", e.message)))?;
    }
    require(!expression.results.is_empty(), || "the expression has no result".into())?;
    require(expression.results.iter().all(|&n| expression.nodes.is_valid(n)), || "a result is no node".into())
}

fn check_node(module: &Module, expression: &Expression, node: Node, data: &NodeData) -> Check {
    let name = data.op.name();
    require(data.operands.len() == data.op.arity(), || format!("{name} has {} operands", data.operands.len()))?;
    require(data.operands.iter().all(|&n| n < node), || format!("{name} reads a node that comes later"))?;
    let types: Vec<ElementType> = data.operands.iter().map(|&n| expression.nodes[n].ty).collect();
    let sound = match data.op {
        ScalarOp::Input(i) => expression.inputs.get(i as usize) == Some(&data.ty),
        ScalarOp::Convert => true,
        ScalarOp::ConvertSaturating => data.ty.is_integer() && types[0] != ElementType::C64,
        ScalarOp::Lut(table) => types[0].is_integer() && is_table(module, table, data.ty),
        op => result_type(op, &types) == Some(data.ty),
    };
    require(sound, || format!("{name} from {types:?} to {} is not defined", data.ty))
}

/// Whether a constant is one-dimensional, not empty and of an element type.
fn is_table(module: &Module, constant: Constant, element: ElementType) -> bool {
    module.constants.get(constant).is_some_and(|c| c.ty.element == element && c.ty.rank() == 1 && c.ty.static_elements() != Some(0))
}
