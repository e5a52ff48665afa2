//! Elements at positions that follow from extents: windows, diagonals, strided views.

use crate::ir::{ElementType, Extent, Scalar, Value};
use crate::operators::{Error, Graph};
use ElementType::I64;

/// Positions that are computed here and stored as a constant.
const MOST_POSITIONS: u64 = 1 << 22;

/// The number of elements of a shape, if it is one of positions that may be stored.
fn known_count(shape: &[u64]) -> Result<u64, Error> {
    let count = shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).filter(|&n| n <= MOST_POSITIONS);
    count.ok_or_else(|| Error::TooManyPositions { most: MOST_POSITIONS, shape: shape.to_vec() })
}

/// The extent of an axis, which must be known.
fn known_extent(g: &Graph<'_>, x: Value, axis: usize) -> Result<u64, Error> {
    g.extents(x).get(axis).ok_or(Error::NoAxis)?.as_static().ok_or(Error::DynamicExtent)
}

/// Slices along an axis, picked by positions of a shape.
///
/// # Errors
/// [`Error::OutsideAxis`], and [`Error::DynamicExtent`] of the axis.
pub fn picked(g: &mut Graph<'_>, data: Value, positions: &[i64], shape: &[u64], axis: usize) -> Result<Value, Error> {
    let extent = known_extent(g, data, axis)?;
    let exists = |index: i64| u64::try_from(index).is_ok_and(|index| index < extent);
    if let Some(&index) = positions.iter().find(|&&index| !exists(index)) {
        return Err(Error::OutsideAxis { index, extent });
    }
    let numbers: Vec<Scalar> = positions.iter().map(|&n| Scalar::int(I64, n)).collect();
    let positions = g.numbers(I64, shape, &numbers)?;
    g.gather(data, positions, axis)
}

/// Windows of a size along an axis, a step apart; their elements are a new last dimension. A window that is larger than an extent known only at run
/// time is an error of the call.
///
/// # Errors
/// [`Error::WindowMisfit`], [`Error::TooManyPositions`].
pub fn windows(g: &mut Graph<'_>, x: Value, axis: usize, size: u64, step: u64) -> Result<Value, Error> {
    let rank = g.rank(x);
    let extent = *g.extents(x).get(axis).ok_or(Error::NoAxis)?;
    let picked = match extent {
        Extent::Static(extent) => {
            let room = extent.checked_sub(size).ok_or(Error::WindowMisfit { extent, size })?;
            let count = room / step + 1;
            known_count(&[count, size])?;
            let positions: Vec<i64> = (0..count).flat_map(|i| (0..size).map(move |j| (i * step + j) as i64)).collect();
            picked(g, x, &positions, &[count, size], axis)?
        }
        Extent::Value(_) => {
            let positions = window_positions(g, extent, size, step)?;
            g.gather(x, positions, axis)?
        }
    };
    let mut permutation: Vec<usize> = (0..=rank).filter(|&d| d != axis + 1).collect();
    permutation.push(axis + 1);
    g.transpose(picked, &permutation)
}

/// The positions `[windows, size]` of windows along an extent that is known only at run time.
fn window_positions(g: &mut Graph<'_>, extent: Extent, size: u64, step: u64) -> Result<Value, Error> {
    let one = Extent::Static(1);
    let room = g.sub(extent, Extent::Static(size))?;
    let before = g.floor_div(room, Extent::Static(step))?;
    let count = g.add(before, one)?;
    let starts = g.positions(&[count, one], 0, I64)?;
    let within = g.positions(&[one, Extent::Static(size)], 1, I64)?;
    let step = i64::try_from(step).map_err(|_| Error::DimensionTooLarge)?;
    g.compute(&[starts, within], |terms, x| {
        let step = terms.i64(step);
        let start = terms.mul(x[0], step)?;
        Ok(terms.add(start, x[1])?)
    })
}

