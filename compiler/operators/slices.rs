//! Parts of tensors along an axis: slices written as in Python, single positions, parts side by side, axes turned round. Positions and extents may be
//! known only when the program runs.

use super::graph::elements::ListItem;
use super::{Error, Graph, extents};
use crate::ir::{Extent, IndexOperation, Value};

/// The part of a tensor along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The first position.
    pub start: Extent,
    /// The number of positions.
    pub count: Extent,
    /// The distance between two positions.
    pub step: i64,
}

impl Cut {
    /// Consecutive positions.
    pub fn run(start: Extent, count: Extent) -> Self {
        Self { start, count, step: 1 }
    }

    /// A single position.
    pub fn at(index: Extent) -> Self {
        Self::run(index, Extent::Static(1))
    }

    /// All of an axis.
    pub fn whole(extent: Extent) -> Self {
        Self::run(Extent::Static(0), extent)
    }
}

/// The end of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The last element in the slice's direction.
    Open,
    /// The position after the last one.
    At(ListItem),
    /// The number of positions after the start.
    After(ListItem),
}

/// A part of a tensor along one axis, and all of it along the others.
///
/// # Errors
/// [`Error::NoAxis`], and a part that exceeds the axis.
pub fn part(g: &mut Graph<'_>, x: Value, axis: usize, cut: Cut) -> Result<Value, Error> {
    let mut sizes = g.extents(x);
    let Some(size) = sizes.get_mut(axis) else { return Err(Error::NoAxis) };
    *size = cut.count;
    let (mut starts, mut steps) = (extents(&vec![0; sizes.len()]), vec![1; sizes.len()]);
    (starts[axis], steps[axis]) = (cut.start, cut.step);
    g.slice(x, &starts, &sizes, &steps)
}

/// The slice of a tensor at one position of an axis, without the axis.
///
/// # Errors
/// The errors of [`part`].
pub fn selected(g: &mut Graph<'_>, x: Value, axis: usize, index: Extent) -> Result<Value, Error> {
    let one = part(g, x, axis, Cut::at(index))?;
    let mut shape = g.extents(one);
    shape.remove(axis);
    g.reshape(one, &shape)
}

/// Consecutive parts of these sizes along an axis.
///
/// # Errors
/// The errors of [`part`].
pub fn parts(g: &mut Graph<'_>, x: Value, axis: usize, sizes: &[Extent]) -> Result<Vec<Value>, Error> {
    let mut start = Extent::Static(0);
    let mut values = Vec::with_capacity(sizes.len());
    for &size in sizes {
        values.push(part(g, x, axis, Cut::run(start, size))?);
        start = g.add(start, size)?;
    }
    Ok(values)
}

/// The elements in reverse order along some axes.
///
/// # Errors
/// No errors for axes of the tensor.
pub fn reversed(g: &mut Graph<'_>, x: Value, axes: &[usize]) -> Result<Value, Error> {
    let shape = g.extents(x);
    let (mut starts, mut steps) = (extents(&vec![0; shape.len()]), vec![1; shape.len()]);
    for &axis in axes.iter().filter(|&&axis| shape[axis] != Extent::Static(0)) {
        (starts[axis], steps[axis]) = (g.sub(shape[axis], Extent::Static(1))?, -1);
    }
    g.slice(x, &starts, &shape, &steps)
}

