//! Tolerance of floats against expected ones: from the command line, or from the precision of the expected outputs.

use crate::compare::Tolerance;
use crate::ir::{ElementType, Function, Inst, Module, NodeData, Operation, Type, Value};
use clap::Args;

/// Relative tolerance for outputs that were recorded for this comparison.
const RECORDED: f64 = 1e-5;
/// Relative tolerance for outputs of another implementation, which sums in another order.
const ANOTHER_ORDER: f64 = 1e-4;
/// Two units in the last place of binary16.
const HALF: f64 = 1.0 / 512.0;
/// Two units in the last place of bfloat16.
const BFLOAT: f64 = 1.0 / 64.0;
/// One step of 8 bits, relative to the largest magnitude of 127 steps.
const STEP: f64 = 1.0 / 127.0;

/// The help of `--rtol`, which is relative to the largest value of the tensor. Some 8-bit outputs have a larger default than it says.
const RELATIVE: &str = "Relative float error [default: 1e-5; 1e-4 for .bpte or the interpreter]";

/// Options of commands that compare outputs.
#[derive(Args)]
pub struct ToleranceArguments {
    #[arg(long, value_name = "R", value_parser = difference, help = RELATIVE)]
    rtol: Option<f64>,
    /// Float error that is added to the relative one [default: 0]
    #[arg(long, value_name = "A", value_parser = difference)]
    atol: Option<f64>,
}

/// Parses a tolerance: a finite number that is not negative.
fn difference(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a number that is not negative is expected".into())
}

impl ToleranceArguments {
    /// Returns the tolerance for outputs that were recorded.
    pub fn of_recorded(&self) -> Tolerance {
        self.or(RECORDED)
    }

    /// Returns the tolerance for outputs of another implementation of the same model: PyTorch, or the interpreter.
    pub fn of_another(&self, module: &Module) -> Tolerance {
        self.or(of_arithmetic(module))
    }

    /// Tests whether an option is given.
    pub fn is_given(&self) -> bool {
        self.rtol.is_some() || self.atol.is_some()
    }

    fn or(&self, relative: f64) -> Tolerance {
        Tolerance { relative: self.rtol.unwrap_or(relative), absolute: self.atol.unwrap_or(0.0) }
    }
}

/// Returns the precision of a module's coarsest arithmetic. Results may differ by that much if sums are in another order.
fn of_arithmetic(module: &Module) -> f64 {
    let steps = module.functions.values().flat_map(|function| function.body.iter().map(move |&inst| of_instruction(function, inst)));
    steps.fold(ANOTHER_ORDER, f64::max)
}

fn of_instruction(function: &Function, inst: Inst) -> f64 {
    let data = &function.insts[inst];
    let element = |value: &Value| if let Type::Tensor(ty) = &function.values[*value].ty { Some(ty.element) } else { None };
    match &data.operation {
        Operation::Constant(_) => 0.0,
        Operation::Map(map) => {
            let nodes = &map.expression.nodes;
            let operands = |node: &NodeData| node.operands.iter().map(|&operand| nodes[operand].ty).collect::<Vec<_>>();
            nodes.values().map(|node| step(node.ty, &operands(node))).fold(0.0, f64::max)
        }
        _ => {
            let operands: Vec<ElementType> = data.operands.iter().filter_map(element).collect();
            data.results.iter().filter_map(element).map(|result| step(result, &operands)).fold(0.0, f64::max)
        }
    }
}

/// Returns the precision of a result of this type; 0 if its values are exact.
fn step(result: ElementType, operands: &[ElementType]) -> f64 {
    match result {
        ElementType::F16 => HALF,
        ElementType::Bf16 => BFLOAT,
        // Bytes that are only moved were not rounded.
        e if e.is_integer() && e.bits() <= 8 && operands.iter().any(|operand| operand.bits() > e.bits()) => STEP,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse_module;

    /// Returns the default for a function of one map from floats to `ty`.
    fn default_of(ty: &str, body: &str) -> f64 {
        let text = format!(
            "func @f(v0: f32[4]) {{\n  v1: {ty}[4] = map v0 {{\n    expression = (f32) {{\n      n0: f32 = input 0\n{body}      \
             return n1\n    }}\n  }}\n  return v1\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        ToleranceArguments { rtol: None, atol: None }.of_another(&module).relative
    }

    #[test]
    fn a_module_is_as_exact_as_its_coarsest_arithmetic() {
        assert_eq!(default_of("f32", "      n1: f32 = neg n0\n"), ANOTHER_ORDER);
        assert_eq!(default_of("f16", "      n1: f16 = convert n0\n"), HALF);
        assert_eq!(default_of("bf16", "      n1: bf16 = convert n0\n"), BFLOAT);
        assert_eq!(default_of("i8", "      n1: i8 = convert.saturating n0\n"), STEP);
    }

    #[test]
    fn what_is_said_holds() {
        let said = ToleranceArguments { rtol: Some(0.5), atol: Some(2.0) };
        let tolerance = said.of_recorded();
        assert_eq!((tolerance.relative, tolerance.absolute), (0.5, 2.0));
        assert!(difference("-1").is_err() && difference("nan").is_err() && difference("inf").is_err());
        assert_eq!(difference("1e-3"), Ok(1e-3));
    }
}
