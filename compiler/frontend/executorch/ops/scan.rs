//! Running sums.

use super::super::fault::Fault;
use super::Translate;
use super::call::{Call, compute_type};
use crate::ir::{Scalar, ScalarOp};

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::cumsum.out", cumsum)];

/// Sums of all elements up to each along a dimension, in ⌈log₂ n⌉ rounds: each adds what stands 2ᵏ places before
/// (Hillis and Steele, "Data parallel algorithms").
fn cumsum(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(1)?, shape.len())?;
    let ty = compute_type(c.out_form(c.out())?.element);
    let mut sums = c.cast(x, ty)?;
    let extent = shape.get(axis).copied().unwrap_or(1);
    let mut distance = 1u64;
    while distance < extent {
        let (mut low, mut high) = (vec![0; shape.len()], vec![0; shape.len()]);
        (low[axis], high[axis]) = (distance as i64, -(distance as i64));
        let before = c.builder().pad(sums, low, high, Scalar::int(ty, 0))?;
        sums = c.map(&[sums, before], |b, n| Ok(b.op(ScalarOp::Add, n)?))?;
        distance *= 2;
    }
    c.finish(sums)
}