/// The elements of a tensor in row-major order, read as a tensor of this shape whose dimensions have these strides, from an offset on.
///
/// # Errors
/// [`Error::OutsideAxis`], [`Error::TooManyPositions`]. A run-time position outside of the tensor is an error of the call.
pub fn strided(g: &mut Graph<'_>, x: Value, shape: &[Extent], strides: &[Extent], offset: Extent) -> Result<Value, Error> {
    let elements = g.extents(x);
    let elements = g.product(&elements)?;
    let flat = g.reshape(x, &[elements])?;
    let numbers = |list: &[Extent]| list.iter().map(|extent| extent.as_static()).collect::<Option<Vec<u64>>>();
    if let (Some(_), Some(shape), Some(strides), Some(offset)) =
        (elements.as_static(), numbers(shape), numbers(strides), offset.as_static())
    {
        let number = |n: u64| i64::try_from(n).map_err(|_| Error::DimensionTooLarge);
        let strides = strides.into_iter().map(number).collect::<Result<Vec<i64>, Error>>()?;
        let positions = strided_positions(&shape, &strides, number(offset)?)?;
        return picked(g, flat, &positions, &shape, 0);
    }
    let positions = measured_strided(g, shape, strides, offset)?;
    g.gather(flat, positions, 0)
}

/// The positions of a strided view whose extents, strides or offset are known only at run time, in its shape.
fn measured_strided(g: &mut Graph<'_>, shape: &[Extent], strides: &[Extent], offset: Extent) -> Result<Value, Error> {
    let mut operands = vec![g.extent_tensor(offset, I64)?];
    for (d, &stride) in strides.iter().enumerate() {
        let mut along = vec![Extent::Static(1); shape.len()];
        along[d] = shape[d];
        operands.extend([g.positions(&along, d, I64)?, g.extent_tensor(stride, I64)?]);
    }
    g.compute(&operands, |terms, x| {
        let mut position = x[0];
        for pair in x[1..].chunks_exact(2) {
            let distance = terms.mul(pair[0], pair[1])?;
            position = terms.add(position, distance)?;
        }
        Ok(position)
    })
}

/// Positions in row-major order of a view with this shape and these strides.
fn strided_positions(shape: &[u64], strides: &[i64], offset: i64) -> Result<Vec<i64>, Error> {
    let count = known_count(shape)?;
    let mut positions = vec![offset; count as usize];
    let mut inner = 1u64;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        for (i, position) in positions.iter_mut().enumerate() {
            let coordinate = (i as u64 / inner % extent.max(1)) as i64;
            let step = coordinate.checked_mul(stride).and_then(|step| position.checked_add(step));
            *position = step.ok_or(Error::DimensionTooLarge)?;
        }
        inner = inner.saturating_mul(extent.max(1));
    }
    Ok(positions)
}

/// The elements at `[i, i + offset]` of two dimensions, as a new last dimension.
///
/// # Errors
/// [`Error::NoMatrix`] where there are no two dimensions.
pub fn diagonal(g: &mut Graph<'_>, x: Value, [rows, columns]: [usize; 2], offset: i64) -> Result<Value, Error> {
    let rank = g.rank(x);
    if rank < 2 || rows == columns {
        return Err(Error::NoMatrix { rank });
    }
    let shape = g.extents(x);
    let missing = || Error::NoMatrix { rank };
    let (height, width) = (*shape.get(rows).ok_or_else(missing)?, *shape.get(columns).ok_or_else(missing)?);
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != rows && d != columns).collect();
    permutation.extend([rows, columns]);
    let x = g.transpose(x, &permutation)?;
    let mut flat = g.extents(x)[..rank - 2].to_vec();
    flat.push(g.product(&[height, width])?);
    let x = g.reshape(x, &flat)?;
    let (Some(height), Some(width)) = (height.as_static(), width.as_static()) else {
        let positions = measured_diagonal(g, [height, width], offset)?;
        return g.gather(x, positions, rank - 2);
    };
    let (height, width) = (height as i64, width as i64);
    let (row, column) = ((-offset.max(-height)).max(0), offset.min(width).max(0));
    let count = (height - row).min(width - column).max(0);
    known_count(&[count as u64])?;
    let positions: Vec<i64> = (0..count).map(|i| (row + i) * width + column + i).collect();
    picked(g, x, &positions, &[count as u64], rank - 2)
}

