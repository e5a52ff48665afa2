//! Folding of shape arithmetic: SHAPE, STRIDED_SLICE, PACK and their like on constants are computed while reading, because RESHAPE and others need
//! numbers. Small tensors are folded at once. A large one stays an instruction, so that it takes no room in the object, and is evaluated only if its
//! numbers are needed. Passes fold the rest.

use crate::ir::interpret::Interpreter;
use crate::ir::{Constant, Func, FunctionBuilder, Inst, Module, Op, TensorType, Type, Value};
use rustc_hash::FxHashMap;

/// The largest tensor that is folded unasked.
const MAX_ELEMENTS: u64 = 256;
/// The total number of scalar operations for numbers evaluated on demand. It limits the time that a hostile file can take.
const MAX_WORK: u64 = 1 << 26;

/// Numbers evaluated on demand, and the remaining budget.
pub(super) struct Evaluated {
    constants: FxHashMap<Value, Constant>,
    work: u64,
}

impl Default for Evaluated {
    fn default() -> Self {
        Self { constants: FxHashMap::default(), work: MAX_WORK }
    }
}

impl Evaluated {
    /// Forgets the numbers, but keeps the budget. The next numbers belong to another function.
    pub fn forget(&mut self) {
        self.constants.clear();
    }

    /// Returns the constant that a value evaluates to, unless it depends on inputs, state or control flow.
    pub fn constant(&mut self, builder: &mut FunctionBuilder<'_>, value: Value) -> Option<Constant> {
        if let Some(constant) = defining_constant(builder, value).or_else(|| self.constants.get(&value).copied()) {
            return Some(constant);
        }
        let insts = self.instructions(builder, value)?;
        let constant = *run(builder, &insts, &[value])?.first()?;
        self.constants.insert(value, constant);
        Some(constant)
    }

    /// The instructions that a value depends on, in order; `None` when they are too many or not all known.
    fn instructions(&mut self, builder: &FunctionBuilder<'_>, value: Value) -> Option<Vec<Inst>> {
        let function = &builder.function;
        let (mut insts, mut open) = (std::collections::BTreeSet::new(), vec![value]);
        while let Some(value) = open.pop() {
            let inst = function.defining_inst(value)?;
            if !insts.insert(inst) {
                continue;
            }
            let data = &function.insts[inst];
            let gives_tensors = data.results.iter().all(|&result| matches!(function.values[result].ty, Type::Tensor(_)));
            if !gives_tensors || data.operation.has_effect() {
                return None;
            }
            self.work = self.work.checked_sub(data.work(builder.module, function)?)?;
            open.extend(function.uses(inst));
        }
        Some(insts.into_iter().collect())
    }
}

/// Replaces the instructions from number `start` on by constants for `results`, if they depend on small constants only.
pub(super) fn fold_from(builder: &mut FunctionBuilder<'_>, start: usize, results: &[Value]) -> Option<Vec<Value>> {
    if builder.function.body.len() == start || !is_small(builder, start, results) {
        return None;
    }
    let insts = builder.function.body[start..].to_vec();
    let constants = run(builder, &insts, results)?;
    // Constants stay: they may be tensors that later operators read too.
    let computed = builder.function.body.split_off(start);
    let function = &mut builder.function;
    function.body.extend(computed.into_iter().filter(|&inst| function.insts[inst].op() == Op::Constant));
    constants.into_iter().map(|constant| builder.constant(constant).ok()).collect()
}

/// Evaluates instructions that depend only on constants and each other.
fn run(builder: &mut FunctionBuilder<'_>, insts: &[Inst], results: &[Value]) -> Option<Vec<Constant>> {
    // The scratch module borrows the constants, so that their numbers stay the same.
    let mut scratch = Module::default();
    std::mem::swap(&mut scratch.constants, &mut builder.module.constants);
    let copied = copy(builder, insts, results, &mut scratch);
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
        && function.body[start..].iter().all(|&inst| {
            function.uses(inst).all(|v| small(&v)) && function.insts[inst].results.iter().all(small) && !function.widens_weights(inst)
        })
}

/// The instructions as a function without parameters; `None` when they read anything but constants and each other.
fn copy(builder: &FunctionBuilder<'_>, insts: &[Inst], results: &[Value], scratch: &mut Module) -> Option<Func> {
    let function = &builder.function;
    let mut copy = FunctionBuilder::new(scratch, "fold");
    let mut values: FxHashMap<Value, Value> = FxHashMap::default();
    for &inst in insts {
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
        let computed = copy.repeat(data, &operands).ok()?;
        values.extend(data.results.iter().copied().zip(computed));
    }
    let results: Option<Vec<Value>> = results.iter().map(|value| values.get(value).copied()).collect();
    Some(copy.finish(results?))
}

/// The constant that a value is defined as, if it is.
pub(super) fn defining_constant(builder: &FunctionBuilder<'_>, value: Value) -> Option<Constant> {
    builder.function.insts[builder.function.defining_inst(value)?].constant()
}
