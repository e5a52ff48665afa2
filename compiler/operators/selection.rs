//! Elements chosen by truth values. Results as long as the values say are computed at the largest size, and cut to a count that is read as an index.

use super::terms::Terms;
use super::{Error, Graph};
use crate::ir::{Combination, Comparison, ElementType, Extent, Interval, Reduction, Scalar, Scan, Scatter, Value};
use ElementType::{I32, I64};

/// The positions of the chosen elements of a list, in order.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// The positions of the chosen elements, padded to the length of the list.
    pub list: Value,
    /// The number of chosen elements up to each element of the list, itself included.
    pub ranks: Value,
    /// The number of chosen elements, an index.
    pub count: Value,
}

/// Picks the elements of `choice`, ones and zeros in i32 of shape `[extent]`.
///
/// # Errors
/// No errors for such a list.
pub fn chosen(g: &mut Graph<'_>, choice: Value) -> Result<Chosen, Error> {
    let extents = g.extents(choice);
    let scan = Scan { reduction: Reduction::Sum, axis: 0, exclusive: false, reverse: false };
    let ranks = g.builder.scan(choice, scan)?;
    let places = g.compute::<Error>(&[choice, ranks], |terms, x| {
        let (zero, one, nowhere) = (terms.i32(0), terms.i32(1), terms.i32(-1));
        let is_chosen = terms.compare(Comparison::NotEqual, x[0], zero)?;
        let place = terms.sub(x[1], one)?;
        Ok(terms.select(is_chosen, place, nowhere)?)
    })?;
    let zero = g.scalar(Scalar::i32(0))?;
    let zeros = g.builder.broadcast(zero, extents.clone())?;
    let all = g.builder.iota(extents.clone(), 0, I32)?;
    let scatter = Scatter { axis: 0, batch: 0, combination: Combination::Set, skips_negative: true };
    let list = g.builder.scatter([zeros, places, all], scatter)?;
    let sum = g.builder.reduce(choice, Reduction::Sum, vec![0])?;
    let most = extents.first().map_or(0, |&extent| g.interval(extent).high);
    let count = g.builder.index_load(sum, Interval { low: 0, high: most })?;
    Ok(Chosen { list, ranks, count })
}

/// A tensor's elements in one row, as ones and zeros in i32: whether each is not zero.
///
/// # Errors
/// [`Error::TooManyElements`] beyond 31 bits.
pub fn as_choice(g: &mut Graph<'_>, tensor: Value) -> Result<Value, Error> {
    let shape = g.extents(tensor);
    let count = g.product(&shape)?;
    if g.bound(count) > i32::MAX as u64 {
        return Err(Error::TooManyElements);
    }
    let flat = g.reshape(tensor, &[count])?;
    let element = g.element(tensor);
    g.compute(&[flat], |terms, x| {
        let mut some = x[0];
        if element != ElementType::Bool {
            let zero = terms.constant(Scalar::from_bits(element, 0));
            some = terms.compare(Comparison::NotEqual, some, zero)?;
        }
        Ok(terms.convert(some, I32))
    })
}

/// The first `count` elements of a list along its first dimension.
fn first(g: &mut Graph<'_>, list: Value, count: Value) -> Result<Value, Error> {
    g.slice_along(list, 0, Extent::Static(0), Extent::Value(count))
}

/// The coordinates of all elements that are not zero, in row-major order: `[count, rank]` in i64.
///
/// # Errors
/// [`Error::TooManyElements`].
pub fn coordinates(g: &mut Graph<'_>, tensor: Value) -> Result<Value, Error> {
    let shape = g.extents(tensor);
    let choice = as_choice(g, tensor)?;
    let chosen = chosen(g, choice)?;
    let total = g.extents(choice)[0];
    let mut columns = Vec::new();
    for d in 0..shape.len() {
        let step = g.product(&shape[d + 1..])?;
        // The first extent may be unknown, since nothing lies beyond it.
        let extent = Some(shape[d]).filter(|extent| d > 0 || extent.as_static().is_some());
        let mut operands = vec![chosen.list];
        for open in [Some(step), extent].into_iter().flatten().filter(|extent| extent.as_static().is_none()) {
            operands.push(g.extent_tensor(open, I32)?);
        }
        let column = g.compute::<Error>(&operands, |terms, x| {
            let mut given = x[1..].iter();
            let mut number = |terms: &mut Terms, extent: Extent| match extent {
                Extent::Static(n) => Ok(terms.i32(i32::try_from(n).map_err(|_| Error::TooManyElements)?)),
                Extent::Value(_) => given.next().copied().ok_or(Error::DynamicExtent),
            };
            let step = number(terms, step)?;
            let mut coordinate = terms.div(x[0], step)?;
            if let Some(extent) = extent {
                let extent = number(terms, extent)?;
                let whole = terms.div(coordinate, extent)?;
                let whole = terms.mul(whole, extent)?;
                coordinate = terms.sub(coordinate, whole)?;
            }
            Ok(terms.convert(coordinate, I64))
        })?;
        columns.push(g.reshape(column, &[total, Extent::Static(1)])?);
    }
    let table = match columns[..] {
        // A number has no coordinates.
        [] => g.constant(I64, &[1, 0], vec![])?,
        _ => g.concat(&columns, 1)?,
    };
    first(g, table, chosen.count)
}

