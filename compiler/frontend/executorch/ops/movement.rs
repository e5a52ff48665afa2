//! Parts of tensors and tensors joined.

use super::super::fault::Fault;
use super::super::tensors::shape_text;
use super::call::{Call, Translate, Whole};
use crate::ir::{Extent, IndexOperation, Value};
use crate::operators::extents;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::slice_copy.Tensor_out", slice),
    ("aten::narrow_copy.out", narrow),
    ("aten::select_copy.int_out", select),
    ("aten::cat.out", cat),
    ("aten::stack.out", stack),
    ("aten::split_copy.Tensor_out", split),
    ("aten::split_with_sizes_copy.out", split_with_sizes),
    ("aten::unbind_copy.int_out", unbind),
    ("aten::flip.out", flip),
    ("aten::repeat.out", repeat),
    ("aten::constant_pad_nd.out", pad),
    ("aten::slice_scatter.out", slice_scatter),
    ("aten::select_scatter.out", select_scatter),
];

/// A box that is all of a tensor but along one axis.
pub(super) fn part(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, (start, count): (Extent, Extent), step: i64) -> Result<Value, Fault> {
    let shape = c.extents(x);
    if start == Extent::Static(0) && step == 1 && shape.get(axis) == Some(&count) {
        return Ok(x);
    }
    if axis >= shape.len() {
        return Err(Fault::invalid("a scalar has no parts"));
    }
    let (mut starts, mut sizes, mut strides) = (extents(&vec![0; shape.len()]), shape.clone(), vec![1; shape.len()]);
    (starts[axis], sizes[axis], strides[axis]) = (start, count, step);
    Ok(c.graph().slice(x, &starts, &sizes, &strides)?)
}

/// Start and number of elements of `start..end` by `step`; negative bounds count from the end, and all are cut to the extent.
fn bounds(start: Option<i64>, end: Option<i64>, step: i64, extent: u64) -> Result<(u64, u64), Fault> {
    let step = u64::try_from(step).ok().filter(|&s| s > 0).ok_or_else(|| Fault::invalid("the step must be positive"))?;
    let extent = extent.min(i64::MAX as u64) as i64;
    let clip = |n: i64| (if n < 0 { n.saturating_add(extent) } else { n }).clamp(0, extent);
    let (start, end) = (clip(start.unwrap_or(0)), clip(end.unwrap_or(i64::MAX)));
    Ok((start as u64, ((end - start).max(0) as u64).div_ceil(step)))
}

/// The same on integers and extents some of which are known only when the program runs.
///
/// A position that a tensor holds is not cut: if it does not leave room for as many elements as are asked for, the call ends with an error. So
/// `start..start + count` is `count` elements, whatever `start` is.
fn run_time_bounds(
    c: &mut Call<'_, '_, '_>,
    [start, end]: [Option<Whole>; 2],
    step: i64,
    extent: Extent,
) -> Result<(Extent, Extent), Fault> {
    let step = u64::try_from(step).ok().filter(|&s| s > 0).ok_or_else(|| Fault::invalid("the step must be positive"))?;
    let (start, end) = (start.unwrap_or(Whole::Known(0)), end.unwrap_or(Whole::Known(i64::MAX)));
    if let (Whole::Index(from), Whole::Index(to)) = (start, end)
        && !c.graph().interval(Extent::Value(from)).is_bounded()
        && let Some(length) = c.graph().difference(Extent::Value(to), Extent::Value(from))
    {
        return Ok((Extent::Value(from), c.graph().ceil_div(length, Extent::Static(step))?));
    }
    let (start, end) = (clipped(c, start, extent)?, clipped(c, end, extent)?);
    let length = c.graph().sub(end, start)?;
    Ok((start, c.graph().ceil_div(length, Extent::Static(step))?))
}

/// A bound of a slice, negative ones counted from the end, cut to the extent.
fn clipped(c: &mut Call<'_, '_, '_>, n: Whole, extent: Extent) -> Result<Extent, Fault> {
    let position = match n {
        Whole::Known(n) => match u64::try_from(n) {
            Ok(n) => return Ok(c.graph().min(Extent::Static(n), extent)?),
            Err(_) => return Ok(c.graph().sub(extent, Extent::Static(n.unsigned_abs()))?),
        },
        Whole::Index(position) => counted(c, position, extent)?,
    };
    let position = c.graph().max(Extent::Value(position), Extent::Static(0))?;
    Ok(c.graph().min(position, extent)?)
}

