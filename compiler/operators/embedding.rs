//! Rows that indices pick from a table of integers, which alone are brought to floats.

use super::quantize::{Parameter, Rounding, Scale, dequantize};
use super::{Error, Graph};
use crate::ir::{ElementType, Extent, Scalar, ScalarOp, Value};
use ElementType::{I8, I32, U8};

/// The scales of a table: one for each group of neighbours in a row, one or more a row.
pub struct Scales {
    /// One scale a group, row by row.
    pub scales: Value,
    /// The zero points, one a group; zero if `None`.
    pub zero_points: Option<Value>,
    /// Rows of the table.
    pub rows: u64,
    /// Groups of a row.
    pub groups: u64,
}

/// Converts the rows picked by `indices` to floats `[indices…, columns]`. `picked` holds their integers in any shape.
///
/// # Errors
/// When groups do not divide the columns, or scales do not fit them.
pub fn floats_of_rows(
    g: &mut Graph<'_>,
    picked: Value,
    indices: Value,
    columns: u64,
    scales: &Scales,
    result: ElementType,
) -> Result<Value, Error> {
    let listed = g.extents(indices);
    let with = |more: &[u64]| -> Vec<Extent> { listed.iter().copied().chain(more.iter().map(|&n| Extent::Static(n))).collect() };
    let Scales { rows, groups, .. } = *scales;
    let integers = g.reshape(picked, &with(&[groups, columns / groups.max(1)]))?;
    let mut parameters = [Parameter::Number(0.0); 2];
    for (parameter, tensor) in parameters.iter_mut().zip([Some(scales.scales), scales.zero_points]) {
        let Some(tensor) = tensor else { continue };
        let by_row = g.reshape(tensor, &[Extent::Static(rows), Extent::Static(groups)])?;
        let picked = g.gather(by_row, indices, 0)?;
        *parameter = Parameter::Tensor(g.reshape(picked, &with(&[groups, 1]))?);
    }
    let scale = Scale { scale: parameters[0], zero_point: parameters[1] };
    let y = dequantize(g, integers, &scale, Rounding::Even, result)?;
    g.reshape(y, &with(&[columns]))
}

/// The integers in bytes, less half their range. Integers of four bits begin with the higher half of a byte, and integers of two bits with its lowest
/// bits. The result has a last dimension for the integers of a byte.
///
/// # Errors
/// [`Error::Expression`] if the operand does not hold bytes.
pub fn integers_of_bytes(g: &mut Graph<'_>, bytes: Value, bits: u32) -> Result<Value, Error> {
    let mut shape = g.extents(bytes);
    let bytes = g.convert(bytes, U8)?;
    shape.push(Extent::Static(1));
    let bytes = g.reshape(bytes, &shape)?;
    let shifts: Vec<i32> = if bits == 4 { vec![4, 0] } else { vec![0, 2, 4, 6] };
    let shifts = g.constant_i32(&[shifts.len() as u64], &shifts)?;
    g.compute::<Error>(&[bytes, shifts], |terms, n| {
        let (byte, mask, middle) = (terms.convert(n[0], I32), terms.i32((1 << bits) - 1), terms.constant(Scalar::i32(1 << (bits - 1))));
        let shifted = terms.op(ScalarOp::ShiftRight, &[byte, n[1]])?;
        let number = terms.op(ScalarOp::And, &[shifted, mask])?;
        let number = terms.sub(number, middle)?;
        Ok(terms.convert(number, I8))
    })
}
