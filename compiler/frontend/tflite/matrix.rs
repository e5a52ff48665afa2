//! BATCH_MATMUL.

use super::error::{invalid, missing_options};
use super::filter::{filter_scales, symmetric};
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Value, ZeroPoints};
use crate::operators::activation::Activation;
use crate::operators::contraction::products::{matmul, swapped, wide_matmul};
use crate::operators::contraction::{IntegerOutput, Numerics, Scaling, dynamic_range};
use crate::operators::{Error, Graph};
use ElementType::{F32, I2, I4, I8, I16, I32, I64};

/// BATCH_MATMUL: either operand may be transposed first.
pub(super) fn batch_matmul(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_batch_mat_mul_options().ok_or_else(missing_options)?;
    let (left, right, output) = (operator.any_input(0)?, operator.any_input(1)?, operator.output(0)?);
    for operand in [&left, &right] {
        if operand.rank() < 2 {
            let found = format!("{:?}", operand.shape);
            return Err(invalid(codes::RANK, "the tensor must be a matrix")
                .about_tensor(&operand.info.name)
                .expected("rank 2 or more", found));
        }
    }
    let types = [left.element(), right.element(), output.element];
    let rows = if options.adj_x() { swapped(operator.graph(), left.value)? } else { left.value };
    // The tensor language takes the right operand transposed.
    let columns = if options.adj_y() { right.value } else { swapped(operator.graph(), right.value)? };
    // Products with a matrix for each batch read bytes.
    let is_shared = right.shape[..right.rank() - 2].iter().all(|&n| n == 1);
    let columns = if is_shared { columns } else { operator.graph().unpacked(columns)? };
    let value = match types {
        [F32, F32, F32] => matmul(operator.graph(), rows, columns, None, &Numerics::plain(F32, Activation::NONE))?,
        [F32, I8 | I4 | I2, F32] => {
            let scales = column_scales(operator, &right, options.adj_y())?;
            dynamic_range::matmul(operator.graph(), rows, columns, &scales, options.asymmetric_quantize_inputs())?
        }
        // The reference has no zero points here.
        [I8, I8, I32] => matmul(operator.graph(), rows, columns, None, &Numerics::plain(I32, Activation::NONE))?,
        [I8, I8 | I4 | I2, I8] | [I16, I8 | I16, I16] => {
            let (from, by, to) = (operator.affine(&left.info)?, operator.affine(&right.info)?, operator.affine(&output)?);
            let wide = left.element() == I16;
            if wide {
                symmetric(from, to)?;
                symmetric(by, to)?;
            }
            let numerics = Numerics::Integer {
                zero_points: ZeroPoints { left: from.zero_point.into(), right: by.zero_point.into() },
                accumulator: if wide { I64 } else { I32 },
                // The reference multiplies the scales in binary32.
                scaling: Scaling::fixed_point_of_product(from.scale, &[by.scale], to.scale)?,
                output: IntegerOutput::new(output.element, to, Activation::NONE)?,
            };
            let multiply = if right.element() == I16 { wide_matmul } else { narrow_matmul };
            multiply(operator.graph(), rows, columns, &numerics)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, value)
}

/// The scales of the right operand: one, or one for each column of the result.
fn column_scales(operator: &Operator<'_, '_, '_>, right: &Operand, adjoint: bool) -> Result<Vec<f32>, Diagnostic> {
    match &right.info.quantization {
        Some(quantization) if quantization.scales.len() > 1 => {
            let axis = right.rank() - if adjoint { 2 } else { 1 };
            operator.require_known(right, axis)?;
            filter_scales(right, axis, right.shape[axis])
        }
        _ => Ok(vec![operator.affine(&right.info)?.scale]),
    }
}

fn narrow_matmul(g: &mut Graph<'_>, rows: Value, columns: Value, numerics: &Numerics) -> Result<Value, Error> {
    matmul(g, rows, columns, None, numerics)
}
