//! Computations of two numbers that reductions and updates name as a subgraph of one operator: TFLite's own, or StableHLO's of the same meaning.

use super::error::{invalid, unsupported};
use super::operator::Operator;
use crate::diagnostic::{Diagnostic, codes};
use crate::schema::tflite as schema;
use schema::{BuiltinOperator as Code, ReduceWindowFunction as Function};

/// The operators of both dialects, with their functions. `STABLEHLO_AND` and `STABLEHLO_OR` work on the bits of integers, so they are these functions
/// only on truth values.
const DIALECTS: &[(Code, Function)] = &[
    (Code::ADD, Function::ADD),
    (Code::LOGICAL_AND, Function::ALL),
    (Code::LOGICAL_OR, Function::ANY),
    (Code::MAXIMUM, Function::MAXIMUM),
    (Code::MINIMUM, Function::MINIMUM),
    (Code::MUL, Function::MUL),
    (Code::STABLEHLO_ADD, Function::ADD),
    (Code::STABLEHLO_AND, Function::ALL),
    (Code::STABLEHLO_MAXIMUM, Function::MAXIMUM),
    (Code::STABLEHLO_MINIMUM, Function::MINIMUM),
    (Code::STABLEHLO_MULTIPLY, Function::MUL),
    (Code::STABLEHLO_OR, Function::ANY),
];

/// The function that a subgraph computes; `None` if it has no operator and returns its second operand.
///
/// # Errors
/// When there is no such subgraph, or it computes something else.
pub(super) fn computation(operator: &Operator<'_, '_, '_>, index: i32) -> Result<Option<Function>, Diagnostic> {
    let file = operator.lowering.shared.file;
    let record = usize::try_from(index).ok().and_then(|index| file.records.get(index));
    let record = record.ok_or_else(|| {
        invalid(codes::SUBGRAPH_INDEX, "there is no such subgraph").expected(format!("below {}", file.records.len()), index.to_string())
    })?;
    let operators: Vec<schema::Operator<'_>> = record.operators().into_iter().flatten().collect();
    let only = match operators[..] {
        [] => return Ok(None),
        [only] => only,
        _ => return Err(unsupported("a computation of several operators is not supported here")),
    };
    let code = usize::try_from(only.opcode_index()).ok().and_then(|code| file.codes.get(code));
    let code = code.ok_or_else(|| invalid(codes::OPERATOR_CODE, "there is no such operator code"))?.code;
    let found = DIALECTS.iter().find(|(known, _)| *known == code).map(|(_, function)| *function);
    let is_of_bits = matches!(code, Code::STABLEHLO_AND | Code::STABLEHLO_OR) && !is_of_truth_values(record);
    match found {
        Some(function) if !is_of_bits && !has_activation(&only) => Ok(Some(function)),
        Some(_) if !is_of_bits => Err(unsupported(format!("a computation by {code:?} with an activation is not supported"))),
        _ => Err(unsupported(format!("a computation by {code:?} is not supported"))),
    }
}

fn is_of_truth_values(record: &schema::SubGraph<'_>) -> bool {
    let first = record.inputs().and_then(|inputs| inputs.iter().next()).and_then(|input| usize::try_from(input).ok());
    let tensor = record.tensors().zip(first).filter(|(tensors, first)| *first < tensors.len());
    tensor.is_some_and(|(tensors, first)| tensors.get(first).type_() == schema::TensorType::BOOL)
}

fn has_activation(operator: &schema::Operator<'_>) -> bool {
    let sum = operator.builtin_options_as_add_options().map(|options| options.fused_activation_function());
    let product = operator.builtin_options_as_mul_options().map(|options| options.fused_activation_function());
    sum.or(product).is_some_and(|activation| activation != schema::ActivationFunctionType::NONE)
}
