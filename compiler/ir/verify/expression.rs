//! Scalar expressions: order, arity and types of nodes.

use super::check::{Check, require};
use super::mistake::{Mistake, Site};
use crate::entities::Constant;
use crate::module::Module;
use crate::scalar::{Expression, Node, NodeData, ScalarOp};
use crate::types::ElementType;

pub(super) fn check(module: &Module, expression: &Expression) -> Check {
    for (node, data) in expression.nodes.iter() {
        check_node(module, expression, node, data).map_err(|e| e.within(Site::Node(node)))?;
    }
    let sound = !expression.results.is_empty() && expression.results.iter().all(|&n| expression.nodes.is_valid(n));
    require(sound, || Mistake::ExpressionResult)
}

fn check_node(module: &Module, expression: &Expression, node: Node, data: &NodeData) -> Check {
    let (operation, expected, found) = (data.op.name(), data.op.arity(), data.operands.len());
    require(found == expected, || Mistake::ScalarOperands { operation, expected, found })?;
    require(data.operands.iter().all(|&n| n < node), || Mistake::LaterNode { operation })?;
    let types: Vec<ElementType> = data.operands.iter().map(|&n| expression.nodes[n].ty).collect();
    let sound = match data.op {
        ScalarOp::Input(i) => expression.inputs.get(i as usize) == Some(&data.ty),
        ScalarOp::Convert => true,
        ScalarOp::ConvertSaturating => data.ty.is_integer() && types[0] != ElementType::C64,
        ScalarOp::Lut(table) => types[0].is_integer() && is_table(module, table, data.ty),
        op => op.result_type(&types) == Some(data.ty),
    };
    require(sound, || Mistake::ScalarType { operation, operands: types, result: data.ty })
}

/// Tests whether a constant is a lookup table: one-dimensional, not empty, and of an element type.
fn is_table(module: &Module, constant: Constant, element: ElementType) -> bool {
    module.constants.get(constant).is_some_and(|c| c.ty.element == element && c.ty.rank() == 1 && c.ty.static_elements() != Some(0))
}
