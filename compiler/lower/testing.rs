//! Helpers of tests: methods of one function, cut into groups.

use super::memory::variables::Variables;
use super::options::Options;
use super::search::special::{Overwriting, Shortened};
use super::stages::frame::Frame;
use super::stages::grouped::Grouped;
use crate::fuse::{Fusions, unroll};
use crate::ir::builder::FunctionBuilder;
use crate::ir::{ElementType, ExpressionBuilder, Function, Module, ScalarOp, TensorType, Type, Value, verify};
use crate::machine::{MACHINES, Machine};
use crate::parallel::Memo;
use crate::schedule::PackedWeights;

/// Adds an f32 parameter to a function.
pub(super) fn input(builder: &mut FunctionBuilder<'_>, shape: &[u64]) -> Value {
    builder.param(Type::Tensor(TensorType::of(ElementType::F32, shape)), None)
}

/// Adds the negation of an f32 tensor to a function.
pub(super) fn negated(builder: &mut FunctionBuilder<'_>, operand: Value) -> Value {
    let mut expression = ExpressionBuilder::new(&[ElementType::F32]);
    let read = expression.input(0);
    let result = expression.op(ScalarOp::Neg, &[read]).expect("floats");
    builder.map(&[operand], expression.finish(vec![result])).expect("one operand")
}

/// Returns the first operand of the instruction that defines a value.
pub(super) fn operand(function: &Function, value: Value) -> Value {
    function.insts[function.defining_inst(value).expect("no parameter")].operands[0]
}

/// Groups a method without merges, and passes it to `check`. `build` writes its function and returns the results.
pub(super) fn with_groups(
    machines: &[&'static Machine],
    build: impl FnOnce(&mut FunctionBuilder<'_>) -> Vec<Value>,
    check: impl FnOnce(&Frame<'_>, &Grouped),
) {
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let results = build(&mut builder);
    let function = builder.finish_method("main", results);
    let flow = unroll::unroll(verify(&module).expect("sound"), function).expect("no control flow");
    let (variables, packed, plans) = (Variables::default(), PackedWeights::default(), Memo::default());
    let options = Options::new(&MACHINES[0]);
    let frame = Frame {
        module: &module,
        method: &module.methods[0],
        options,
        machines,
        variables: &variables,
        packed: &packed,
        plans: &plans,
        orders: &Memo::default(),
        overwriting: &Overwriting::None,
        shortened: &Shortened::default(),
    };
    let grouped = Grouped::new(&frame, flow, &Fusions::none()).expect("static shapes");
    check(&frame, &grouped);
}
