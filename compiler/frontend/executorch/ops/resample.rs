//! Images under another size.

use super::super::fault::Fault;
use super::Translate;
use super::call::{Call, compute_type};
use crate::ir::{Extent, Value};
use crate::operators::resize::{self, Along, Step};

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::upsample_nearest2d.vec_out", nearest), ("aten::upsample_bilinear2d.vec_out", bilinear)];

/// The longest side of an image or a result.
const MAX_SIDE: u64 = 1 << 20;

/// Rows and columns with the step that the call names or that follows from the extents. `argument` is the list of scale factors.
fn sides(c: &mut Call<'_, '_, '_>, x: Value, argument: usize) -> Result<[(Along, Step); 2], Fault> {
    let target = c.out_form(c.out())?.shape;
    let factors = c.optional_doubles(argument)?;
    let shape = c.graph().extents(x);
    let misfit = || Fault::invalid("the result does not fit the image").expected(format!("{shape:?}"), format!("{target:?}"));
    if shape.len() != 4 {
        return Err(Fault::invalid("needs an image").expected("4 dimensions", shape.len().to_string()));
    }
    let &[batch, channels, rows, columns] = &target[..] else { return Err(misfit()) };
    let fits = |d: usize, n: u64| shape[d].as_static().is_none_or(|extent| extent == n);
    let large = |n: u64| !(1..=MAX_SIDE).contains(&n);
    if !fits(0, batch) || !fits(1, channels) || (2..4).any(|d| large(c.graph().bound(shape[d]))) || rows > MAX_SIDE || columns > MAX_SIDE {
        return Err(misfit());
    }
    Ok([(0, rows), (1, columns)].map(|(d, to)| {
        let along = Along { dimension: d + 2, from: shape[d + 2], to: Extent::Static(to) };
        // Input elements an output element, in single precision as PyTorch computes it.
        match factors.as_ref().and_then(|factors| factors.get(d)) {
            Some(&factor) if factor > 0.0 => (along, Step::Number((1.0 / factor) as f32)),
            _ => (along, Step::Ratio),
        }
    }))
}

/// Output element i is input element ⌊i × step⌋.
fn nearest(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let sides = sides(c, x, 2)?;
    let y = resize::stepped(c.graph(), x, &sides)?;
    c.finish(y)
}

/// Between two input elements in proportion to the distance, first along rows, then along columns.
fn bilinear(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let (aligned, mut sides) = (c.flag(2)?, sides(c, x, 3)?);
    let ty = compute_type(c.element(x));
    if !ty.is_float() {
        return Err(Fault::unsupported(format!("interpolation of {ty} is not supported")));
    }
    if aligned {
        sides = sides.map(|(along, _)| (along, Step::Corners));
    }
    let x = c.cast(x, ty)?;
    let y = resize::separable(c.graph(), x, &sides)?;
    c.finish(y)
}
