//! Averages over parts of an image whose extents are known only when the program runs.

use crate::ir::{Comparison, ElementType, Extent, Reduction, Scalar, ScalarOp, Value};
use crate::operators::reduction::{Axes, reduce};
use crate::operators::{Error, Graph};

/// Means over parts of the spatial dimensions of an image of floats, channels last, in its element type: part i of n goes from ⌊i·extent ÷ n⌋ to
/// ⌈(i + 1)·extent ÷ n⌉. One dimension after the other is added up.
///
/// # Errors
/// When an extent is so large that a part of it cannot be told.
pub fn average_measured_parts(g: &mut Graph<'_>, image: Value, parts: &[u64]) -> Result<Value, Error> {
    let element = g.element(image);
    let mut sums = image;
    let mut sides = Vec::new();
    for (d, &count) in parts.iter().enumerate() {
        let axis = d + 1;
        let inside = inside(g, sums, axis, count)?;
        sums = added(g, sums, inside, axis)?;
        sides.push(lengths(g, inside, axis, element)?);
    }
    for side in sides {
        sums = g.compute::<Error>(&[sums, side], |terms, x| Ok(terms.div(x[0], x[1])?))?;
    }
    Ok(sums)
}

/// Whether an element of an axis is in a part of it: `[…, parts, elements, …]`, of one element along every other dimension. Element h of n is in part
/// i of m from where h + 1 is above i·n ÷ m, up to where h is not below (i + 1)·n ÷ m.
fn inside(g: &mut Graph<'_>, image: Value, axis: usize, count: u64) -> Result<Value, Error> {
    let shape = g.extents(image);
    let mut sides = vec![Extent::Static(1); shape.len() + 1];
    (sides[axis], sides[axis + 1]) = (Extent::Static(count), shape[axis]);
    let part = g.positions(&sides, axis, ElementType::I64)?;
    let element = g.positions(&sides, axis + 1, ElementType::I64)?;
    let extent = g.extent_tensor(shape[axis], ElementType::I64)?;
    g.compute::<Error>(&[part, element, extent], |terms, x| {
        let (one, parts) = (terms.i64(1), terms.i64(count as i64));
        let (next_part, next_element) = (terms.add(x[0], one)?, terms.add(x[1], one)?);
        let (begin, end) = (terms.mul(x[0], x[2])?, terms.mul(next_part, x[2])?);
        let (above, below) = (terms.mul(next_element, parts)?, terms.mul(x[1], parts)?);
        let begun = terms.compare(Comparison::Greater, above, begin)?;
        let open = terms.compare(Comparison::Less, below, end)?;
        Ok(terms.op(ScalarOp::And, &[begun, open])?)
    })
}

/// The sums over the parts of an axis.
fn added(g: &mut Graph<'_>, image: Value, inside: Value, axis: usize) -> Result<Value, Error> {
    let mut shape = g.extents(image);
    shape.insert(axis, Extent::Static(1));
    let image = g.reshape(image, &shape)?;
    let zero = Scalar::float(g.element(image), 0.0);
    let chosen = g.compute::<Error>(&[inside, image], |terms, x| {
        let zero = terms.constant(zero);
        Ok(terms.select(x[0], x[1], zero)?)
    })?;
    reduce(g, chosen, Reduction::Sum, &[axis + 1], Axes::Dropped)
}

/// How many elements each part of an axis has.
fn lengths(g: &mut Graph<'_>, inside: Value, axis: usize, element: ElementType) -> Result<Value, Error> {
    let ones = g.convert(inside, element)?;
    reduce(g, ones, Reduction::Sum, &[axis + 1], Axes::Dropped)
}