/// A position, negative ones counted from the end.
fn counted(c: &mut Call<'_, '_, '_>, position: Value, extent: Extent) -> Result<Value, Fault> {
    if c.graph().interval(Extent::Value(position)).low >= 0 {
        return Ok(position);
    }
    // 1 below zero, and 0 from there on.
    let (zero, one, extent) = (c.graph().integer(0)?, c.graph().integer(1)?, c.graph().index(extent)?);
    let below = c.graph().compute_integer(IndexOperation::Subtract, zero, position)?;
    let below = c.graph().compute_integer(IndexOperation::Maximum, below, zero)?;
    let below = c.graph().compute_integer(IndexOperation::Minimum, below, one)?;
    let moved = c.graph().compute_integer(IndexOperation::Multiply, below, extent)?;
    Ok(c.graph().compute_integer(IndexOperation::Add, position, moved)?)
}

/// Start and number of elements of a slice whose start, end and step are the arguments from `first` on.
fn slice_bounds(c: &mut Call<'_, '_, '_>, first: usize, extent: Extent) -> Result<(Extent, Extent, i64), Fault> {
    let step = c.int(first + 2)?;
    let known = |n: Option<Whole>| match n {
        None => Some(None),
        Some(Whole::Known(n)) => Some(Some(n)),
        Some(Whole::Index(_)) => None,
    };
    let ends = [c.optional_whole(first)?, c.optional_whole(first + 1)?];
    if let (Some(start), Some(end), Some(extent)) = (known(ends[0]), known(ends[1]), extent.as_static()) {
        let (start, count) = bounds(start, end, step, extent)?;
        return Ok((Extent::Static(if count == 0 { 0 } else { start }), Extent::Static(count), step));
    }
    let (start, count) = run_time_bounds(c, ends, step, extent)?;
    Ok((start, count, step))
}

fn slice(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let (start, count, step) = slice_bounds(c, 2, extent)?;
    let y = part(c, x, axis, (start, count), step)?;
    c.finish(y)
}

fn narrow(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let (start, count) = (c.whole(2)?, c.whole(3)?);
    let start = position(c, x, axis, start, true)?;
    let count = match count {
        Whole::Known(n) => u64::try_from(n).map(Extent::Static).map_err(|_| Fault::invalid("the length is negative"))?,
        count => c.extent(count)?,
    };
    let y = part(c, x, axis, (start, count), 1)?;
    c.finish(y)
}

/// A position along an axis; negative ones count from the end. One that is known only when the program runs is checked there.
fn position(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, index: Whole, end_allowed: bool) -> Result<Extent, Fault> {
    let extent = *c.extents(x).get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let index = match (index, extent) {
        (Whole::Known(index), Extent::Static(extent)) => {
            let counted = if index < 0 { index.saturating_add(extent.min(i64::MAX as u64) as i64) } else { index };
            let found = u64::try_from(counted).ok().filter(|&n| n < extent || end_allowed && n == extent);
            let found =
                found.ok_or_else(|| Fault::invalid("an index is out of range").expected(format!("less than {extent}"), index.to_string()));
            return found.map(Extent::Static);
        }
        (Whole::Known(index), _) if index >= 0 => return Ok(Extent::Static(index as u64)),
        (Whole::Known(index), extent) => {
            let (extent, index) = (c.graph().index(extent)?, c.graph().integer(index)?);
            c.graph().compute_integer(IndexOperation::Add, extent, index)?
        }
        (Whole::Index(index), extent) => counted(c, index, extent)?,
    };
    Ok(c.graph().function().resolved(Extent::Value(index)))
}

fn without(shape: &[Extent], axis: usize) -> Vec<Extent> {
    shape.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, &n)| n).collect()
}

fn selected(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, index: Extent) -> Result<Value, Fault> {
    let shape = c.extents(x);
    let one = part(c, x, axis, (index, Extent::Static(1)), 1)?;
    c.reshape_to(one, &without(&shape, axis))
}

fn select(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let index = c.whole(2)?;
    let index = position(c, x, axis, index, false)?;
    let y = selected(c, x, axis, index)?;
    c.finish(y)
}

/// Tensors joined in the result's element type. Empty one-dimensional tensors are left out, as PyTorch does.
fn cat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out_form(c.out())?;
    let mut parts = Vec::new();
    for x in c.tensors(0)? {
        if c.extents(x) != [Extent::Static(0)] || out.shape.len() == 1 {
            parts.push(c.cast(x, out.element)?);
        }
    }
    let axis = c.axis(c.int(1)?, out.shape.len())?;
    let y = joined(c, &parts, axis)?;
    c.finish(y)
}

