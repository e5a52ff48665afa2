//! The basic LSTM cell: one matrix for input and output state side by side, with gates in the order input, cell, forget, output. It gives its
//! output and its cell state, and shows the joined input and the sums of the gates.

use super::super::error::{invalid, unsupported};
use super::super::operator::{Lowered, Operand, Operator};
use super::common::{expect_shape, matrix_shape};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType::{F32, I16, I32, U8};
use crate::operators::quantization::exponent;
use crate::operators::recurrent::{Basic, Settings, float_basic, integer_basic};

/// The exponent of the cell state's scale.
const STATE_EXPONENT: i32 = -11;

/// The operands of a cell, their shapes checked, and the cell.
fn read(operator: &mut Operator<'_, '_, '_>) -> Result<([Operand; 5], Basic), Diagnostic> {
    let [input, hidden, before] = [0, 1, 4].map(|index| operator.any_input(index));
    let (input, mut hidden, mut before) = (input?, hidden?, before?);
    let (weights, bias) = (operator.input(2)?, operator.input(3)?);
    [&input, &hidden, &before].into_iter().try_for_each(|operand| operator.require_known(operand, 1))?;
    let ([batch, depth], [_, cells]) = (matrix_shape(&input)?, matrix_shape(&hidden)?);
    let rows = cells.checked_mul(4).ok_or_else(|| invalid(codes::TOO_MANY_ELEMENTS, "the weights have too many rows"))?;
    expect_shape(&hidden, &[batch, cells])?;
    expect_shape(&before, &[batch, cells])?;
    expect_shape(&weights, &[rows, depth.saturating_add(cells)])?;
    expect_shape(&bias, &[rows])?;
    for state in [&mut hidden, &mut before] {
        let batch = operator.extents_of(input.value)[0];
        operator.require_first(state, &[batch])?;
    }
    let operands = [input, hidden, weights, bias, before];
    let [input, hidden, weights, bias, before] = operands.each_ref().map(|operand| operand.value);
    Ok((operands, Basic { input, hidden, weights, bias, before, cells }))
}

/// LSTM of the basic kernel. Activations of integers are bytes with zero point 128 whatever the file says. The scale of the bias is the sums' scale.
pub(super) fn basic(operator: &mut Operator<'_, '_, '_>, settings: Settings) -> Lowered {
    let (operands, cell) = read(operator)?;
    let elements = operands.each_ref().map(Operand::element);
    let results = match elements {
        [F32, F32, F32, F32, F32] => float_basic(operator.graph(), &cell, settings.cell_clip)?,
        [U8, U8, U8, I32, I16] => {
            let state = operator.output(1)?;
            let found = exponent(operator.affine(&state)?.scale);
            if found != Some(STATE_EXPONENT) {
                let error = unsupported("a cell state of another scale is not supported").about_tensor(&state.name);
                return Err(error.expected("2^-11", found.map_or("no power of two".into(), |n| format!("2^{n}"))));
            }
            let (zero_point, scale) = (operator.affine(&operands[2].info)?.zero_point, operator.affine(&operands[3].info)?.scale);
            integer_basic(operator.graph(), &cell, scale, zero_point)?
        }
        _ => return Err(operator.type_error(&elements)),
    };
    for (index, value) in results.into_iter().enumerate() {
        operator.bind(index, value)?;
    }
    Ok(())
}