/// The elements of a row for which a mask of the same shape, truth values, holds.
///
/// # Errors
/// [`Error::TooManyElements`].
pub fn where_true(g: &mut Graph<'_>, row: Value, mask: Value) -> Result<Value, Error> {
    let choice = as_choice(g, mask)?;
    let chosen = chosen(g, choice)?;
    let picked = g.gather(row, chosen.list, 0)?;
    first(g, picked, chosen.count)
}

/// Replaces the elements of a row where a mask holds by the elements of a source, in order.
///
/// # Errors
/// [`Error::TooManyElements`].
pub fn replaced(g: &mut Graph<'_>, row: Value, mask: Value, source: Value) -> Result<Value, Error> {
    let choice = as_choice(g, mask)?;
    let scan = Scan { reduction: Reduction::Sum, axis: 0, exclusive: true, reverse: false };
    let before = g.builder.scan(choice, scan)?;
    // Elements that stay read the first element of the source, since their place may be after the last.
    let places = g.compute::<Error>(&[choice, before], |terms, x| {
        let zero = terms.i32(0);
        let taken = terms.compare(Comparison::NotEqual, x[0], zero)?;
        Ok(terms.select(taken, x[1], zero)?)
    })?;
    let picked = g.gather(source, places, 0)?;
    g.compute(&[row, choice, picked], |terms, x| {
        let zero = terms.i32(0);
        let taken = terms.compare(Comparison::NotEqual, x[1], zero)?;
        Ok(terms.select(taken, x[2], x[0])?)
    })
}

/// Position i as often as element i of a row of integers says, in i64. There are at most `most` positions. The result is cut to their number unless
/// `is_exact` says that it is `most`.
///
/// # Errors
/// When elements are no integers.
pub fn repeated(g: &mut Graph<'_>, repeats: Value, most: u64, is_exact: bool) -> Result<Value, Error> {
    let repeats = g.convert(repeats, I64)?;
    let shape = g.extents(repeats);
    let scan = Scan { reduction: Reduction::Sum, axis: 0, exclusive: false, reverse: false };
    let ends = g.builder.scan(repeats, scan.clone())?;
    // A one where each run ends; the sums of them up to a position say which run it is in. The last ends after the result.
    let bound = i64::try_from(most).map_err(|_| Error::DimensionTooLarge)?;
    let places = g.compute::<Error>(&[ends], |terms, x| {
        let (bound, nowhere) = (terms.i64(bound), terms.i64(-1));
        let inside = terms.compare(Comparison::Less, x[0], bound)?;
        Ok(terms.select(inside, x[0], nowhere)?)
    })?;
    let (zero, one) = (g.scalar(Scalar::int(I64, 0))?, g.scalar(Scalar::int(I64, 1))?);
    let zeros = g.builder.broadcast(zero, vec![Extent::Static(most)])?;
    let ones = g.builder.broadcast(one, shape)?;
    let scatter = Scatter { axis: 0, batch: 0, combination: Combination::Sum, skips_negative: true };
    let steps = g.builder.scatter([zeros, places, ones], scatter)?;
    let runs = g.builder.scan(steps, scan)?;
    if is_exact {
        return Ok(runs);
    }
    let total = g.builder.reduce(repeats, Reduction::Sum, vec![0])?;
    let count = g.builder.index_load(total, Interval { low: 0, high: bound })?;
    first(g, runs, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    fn truth(g: &mut Graph<'_>, value: Value) -> Value {
        g.convert(value, ElementType::Bool).unwrap()
    }

    fn floats(g: &mut Graph<'_>, value: Value) -> Result<Value, Error> {
        g.convert(value, ElementType::F32)
    }

    #[test]
    fn coordinates_are_those_of_elements_that_are_not_zero() {
        let x = Floats::new(&[2, 3], vec![0.0, 1.0, 0.0, 2.0, 0.0, 3.0]);
        for open in [&[][..], &[[0, 0]], &[[0, 1]], &[[0, 0], [0, 1]]] {
            let found = run_with(&[&x], open, &|g, v| {
                let found = coordinates(g, v[0])?;
                floats(g, found)
            });
            assert_eq!((found.shape, found.numbers), (vec![3, 2], vec![0.0, 1.0, 1.0, 0.0, 1.0, 2.0]));
        }
    }

    #[test]
    fn a_mask_picks_and_replaces() {
        let (x, mask) = (Floats::new(&[4], vec![1.0, 2.0, 3.0, 4.0]), Floats::new(&[4], vec![0.0, 1.0, 0.0, 1.0]));
        let found = run(&[&x, &mask], &|g, v| {
            let mask = truth(g, v[1]);
            where_true(g, v[0], mask)
        });
        assert_eq!(found.numbers, [2.0, 4.0]);
        let source = Floats::new(&[3], vec![7.0, 8.0, 9.0]);
        let found = run(&[&x, &mask, &source], &|g, v| {
            let mask = truth(g, v[1]);
            replaced(g, v[0], mask, v[2])
        });
        assert_eq!(found.numbers, [1.0, 7.0, 3.0, 8.0]);
    }

    #[test]
    fn positions_repeat() {
        let repeats = Floats::new(&[4], vec![2.0, 0.0, 1.0, 3.0]);
        for (most, is_exact) in [(6, true), (9, false)] {
            let found = run(&[&repeats], &|g, v| {
                let repeats = g.convert(v[0], I32)?;
                let found = repeated(g, repeats, most, is_exact)?;
                floats(g, found)
            });
            assert_eq!(found.numbers, [0.0, 0.0, 2.0, 3.0, 3.0, 3.0]);
        }
    }
}
