//! Folding of shape arithmetic: SHAPE, STRIDED_SLICE, PACK and their like on constants are computed while reading, because RESHAPE
//! and others need numbers. Only small tensors are folded, so that a hostile file cannot make it long; passes fold the rest.

use crate::ir::interpret::Interpreter;
use crate::ir::{Attribute, Constant, Func, FunctionBuilder, Module, Op, TensorType, Value};
use std::collections::HashMap;

/// The largest tensor that takes part.
const MAX_ELEMENTS: u64 = 256;

/// The constants that the instructions from `start` on compute for `results`, if they depend on small constants only.
pub(super) fn constants(builder: &mut FunctionBuilder<'_>, start: usize, results: &[Value]) -> Option<Vec<Constant>> {
    if builder.function.body.len() == start || !is_small(builder, start, results) {
        return None;
    }
    // The scratch module borrows the constants, so that their numbers stay the same.
    let mut scratch = Module::default();
    std::mem::swap(&mut scratch.constants, &mut builder.module.constants);
    let copied = copy(builder, start, results, &mut scratch);
    let tensors = copied.and_then(|function| Interpreter::new(&scratch).run_function(function, &[], None).ok());
    std::mem::swap(&mut scratch.constants, &mut builder.module.constants);
    let constant = |tensor: crate::ir::Tensor| {
        let ty = TensorType::of(tensor.element, &tensor.shape);
        builder.module.add_constant(ty, tensor.bytes.into())
    };
    Some(tensors?.into_iter().map(constant).collect())
}

fn is_small(builder: &FunctionBuilder<'_>, start: usize, results: &[Value]) -> bool {
    let function = &builder.function;
    let small =
        |&value: &Value| function.values[value].ty.as_tensor().and_then(TensorType::static_elements).is_some_and(|n| n <= MAX_ELEMENTS);
    results.iter().all(small)
        && function.body[start..]
            .iter()
            .all(|&inst| function.uses(inst).all(|v| small(&v)) && function.insts[inst].results.iter().all(small))
}

/// The instructions as a function without parameters; `None` when they read anything but constants and each other.
fn copy(builder: &FunctionBuilder<'_>, start: usize, results: &[Value], scratch: &mut Module) -> Option<Func> {
    let function = &builder.function;
    let mut copy = FunctionBuilder::new(scratch, "fold");
    let mut values: HashMap<Value, Value> = HashMap::new();
    for &inst in &function.body[start..] {
        let data = &function.insts[inst];
        let mut operands = Vec::new();
        for operand in &data.operands {
            let known = match values.get(operand) {
                Some(&known) => known,
                None => copy.constant(defining_constant(builder, *operand)?).ok()?,
            };
            values.insert(*operand, known);
            operands.push(known);
        }
        let computed = copy.inst(data.op, &operands, data.attributes.clone()).ok()?;
        values.extend(data.results.iter().copied().zip(computed));
    }
    let results: Option<Vec<Value>> = results.iter().map(|value| values.get(value).copied()).collect();
    Some(copy.finish(results?))
}

/// The constant that an instruction before these defines a value as.
fn defining_constant(builder: &FunctionBuilder<'_>, value: Value) -> Option<Constant> {
    let inst = &builder.function.insts[builder.function.defining_inst(value)?];
    match inst.attributes.first() {
        Some(Attribute::Constant(constant)) if inst.op == Op::Constant => Some(*constant),
        _ => None,
    }
}
