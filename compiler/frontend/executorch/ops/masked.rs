//! Elements that truth values choose, and results as long as values say.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::selection;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::nonzero.out", coordinates),
    ("aten::masked_select.out", select),
    ("aten::masked_scatter.out", scatter),
    ("aten::repeat_interleave.Tensor_out", repeat),
];

/// The coordinates of all elements that are not zero.
fn coordinates(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let y = selection::coordinates(c.graph(), x)?;
    c.finish(y)
}

/// The shape that two broadcast to, if they fit each other.
fn broadcast(a: Vec<Extent>, b: Vec<Extent>) -> Vec<Extent> {
    let (short, mut long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let added = long.len() - short.len();
    for (to, &extent) in long[added..].iter_mut().zip(&short) {
        if *to == Extent::Static(1) {
            *to = extent;
        }
    }
    long
}

/// Two tensors, the second as truth values, broadcast to one shape and laid out as rows; then the shape.
fn rows(c: &mut Call<'_, '_, '_>) -> Result<([Value; 2], Vec<Extent>), Fault> {
    let (x, mask) = (c.tensor(0)?, c.tensor(1)?);
    let mask = c.cast(mask, ElementType::Bool)?;
    let shape = broadcast(c.extents(x), c.extents(mask));
    let count = c.graph().product(&shape)?;
    let mut rows = [x, mask];
    for row in &mut rows {
        *row = c.expand_to(*row, &shape)?;
        *row = c.reshape_to(*row, &[count])?;
    }
    Ok((rows, shape))
}

/// The elements for which a mask holds, in order.
fn select(c: &mut Call<'_, '_, '_>) -> Outcome {
    let ([row, mask], _) = rows(c)?;
    let y = selection::where_true(c.graph(), row, mask)?;
    c.finish(y)
}

/// (self, mask, source). The elements where the mask holds are replaced by the source's elements, in order.
fn scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let ([row, mask], shape) = rows(c)?;
    let source = c.tensor(2)?;
    let listed = c.extents(source);
    let count = c.graph().product(&listed)?;
    let source = c.reshape_to(source, &[count])?;
    let source = c.cast(source, c.element(row))?;
    let y = selection::replaced(c.graph(), row, mask, source)?;
    let y = c.reshape_to(y, &shape)?;
    c.finish(y)
}

/// (repeats, output_size): each position as often as it says.
fn repeat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (repeats, known) = (c.tensor(0)?, c.optional_int(1)?);
    let register = c.register(c.out())?;
    let bound = c.translator.bound_of(register).unwrap_or(0) / 8;
    let most = match known {
        Some(count) => u64::try_from(count).map_err(|_| Fault::invalid("a size is negative"))?,
        None => bound,
    };
    let y = selection::repeated(c.graph(), repeats, most, known.is_some())?;
    c.finish(y)
}
