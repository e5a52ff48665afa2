//! LOGISTIC and TANH of 16-bit integers.

use super::filter::symmetric;
use super::operator::{Lowered, Operand, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType::I16;
use crate::ir::{Constant, Node};
use crate::operators::quantization::exponent;
use crate::operators::sigmoid16::{Steps, logistic_of, table, tanh_of};
use crate::operators::terms::{Term, Terms};

fn bind(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    output: &TensorInfo,
    most: i32,
    build: impl FnOnce(&mut Terms, Constant, Steps, Node) -> Term,
) -> Lowered {
    let (from, to) = (operator.affine(&input.info)?, operator.affine(output)?);
    symmetric(from, to)?;
    if exponent(to.scale) != Some(-15) {
        return Err(fixed_scale(output, to.scale));
    }
    let table = table(operator.graph());
    let mut terms = Terms::new(&[I16]);
    let x = terms.input(0);
    let result = build(&mut terms, table, Steps::new(from.scale, most), x)?;
    let result = terms.convert(result, I16);
    let value = operator.map(&[input.value], terms.finish(result))?;
    operator.bind(0, value)
}

fn fixed_scale(output: &TensorInfo, found: f32) -> Diagnostic {
    let error = super::error::invalid(codes::SCALE, "the output's scale is fixed for this operator");
    error.about_tensor(&output.name).expected("2^-15", found.to_string())
}

/// LOGISTIC.
pub(super) fn logistic(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo) -> Lowered {
    bind(operator, input, output, 0, logistic_of)
}

/// TANH.
pub(super) fn tanh(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: &TensorInfo) -> Lowered {
    bind(operator, input, output, 1, tanh_of)
}
