//! Tensors put together: joined along an axis, stacked along a new one, repeated, with a border. Extents may be known only when the program runs.

use super::indexing::placed;
use super::{Error, Graph};
use crate::ir::{Extent, Operation, Scalar, Value};

/// Concatenates tensors along an axis. Other extents must be equal, and extents of inputs are made equal.
///
/// # Errors
/// When the tensors do not fit each other elsewhere.
pub fn joined(g: &mut Graph<'_>, values: &[Value], axis: usize) -> Result<Value, Error> {
    let mut values = values.to_vec();
    let rank = values.first().map_or(0, |&value| g.rank(value));
    for d in (0..rank).filter(|&d| d != axis) {
        for i in 1..values.len() {
            let first = g.extents(values[0])[d];
            if d < g.rank(values[i]) {
                values[i] = g.agree(values[i], d, first)?;
            }
        }
    }
    match replaced(g, &values, axis)? {
        Some(list) => Ok(list),
        None => g.concat(&values, axis),
    }
}

/// Matches a concatenation of a list's beginning, other elements, and the list's end. Converters write an element of a list like this in each
/// iteration of a loop. Here it is written in place, and a position outside the list is an error of the call.
fn replaced(g: &mut Graph<'_>, values: &[Value], axis: usize) -> Result<Option<Value>, Error> {
    let &[before, others, after] = values else { return Ok(None) };
    let runs = (run_of(g, before, axis), run_of(g, after, axis));
    let (Some((list, Extent::Static(0))), Some((same, from))) = runs else { return Ok(None) };
    let [first, count, rest] = [before, others, after].map(|value| g.extents(value)[axis]);
    let whole = g.extents(list)[axis];
    let is_replaced = g.follows_rounds && list == same && count.as_static().is_some_and(|count| count > 0);
    if !is_replaced || g.difference(from, first) != Some(count) || !g.add_up(&[from, rest], whole) {
        return Ok(None);
    }
    placed::run(g, [list, others], axis, first).map(Some)
}

/// Returns the tensor of which a value is a run along one axis and whole along the others, and the run's first position.
fn run_of(g: &Graph<'_>, value: Value, axis: usize) -> Option<(Value, Extent)> {
    let data = &g.function().insts[g.function().defining_inst(value)?];
    let Operation::Slice(slice) = &data.operation else { return None };
    let (list, sizes) = (data.operands[0], g.extents(value));
    let is_whole = |(d, &extent): (usize, &Extent)| d == axis || slice.start[d] == Extent::Static(0) && sizes[d] == extent;
    let is_run = slice.stride.iter().all(|&step| step == 1) && g.extents(list).iter().enumerate().all(is_whole);
    is_run.then(|| (list, g.function().resolved(slice.start[axis])))
}

/// Tensors of one shape joined along a new axis.
///
/// # Errors
/// When their shapes differ, or do not have the axis.
pub fn stacked(g: &mut Graph<'_>, values: &[Value], axis: usize) -> Result<Value, Error> {
    let mut slices = Vec::with_capacity(values.len());
    for &value in values {
        let mut shape = g.extents(value);
        if axis > shape.len() {
            return Err(Error::NoAxis);
        }
        shape.insert(axis, Extent::Static(1));
        slices.push(g.reshape(value, &shape)?);
    }
    joined(g, &slices, axis)
}

/// The shape that two shapes broadcast to; `None` if they do not. Two run-time extents broadcast to the larger one: one of them must be 1, or both
/// must be equal.
///
/// # Errors
/// When extents leave 64 bits.
pub fn broadcast(g: &mut Graph<'_>, a: &[Extent], b: &[Extent]) -> Result<Option<Vec<Extent>>, Error> {
    let rank = a.len().max(b.len());
    let mut joined = Vec::with_capacity(rank);
    for d in 0..rank {
        let of = |shape: &[Extent]| (d + shape.len()).checked_sub(rank).map_or(Extent::Static(1), |d| shape[d]);
        joined.push(match (of(a), of(b)) {
            (x, y) if x == y => x,
            (x, Extent::Static(1)) | (Extent::Static(1), x) => x,
            (Extent::Static(_), Extent::Static(_)) => return Ok(None),
            (x @ Extent::Static(_), Extent::Value(_)) | (Extent::Value(_), x @ Extent::Static(_)) => x,
            (x, y) => g.max(x, y)?,
        });
    }
    Ok(Some(joined))
}

