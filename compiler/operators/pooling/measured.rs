//! Averages and extremes over parts of an image whose extents are known only when the program runs.

use crate::ir::{Comparison, ElementType, Extent, Reduction, Scalar, ScalarOp, Value};
use crate::operators::reduction::{Axes, reduce};
use crate::operators::{Error, Graph};

/// Means over parts of the spatial dimensions of an image of floats, channels last, in its element type. Part i of n goes from ⌊i·extent ÷ n⌋ to ⌈(i
/// + 1)·extent ÷ n⌉. One dimension is summed after the other.
///
/// # Errors
/// The errors of extents too large for the positions of their parts.
pub fn average_measured_parts(g: &mut Graph<'_>, image: Value, parts: &[Extent]) -> Result<Value, Error> {
    let element = g.element(image);
    let mut sums = image;
    let mut sides = Vec::new();
    for (d, &count) in parts.iter().enumerate() {
        let axis = d + 1;
        let Some(count) = fewer(g, sums, axis, count)? else { continue };
        let inside = inside(g, sums, axis, count)?;
        sums = combined(g, sums, inside, axis, Reduction::Sum)?;
        sides.push(lengths(g, inside, axis, element)?);
    }
    for side in sides {
        sums = g.compute::<Error>(&[sums, side], |terms, x| Ok(terms.div(x[0], x[1])?))?;
    }
    Ok(sums)
}

/// The largest elements of parts of some neighbouring dimensions, from `first` on: one dimension after the other. NaN is kept.
///
/// # Errors
/// The errors of extents too large for the positions of their parts.
pub fn max_measured_parts(g: &mut Graph<'_>, image: Value, first: usize, parts: &[Extent]) -> Result<Value, Error> {
    let mut largest = image;
    for (d, &count) in parts.iter().enumerate() {
        let Some(count) = fewer(g, largest, first + d, count)? else { continue };
        let inside = inside(g, largest, first + d, count)?;
        largest = combined(g, largest, inside, first + d, Reduction::MaxOrNan)?;
    }
    Ok(largest)
}

/// The number of parts of an axis, unless each element is one.
fn fewer(g: &Graph<'_>, image: Value, axis: usize, count: Extent) -> Result<Option<u64>, Error> {
    if g.extents(image)[axis] == count {
        return Ok(None);
    }
    count.as_static().map(Some).ok_or(Error::DynamicExtent)
}

/// Truth values `[…, parts, elements, …]`: element h of n is in part i of m. They have one element along every other dimension. Part i begins where h
/// + 1 exceeds i·n ÷ m, and ends where h reaches (i + 1)·n ÷ m.
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

/// The sum or the maximum of the elements of each part of an axis.
fn combined(g: &mut Graph<'_>, image: Value, inside: Value, axis: usize, reduction: Reduction) -> Result<Value, Error> {
    let mut shape = g.extents(image);
    shape.insert(axis, Extent::Static(1));
    let image = g.reshape(image, &shape)?;
    let nothing = of_nothing(reduction, g.element(image));
    let chosen = g.compute::<Error>(&[inside, image], |terms, x| {
        let nothing = terms.constant(nothing);
        Ok(terms.select(x[0], x[1], nothing)?)
    })?;
    reduce(g, chosen, reduction, &[axis + 1], Axes::Dropped)
}

/// The neutral number of a reduction.
fn of_nothing(reduction: Reduction, element: ElementType) -> Scalar {
    match (reduction, element.integer_range()) {
        (Reduction::MaxOrNan, Some((least, _))) => Scalar::int(element, least as i64),
        (Reduction::MaxOrNan, None) => Scalar::float(element, f64::NEG_INFINITY),
        _ => Scalar::from_bits(element, 0),
    }
}

/// The number of elements of each part of an axis.
fn lengths(g: &mut Graph<'_>, inside: Value, axis: usize, element: ElementType) -> Result<Value, Error> {
    let ones = g.convert(inside, element)?;
    reduce(g, ones, Reduction::Sum, &[axis + 1], Axes::Dropped)
}