/// The positions of a diagonal in a matrix whose sides are known only at run time: `row` · width + `column` + i · (width + 1).
fn measured_diagonal(g: &mut Graph<'_>, [height, width]: [Extent; 2], offset: i64) -> Result<Value, Error> {
    let (row, column) = ((-offset.max(-i64::MAX)).max(0), offset.max(0));
    let below = g.sub(height, Extent::Static(row.unsigned_abs()))?;
    let beside = g.sub(width, Extent::Static(column.unsigned_abs()))?;
    let count = g.min(below, beside)?;
    let (places, width) = (g.iota(count, I64)?, g.extent_tensor(width, I64)?);
    g.compute(&[places, width], |terms, x| {
        let (row, column) = (terms.i64(row), terms.i64(column));
        let row = terms.add(x[0], row)?;
        let start = terms.mul(row, x[1])?;
        let column = terms.add(x[0], column)?;
        Ok(terms.add(start, column)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::extents;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn strided_positions_count_the_last_dimension_fastest() {
        assert_eq!(strided_positions(&[2, 3], &[1, 2], 5), Ok(vec![5, 7, 9, 6, 8, 10]));
        assert_eq!(strided_positions(&[], &[], 3), Ok(vec![3]));
        assert_eq!(strided_positions(&[2, 0], &[1, 1], 0), Ok(vec![]));
        assert_eq!(strided_positions(&[2], &[i64::MAX], 2), Err(Error::DimensionTooLarge));
        let shape = vec![u64::MAX, 2];
        assert_eq!(strided_positions(&shape, &[1, 1], 0), Err(Error::TooManyPositions { most: MOST_POSITIONS, shape }));
    }

    #[test]
    fn windows_are_a_new_last_dimension() {
        let x = Floats::varied(&[2, 7]);
        let expected: Vec<f32> = [0, 2, 4, 7, 9, 11].iter().flat_map(|&start| x.numbers[start..start + 3].to_vec()).collect();
        for open in [&[][..], &[[0, 0]], &[[0, 1]]] {
            let found = run_with(&[&x], open, &|g, v| windows(g, v[0], 1, 3, 2));
            assert_eq!(found, Floats::new(&[2, 3, 3], expected.clone()), "{open:?}");
        }
        run(&[&x], &|g, v| {
            assert_eq!(windows(g, v[0], 1, 8, 1), Err(Error::WindowMisfit { extent: 7, size: 8 }));
            Ok(v[0])
        });
    }

    #[test]
    fn a_diagonal_may_lie_beside_the_middle() {
        let x = Floats::varied(&[2, 3, 4]);
        for (offset, places) in [(0, vec![0, 5, 10]), (2, vec![2, 7]), (-1, vec![4, 9]), (4, vec![])] {
            let expected: Vec<f32> =
                (0..2).flat_map(|image| places.iter().map(move |at| image * 12 + at)).map(|at| x.numbers[at]).collect();
            for open in [&[][..], &[[0, 0]], &[[0, 1]], &[[0, 2]], &[[0, 1], [0, 2]]] {
                let found = run_with(&[&x], open, &|g, v| diagonal(g, v[0], [1, 2], offset));
                assert_eq!(found, Floats::new(&[2, places.len() as u64], expected.clone()), "offset {offset}");
            }
        }
    }

    #[test]
    fn a_strided_view_may_overlap_itself() {
        let x = Floats::varied(&[5]);
        for open in [&[][..], &[[0, 0]]] {
            let found = run_with(&[&x], open, &|g, v| strided(g, v[0], &extents(&[3, 2]), &extents(&[1, 2]), Extent::Static(0)));
            assert_eq!(found.numbers, [0, 2, 1, 3, 2, 4].map(|at| x.numbers[at]));
        }
        // Windows of two, one for each element but the last, from the first on.
        let found = run_with(&[&x], &[[0, 0]], &|g, v| {
            let count = g.extents(v[0])[0];
            let count = g.sub(count, Extent::Static(1))?;
            strided(g, v[0], &[count, Extent::Static(2)], &extents(&[1, 1]), Extent::Static(0))
        });
        assert_eq!(found.numbers, [0, 1, 1, 2, 2, 3, 3, 4].map(|at| x.numbers[at]));
        run(&[&x], &|g, v| {
            let outside = strided(g, v[0], &extents(&[2]), &extents(&[1]), Extent::Static(4));
            assert_eq!(outside, Err(Error::OutsideAxis { index: 5, extent: 5 }));
            Ok(v[0])
        });
    }
}
