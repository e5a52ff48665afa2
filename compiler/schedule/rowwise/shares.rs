//! Shares of a softmax: the powers of a row divided by their sum. A quotient takes as long as ten products, so each row has one reciprocal of its
//! sum, as in XNNPACK. A share is then within 1.5 ulp of the quotient.

use crate::ir::{ElementType, ExpressionBuilder, Inst, Node, Op, Operation, Reduction, Scalar, ScalarOp, Value};
use crate::schedule::context::Context;

/// Returns the operands of an instruction that divides powers by their sum: the number of the power and the number of the sum. `None` for other
/// instructions.
///
/// A power of a softmax is 0 or a normal number. So the sum is 0 or a normal number, too, and its reciprocal is finite unless every power is 0.
pub(super) fn share(cx: &Context<'_>, inst: Inst) -> Option<[usize; 2]> {
    let data = &cx.function.insts[inst];
    let Operation::Map(map) = &data.operation else { return None };
    let (nodes, &[result]) = (&map.expression.nodes, &map.expression.results[..]) else { return None };
    let divides = nodes[result].op == ScalarOp::Div && nodes[result].ty == ElementType::F32;
    let input = |node: Node| match nodes[node].op {
        ScalarOp::Input(number) => Some(number as usize),
        _ => None,
    };
    let &[power, sum] = &nodes[result].operands[..] else { return None };
    let numbers = [input(power)?, input(sum)?];
    let [power, sum] = numbers.map(|number| data.operands[number]);
    (divides && is_sum_of(cx, sum, power) && vanishes_early(cx, power)).then_some(numbers)
}

/// Writes a power times the reciprocal of a sum.
pub(super) fn product(builder: &mut ExpressionBuilder, power: Node, sum: Node) -> Node {
    let one = builder.constant(Scalar::f32(1.0));
    let reciprocal = builder.node(ScalarOp::Div, &[one, sum], ElementType::F32);
    builder.node(ScalarOp::Mul, &[power, reciprocal], ElementType::F32)
}

/// Tests whether a value is the sum of another one along some axes.
fn is_sum_of(cx: &Context<'_>, sum: Value, of: Value) -> bool {
    cx.function.defining_inst(sum).is_some_and(|inst| {
        let data = &cx.function.insts[inst];
        matches!(&data.operation, Operation::Reduce(reduce) if reduce.reduction == Reduction::Sum) && data.operands[..] == [of]
    })
}

/// Tests whether a value is an exponential that is 0 where it would be subnormal, as the powers of a softmax are.
fn vanishes_early(cx: &Context<'_>, power: Value) -> bool {
    let Some(inst) = cx.function.defining_inst(power).filter(|&inst| cx.function.insts[inst].op() == Op::Map) else { return false };
    let data = &cx.function.insts[inst];
    let expression = data.expression();
    let Some(result) = data.results.iter().position(|&value| value == power) else { return false };
    let root = &expression.nodes[expression.results[result]];
    let &[_, zero, other] = &root.operands[..] else { return false };
    let is_zero = expression.nodes[zero].op == ScalarOp::Constant(Scalar::f32(0.0));
    root.op == ScalarOp::Select && is_zero && expression.nodes[other].op == ScalarOp::Exp
}
