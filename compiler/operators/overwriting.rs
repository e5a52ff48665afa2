//! Parts of tensors along an axis replaced by another tensor. Positions and extents may be known only when the program runs.

use super::indexing::{known, placed};
use super::slices::{Cut, part};
use super::{Error, Graph, joins};
use crate::ir::{Combination, ElementType, Extent, Value};
use ElementType::I64;

/// Replaces the part of a tensor along an axis by another tensor of the part's shape.
///
/// # Errors
/// [`Error::NoAxis`], and static positions outside the axis. A run-time position outside the axis is an error of the call.
pub fn overwritten(g: &mut Graph<'_>, [x, source]: [Value; 2], axis: usize, cut: Cut) -> Result<Value, Error> {
    let extent = *g.extents(x).get(axis).ok_or(Error::NoAxis)?;
    match (extent.as_static(), cut.start.as_static(), cut.count.as_static()) {
        (Some(extent), Some(start), Some(count)) if cut.step == 1 => between(g, [x, source], axis, [extent, start, count]),
        (Some(extent), Some(start), Some(count)) => among(g, [x, source], axis, [extent, start, count], cut.step),
        _ => {
            let mut source = source;
            let shape = g.extents(x);
            for d in (0..shape.len()).filter(|&d| d != axis) {
                source = g.agree(source, d, shape[d])?;
            }
            let positions = positions(g, cut)?;
            placed::at_positions(g, [x, positions, source], axis, Combination::Set)
        }
    }
}

/// Concatenates the elements before the part, the other tensor, and the elements after it.
fn between(g: &mut Graph<'_>, [x, source]: [Value; 2], axis: usize, [extent, start, count]: [u64; 3]) -> Result<Value, Error> {
    let outside = || Error::OutsideAxis { index: start as i64, extent };
    let end = start.checked_add(count).filter(|&end| end <= extent).ok_or_else(outside)?;
    let mut pieces = Vec::new();
    if start > 0 {
        pieces.push(part(g, x, axis, Cut::run(Extent::Static(0), Extent::Static(start)))?);
    }
    pieces.push(source);
    if end < extent {
        pieces.push(part(g, x, axis, Cut::run(Extent::Static(end), Extent::Static(extent - end)))?);
    }
    joins::joined(g, &pieces, axis)
}

/// Replaces every n-th element: gathers each position from the concatenation of the two tensors.
fn among(g: &mut Graph<'_>, [x, source]: [Value; 2], axis: usize, [extent, start, count]: [u64; 3], step: i64) -> Result<Value, Error> {
    let row = joins::joined(g, &[x, source], axis)?;
    let mut positions: Vec<i64> = (0..extent as i64).collect();
    let (start, step) = (start as usize, step.unsigned_abs() as usize);
    for (from, place) in positions.iter_mut().skip(start).step_by(step).take(count as usize).enumerate() {
        *place = (extent as usize + from) as i64;
    }
    known::picked(g, row, &positions, &[extent], axis)
}

/// The positions of a cut, as a row of integers.
fn positions(g: &mut Graph<'_>, cut: Cut) -> Result<Value, Error> {
    let (places, start) = (g.iota(cut.count, I64)?, g.extent_tensor(cut.start, I64)?);
    g.compute(&[places, start], |terms, x| {
        let step = terms.i64(cut.step);
        let distance = terms.mul(x[0], step)?;
        Ok(terms.add(distance, x[1])?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::graph::elements::ListItem;
    use crate::operators::slices::{End, strided};
    use crate::operators::testing::{Floats, run_with};

    #[test]
    fn parts_of_open_axes_are_those_of_known_ones() {
        let x = Floats::varied(&[3, 7]);
        for (axis, begin, end, step) in [(1, 1, 7, 2), (1, 2, 5, 1), (0, 0, 3, 2), (0, 1, 2, 1)] {
            let count = ((end - begin) as u64).div_ceil(step as u64);
            let source = Floats::new(
                &if axis == 0 { [count, 7] } else { [3, count] },
                (0..count * if axis == 0 { 7 } else { 3 }).map(|n| 100.0 + n as f32).collect(),
            );
            let overwrite = |g: &mut Graph<'_>, v: &[Value]| {
                let (extent, given) = (g.extents(v[0])[axis], g.extents(v[1]));
                let end = End::At(ListItem::Number(end));
                let mut cut = strided(g, extent, Some(ListItem::Number(begin)), end, step)?;
                cut.count = given[axis];
                overwritten(g, [v[0], v[1]], axis, cut)
            };
            let known = run_with(&[&x, &source], &[], &overwrite);
            for (i, &number) in known.numbers.iter().enumerate() {
                let (row, column) = (i as i64 / 7, i as i64 % 7);
                let at = if axis == 0 { row } else { column };
                let is_in = (begin..end).contains(&at) && (at - begin) % step == 0;
                assert_eq!(number >= 100.0, is_in, "{at}");
            }
            for open in [[0, axis], [1, axis]] {
                assert_eq!(run_with(&[&x, &source], &[open], &overwrite), known, "{axis}: {begin}..{end} by {step}, {open:?}");
            }
        }
    }
}