/// Tensors joined along an axis; their other extents have to be equal.
fn joined(c: &mut Call<'_, '_, '_>, parts: &[Value], axis: usize) -> Result<Value, Fault> {
    let [first, rest @ ..] = parts else { return Err(Fault::invalid("there is nothing to join")) };
    let shape = c.extents(*first);
    for &other in rest {
        for (d, (a, b)) in shape.iter().zip(c.extents(other)).enumerate() {
            if d != axis && (a.as_static().is_none() || b.as_static().is_none()) {
                c.translator.equate(*a, b)?;
            }
        }
    }
    Ok(c.graph().concat(parts, axis)?)
}

fn stack(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out_form(c.out())?;
    let axis = c.axis(c.int(1)?, out.shape.len())?;
    let mut parts = Vec::new();
    for x in c.tensors(0)? {
        let mut shape = c.extents(x);
        if axis > shape.len() {
            return Err(Fault::invalid("the tensors do not fit the result"));
        }
        shape.insert(axis, Extent::Static(1));
        let x = c.cast(x, out.element)?;
        parts.push(c.reshape_to(x, &shape)?);
    }
    let y = joined(c, &parts, axis)?;
    c.finish(y)
}

/// Defines the tensors of a result list.
fn define_list(c: &mut Call<'_, '_, '_>, values: Vec<Value>) -> Outcome {
    let registers = c.tensor_registers(c.out())?;
    if registers.len() != values.len() {
        return Err(
            Fault::invalid("the result has another number of tensors").expected(values.len().to_string(), registers.len().to_string())
        );
    }
    for (register, value) in registers.into_iter().zip(values) {
        let register = register.ok_or_else(|| Fault::invalid("a result is None"))?;
        c.translator.define(register, value)?;
    }
    Ok(())
}

fn parts(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, sizes: &[Extent]) -> Result<Vec<Value>, Fault> {
    let mut start = Extent::Static(0);
    let mut values = Vec::with_capacity(sizes.len());
    for &size in sizes {
        values.push(part(c, x, axis, (start, size), 1)?);
        let next = c.graph().add(start, size);
        start = next.map_err(|_| Fault::invalid("the parts are too large"))?;
    }
    Ok(values)
}

fn split(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let axis = c.axis(c.int(2)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let size = c.whole(1)?;
    let count = c.tensor_registers(c.out())?.len() as u64;
    let sizes: Vec<Extent> = match (size, extent) {
        (Whole::Known(size), Extent::Static(extent)) => {
            let size = u64::try_from(size).ok().filter(|&n| n > 0);
            let size = size.ok_or_else(|| Fault::invalid("the size of a part must be positive"))?;
            if extent.div_ceil(size) != count {
                let wrong = Fault::invalid("the result has another number of tensors");
                return Err(wrong.expected(extent.div_ceil(size).to_string(), count.to_string()));
            }
            (0..count).map(|i| Extent::Static(size.min(extent - i * size))).collect()
        }
        // All parts but the last have the size; that there are as many as in the file is checked by the last one's slice.
        _ => {
            let size = c.extent(size)?;
            let before = c.graph().mul(size, Extent::Static(count.saturating_sub(1)))?;
            let last = c.graph().sub(extent, before)?;
            (1..=count).map(|i| if i == count { last } else { size }).collect()
        }
    };
    let values = parts(c, x, axis, &sizes)?;
    define_list(c, values)
}

fn split_with_sizes(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(2)?, c.rank(x))?;
    let list = c.wholes(1)?;
    let sizes = list.into_iter().map(|size| c.extent(size)).collect::<Result<Vec<_>, _>>()?;
    let values = parts(c, x, axis, &sizes)?;
    define_list(c, values)
}

fn unbind(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let count = c.tensor_registers(c.out())?.len() as u64;
    if let Some(&extent) = c.extents(x).get(axis).filter(|extent| extent.as_static().is_none()) {
        c.translator.equate(extent, Extent::Static(count))?;
    }
    let values: Result<Vec<Value>, Fault> = (0..count).map(|i| selected(c, x, axis, Extent::Static(i))).collect();
    define_list(c, values?)
}

fn flip(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let (mut start, mut stride) = (extents(&vec![0; shape.len()]), vec![1; shape.len()]);
    for dim in c.ints(1)? {
        let axis = c.axis(dim, shape.len())?;
        if axis < shape.len() && shape[axis] != Extent::Static(0) {
            (start[axis], stride[axis]) = (c.graph().sub(shape[axis], Extent::Static(1))?, -1);
        }
    }
    let y = c.graph().slice(x, &start, &shape, &stride)?;
    c.finish(y)
}

