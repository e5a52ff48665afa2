//! Simplification of map expressions.
//!
//! Contract: a one-element constant that a map reads becomes a number of its expression, and repeated operands are merged.
//! Operations on numbers alone are evaluated. With open constants, rewrites that depend on a number's value are left out.
//! Operations that always return their first operand are removed. Unused nodes and operands are removed as long as the map keeps its shape.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        if edit.function.insts[inst].op() == Op::Map { tidy(edit, inst).map_or(Visit::Keep, Visit::Replace) } else { Visit::Keep }
    })
}

fn tidy(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let old = data.expression();
    let numbers: Vec<Option<Scalar>> = data.operands.iter().map(|&v| number_of(edit, v)).collect();
    let reached = reached(old);
    let mut wanted: Vec<(usize, Value)> = Vec::new();
    for (node, data_of_node) in old.nodes.iter() {
        if let (true, ScalarOp::Input(i)) = (reached[node], data_of_node.op) {
            let operand = data.operands[i as usize];
            if numbers[i as usize].is_none() && !wanted.iter().any(|(_, v)| *v == operand) {
                wanted.push((i as usize, operand));
            }
        }
    }
    wanted.sort_by_key(|(i, _)| *i);
    let mut operands: Vec<Value> = wanted.into_iter().map(|(_, v)| v).collect();
    let expression = rebuild(edit.module, old, &reached, &data.operands, &numbers, &operands);
    let shape = &edit.function.tensor(data.results[0]).shape;
    let mut tidied = Operation::Map(operators::Map { expression });
    let same_shape = |operands: &[Value], tidied: &Operation| {
        edit.infer(tidied, operands).is_ok_and(|types| types[0].as_tensor().is_some_and(|t| t.shape == *shape))
    };
    if !same_shape(&operands, &tidied) {
        // An operand is needed for its shape alone: keep them all, and only tidy the nodes.
        operands = data.operands.clone();
        let numbers = vec![None; operands.len()];
        tidied = operators::Map { expression: rebuild(edit.module, old, &reached, &data.operands, &numbers, &operands) }.into();
        if !same_shape(&operands, &tidied) {
            return None;
        }
    }
    if operands == data.operands && tidied == data.operation {
        return None;
    }
    edit.insert(tidied, &operands).ok()
}

/// The number in a constant of one element.
fn number_of(edit: &Edit<'_>, value: Value) -> Option<Scalar> {
    if edit.module.open_constants {
        return None;
    }
    let constant = &edit.module.constants[edit.constant_of(value)?];
    if constant.ty.static_elements() != Some(1) {
        return None;
    }
    Some(Scalar::from_bytes(constant.ty.element, constant.data.bytes()))
}

/// The nodes that results depend on; operands come before their users, so one walk from the end finds them.
fn reached(expression: &Expression) -> SecondaryMap<Node, bool> {
    let mut reached = SecondaryMap::new();
    expression.results.iter().for_each(|&n| reached[n] = true);
    for (node, data) in expression.nodes.iter().rev() {
        if reached[node] {
            data.operands.iter().for_each(|&n| reached[n] = true);
        }
    }
    reached
}

/// Rebuilds an expression for other operands. `from` are the old operands; where `numbers` has a number, that operand becomes a constant.
fn rebuild(
    module: &Module,
    old: &Expression,
    reached: &SecondaryMap<Node, bool>,
    from: &[Value],
    numbers: &[Option<Scalar>],
    operands: &[Value],
) -> Expression {
    let element = |v: &Value| from.iter().position(|f| f == v).map_or(ElementType::Bool, |i| old.inputs[i]);
    let mut builder = ExpressionBuilder::new(&operands.iter().map(element).collect::<Vec<_>>());
    let mut moved: SecondaryMap<Node, Option<Node>> = SecondaryMap::new();
    let mut constants: SecondaryMap<Node, Option<Scalar>> = SecondaryMap::new();
    for (node, data) in old.nodes.iter().filter(|(node, _)| reached[*node]) {
        let arguments: Vec<Node> = data.operands.iter().filter_map(|&n| moved[n]).collect();
        let values: Option<Vec<Scalar>> = arguments.iter().map(|&n| constants[n]).collect();
        let number = match data.op {
            ScalarOp::Input(i) => numbers[i as usize],
            ScalarOp::Constant(value) => Some(value),
            op => values.and_then(|values| interpret::evaluate_scalar(module, op, data.ty, &values)),
        };
        let neutral = |n: &Node| !module.open_constants && constants[*n].is_some_and(|number| data.op.row().neutral.is(number));
        let unchanged = arguments.first().filter(|_| arguments.get(1).is_some_and(neutral));
        if let Some(&same) = unchanged {
            moved[node] = Some(same);
            continue;
        }
        let new = match (number, data.op) {
            (Some(number), _) => builder.constant(number),
            (None, ScalarOp::Input(i)) => builder.input(operands.iter().position(|v| *v == from[i as usize]).unwrap_or(0)),
            (None, op) => builder.node(op, &arguments, data.ty),
        };
        if number.is_some() {
            constants[new] = number;
        }
        moved[node] = Some(new);
    }
    let results = old.results.iter().filter_map(|&n| moved[n]).collect();
    builder.finish(results)
}
