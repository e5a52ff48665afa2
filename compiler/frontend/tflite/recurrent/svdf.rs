//! SVDF: a layer in two small factors. Each filter turns the input into one feature, remembers its last features, and weighs them
//! over time; the filters of a unit are added.

use super::super::error::{invalid, missing_options};
use super::super::operator::{Lowered, Operand, Operator};
use super::common::{Part, activation, expect_shape, matrix_shape, weights};
use super::states::{Batch, Before};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType::{F32, I8, I16, I32};
use crate::operators::recurrent::{Memory, Svdf, Weights};

/// The operands, checked.
struct Read {
    /// Input, feature weights, and time weights.
    operands: [Operand; 3],
    bias: Option<Operand>,
    memory: Memory,
    batch: Batch,
    /// The memory before the call.
    before: Before,
}

/// Reads the operands.
fn read(operator: &mut Operator<'_, '_, '_>, rank: i32) -> Result<Read, Diagnostic> {
    let (input, feature_weights, time_weights) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?);
    let bias = operator.optional_input(3)?;
    let ([_, depth], [filters, features]) = (matrix_shape(&input)?, matrix_shape(&time_weights)?);
    operator.require_known(&input, 1)?;
    expect_shape(&feature_weights, &[filters, depth])?;
    let rank = u64::try_from(rank).ok().filter(|&rank| rank > 0 && filters % rank == 0);
    let rank = rank
        .ok_or_else(|| invalid(codes::OPTION_RANGE, "the rank does not divide the filters").expected("a divisor", filters.to_string()))?;
    if features == 0 || filters == 0 {
        return Err(
            invalid(codes::SHAPES_DIFFER, "there are no filters, or their memory has length 0").about_tensor(&time_weights.info.name)
        );
    }
    let units = filters / rank;
    bias.iter().try_for_each(|bias| expect_shape(bias, &[units]))?;
    let error = || invalid(codes::TOO_MANY_ELEMENTS, "the state has too many elements");
    let width = filters.checked_mul(features).ok_or_else(error)?;
    let batch = Batch::of(operator, &input, 0)?;
    let before = batch.load(operator, 4, width)?;
    let memory = Memory { batch: batch.extent(), filters, features, units };
    Ok(Read { operands: [input, feature_weights, time_weights], bias, memory, batch, before })
}

/// Integers on their scale; floats have none.
fn affine_weights(operator: &Operator<'_, '_, '_>, operand: &Operand) -> Result<Weights, Diagnostic> {
    let affine = if operand.element() == F32 { None } else { Some(operator.affine(&operand.info)?) };
    let scales = affine.iter().map(|affine| affine.scale).collect();
    Ok(Weights { value: operand.value, scales, zero_point: affine.map_or(0, |affine| affine.zero_point) })
}

/// SVDF. Integers know no activation but their range, as in the reference.
pub(in super::super) fn svdf(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(5..=5, 1..=1)?;
    let options = operator.record.builtin_options_as_svdf_options().ok_or_else(missing_options)?;
    let activation = activation(options.fused_activation_function())?;
    let Read { operands: [input, feature, time], bias, memory, batch, before } = read(operator, options.rank())?;
    let (input, feature, time, state) = (&input, &feature, &time, &before.operand);
    let elements = [input, feature, time, state].map(Operand::element);
    let is_float = match (elements, bias.as_ref().map(Operand::element)) {
        ([F32, F32, F32, F32] | [F32, I8, F32 | I8, F32], None | Some(F32)) => true,
        ([I8, I8, I16, I16] | [I8, I8, I8, I8], None | Some(I32)) => false,
        _ => return Err(operator.type_error(&elements)),
    };
    let svdf = Svdf {
        input: input.value,
        feature_weights: if is_float { weights(operator, feature, Part::Matrix, false)? } else { affine_weights(operator, feature)? },
        time_weights: affine_weights(operator, time)?,
        bias: bias.map(|bias| bias.value),
        state: state.value,
        memory,
    };
    let [result, after] = if is_float {
        svdf.float(operator.graph(), activation, options.asymmetric_quantize_inputs())?
    } else {
        let output = operator.output(0)?;
        let scales = [operator.affine(&input.info)?, operator.affine(&state.info)?, operator.affine(&output)?];
        svdf.integer(operator.graph(), scales)?
    };
    batch.store(operator, 4, &before, after)?;
    operator.bind(0, result)
}
