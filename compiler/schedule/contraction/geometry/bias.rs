//! A constant bias that an epilogue adds first becomes the initial value of the sums.

use crate::fuse::Epilogue;
use crate::ir::{Expression, ExpressionBuilder, Node, ScalarOp};
use crate::schedule::context::Context;
use crate::schedule::elementwise::access::{Access, access};
use crate::schedule::elementwise::epilogue::epilogue_of;
use crate::schedule::quantity::product;
use cranelift_entity::EntityRef;

/// An epilogue without its bias, and the bytes of the bias: one i32 or f32 for each output channel.
pub struct Biased {
    /// The rest of the epilogue.
    pub epilogue: Epilogue,
    /// Little-endian numbers of the accumulator's type; `None` without a constant bias.
    pub bias: Option<Vec<u8>>,
}

/// Splits the bias from a group's epilogue. It is the addition of a per-channel constant to the accumulator, if nothing else reads the
/// accumulator.
pub fn take_bias(cx: &Context<'_>) -> Biased {
    let epilogue = epilogue_of(cx);
    match find(cx, &epilogue) {
        Some((sum, operand)) => {
            let bytes = cx.constant_data(epilogue.operands[operand]).map(|d| d.bytes().to_vec());
            let expression = without(&epilogue, sum, cx);
            Biased { epilogue: Epilogue { expression, ..epilogue }, bias: bytes }
        }
        None => Biased { epilogue, bias: None },
    }
}

/// Returns the node that adds the bias, and the number of the bias operand.
fn find(cx: &Context<'_>, epilogue: &Epilogue) -> Option<(Node, usize)> {
    let accumulator = cx.function.insts[cx.group.root()?].results[0];
    let expression = &epilogue.expression;
    let is_accumulator = |n: Node| matches!(expression.nodes[n].op, ScalarOp::Input(i) if epilogue.operands[i as usize] == accumulator);
    let readers: Vec<Node> =
        expression.nodes.iter().filter(|(_, d)| d.operands.iter().any(|&n| is_accumulator(n))).map(|(n, _)| n).collect();
    let [sum] = readers[..] else { return None };
    // Float sums keep the order of the reference, which adds the bias last. Cancellation of large terms would show a difference.
    if expression.nodes[sum].ty.is_float()
        || expression.results.iter().any(|&n| is_accumulator(n))
        || expression.nodes[sum].op != ScalarOp::Add
    {
        return None;
    }
    let [a, b] = expression.nodes[sum].operands[..] else { return None };
    let other = if is_accumulator(a) { b } else { a };
    let ScalarOp::Input(operand) = expression.nodes[other].op else { return None };
    let operand = operand as usize;
    if is_accumulator(other) {
        return None;
    }
    let output = cx.quantities(cx.group.outputs[0]);
    let shape = cx.quantities(epilogue.operands[operand]);
    let per_channel = access(&shape, &output) == Access::Channel || product(&shape) == *output.last()?;
    (per_channel && cx.constant_data(epilogue.operands[operand]).is_some()).then_some((sum, operand))
}

/// Replaces the sum by the accumulator in the expression.
fn without(epilogue: &Epilogue, sum: Node, cx: &Context<'_>) -> Expression {
    let expression = &epilogue.expression;
    let mut builder = ExpressionBuilder::new(&expression.inputs);
    let accumulator = cx.group.root().map(|r| cx.function.insts[r].results[0]);
    let position = epilogue.operands.iter().position(|v| Some(*v) == accumulator).unwrap_or(0);
    let mut moved: Vec<Node> = Vec::with_capacity(expression.nodes.len());
    for (node, data) in &expression.nodes {
        let new = match data.op {
            _ if node == sum => builder.input(position),
            ScalarOp::Input(i) => builder.input(i as usize),
            op => builder.raw(op, data.operands.iter().map(|n| moved[n.index()]).collect(), data.ty),
        };
        moved.push(new);
    }
    builder.finish(expression.results.iter().map(|n| moved[n.index()]).collect())
}
