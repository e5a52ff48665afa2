//! Elements moved along dimensions: rolled round, and borders made of what lies inside.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::operators::indexing::known;
use crate::operators::slices;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::roll.out", roll),
    ("aten::reflection_pad1d.out", |c| border(c, 1, mirrored)),
    ("aten::reflection_pad2d.out", |c| border(c, 2, mirrored)),
    ("aten::reflection_pad3d.out", |c| border(c, 3, mirrored)),
    ("aten::replication_pad1d.out", |c| border(c, 1, repeated)),
    ("aten::replication_pad2d.out", |c| border(c, 2, repeated)),
    ("aten::replication_pad3d.out", |c| border(c, 3, repeated)),
];

/// (self, shifts, dims): what leaves a dimension at its end comes back at its start; without dimensions, of all elements in order.
fn roll(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, shifts, dims) = (c.tensor(0)?, c.ints(1)?, c.ints(2)?);
    let shape = c.extents(x);
    if dims.is_empty() {
        let &[shift] = &shifts[..] else { return Err(Fault::invalid("one shift is needed where no dimension is named")) };
        let count = c.graph().product(&shape)?;
        let row = c.reshape_to(x, &[count])?;
        let row = slices::rolled(c.graph(), row, 0, shift)?;
        let y = c.reshape_to(row, &shape)?;
        return c.finish(y);
    }
    if dims.len() != shifts.len() {
        return Err(Fault::invalid("shifts and dimensions differ in number"));
    }
    let mut y = x;
    for (dim, shift) in dims.into_iter().zip(shifts) {
        let axis = c.axis(dim, shape.len())?;
        if axis < shape.len() {
            y = slices::rolled(c.graph(), y, axis, shift)?;
        }
    }
    c.finish(y)
}

/// Where each element of a dimension with a border comes from: of an extent, and elements before and after.
type Source = fn(extent: i64, before: i64, after: i64) -> Result<Vec<i64>, Fault>;

/// (self, padding, out): a border around the last dimensions; amounts come in pairs, last dimension first, and negative ones cut.
fn border(c: &mut Call<'_, '_, '_>, count: usize, source: Source) -> Outcome {
    let (x, amounts) = (c.tensor(0)?, c.ints(1)?);
    let rank = c.rank(x);
    if amounts.len() != 2 * count || rank < count {
        return Err(Fault::invalid("the padding does not fit the rank").expected(format!("{count} pairs"), format!("{amounts:?}")));
    }
    let mut y = x;
    for (i, pair) in amounts.chunks_exact(2).enumerate() {
        let axis = rank - 1 - i;
        c.settle(y, [axis])?;
        let extent = c.extents(y)[axis];
        let extent = c.graph().bound(extent).min(i64::from(i32::MAX) as u64) as i64;
        if pair.iter().any(|n| n.abs() > i64::from(i32::MAX)) || extent + pair[0] + pair[1] < 0 {
            return Err(Fault::invalid("the padding leaves nothing").expected(format!("at least {}", -extent), format!("{pair:?}")));
        }
        if pair != [0, 0] {
            let positions = source(extent, pair[0], pair[1])?;
            let length = positions.len() as u64;
            y = known::picked(c.graph(), y, &positions, &[length], axis)?;
        }
    }
    c.finish(y)
}

/// The image mirrored at the centres of its first and last elements, once.
fn mirrored(extent: i64, before: i64, after: i64) -> Result<Vec<i64>, Fault> {
    if before >= extent || after >= extent {
        return Err(Fault::invalid("the border is wider than what it mirrors")
            .expected(format!("less than {extent}"), format!("{before}, {after}")));
    }
    let last = extent - 1;
    Ok((-before..extent + after).map(|i| last - (last - i.abs()).abs()).collect())
}

/// The first and the last element again and again.
fn repeated(extent: i64, before: i64, after: i64) -> Result<Vec<i64>, Fault> {
    if extent == 0 {
        return Err(Fault::invalid("nothing is repeated").expected("1 element or more", "0"));
    }
    Ok((-before..extent + after).map(|i| i.clamp(0, extent - 1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_mirrored_or_repeated() {
        assert_eq!(mirrored(4, 2, 3), Ok(vec![2, 1, 0, 1, 2, 3, 2, 1, 0]));
        assert_eq!(mirrored(4, -1, -1), Ok(vec![1, 2]));
        assert!(mirrored(3, 3, 0).is_err());
        assert_eq!(repeated(2, 2, 1), Ok(vec![0, 0, 0, 1, 1]));
        assert_eq!(repeated(3, -1, 1), Ok(vec![1, 2, 2]));
        assert!(repeated(0, 1, 1).is_err());
    }
}
