//! Operators that move elements and compute nothing.

use super::array::{Array, elements, strides, walk, width};
use super::error::{Step, fail};
use crate::packed;
use crate::types::ElementType;

/// Copies the elements that `strides` (in elements) reach from `base` for every index of `shape`, in row-major order.
/// The caller has checked that all of them lie inside.
fn pick<'m>(source: &Array<'m>, shape: Vec<usize>, strides: &[isize], base: isize) -> Step<Array<'m>> {
    let total = elements(source.element, &shape)?;
    let w = width(source.element);
    let mut bytes = Vec::with_capacity(total * w);
    match (shape.split_last(), strides.split_last()) {
        (Some((&run, outer)), Some((&1, outer_strides))) if total > 0 => walk(outer, outer_strides, base, |offset| {
            let first = offset as usize * w;
            bytes.extend_from_slice(&source.bytes[first..first + run * w]);
        }),
        _ => walk(&shape, strides, base, |offset| {
            let first = offset as usize * w;
            bytes.extend_from_slice(&source.bytes[first..first + w]);
        }),
    }
    Ok(Array::new(source.element, shape, bytes))
}

/// Writes all elements of `source` to where `strides` reach from `base` in `target`.
fn place(target: &mut [u8], source: &Array<'_>, strides: &[isize], base: isize) {
    let w = width(source.element);
    let (shape, strides, run) = match (source.shape.split_last(), strides.split_last()) {
        (Some((&run, outer)), Some((&1, outer_strides))) if run > 0 => (outer, outer_strides, run * w),
        _ => (source.shape.as_slice(), strides, w),
    };
    let mut rows = source.bytes.chunks_exact(run);
    walk(shape, strides, base, |offset| {
        if let Some(row) = rows.next() {
            target[offset as usize * w..offset as usize * w + run].copy_from_slice(row);
        }
    });
}

/// `reshape`
pub(crate) fn reshape<'m>(source: &Array<'m>, shape: Vec<usize>) -> Step<Array<'m>> {
    if elements(source.element, &shape)? != source.len() {
        return fail(format!("{:?} does not have as many elements as {shape:?}", source.shape));
    }
    Ok(source.reshaped(shape))
}

/// `bitcast`
pub(crate) fn bitcast<'m>(source: &Array<'m>, element: ElementType) -> Step<Array<'m>> {
    let (from, to) = (width(source.element), width(element));
    let mut shape = source.shape.clone();
    if from > to {
        shape.push(from / to);
    } else if from < to && shape.pop() != Some(to / from) {
        return fail(format!("the last dimension of {:?} is no {element}", source.shape));
    }
    Ok(Array { element, shape, bytes: source.bytes.clone() })
}

/// `unpack`
pub(crate) fn unpack<'m>(source: &Array<'m>, element: ElementType) -> Step<Array<'m>> {
    let mut shape = source.shape.clone();
    let per_byte = element.per_byte() as usize;
    shape.last_mut().into_iter().for_each(|last| *last = last.saturating_mul(per_byte));
    let count = elements(element, &shape)?;
    Ok(Array::new(element.unpacked(), shape, packed::unpack(element, &source.bytes, count)))
}

/// `repack`
pub(crate) fn repack<'m>(source: &Array<'m>, element: ElementType) -> Array<'m> {
    let mut bytes = source.bytes.to_vec();
    if element.is_packed() {
        bytes = packed::unpack(element, &packed::pack(element, &bytes), bytes.len());
    }
    Array::new(element, source.shape.clone(), bytes)
}

/// `transpose`
pub(crate) fn transpose<'m>(source: &Array<'m>, axes: &[usize]) -> Step<Array<'m>> {
    let from = strides(&source.shape);
    let shape = axes.iter().map(|&a| source.shape[a]).collect();
    pick(source, shape, &axes.iter().map(|&a| from[a]).collect::<Vec<_>>(), 0)
}

/// `broadcast`
pub(crate) fn broadcast<'m>(source: &Array<'m>, shape: &[usize]) -> Step<Array<'m>> {
    let added = shape.len() - source.rank();
    let mut reach = vec![0; shape.len()];
    for (d, stride) in strides(&source.shape).into_iter().enumerate() {
        match (source.shape[d], shape[added + d]) {
            (1, _) => {}
            (a, b) if a == b => reach[added + d] = stride,
            _ => return fail(format!("{:?} does not broadcast to {shape:?}", source.shape)),
        }
    }
    pick(source, shape.to_vec(), &reach, 0)
}

/// `slice`
pub(crate) fn slice<'m>(source: &Array<'m>, start: &[i64], size: &[usize], stride: &[i64]) -> Step<Array<'m>> {
    let mut steps = strides(&source.shape);
    let mut base = 0;
    let empty = size.contains(&0);
    for d in 0..source.rank() {
        let last = i128::from(start[d]) + (size[d] as i128 - 1) * i128::from(stride[d]);
        let range = 0..source.shape[d] as i128;
        let inside = range.contains(&i128::from(start[d])) && range.contains(&last);
        if !empty && !inside {
            let (count, extent) = (size[d], source.shape[d]);
            return fail(format!("dimension {d}: {count} elements from {} by {} leave {extent}", start[d], stride[d]));
        }
        if !empty {
            base += start[d] as isize * steps[d];
            steps[d] *= if size[d] > 1 { stride[d] as isize } else { 1 };
        }
    }
    pick(source, size.to_vec(), &steps, base)
}

