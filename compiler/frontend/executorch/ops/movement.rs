//! Parts of tensors and tensors joined.

use super::super::fault::Fault;
use super::Translate;
use super::call::Call;
use crate::ir::Value;
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
fn part(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, start: u64, count: u64, step: i64) -> Result<Value, Fault> {
    let shape = c.shape(x)?;
    if start == 0 && step == 1 && shape.get(axis) == Some(&count) {
        return Ok(x);
    }
    let (mut starts, mut sizes, mut strides) = (vec![0; shape.len()], shape.clone(), vec![1; shape.len()]);
    let inside = axis < shape.len();
    if !inside {
        return Err(Fault::invalid("a scalar has no parts"));
    }
    (starts[axis], sizes[axis], strides[axis]) = (start, count, step);
    Ok(c.builder().slice(x, extents(&starts), extents(&sizes), strides)?)
}

/// Start and number of elements of `start..end` by `step`; negative bounds count from the end, and all are cut to the extent.
fn bounds(start: Option<i64>, end: Option<i64>, step: i64, extent: u64) -> Result<(u64, u64), Fault> {
    let step = u64::try_from(step).ok().filter(|&s| s > 0).ok_or_else(|| Fault::invalid("the step must be positive"))?;
    let extent = extent.min(i64::MAX as u64) as i64;
    let clip = |n: i64| (if n < 0 { n.saturating_add(extent) } else { n }).clamp(0, extent);
    let (start, end) = (clip(start.unwrap_or(0)), clip(end.unwrap_or(i64::MAX)));
    Ok((start as u64, ((end - start).max(0) as u64).div_ceil(step)))
}

fn slice(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let step = c.int(4)?;
    let (start, count) = bounds(c.optional_int(2)?, c.optional_int(3)?, step, extent)?;
    let y = part(c, x, axis, if count == 0 { 0 } else { start }, count, step)?;
    c.finish(y)
}

fn narrow(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.shape(x)?.len())?;
    let (start, count) = (position(c, x, axis, c.int(2)?, true)?, c.int(3)?);
    let count = u64::try_from(count).map_err(|_| Fault::invalid("the length is negative"))?;
    let y = part(c, x, axis, start, count, 1)?;
    c.finish(y)
}

/// A position along an axis; negative ones count from the end.
fn position(c: &Call<'_, '_, '_>, x: Value, axis: usize, index: i64, end_allowed: bool) -> Result<u64, Fault> {
    let extent = *c.shape(x)?.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let counted = if index < 0 { index.saturating_add(extent.min(i64::MAX as u64) as i64) } else { index };
    let found = u64::try_from(counted).ok().filter(|&n| n < extent || end_allowed && n == extent);
    found.ok_or_else(|| Fault::invalid("an index is out of range").expected(format!("less than {extent}"), index.to_string()))
}

fn without(shape: &[u64], axis: usize) -> Vec<u64> {
    shape.iter().enumerate().filter(|(d, _)| *d != axis).map(|(_, &n)| n).collect()
}

fn selected(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, index: u64) -> Result<Value, Fault> {
    let shape = c.shape(x)?;
    let one = part(c, x, axis, index, 1, 1)?;
    c.reshape(one, &without(&shape, axis))
}

fn select(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.shape(x)?.len())?;
    let index = position(c, x, axis, c.int(2)?, false)?;
    let y = selected(c, x, axis, index)?;
    c.finish(y)
}

/// Tensors joined in the result's element type. Empty one-dimensional tensors are left out, as PyTorch does.
fn cat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out_form(c.out())?;
    let mut parts = Vec::new();
    for x in c.tensors(0)? {
        if c.shape(x)? != [0] || out.shape.len() == 1 {
            parts.push(c.cast(x, out.element)?);
        }
    }
    let axis = c.axis(c.int(1)?, out.shape.len())?;
    let y = match parts[..] {
        [] => return Err(Fault::invalid("there is nothing to join")),
        [one] => one,
        _ => c.builder().concat(&parts, axis)?,
    };
    c.finish(y)
}

fn stack(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out_form(c.out())?;
    let axis = c.axis(c.int(1)?, out.shape.len())?;
    let mut parts = Vec::new();
    for x in c.tensors(0)? {
        let mut shape = c.shape(x)?;
        if axis > shape.len() {
            return Err(Fault::invalid("the tensors do not fit the result"));
        }
        shape.insert(axis, 1);
        let x = c.cast(x, out.element)?;
        parts.push(c.reshape(x, &shape)?);
    }
    if parts.is_empty() {
        return Err(Fault::invalid("there is nothing to join"));
    }
    let y = c.builder().concat(&parts, axis)?;
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

fn parts(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, sizes: &[u64]) -> Result<Vec<Value>, Fault> {
    let mut start = 0u64;
    let mut values = Vec::with_capacity(sizes.len());
    for &size in sizes {
        values.push(part(c, x, axis, start, size, 1)?);
        start = start.checked_add(size).ok_or_else(|| Fault::invalid("the parts are too large"))?;
    }
    Ok(values)
}

fn split(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(2)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let size = u64::try_from(c.int(1)?).ok().filter(|&n| n > 0).ok_or_else(|| Fault::invalid("the size of a part must be positive"))?;
    let count = c.tensor_registers(c.out())?.len() as u64;
    if extent.div_ceil(size) != count {
        return Err(
            Fault::invalid("the result has another number of tensors").expected(extent.div_ceil(size).to_string(), count.to_string())
        );
    }
    let sizes: Vec<u64> = (0..count).map(|i| size.min(extent - i * size)).collect();
    let values = parts(c, x, axis, &sizes)?;
    define_list(c, values)
}

fn split_with_sizes(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(2)?, c.shape(x)?.len())?;
    let sizes: Result<Vec<u64>, _> = c.ints(1)?.into_iter().map(u64::try_from).collect();
    let sizes = sizes.map_err(|_| Fault::invalid("a size is negative"))?;
    let values = parts(c, x, axis, &sizes)?;
    define_list(c, values)
}

