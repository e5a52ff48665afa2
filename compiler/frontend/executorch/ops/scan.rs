//! Running sums.

use super::super::fault::Fault;
use super::call::{Call, Translate, compute_type};
use crate::ir::{Reduction, Scan};

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::cumsum.out", cumsum)];

/// Sums of all elements up to each along a dimension.
fn cumsum(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let axis = c.axis(c.int(1)?, rank)?;
    let ty = compute_type(c.out_form(c.out())?.element);
    let x = c.cast(x, ty)?;
    // The only element of a scalar is its own sum.
    if rank == 0 {
        return c.finish(x);
    }
    let sums = c.builder().scan(x, Scan { reduction: Reduction::Sum, axis, exclusive: false, reverse: false })?;
    c.finish(sums)
}
