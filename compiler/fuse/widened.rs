//! Weights that the file stores narrow: a constant and a conversion of it. A contraction that reads the conversion as its right
//! operand reads the constant instead, and converts it on the way.

use super::flow::Item;
use super::uses::read_only_so;
use crate::ir::{ElementType, Extent, Function, Inst, InstData, Op, ScalarOp, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The right operand of a contraction as it is stored: the constant, where the operand is its conversion to binary32, and else the operand. Matrices of
/// their own for each batch are read when the program runs, and only binary16 is converted there.
pub fn stored_right(function: &Function, data: &InstData) -> Value {
    let operand = data.operands[1];
    let shape = &function.tensor(operand).shape;
    let shared = data.op() == Op::Conv || shape.iter().rev().skip(2).all(|&extent| extent == Extent::Static(1));
    let converted = |&source: &Value| shared || function.tensor(source).element == ElementType::F16;
    widened_constant(function, operand).filter(converted).unwrap_or(operand)
}

/// The narrow constant after a value that is its conversion to binary32.
fn widened_constant(function: &Function, value: Value) -> Option<Value> {
    let data = &function.insts[function.defining_inst(value)?];
    if data.op() != Op::Map {
        return None;
    }
    let expression = data.expression();
    let [operand] = data.operands[..] else { return None };
    let [result] = expression.results[..] else { return None };
    let converts = expression.nodes[result].op == ScalarOp::Convert
        && expression.nodes[result].operands.iter().all(|&n| expression.nodes[n].op == ScalarOp::Input(0));
    let (from, to) = (function.tensor(operand), function.tensor(value));
    let is_narrow = matches!(from.element, ElementType::F16 | ElementType::Bf16 | ElementType::I8 | ElementType::U8);
    let fits = converts && is_narrow && to.element == ElementType::F32 && from.shape == to.shape;
    let mut root = operand;
    while let Some(inst) = function.defining_inst(root).filter(|_| fits) {
        match function.insts[inst].op() {
            Op::Constant => return Some(operand),
            Op::Reshape => root = function.insts[inst].operands[0],
            _ => return None,
        }
    }
    None
}

/// The conversions that only contractions read, as their right operand: no kernel of their own computes them.
pub(super) fn absorbed(function: &Function, items: &[Item], uses: &FxHashMap<Value, usize>) -> FxHashSet<Inst> {
    read_only_so(function, items, uses, |data| {
        let reads_stored = matches!(data.op(), Op::Conv | Op::Matmul) && stored_right(function, data) != data.operands[1];
        reads_stored.then(|| data.operands[1])
    })
}
