//! Result types of operators that pick, place and order elements.

use super::{Context, TypeError, Types};
use crate::ir::attribute::Attribute;
use crate::ir::types::{ElementType, Extent};

/// `gather`
pub fn gather(cx: &Context<'_>) -> Types {
    let data = cx.tensor(0)?;
    cx.one(data.element, gathered_shape(cx)?)
}

/// The shape of what `gather` picks from operand 0 by operand 1.
fn gathered_shape(cx: &Context<'_>) -> Result<Vec<Extent>, TypeError> {
    let (data, indices) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require(matches!(indices.element, ElementType::I32 | ElementType::I64), || "indices must be i32 or i64".into())?;
    let axis = cx.axis(cx.int("axis"), data.rank())?;
    let batch = usize::try_from(cx.int("batch")).ok().filter(|&b| b <= axis && b <= indices.rank());
    let batch = batch.ok_or_else(|| cx.error("batch dimensions do not fit"))?;
    for d in 0..batch {
        cx.require(cx.same_extent(data.shape[d], indices.shape[d]), || format!("batch dimension {d} differs"))?;
    }
    let mut shape = data.shape[..axis].to_vec();
    shape.extend_from_slice(&indices.shape[batch..]);
    shape.extend_from_slice(&data.shape[axis + 1..]);
    cx.shape(&shape)
}

/// `scatter`
pub fn scatter(cx: &Context<'_>) -> Types {
    let (data, updates) = (cx.tensor(0)?, cx.tensor(2)?);
    let shape = gathered_shape(cx)?;
    cx.require(updates.element == data.element, || format!("updates of {} for {}", updates.element, data.element))?;
    let fits = updates.rank() == shape.len() && updates.shape.iter().zip(&shape).all(|(&a, &b)| cx.same_extent(a, b));
    cx.require(fits, || format!("the updates are {:?}, the indices pick {shape:?}", updates.shape))?;
    let sets = *cx.attribute("combination") == Attribute::Word(0);
    cx.require(sets || data.element != ElementType::C64, || "complex numbers can only be set".into())?;
    cx.one(data.element, data.shape.clone())
}

/// `scan`
pub fn scan(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.axis(cx.int("axis"), input.rank())?;
    cx.require(input.element != ElementType::C64, || "complex numbers are not scanned".into())?;
    cx.one(input.element, input.shape.clone())
}

/// The static `count` of results along a dimension.
fn count(cx: &Context<'_>) -> Result<Extent, TypeError> {
    let count = u64::try_from(cx.int("count")).ok().filter(|&n| n <= i32::MAX as u64);
    count.map(Extent::Static).ok_or_else(|| cx.error("the count does not fit 31 bits"))
}

/// `top_k`
pub fn top_k(cx: &Context<'_>) -> Types {
    let input = cx.tensor(0)?;
    cx.require(input.element != ElementType::C64, || "complex numbers have no order".into())?;
    let Some((&last, outer)) = input.shape.split_last() else { return Err(cx.error("the operand has no dimension")) };
    let [count] = cx.shape(cx.extents("count"))?[..] else { return Err(cx.error("there is one count")) };
    let (count, extent) = (cx.function.resolved(count), cx.function.interval(last));
    let fewest = cx.function.interval(count).low;
    cx.require((0..=extent.high).contains(&fewest), || format!("{count:?} of {last:?} elements"))?;
    cx.require(extent.high <= i64::from(i32::MAX), || "positions do not fit 31 bits".into())?;
    let shape = [outer, &[count]].concat();
    let positions = cx.one(ElementType::I32, shape.clone())?;
    Ok([cx.one(input.element, shape)?, positions].concat())
}

/// `non_max_suppression`
pub fn non_max_suppression(cx: &Context<'_>) -> Types {
    for i in 0..5 {
        cx.require(cx.tensor(i)?.element == ElementType::F32, || format!("operand {i} must be f32"))?;
    }
    let (boxes, scores) = (cx.tensor(0)?.static_shape(), cx.tensor(1)?.static_shape());
    let shapes = boxes.zip(scores).ok_or_else(|| cx.error("boxes and scores must be static"))?;
    let ([boxes, 4], [rows, candidates]) = (&shapes.0[..], &shapes.1[..]) else {
        return Err(cx.error(format!("boxes {:?} and scores {:?}", shapes.0, shapes.1)));
    };
    cx.require(boxes == candidates && *boxes <= i32::MAX as u64 / 8, || format!("{boxes} boxes and {candidates} scores"))?;
    for i in 2..5 {
        cx.require(cx.tensor(i)?.static_elements() == Some(1), || format!("operand {i} must be one number"))?;
    }
    let rows = Extent::Static(*rows);
    let shape = vec![rows, count(cx)?];
    let (positions, scores) = (cx.one(ElementType::I32, shape.clone())?, cx.one(ElementType::F32, shape)?);
    Ok([positions, scores, cx.one(ElementType::I32, vec![rows])?].concat())
}