/// The slice `begin..end` by a step that is not 0. Positions below 0 count from the end, and positions are clipped to the axis.
///
/// A run-time position without bounds is not clipped. If fewer elements follow it than the slice has, the call ends with an error.
/// So `start..start + count` always has `count` elements.
///
/// # Errors
/// [`Error::DynamicExtent`] of negative steps between run-time positions.
pub fn strided(g: &mut Graph<'_>, extent: Extent, begin: Option<ListItem>, end: End, step: i64) -> Result<Cut, Error> {
    let known_begin = match begin {
        None => Some(None),
        Some(ListItem::Number(n)) => Some(Some(n)),
        Some(ListItem::Index(_)) => None,
    };
    if let (Some(extent), Some(begin)) = (extent.as_static(), known_begin)
        && !matches!(end, End::At(ListItem::Index(_)) | End::After(ListItem::Index(_)))
    {
        return known(extent, begin, end, step);
    }
    if step < 0 {
        return backwards(g, extent, begin, end, step);
    }
    let steps = Extent::Static(step.unsigned_abs());
    if let (Some(ListItem::Index(from)), End::At(ListItem::Index(to))) = (begin, end)
        && !g.interval(Extent::Value(from)).is_bounded()
        && let Some(length) = g.difference(Extent::Value(to), Extent::Value(from))
    {
        return Ok(Cut { start: Extent::Value(from), count: g.ceil_div(length, steps)?, step });
    }
    let start = begin.map_or(Ok(Extent::Static(0)), |begin| clipped(g, begin, extent))?;
    let stop = match end {
        End::Open => extent,
        End::At(end) => clipped(g, end, extent)?,
        End::After(distance) => {
            let distance = distance.extent().ok_or(Error::DynamicExtent)?;
            let end = g.add(distance, start)?;
            g.min(end, extent)?
        }
    };
    // A slice that begins behind its end is empty either way. The unclipped beginning keeps the length affine in the extent, so its bound is tight.
    let cut_off = match begin {
        Some(ListItem::Number(n)) if n >= 0 => Extent::Static(n.unsigned_abs()),
        _ => start,
    };
    let length = g.sub(stop, cut_off)?;
    Ok(Cut { start, count: g.ceil_div(length, steps)?, step })
}

/// A slice with a negative step and static bounds, along a run-time extent.
fn backwards(g: &mut Graph<'_>, extent: Extent, begin: Option<ListItem>, end: End, step: i64) -> Result<Cut, Error> {
    // The position plus one, so that 0 is the place in front of the first.
    let after = |g: &mut Graph<'_>, position: ListItem| match position {
        ListItem::Number(n) if n >= 0 => g.min(Extent::Static(n.unsigned_abs().saturating_add(1)), extent),
        ListItem::Number(n) => g.sub(extent, Extent::Static(n.unsigned_abs() - 1)),
        ListItem::Index(_) => Err(Error::DynamicExtent),
    };
    let first = begin.map_or(Ok(extent), |begin| after(g, begin))?;
    let stop = match end {
        End::Open => Extent::Static(0),
        End::At(end) => after(g, end)?,
        End::After(_) => return Err(Error::DynamicExtent),
    };
    let (start, length) = (g.sub(first, Extent::Static(1))?, g.sub(first, stop)?);
    Ok(Cut { start, count: g.ceil_div(length, Extent::Static(step.unsigned_abs()))?, step })
}

/// A slice with static bounds along a static extent. An empty slice begins at 0.
fn known(extent: u64, begin: Option<i64>, end: End, step: i64) -> Result<Cut, Error> {
    let extent = i64::try_from(extent).map_err(|_| Error::DimensionTooLarge)?;
    let (lowest, highest) = if step > 0 { (0, extent) } else { (-1, (extent - 1).max(-1)) };
    let counted = |position: i64| if position < 0 { position.saturating_add(extent) } else { position };
    let start = begin.map_or(if step > 0 { 0 } else { extent - 1 }, counted).clamp(lowest, highest);
    let stop = match end {
        End::At(ListItem::Number(n)) => counted(n),
        End::After(ListItem::Number(n)) => counted(n.saturating_add(start)),
        _ if step > 0 => extent,
        _ => -1,
    };
    let stop = stop.clamp(lowest, highest);
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = if distance <= 0 { 0 } else { (distance as u64 - 1) / step.unsigned_abs() + 1 };
    let start = if count == 0 { 0 } else { start as u64 };
    Ok(Cut { start: Extent::Static(start), count: Extent::Static(count), step })
}

/// A bound of a slice, cut to the extent.
fn clipped(g: &mut Graph<'_>, position: ListItem, extent: Extent) -> Result<Extent, Error> {
    let position = match position {
        ListItem::Number(n) => match u64::try_from(n) {
            Ok(n) => return g.min(Extent::Static(n), extent),
            Err(_) => return g.sub(extent, Extent::Static(n.unsigned_abs())),
        },
        ListItem::Index(position) => counted(g, position, extent)?,
    };
    let position = g.max(Extent::Value(position), Extent::Static(0))?;
    g.min(position, extent)
}

