//! Running sums and products.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{Reduction, Scan};
use crate::operators::complex::{from_pairs, is_complex, pairs};
use crate::operators::promotion::compute_type;

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::cumsum.out", |c| up_to_each(c, Reduction::Sum)), ("aten::cumprod.out", |c| up_to_each(c, Reduction::Product))];

/// (self, dim, dtype): all elements up to each along a dimension reduced.
fn up_to_each(c: &mut Call<'_, '_, '_>, reduction: Reduction) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let axis = c.axis(c.int(1)?, rank)?;
    let ty = compute_type(c.out_form(c.out())?.element);
    let x = c.cast(x, ty)?;
    // The only element of a scalar is its own sum and product.
    if rank == 0 {
        return c.finish(x);
    }
    let scan = Scan { reduction, axis, exclusive: false, reverse: false };
    if is_complex(ty) && reduction == Reduction::Sum {
        let pairs = pairs(c.graph(), x)?;
        let sums = c.builder().scan(pairs, scan)?;
        let sums = from_pairs(c.graph(), sums)?;
        return c.finish(sums);
    }
    let found = c.builder().scan(x, scan)?;
    c.finish(found)
}
