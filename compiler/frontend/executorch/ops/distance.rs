//! Distances of points.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::Value;
use crate::operators::distance;
use crate::operators::promotion::float_type;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::_cdist_forward.out", between_all), ("aten::_pdist_forward.out", between_pairs)];

fn points(c: &mut Call<'_, '_, '_>, index: usize) -> Result<Value, Fault> {
    let x = c.tensor(index)?;
    let ty = float_type(c.element(x));
    c.cast(x, ty)
}

fn norm(c: &Call<'_, '_, '_>, index: usize) -> Result<f64, Fault> {
    let p = c.double(index)?;
    if p >= 0.0 { Ok(p) } else { Err(Fault::invalid("a norm is negative").expected("0 or more", p.to_string())) }
}

/// (x1, x2, p, compute_mode): of all rows of one from all of the other.
fn between_all(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (a, b, p) = (points(c, 0)?, points(c, 1)?, norm(c, 2)?);
    let y = distance::between_all(c.graph(), a, b, p)?;
    c.finish(y)
}

/// (self, p): of all pairs of rows.
fn between_pairs(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, p) = (points(c, 0)?, norm(c, 1)?);
    let y = distance::between_pairs(c.graph(), x, p)?;
    c.finish(y)
}