/// `pad`: crops, then puts the rest into a border of `value`.
pub(crate) fn pad<'m>(source: &Array<'m>, low: &[i64], high: &[i64], value: &[u8]) -> Step<Array<'m>> {
    let start: Vec<i64> = low.iter().map(|&n| -n.min(0)).collect();
    let kept = |d: usize| (source.shape[d] as i64 + low[d].min(0) + high[d].min(0)).max(0) as usize;
    let size: Vec<usize> = (0..source.rank()).map(kept).collect();
    let inner = slice(source, &start, &size, &vec![1; source.rank()])?;
    let shape: Vec<usize> =
        (0..source.rank()).map(|d| (source.shape[d] as i128 + i128::from(low[d]) + i128::from(high[d])).max(0) as usize).collect();
    let total = elements(source.element, &shape)?;
    let mut bytes = value.repeat(total);
    let steps = strides(&shape);
    let base = (0..source.rank()).map(|d| low[d].max(0) as isize * steps[d]).sum();
    // A crop wider than the tensor leaves only border, whose extent may be smaller than `low`.
    if inner.len() > 0 {
        place(&mut bytes, &inner, &steps, base);
    }
    Ok(Array::new(source.element, shape, bytes))
}

/// `mirror_pad`
pub(crate) fn mirror_pad<'m>(source: &Array<'m>, low: &[i64], high: &[i64], edge: bool) -> Step<Array<'m>> {
    let mut result = source.clone();
    for d in (0..source.rank()).filter(|&d| (low[d], high[d]) != (0, 0)) {
        let extent = source.shape[d] as i64;
        let skip = i64::from(!edge);
        if low[d].max(high[d]) > extent - skip {
            return fail(format!("dimension {d}: padding {} and {} reaches past the mirrored side", low[d], high[d]));
        }
        let before = (0..low[d]).rev().map(|i| i + skip);
        let after = (0..high[d]).map(|i| extent - 1 - skip - i);
        let positions: Vec<i64> = before.chain(0..extent).chain(after).collect();
        result = take(&result, d, 0, &positions, &[positions.len()])?;
    }
    Ok(result)
}

/// `concat`
pub(crate) fn concat<'m>(sources: &[&Array<'m>], axis: usize) -> Step<Array<'m>> {
    let mut shape = sources[0].shape.clone();
    shape[axis] = sources.iter().map(|s| s.shape[axis]).sum();
    let total = elements(sources[0].element, &shape)?;
    let steps = strides(&shape);
    let mut bytes = vec![0; total * width(sources[0].element)];
    let mut base = 0;
    for source in sources {
        if (0..shape.len()).any(|d| d != axis && source.shape[d] != shape[d]) {
            return fail(format!("{:?} does not join {shape:?} along dimension {axis}", source.shape));
        }
        place(&mut bytes, source, &steps, base);
        base += source.shape[axis] as isize * steps[axis];
    }
    Ok(Array::new(sources[0].element, shape, bytes))
}

/// `gather`: slices along `axis` at the positions `indices` (decoded), whose first `batch` dimensions are the source's.
pub(crate) fn gather<'m>(source: &Array<'m>, axis: usize, batch: usize, indices: &[i64], indices_shape: &[usize]) -> Step<Array<'m>> {
    if source.shape[..batch] != indices_shape[..batch] {
        return fail(format!("batch dimensions of {:?} and {indices_shape:?} differ", source.shape));
    }
    take(source, axis, batch, indices, indices_shape)
}

fn take<'m>(source: &Array<'m>, axis: usize, batch: usize, indices: &[i64], indices_shape: &[usize]) -> Step<Array<'m>> {
    let extent = source.shape[axis];
    let mut shape = source.shape[..axis].to_vec();
    shape.extend_from_slice(&indices_shape[batch..]);
    shape.extend_from_slice(&source.shape[axis + 1..]);
    let total = elements(source.element, &shape)?;
    let batches: usize = source.shape[..batch].iter().product();
    let outer: usize = source.shape[batch..axis].iter().product();
    let row = source.shape[axis + 1..].iter().product::<usize>() * width(source.element);
    let each: usize = indices_shape[batch..].iter().product();
    if let Some(bad) = indices.iter().find(|&&i| !(0..extent as i64).contains(&i)) {
        return fail(format!("index {bad} is outside 0..{extent}"));
    }
    if total == 0 {
        return Ok(Array::new(source.element, shape, vec![]));
    }
    let mut bytes = Vec::with_capacity(total * width(source.element));
    for b in 0..batches {
        for o in 0..outer {
            for &index in &indices[b * each..(b + 1) * each] {
                let first = ((b * outer + o) * extent + index as usize) * row;
                bytes.extend_from_slice(&source.bytes[first..first + row]);
            }
        }
    }
    Ok(Array::new(source.element, shape, bytes))
}

/// `iota`
pub(crate) fn iota<'m>(shape: Vec<usize>, axis: usize, element: ElementType) -> Step<Array<'m>> {
    let total = elements(element, &shape)?;
    let inner: usize = shape[axis + 1..].iter().product();
    let mut bytes = Vec::with_capacity(total * width(element));
    for position in 0..total {
        let value = crate::scalar::Scalar::int(element, (position / inner % shape[axis]) as i64);
        bytes.extend(value.to_bytes());
    }
    Ok(Array::new(element, shape, bytes))
}