/// A tensor set side by side this many times along each axis. More numbers than it has axes are new axes in front.
///
/// # Errors
/// [`Error::NoAxis`] where there are fewer numbers than axes.
pub fn tiled(g: &mut Graph<'_>, x: Value, times: &[Extent]) -> Result<Value, Error> {
    let shape = g.extents(x);
    let added = times.len().checked_sub(shape.len()).ok_or(Error::NoAxis)?;
    // [a, b] repeated (x, y) times is [1, a, 1, b] broadcast to [x, a, y, b], then [x·a, y·b].
    let (mut apart, mut repeated, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for (d, &times) in times.iter().enumerate() {
        let extent = if d < added { Extent::Static(1) } else { shape[d - added] };
        apart.extend([Extent::Static(1), extent]);
        repeated.extend([times, extent]);
        whole.push(g.product(&[extent, times])?);
    }
    let x = g.reshape(x, &apart)?;
    let x = g.broadcast(x, &repeated)?;
    g.reshape(x, &whole)
}

/// A border of one number. Amounts that are known only when the program runs are joined to the sides.
///
/// # Errors
/// When amounts are too large.
pub fn bordered(g: &mut Graph<'_>, x: Value, low: &[Extent], high: &[Extent], number: Scalar) -> Result<Value, Error> {
    let amount = |extent: &Extent| extent.as_static().map_or(Ok(0), |n| i64::try_from(n).map_err(|_| Error::DimensionTooLarge));
    let known = |list: &[Extent]| list.iter().map(amount).collect::<Result<Vec<i64>, Error>>();
    let mut x = g.pad(x, &known(low)?, &known(high)?, number)?;
    for axis in 0..low.len() {
        let sides = [low[axis], high[axis]].map(|amount| Some(amount).filter(|amount| amount.as_static().is_none()));
        if sides != [None, None] {
            x = with_sides(g, x, axis, sides, number)?;
        }
    }
    Ok(x)
}

/// A tensor with a run of one number before it, after it, or both.
fn with_sides(g: &mut Graph<'_>, x: Value, axis: usize, sides: [Option<Extent>; 2], number: Scalar) -> Result<Value, Error> {
    let mut shape = g.extents(x);
    let mut filled = |g: &mut Graph<'_>, amount: Extent| {
        shape[axis] = amount;
        let one = g.scalar(number)?;
        g.broadcast(one, &shape)
    };
    let before = sides[0].map(|amount| filled(g, amount)).transpose()?;
    let after = sides[1].map(|amount| filled(g, amount)).transpose()?;
    let values: Vec<Value> = [before, Some(x), after].into_iter().flatten().collect();
    g.concat(&values, axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn joins_and_stacks_along_open_extents() {
        let (x, y) = (Floats::new(&[2, 1], vec![1.0, 2.0]), Floats::new(&[1, 1], vec![3.0]));
        for open in [&[][..], &[[0, 0]]] {
            let found = run_with(&[&x, &y], open, &|g, v| joined(g, v, 0));
            assert_eq!((found.shape, found.numbers), (vec![3, 1], vec![1.0, 2.0, 3.0]));
        }
        let found = run(&[&x, &x], &|g, v| stacked(g, v, 1));
        assert_eq!((found.shape, found.numbers), (vec![2, 2, 1], vec![1.0, 1.0, 2.0, 2.0]));
    }

    #[test]
    fn shapes_broadcast_to_the_larger_of_open_extents() {
        let (x, y) = (Floats::new(&[2, 1], vec![1.0, 2.0]), Floats::new(&[1, 3], vec![0.0; 3]));
        for open in [&[][..], &[[0, 0]], &[[0, 0], [1, 1]]] {
            let found = run_with(&[&x, &y], open, &|g, v| {
                let (a, b) = (g.extents(v[0]), g.extents(v[1]));
                let shape = broadcast(g, &a, &b)?.ok_or(Error::NoAxis)?;
                g.broadcast(v[0], &shape)
            });
            assert_eq!((found.shape, found.numbers), (vec![2, 3], vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0]));
        }
        run(&[&x], &|g, v| {
            assert_eq!(broadcast(g, &[Extent::Static(2)], &[Extent::Static(3)]), Ok(None));
            Ok(v[0])
        });
    }

    #[test]
    fn tiles_repeat_each_axis_and_add_new_ones() {
        let x = Floats::new(&[2], vec![1.0, 2.0]);
        for open in [&[][..], &[[0, 0]]] {
            let found = run_with(&[&x], open, &|g, v| tiled(g, v[0], &super::super::extents(&[2, 2])));
            assert_eq!((found.shape, found.numbers), (vec![2, 4], vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]));
        }
    }

    #[test]
    fn a_border_may_be_as_wide_as_another_tensor() {
        let (x, other) = (Floats::new(&[1], vec![5.0]), Floats::new(&[2], vec![0.0; 2]));
        for open in [&[][..], &[[1, 0]]] {
            let found = run_with(&[&x, &other], open, &|g, v| {
                let amount = g.extents(v[1])[0];
                bordered(g, v[0], &[amount], &[Extent::Static(1)], Scalar::f32(-1.0))
            });
            assert_eq!(found.numbers, [-1.0, -1.0, 5.0, -1.0]);
        }
    }
}
