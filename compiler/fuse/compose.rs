//! Two groups' element-wise work as one expression.

use super::group::{Epilogue, Group};
use crate::ir::{ElementType, ExpressionBuilder, Function, Node, Value};

/// Limit of the nodes of an expression; longer chains become several kernels.
pub(super) const MAX_NODES: usize = 512;

/// Composes the work of two groups; `second` may read results of `first`. `kept` are the results of the new expression.
pub(super) fn composed(function: &Function, first: &Group, second: &Group, kept: &[Value]) -> Epilogue {
    let mut operands = first.epilogue().map_or_else(|| first.outputs.clone(), |e| e.operands.clone());
    let own = operands.len();
    let next = second.epilogue().map_or(&[][..], |e| &e.operands);
    for &value in next {
        if !first.outputs.contains(&value) && !operands.contains(&value) {
            operands.push(value);
        }
    }
    let types: Vec<ElementType> = operands.iter().map(|&v| function.tensor(v).element).collect();
    let mut builder = ExpressionBuilder::new(&types);
    let inputs: Vec<Node> = (0..operands.len()).map(|i| builder.input(i)).collect();
    let mut computed: Vec<(Value, Node)> = Vec::new();
    let made = match first.epilogue() {
        Some(e) => builder.inline(&e.expression, &inputs[..own]),
        None => inputs[..own].to_vec(),
    };
    computed.extend(first.outputs.iter().copied().zip(made));
    let read = operands.iter().copied().zip(inputs);
    let known: Vec<(Value, Node)> = computed.iter().copied().chain(read).collect();
    let find = |known: &[(Value, Node)], value: Value| known.iter().find(|(v, _)| *v == value).map(|(_, node)| *node);
    let arguments: Vec<Node> = next.iter().map(|&v| find(&known, v).expect("every operand was listed")).collect();
    if let Some(e) = second.epilogue() {
        computed.extend(second.outputs.iter().copied().zip(builder.inline(&e.expression, &arguments)));
    }
    let results = kept.iter().map(|&v| find(&computed, v).expect("what is kept was computed")).collect();
    Epilogue { operands, expression: builder.finish(results) }
}
