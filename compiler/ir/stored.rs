//! Weights that the file stores narrow: a constant and a conversion of it. A contraction that reads the conversion as its right
//! operand reads the constant instead, and converts it on the way.

use super::entities::Value;
use super::module::{Function, InstData};
use super::operators::Op;
use super::scalar::{Expression, Node, ScalarOp};
use super::types::{ElementType, Extent};

/// Returns the right operand of a contraction as it is stored, and the number that is subtracted from each of its integers. If the operand is a
/// constant's conversion to binary32, this is the constant, else the operand itself. Matrices that differ between batches are read at run time, and
/// only binary16 is converted there.
pub fn stored_right(function: &Function, data: &InstData) -> (Value, i64) {
    let operand = data.operands[1];
    let shape = &function.tensor(operand).shape;
    let shared = data.op() == Op::Conv || shape.iter().rev().skip(2).all(|&extent| extent == Extent::Static(1));
    let converted = |&(source, _): &(Value, i64)| shared || function.tensor(source).element == ElementType::F16;
    widened_constant(function, operand).filter(converted).unwrap_or((operand, 0))
}

/// Returns the narrow constant whose conversion to binary32 a value is, and the number subtracted before the conversion.
fn widened_constant(function: &Function, value: Value) -> Option<(Value, i64)> {
    let data = &function.insts[function.defining_inst(value)?];
    if data.op() != Op::Map {
        return None;
    }
    let [operand] = data.operands[..] else { return None };
    let (from, to) = (function.tensor(operand), function.tensor(value));
    let subtracted = subtracted(data.expression(), from.element)?;
    let is_narrow = from.element.is_half() || from.element.is_integer() && from.element.bits() <= 8;
    let fits = is_narrow && to.element == ElementType::F32 && from.shape == to.shape;
    let mut root = operand;
    while let Some(inst) = function.defining_inst(root).filter(|_| fits) {
        match function.insts[inst].op() {
            Op::Constant => return Some((operand, subtracted)),
            Op::Reshape => root = function.insts[inst].operands[0],
            _ => return None,
        }
    }
    None
}

/// Returns the number that an expression subtracts from its input before converting it. It is 0, or a number subtracted from a packed integer in 32
/// bits.
fn subtracted(expression: &Expression, element: ElementType) -> Option<i64> {
    let [result] = expression.results[..] else { return None };
    let nodes = &expression.nodes;
    let converted = |node: Node| (nodes[node].op == ScalarOp::Convert).then(|| nodes[node].operands[0]);
    let source = converted(result)?;
    match nodes[source].op {
        ScalarOp::Input(0) => Some(0),
        ScalarOp::Sub if element.is_packed() && nodes[source].ty == ElementType::I32 => {
            let [minuend, subtrahend] = nodes[source].operands[..] else { return None };
            let ScalarOp::Constant(number) = nodes[subtrahend].op else { return None };
            (nodes[converted(minuend)?].op == ScalarOp::Input(0)).then(|| number.as_i64())
        }
        _ => None,
    }
}
