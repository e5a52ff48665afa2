//! The weights of antialiased interpolation along a run-time extent. The program computes them in binary64, like weights of static extents.

use super::filter::Filter;
use crate::ir::{Comparison, ElementType, Extent, Node, Reduction, Scalar, ScalarOp, Value};
use crate::operators::reduction::{Axes, reduce};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::F64;

/// The matrix `[to, from]` of weights, of an element type. `named` is the number of image elements for one element of the result. Without it, the
/// ratio of the extents is used, or the ratio of the distances between corners if these are aligned.
///
/// # Errors
/// When an extent leaves 64 bits.
pub fn weights(
    g: &mut Graph<'_>,
    filter: Filter,
    [from, to]: [Extent; 2],
    named: Option<f64>,
    aligned: bool,
    element: ElementType,
) -> Result<Value, Error> {
    let one = Extent::Static(1);
    let (row, column) = (g.positions(&[to, one], 0, F64)?, g.positions(&[one, from], 1, F64)?);
    let step = step(g, [from, to], named, aligned)?;
    let extent = real(g, from)?;
    let weights = g.compute::<Error>(&[row, column, step, extent], |terms, x| Ok(weight(terms, filter, [x[0], x[1], x[2], x[3]])?))?;
    let totals = reduce(g, weights, Reduction::Sum, &[1], Axes::Kept)?;
    g.compute(&[weights, totals], |terms, x| {
        let zero = terms.f64(0.0);
        let some = terms.compare(Comparison::NotEqual, x[1], zero)?;
        let share = terms.div(x[0], x[1])?;
        let share = terms.select(some, share, x[0])?;
        Ok(terms.convert(share, element))
    })
}

/// An extent in binary64, as a tensor of shape `[]`.
fn real(g: &mut Graph<'_>, extent: Extent) -> Result<Value, Error> {
    let extent = g.extent_tensor(extent, ElementType::I64)?;
    g.convert(extent, F64)
}

/// Elements of the image an element of the result, as a tensor of shape `[]`.
fn step(g: &mut Graph<'_>, [from, to]: [Extent; 2], named: Option<f64>, aligned: bool) -> Result<Value, Error> {
    if let (false, Some(step)) = (aligned, named) {
        return g.scalar(Scalar::float(F64, step));
    }
    let extents = [real(g, from)?, real(g, to)?];
    g.compute(&extents, |terms, x| {
        if !aligned {
            return Ok(terms.div(x[0], x[1])?);
        }
        let (zero, one) = (terms.f64(0.0), terms.f64(1.0));
        let (last, steps) = (terms.sub(x[0], one)?, terms.sub(x[1], one)?);
        let between = terms.div(last, steps)?;
        let several = terms.compare(Comparison::Greater, x[1], one)?;
        Ok(terms.select(several, between, zero)?)
    })
}

/// The weight of a column of the image in a row of the result, before weights are divided by their sum. It is the filter about the row's centre
/// within its reach, else 0.
fn weight(terms: &mut Terms, filter: Filter, [row, column, step, extent]: [Node; 4]) -> Term {
    let (zero, half, one) = (terms.f64(0.0), terms.f64(0.5), terms.f64(1.0));
    let stretch = terms.max(step, one)?;
    let reach = terms.f64(filter.reach());
    let reach = terms.mul(reach, stretch)?;
    let middle = terms.add(row, half)?;
    let centre = terms.mul(step, middle)?;
    let (low, high) = (terms.sub(centre, reach)?, terms.add(centre, reach)?);
    let [start, end] = [low, high].map(|edge| whole(terms, edge, extent));
    let (start, end) = (start?, end?);
    let distance = terms.sub(column, centre)?;
    let distance = terms.add(distance, half)?;
    let distance = terms.div(distance, stretch)?;
    let weight = filter.term(terms, distance)?;
    let begun = terms.compare(Comparison::GreaterEqual, column, start)?;
    let open = terms.compare(Comparison::Less, column, end)?;
    let inside = terms.op(ScalarOp::And, &[begun, open])?;
    terms.select(inside, weight, zero)
}

/// An edge as the first pixel whose middle is not before it, from 0 to the extent.
fn whole(terms: &mut Terms, edge: Node, extent: Node) -> Term {
    let (zero, half) = (terms.f64(0.0), terms.f64(0.5));
    let edge = terms.add(edge, half)?;
    let edge = terms.op(ScalarOp::Trunc, &[edge])?;
    let edge = terms.max(edge, zero)?;
    terms.min(edge, extent)
}
