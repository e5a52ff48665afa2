//! Conversion of numbers in maps to constants, which can be replaced.
//!
//! Contract: in every map, each use of a number becomes a read of its own one-element constant. Scales and zero points then lie with the weights and
//! can be replaced, too.
//! Two uses never share a constant, since equal numbers may be chance. Counts of shifts belong to the arithmetic and stay, and so do truth values.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Applies the rewrite. A second run finds nothing.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        if edit.function.insts[inst].op() == Op::Map { open(edit, inst).map_or(Visit::Keep, Visit::Replace) } else { Visit::Keep }
    })
}

fn open(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let old = data.expression();
    let mut opened = Opened { builder: ExpressionBuilder::new(&old.inputs), numbers: Vec::new() };
    let mut moved: SecondaryMap<Node, Option<Node>> = SecondaryMap::new();
    for (node, node_data) in old.nodes.iter() {
        let mut arguments = Vec::with_capacity(node_data.operands.len());
        for (position, &operand) in node_data.operands.iter().enumerate() {
            arguments.push(match number(old, operand).filter(|_| !is_count(node_data.op, position)) {
                Some(value) => opened.input(value),
                None => moved[operand]?,
            });
        }
        let new = match node_data.op {
            ScalarOp::Input(i) => opened.builder.input(i as usize),
            op => opened.builder.node(op, &arguments, node_data.ty),
        };
        moved[node] = Some(new);
    }
    let results = old.results.iter().map(|&n| number(old, n).map_or_else(|| moved[n], |value| Some(opened.input(value))));
    let results: Vec<Node> = results.collect::<Option<_>>()?;
    let Opened { builder, numbers } = opened;
    if numbers.is_empty() {
        return None;
    }
    let mut operands = data.operands;
    for value in numbers {
        let constant = edit.module.add_scalar(value);
        operands.push(edit.insert_one(operators::Constant { data: constant }, &[])?);
    }
    edit.insert(operators::Map { expression: builder.finish(results) }, &operands).ok()
}

/// The new expression, and the numbers for its additional inputs.
struct Opened {
    builder: ExpressionBuilder,
    numbers: Vec<Scalar>,
}

impl Opened {
    fn input(&mut self, value: Scalar) -> Node {
        self.numbers.push(value);
        self.builder.add_input(value.element())
    }
}

fn number(expression: &Expression, node: Node) -> Option<Scalar> {
    match expression.nodes[node].op {
        ScalarOp::Constant(value) => Some(value).filter(|v| v.element() != ElementType::Bool),
        _ => None,
    }
}

fn is_count(op: ScalarOp, position: usize) -> bool {
    matches!(op, ScalarOp::ShiftLeft | ScalarOp::ShiftRight) && position == 1
}
