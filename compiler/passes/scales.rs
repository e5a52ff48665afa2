//! Depthwise convolutions of a single tap become products of each channel with a number.
//!
//! Contract: only float convolutions whose results are the product and nothing else. A map fuses with its neighbours and may overwrite its operands.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| scale(edit, inst).map_or(Visit::Keep, |value| Visit::Replace(vec![value])))
}

fn scale(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let Operation::Conv(conv) = &data.operation else { return None };
    let (input, filter) = (data.operands[0], data.operands[1]);
    let element = edit.function.tensor(data.results[0]).element;
    let alike = [input, filter].iter().all(|&v| edit.function.tensor(v).element == element);
    let channels = edit.function.tensor(input).shape.last()?.as_static()?;
    let one_tap = edit.static_shape(filter)?.iter().product::<u64>() == channels && conv.groups == channels;
    let geometry = &conv.geometry;
    let in_place = geometry.positions.is_empty()
        && [&geometry.strides, &geometry.dilation, &conv.input_dilation].iter().all(|list| list.iter().all(|&n| n == 1))
        && [&geometry.padding_low, &geometry.padding_high].iter().all(|list| list.iter().all(|&n| n == 0));
    if element != ElementType::F32 || !alike || !one_tap || !in_place {
        return None;
    }
    let numbers = edit.insert_one(operators::Reshape { shape: vec![Extent::Static(channels)] }, &[filter])?;
    let mut expression = ExpressionBuilder::new(&[element; 2]);
    let operands = [expression.input(0), expression.input(1)];
    // A sum of products begins with zero, which makes a negative zero positive.
    let product = expression.op(ScalarOp::Mul, &operands).ok()?;
    let zero = expression.constant(Scalar::f32(0.0));
    let sum = expression.op(ScalarOp::Add, &[zero, product]).ok()?;
    edit.insert_one(operators::Map { expression: expression.finish(vec![sum]) }, &[input, numbers])
}