/// A position that is known only when the program runs; one below 0 counts from the end.
fn counted(g: &mut Graph<'_>, position: Value, extent: Extent) -> Result<Value, Error> {
    let interval = g.interval(Extent::Value(position));
    if interval.low >= 0 {
        return Ok(position);
    }
    let (zero, one, extent) = (g.integer(0)?, g.integer(1)?, g.index(extent)?);
    if interval.high < 0 {
        // The remaining length may be static although the position is not: of n + 1 elements the last n begin at 1.
        let from_end = g.compute_integer(IndexOperation::Subtract, zero, position)?;
        return g.compute_integer(IndexOperation::Subtract, extent, from_end);
    }
    // 1 below zero, and 0 from there on.
    let below = g.compute_integer(IndexOperation::Subtract, zero, position)?;
    let below = g.compute_integer(IndexOperation::Maximum, below, zero)?;
    let below = g.compute_integer(IndexOperation::Minimum, below, one)?;
    let moved = g.compute_integer(IndexOperation::Multiply, below, extent)?;
    g.compute_integer(IndexOperation::Add, position, moved)
}

/// A position of an axis. A position below 0 counts from the end. A run-time position is checked at run time. So is a
/// static position that is not inside for every value of a run-time extent.
///
/// # Errors
/// [`Error::OutsideAxis`]. The position after the last exists only if `end_allowed`.
pub fn position(g: &mut Graph<'_>, index: ListItem, extent: Extent, end_allowed: bool) -> Result<Extent, Error> {
    if let ListItem::Number(index) = index {
        let bound = g.bound(extent);
        let counted = if index < 0 { index.saturating_add(bound.min(i64::MAX as u64) as i64) } else { index };
        let found = u64::try_from(counted).ok().filter(|&n| n < bound || end_allowed && n == bound);
        let found = found.map(Extent::Static).ok_or(Error::OutsideAxis { index, extent: bound })?;
        if index >= 0 || extent.as_static().is_some() {
            return Ok(found);
        }
    }
    let index = match (index, extent) {
        (ListItem::Number(index), extent) => {
            let (extent, index) = (g.index(extent)?, g.integer(index)?);
            g.compute_integer(IndexOperation::Add, extent, index)?
        }
        (ListItem::Index(index), extent) => counted(g, index, extent)?,
    };
    Ok(g.function().resolved(Extent::Value(index)))
}

