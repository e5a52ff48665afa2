//! Products of matrices: the last two dimensions of tensors, batch by batch.

use super::{Numerics, reduced};
use crate::ir::{ElementType, Extent, ScalarOp, Value, ZeroPoints};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};
use ElementType::{I8, I16, I32, I64, U8};

/// `rows [… M, K] × transpose(columns [… N, K])`. Batches broadcast; a bias has shape `[N]`.
///
/// # Errors
/// When operands do not fit each other or the numerics.
pub fn matmul(g: &mut Graph<'_>, rows: Value, columns: Value, bias: Option<Value>, numerics: &Numerics) -> Result<Value, Error> {
    let [rows, columns] = meet(g, rows, columns)?;
    let sums = if reduced::is_reduced(g.element(columns)) {
        reduced::product(g, rows, columns, numerics.accumulator())?
    } else {
        g.builder.matmul(rows, columns, numerics.zero_points(), numerics.accumulator())?
    };
    numerics.output(g, sums, bias)
}

/// Products of 16-bit matrices in 64 bits: one product with the high bytes of the right matrix, and one with its low bytes.
///
/// # Errors
/// When operands do not fit each other or the numerics.
pub fn wide_matmul(g: &mut Graph<'_>, rows: Value, columns: Value, numerics: &Numerics) -> Result<Value, Error> {
    let [rows, columns] = meet(g, rows, columns)?;
    let mut sums = Vec::new();
    for (high, element) in [(false, U8), (true, I8)] {
        let mut terms = Terms::new(&[I16]);
        let x = terms.input_as(0, I32);
        let (mask, eight) = (terms.i32(0xFF), terms.i32(8));
        let byte = if high { terms.op(ScalarOp::ShiftRight, &[x, eight])? } else { terms.op(ScalarOp::And, &[x, mask])? };
        let byte = terms.convert(byte, element);
        let bytes = g.map(&[columns], terms.finish(byte))?;
        sums.push(g.builder.matmul(rows, bytes, ZeroPoints::NONE, I64)?);
    }
    let mut terms = Terms::new(&[I64; 2]);
    let (low, high, weight) = (terms.input(0), terms.input(1), terms.i64(256));
    let high = terms.mul(high, weight)?;
    let sum = terms.add(low, high)?;
    let sums = g.map(&sums, terms.finish(sum))?;
    numerics.output(g, sums, None)
}

/// Requires that two matrices have equal depths and batches, and returns the two with equal extents.
///
/// # Errors
/// The errors of extents that are not known to be equal.
pub fn meet(g: &mut Graph<'_>, rows: Value, mut columns: Value) -> Result<[Value; 2], Error> {
    if let (Some(&depth), Some(last)) = (g.extents(rows).last(), g.rank(columns).checked_sub(1)) {
        columns = g.agree(columns, last, depth)?;
    }
    let met = g.meet_leading(&[rows, columns], 2)?;
    Ok([met[0], met[1]])
}

/// The last two dimensions swapped.
///
/// # Errors
/// [`Error::NoMatrix`].
pub fn swapped(g: &mut Graph<'_>, matrix: Value) -> Result<Value, Error> {
    let rank = g.rank(matrix);
    if rank < 2 {
        return Err(Error::NoMatrix { rank });
    }
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 2, rank - 1);
    g.transpose(matrix, &order)
}

/// A tensor as the rows of one matrix: all dimensions but the last are one.
///
/// # Errors
/// [`Error::NoMatrix`] of a tensor without dimensions.
pub fn as_rows(g: &mut Graph<'_>, tensor: Value) -> Result<Value, Error> {
    let shape = g.extents(tensor);
    let Some((&depth, outer)) = shape.split_last() else { return Err(Error::NoMatrix { rank: 0 }) };
    let count = g.product(outer)?;
    g.reshape(tensor, &[count, depth])
}

/// Rows of the last dimension of a tensor times the transposed weights `[units, depth]`: the tensor's shape with `units` last.
///
/// # Errors
/// When operands do not fit each other or the numerics.
pub fn linear(g: &mut Graph<'_>, input: Value, weights: Value, bias: Option<Value>, numerics: &Numerics) -> Result<Value, Error> {
    let mut shape = g.extents(input);
    let rows = as_rows(g, input)?;
    let result = matmul(g, rows, weights, bias, numerics)?;
    shape.pop();
    shape.extend(g.extents(result).last().copied());
    g.reshape(result, &shape)
}

/// The rows of a tensor of any shape, where known extents that are not the depth may be taken apart: `[elements ÷ depth, depth]`. `None` where they
/// do not divide.
///
/// # Errors
/// When the number of elements leaves 64 bits.
pub fn rows_of_depth(g: &mut Graph<'_>, tensor: Value, depth: u64) -> Result<Option<(Extent, Value)>, Error> {
    let shape = g.extents(tensor);
    let known = shape.iter().filter_map(|e| e.as_static()).try_fold(1u64, u64::checked_mul).ok_or(Error::TooManyElements)?;
    if depth == 0 || !known.is_multiple_of(depth) {
        return Ok(None);
    }
    let mut rows: Vec<Extent> = shape.into_iter().filter(|e| e.as_static().is_none()).collect();
    rows.push(Extent::Static(known / depth));
    let count = g.product(&rows)?;
    Ok(Some((count, g.reshape(tensor, &[count, Extent::Static(depth)])?)))
}
