//! Elements moved along dimensions: rotations, and borders made of the tensor's own elements.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::operators::borders::{self, Inside};
use crate::operators::slices;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::roll.out", roll),
    ("aten::reflection_pad1d.out", |c| border(c, 1, Inside::Mirrored)),
    ("aten::reflection_pad2d.out", |c| border(c, 2, Inside::Mirrored)),
    ("aten::reflection_pad3d.out", |c| border(c, 3, Inside::Mirrored)),
    ("aten::replication_pad1d.out", |c| border(c, 1, Inside::Repeated)),
    ("aten::replication_pad2d.out", |c| border(c, 2, Inside::Repeated)),
    ("aten::replication_pad3d.out", |c| border(c, 3, Inside::Repeated)),
];

/// (self, shifts, dims). Elements shifted out of a dimension's end come back at its start. Without dimensions, all elements are rotated in row-major
/// order.
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

/// (self, padding, out): a border around the last dimensions; amounts come in pairs, last dimension first, and negative ones cut.
fn border(c: &mut Call<'_, '_, '_>, count: usize, inside: Inside) -> Outcome {
    let (x, amounts) = (c.tensor(0)?, c.ints(1)?);
    let rank = c.rank(x);
    if amounts.len() != 2 * count || rank < count {
        return Err(Fault::invalid("the padding does not fit the rank").expected(format!("{count} pairs"), format!("{amounts:?}")));
    }
    let mut y = x;
    for (i, pair) in amounts.chunks_exact(2).enumerate() {
        y = borders::bordered(c.graph(), y, rank - 1 - i, [pair[0], pair[1]], inside)?;
    }
    c.finish(y)
}