/// A dimension rolled: its last `shift` elements stand before the others.
///
/// # Errors
/// [`Error::DynamicExtent`].
pub fn rolled(g: &mut Graph<'_>, x: Value, axis: usize, shift: i64) -> Result<Value, Error> {
    let extent = *g.extents(x).get(axis).ok_or(Error::NoAxis)?;
    let count = extent.as_static().and_then(|n| i64::try_from(n).ok()).ok_or(Error::DynamicExtent)?;
    if count == 0 || shift.rem_euclid(count) == 0 {
        return Ok(x);
    }
    let moved = Extent::Static(shift.rem_euclid(count) as u64);
    let kept = g.sub(extent, moved)?;
    let last = part(g, x, axis, Cut::run(kept, moved))?;
    let first = part(g, x, axis, Cut::run(Extent::Static(0), kept))?;
    g.concat(&[last, first], axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Scalar;
    use crate::operators::testing::{Floats, run, run_with};

    fn cut(extent: u64, begin: Option<i64>, end: End, step: i64) -> (u64, u64) {
        let found = known(extent, begin, end, step).unwrap();
        (found.start.as_static().unwrap(), found.count.as_static().unwrap())
    }

    fn at(n: i64) -> End {
        End::At(ListItem::Number(n))
    }

    #[test]
    fn slices_are_cut_to_the_axis() {
        assert_eq!(cut(5, None, End::Open, 1), (0, 5));
        assert_eq!(cut(5, Some(-2), at(i64::MAX), 1), (3, 2));
        assert_eq!(cut(6, Some(1), at(-1), 2), (1, 2));
        assert_eq!(cut(6, Some(4), at(2), 1), (0, 0));
        assert_eq!(cut(6, Some(i64::MIN), at(i64::MIN), 1), (0, 0));
        assert_eq!(cut(6, Some(2), End::After(ListItem::Number(3)), 1), (2, 3));
    }

    #[test]
    fn steps_backwards_begin_at_the_end() {
        assert_eq!(cut(5, None, End::Open, -1), (4, 5));
        assert_eq!(cut(5, Some(3), at(0), -2), (3, 2));
        assert_eq!(cut(0, None, End::Open, -1), (0, 0));
    }

    #[test]
    fn the_last_n_of_one_more_elements_begin_at_one() {
        let x = Floats::varied(&[7, 2]);
        let found = run_with(&[&x], &[[0, 0]], &|g, v| {
            let (count, zero) = (g.extents(v[0])[0], g.integer(0)?);
            let longer = g.add(count, Extent::Static(1))?;
            let count = g.index(count)?;
            let back = g.compute_integer(IndexOperation::Subtract, zero, count)?;
            let cut = strided(g, longer, Some(ListItem::Index(back)), End::At(ListItem::Number(i64::MAX)), 1)?;
            let found = [cut.start, cut.count].map(|extent| g.function().resolved(extent));
            assert_eq!(found, [Extent::Static(1), g.function().resolved(Extent::Value(count))]);
            let one_more = g.pad(v[0], &[1, 0], &[0, 0], Scalar::f32(9.0))?;
            part(g, one_more, 0, cut)
        });
        assert_eq!(found, x);
    }

    #[test]
    fn a_slice_along_an_open_extent_is_that_of_a_known_one() {
        let x = Floats::varied(&[7, 2]);
        for (begin, end, step) in [
            (Some(1), at(-1), 2),
            (None, End::Open, 3),
            (Some(-3), End::Open, 1),
            (Some(5), at(2), 1),
            (Some(4), at(6), 1),
            (Some(9), at(12), 1),
            (None, End::Open, -1),
            (None, End::Open, -3),
            (Some(-2), at(1), -2),
            (Some(4), End::Open, -1),
            (Some(9), at(-4), -1),
            (None, at(-9), -2),
        ] {
            let build = |g: &mut Graph<'_>, v: &[Value]| {
                let extent = g.extents(v[0])[0];
                let cut = strided(g, extent, begin.map(ListItem::Number), end, step)?;
                part(g, v[0], 0, cut)
            };
            assert_eq!(run(&[&x], &build), run_with(&[&x], &[[0, 0]], &build), "{begin:?}, {end:?} by {step}");
        }
    }

    #[test]
    fn a_slice_between_numbers_has_at_most_what_lies_between() {
        run_with(&[&Floats::varied(&[7])], &[[0, 0]], &|g, v| {
            let extent = g.extents(v[0])[0];
            let cut = strided(g, extent, Some(ListItem::Number(3)), at(5), 1)?;
            assert_eq!(g.bound(cut.count), 2);
            part(g, v[0], 0, cut)
        });
    }

    #[test]
    fn positions_beyond_every_extent_are_outside() {
        run_with(&[&Floats::varied(&[7])], &[[0, 0]], &|g, v| {
            let extent = g.extents(v[0])[0];
            let bound = g.bound(extent);
            let beyond = bound as i64;
            for index in [beyond, i64::MAX, -beyond - 1, i64::MIN] {
                let found = position(g, ListItem::Number(index), extent, false);
                assert_eq!(found, Err(Error::OutsideAxis { index, extent: bound }));
            }
            assert_eq!(position(g, ListItem::Number(beyond), extent, true), Ok(Extent::Static(bound)));
            Ok(v[0])
        });
    }

    #[test]
    fn positions_count_from_either_end() {
        let x = Floats::new(&[4], vec![1.0, 2.0, 3.0, 4.0]);
        for (index, open, wanted) in [(1, false, 2.0), (-1, false, 4.0), (2, true, 3.0), (-4, true, 1.0)] {
            let found = run_with(&[&x], if open { &[[0, 0]] } else { &[] }, &|g, v| {
                let extent = g.extents(v[0])[0];
                let index = position(g, ListItem::Number(index), extent, false)?;
                selected(g, v[0], 0, index)
            });
            assert_eq!((found.shape, found.numbers), (vec![], vec![wanted]), "{index}");
        }
    }

    #[test]
    fn parts_axes_turned_and_rolled() {
        let x = Floats::new(&[5], vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let second = run(&[&x], &|g, v| Ok(parts(g, v[0], 0, &extents(&[2, 3]))?[1]));
        assert_eq!(second.numbers, [3.0, 4.0, 5.0]);
        for open in [&[][..], &[[0, 0]]] {
            assert_eq!(run_with(&[&x], open, &|g, v| reversed(g, v[0], &[0])).numbers, [5.0, 4.0, 3.0, 2.0, 1.0]);
        }
        assert_eq!(run(&[&x], &|g, v| rolled(g, v[0], 0, -1)).numbers, [2.0, 3.0, 4.0, 5.0, 1.0]);
    }
}
