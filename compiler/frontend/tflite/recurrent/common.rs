//! Checks of recurrent operators' operands, and the weights of their cells.

use super::super::error::{invalid, unsupported};
use super::super::filter::filter_scales;
use super::super::operator::{Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType::{self, F32, I8, I16};
use crate::ir::Value;
use crate::operators::recurrent::{CellActivation, LoopPlace, Weights};
use crate::operators::{Error, Graph};
use crate::schema::tflite::ActivationFunctionType as Code;

/// The error for an operand of another shape than the others ask for.
pub(super) fn expect_shape(operand: &Operand, shape: &[u64]) -> Result<(), Diagnostic> {
    if operand.shape == shape {
        return Ok(());
    }
    let error = invalid(codes::SHAPES_DIFFER, "the operand's shape does not fit the others").about_tensor(&operand.info.name);
    Err(error.expected(format!("{shape:?}"), format!("{:?}", operand.shape)))
}

/// The error for an operand of another type than the others ask for.
pub(super) fn expect_element(operand: &Operand, element: ElementType) -> Result<(), Diagnostic> {
    if operand.element() == element {
        return Ok(());
    }
    let error = unsupported("the operand has a type that is not supported beside the others").about_tensor(&operand.info.name);
    Err(error.expected(element.name(), operand.element().name()))
}

/// The extents of a matrix.
pub(super) fn matrix_shape(operand: &Operand) -> Result<[u64; 2], Diagnostic> {
    let error = || invalid(codes::RANK, "the operand must be a matrix").about_tensor(&operand.info.name);
    <[u64; 2]>::try_from(operand.shape.clone()).map_err(|_| error().expected("rank 2", format!("{:?}", operand.shape)))
}

pub(super) fn activation(code: Code) -> Result<CellActivation, Diagnostic> {
    if code == Code::TANH { Ok(CellActivation::Tanh) } else { super::super::options::activation(code).map(CellActivation::Clamp) }
}

/// The role of weights in a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Matrix,
    Peephole,
    Norm,
}

/// Weights of a cell of integers, or of a cell of floats, whose matrices and peepholes may be int8, too.
pub(super) fn weights(operator: &Operator<'_, '_, '_>, operand: &Operand, part: Part, integer: bool) -> Result<Weights, Diagnostic> {
    let is_byte = operand.element() == I8;
    let (scales, zero_point) = match part {
        _ if integer => {
            expect_element(operand, if part == Part::Matrix { I8 } else { I16 })?;
            let affine = operator.affine(&operand.info)?;
            (vec![affine.scale], affine.zero_point)
        }
        Part::Matrix if is_byte => (filter_scales(operand, 0, operand.shape.first().copied().unwrap_or(1))?, 0),
        Part::Peephole if is_byte => (vec![operator.affine(&operand.info)?.scale], 0),
        _ => {
            expect_element(operand, F32)?;
            (vec![], 0)
        }
    };
    Ok(Weights { value: operand.value, scales, zero_point })
}

/// Matrices of a cell of floats must all be of f32, or all of i8.
pub(super) fn expect_alike(operator: &Operator<'_, '_, '_>, matrices: &[&Operand]) -> Result<(), Diagnostic> {
    let types: Vec<ElementType> = matrices.iter().map(|matrix| matrix.element()).collect();
    let wanted = if types.first() == Some(&I8) { I8 } else { F32 };
    if types.iter().any(|&element| element != wanted) { Err(operator.type_error(&types)) } else { Ok(()) }
}

/// Calls `build` with the function, and with a generator of names for its loops' functions.
pub(super) fn build<T>(
    operator: &mut Operator<'_, '_, '_>,
    build: impl FnOnce(LoopPlace<'_, '_>) -> Result<T, Error>,
) -> Result<T, Diagnostic> {
    let lowering = &mut *operator.lowering;
    let shared = &mut *lowering.shared;
    Ok(build((&mut lowering.graph, &mut |name| shared.function_name(name)))?)
}

/// `[A, B, …]` and `[B, A, …]`: between the orders of batches and steps.
pub(super) fn swapped(g: &mut Graph<'_>, value: Value) -> Result<Value, Diagnostic> {
    Ok(crate::operators::recurrent::swapped(g, value)?)
}