/// The tensor set side by side this many times along each dimension.
fn repeat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (shape, repeats) = (c.extents(x), c.wholes(1)?);
    let added = repeats.len().checked_sub(shape.len()).ok_or_else(|| Fault::invalid("fewer repetitions than dimensions"))?;
    let (mut split, mut spread, mut joined) = (Vec::new(), Vec::new(), Vec::new());
    for (d, &count) in repeats.iter().enumerate() {
        let count = c.extent(count)?;
        let extent = if d < added { Extent::Static(1) } else { shape[d - added] };
        split.extend([Extent::Static(1), extent]);
        spread.extend([count, extent]);
        joined.push(c.graph().mul(count, extent)?);
    }
    if split.len() > crate::ir::operators::MAX_RANK {
        return Err(Fault::unsupported("too many dimensions to repeat"));
    }
    let x = c.reshape_to(x, &split)?;
    let y = c.graph().broadcast(x, &spread)?;
    let y = c.reshape_to(y, &joined)?;
    c.finish(y)
}

/// A border of one value; amounts come in pairs, last dimension first.
fn pad(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (rank, amounts, value) = (c.rank(x), c.ints(1)?, c.number(2)?);
    if amounts.len() % 2 != 0 || amounts.len() / 2 > rank {
        return Err(Fault::invalid("the padding does not fit the rank").expected(format!("at most {rank} pairs"), format!("{amounts:?}")));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (i, pair) in amounts.chunks(2).enumerate() {
        (low[rank - 1 - i], high[rank - 1 - i]) = (pair[0], pair[1]);
    }
    let value = value.to_scalar(c.element(x));
    let y = c.graph().pad(x, &low, &high, value)?;
    c.finish(y)
}

/// Argument 1 written over a slice of argument 0.
fn slice_scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, source) = (c.tensor(0)?, c.tensor(1)?);
    let shape = c.extents(x);
    let axis = c.axis(c.int(2)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let (start, count, step) = slice_bounds(c, 3, extent)?;
    if step != 1 {
        return Err(Fault::unsupported("scattering with a step is not supported yet"));
    }
    overwrite(c, [x, source], axis, start, count)
}

/// Argument 1 written over one position along an axis of argument 0.
fn select_scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, source) = (c.tensor(0)?, c.tensor(1)?);
    let mut shape = c.extents(source);
    let axis = c.axis(c.int(2)?, shape.len() + 1)?;
    let index = c.whole(3)?;
    let index = position(c, x, axis, index, false)?;
    shape.insert(axis, Extent::Static(1));
    let source = c.reshape_to(source, &shape)?;
    overwrite(c, [x, source], axis, index, Extent::Static(1))
}

fn overwrite(c: &mut Call<'_, '_, '_>, [x, source]: [Value; 2], axis: usize, start: Extent, count: Extent) -> Outcome {
    let (shape, given) = (c.extents(x), c.extents(source));
    let misfit = || Fault::invalid("the source does not fit the slice").expected(shape_text(&[count]), shape_text(&given));
    let along = *given.get(axis).ok_or_else(misfit)?;
    match (along.as_static(), count.as_static()) {
        (Some(along), Some(count)) if along != count => return Err(misfit()),
        (Some(_), Some(_)) => {}
        _ => c.translator.equate(along, count)?,
    }
    let source = c.cast(source, c.element(x))?;
    let extent = shape[axis];
    let end = c.graph().add(start, count)?;
    let rest = c.graph().sub(extent, end)?;
    let mut pieces = Vec::new();
    if start != Extent::Static(0) {
        pieces.push(part(c, x, axis, (Extent::Static(0), start), 1)?);
    }
    pieces.push(source);
    if rest != Extent::Static(0) {
        pieces.push(part(c, x, axis, (end, rest), 1)?);
    }
    let y = joined(c, &pieces, axis)?;
    if extent.as_static().is_some() && c.extents(y)[axis].as_static().is_none() {
        return Err(Fault::unsupported("a position that is known only when the program runs is not supported here"));
    }
    c.finish(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_cut_to_the_extent() {
        assert_eq!(bounds(None, None, 1, 5), Ok((0, 5)));
        assert_eq!(bounds(Some(-2), Some(i64::MAX), 1, 5), Ok((3, 2)));
        assert_eq!(bounds(Some(1), Some(-1), 2, 6), Ok((1, 2)));
        assert_eq!(bounds(Some(4), Some(2), 1, 6), Ok((4, 0)));
        assert_eq!(bounds(Some(i64::MIN), Some(i64::MIN), 1, 6), Ok((0, 0)));
        assert!(bounds(None, None, 0, 5).is_err());
        assert!(bounds(None, None, -1, 5).is_err());
    }
}