fn unbind(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.shape(x)?.len())?;
    let count = c.tensor_registers(c.out())?.len() as u64;
    let values: Result<Vec<Value>, Fault> = (0..count).map(|i| selected(c, x, axis, i)).collect();
    define_list(c, values?)
}

fn flip(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.shape(x)?;
    let (mut start, mut stride) = (vec![0; shape.len()], vec![1; shape.len()]);
    for dim in c.ints(1)? {
        let axis = c.axis(dim, shape.len())?;
        if axis < shape.len() && shape[axis] > 0 {
            (start[axis], stride[axis]) = (shape[axis] - 1, -1);
        }
    }
    let y = c.builder().slice(x, extents(&start), extents(&shape), stride)?;
    c.finish(y)
}

/// The tensor set side by side so many times along each dimension.
fn repeat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (shape, repeats) = (c.shape(x)?, c.ints(1)?);
    let added = repeats.len().checked_sub(shape.len()).ok_or_else(|| Fault::invalid("fewer repetitions than dimensions"))?;
    let (mut split, mut spread) = (Vec::new(), Vec::new());
    for (d, &count) in repeats.iter().enumerate() {
        let count = u64::try_from(count).map_err(|_| Fault::invalid("a repetition is negative"))?;
        let extent = if d < added { 1 } else { shape[d - added] };
        split.extend([1, extent]);
        spread.extend([count, extent]);
    }
    if split.len() > crate::ir::operators::MAX_RANK {
        return Err(Fault::unsupported("too many dimensions to repeat"));
    }
    let x = c.reshape(x, &split)?;
    let y = c.graph().broadcast(x, &extents(&spread))?;
    let joined: Vec<u64> = spread.chunks(2).map(|pair| pair[0].saturating_mul(pair[1])).collect();
    let y = c.reshape(y, &joined)?;
    c.finish(y)
}

/// A border of one value; amounts come in pairs, last dimension first.
fn pad(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (rank, amounts, value) = (c.shape(x)?.len(), c.ints(1)?, c.number(2)?);
    if amounts.len() % 2 != 0 || amounts.len() / 2 > rank {
        return Err(Fault::invalid("the padding does not fit the rank").expected(format!("at most {rank} pairs"), format!("{amounts:?}")));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (i, pair) in amounts.chunks(2).enumerate() {
        (low[rank - 1 - i], high[rank - 1 - i]) = (pair[0], pair[1]);
    }
    let value = value.to_scalar(c.element(x));
    let y = c.builder().pad(x, low, high, value)?;
    c.finish(y)
}

/// Argument 1 written over a slice of argument 0.
fn slice_scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, source) = (c.tensor(0)?, c.tensor(1)?);
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(2)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let step = c.int(5)?;
    let (start, count) = bounds(c.optional_int(3)?, c.optional_int(4)?, step, extent)?;
    if step != 1 {
        return Err(Fault::unsupported("scattering with a step is not supported yet"));
    }
    overwrite(c, x, source, axis, start, count)
}

/// Argument 1 written over one position along an axis of argument 0.
fn select_scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, source) = (c.tensor(0)?, c.tensor(1)?);
    let mut shape = c.shape(source)?;
    let axis = c.axis(c.int(2)?, shape.len() + 1)?;
    let index = position(c, x, axis, c.int(3)?, false)?;
    shape.insert(axis, 1);
    let source = c.reshape(source, &shape)?;
    overwrite(c, x, source, axis, index, 1)
}

fn overwrite(c: &mut Call<'_, '_, '_>, x: Value, source: Value, axis: usize, start: u64, count: u64) -> Outcome {
    let extent = c.shape(x)?[axis];
    if c.shape(source)?.get(axis) != Some(&count) {
        return Err(Fault::invalid("the source does not fit the slice").expected(count.to_string(), format!("{:?}", c.shape(source)?)));
    }
    let source = c.cast(source, c.element(x))?;
    let mut pieces = Vec::new();
    if start > 0 {
        pieces.push(part(c, x, axis, 0, start, 1)?);
    }
    pieces.push(source);
    if start + count < extent {
        pieces.push(part(c, x, axis, start + count, extent - start - count, 1)?);
    }
    let y = if pieces.len() == 1 { pieces[0] } else { c.builder().concat(&pieces, axis)? };
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
