//! Random numbers: the instructions that draw them, and the state that counts draws.
//!
//! The count is a register that no file has, after the file's registers. Instructions that draw read and write it, so loops, branches and methods
//! treat it like any other buffer that a program changes.

use super::program::{EValue, Form, Instruction, Plan, Storage, TensorMeta};
use crate::ir::ElementType;

/// Tests whether a kernel draws random numbers.
pub fn draws(values: &[EValue], operator: &str, args: &[usize]) -> bool {
    match operator {
        "aten::rand.out" | "aten::randn.out" => true,
        "aten::native_dropout.out" => {
            let value = |argument: usize| args.get(argument).map(|&register| &values[register]);
            let is_certain = matches!(value(1), Some(EValue::Double(0.0)));
            !is_certain && matches!(value(2), Some(EValue::None | EValue::Bool(true)))
        }
        _ => false,
    }
}

/// Gives a method that draws random numbers the register that counts them.
pub fn count(plan: &mut Plan) {
    let is_drawn = |instruction: &Instruction| match instruction {
        Instruction::Kernel { operator, args } => draws(&plan.values, &plan.operators[*operator], args),
        _ => false,
    };
    if !plan.instructions.iter().any(is_drawn) {
        return;
    }
    plan.drawn = Some(plan.values.len());
    let form = Form::row_major(ElementType::U64, vec![1]);
    let name = Some("random_numbers_drawn".to_owned());
    plan.values.push(EValue::Tensor(TensorMeta { form, storage: Storage::Drawn, dynamic: false, name }));
}
