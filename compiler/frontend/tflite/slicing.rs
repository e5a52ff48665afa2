//! SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, GATHER and REVERSE_V2.

use super::error::{invalid, missing_options};
use super::extents::ListItem;
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Value};
use crate::schema::tflite::StridedSliceOptions;
use ElementType::I4;

/// `count` elements along one axis from `start` on, everything of the others.
pub(super) fn slice(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    axis: usize,
    start: u64,
    count: u64,
) -> Result<Value, Diagnostic> {
    let mut starts = vec![Extent::Static(0); input.rank()];
    let mut sizes = input.extents.clone();
    (starts[axis], sizes[axis]) = (Extent::Static(start), Extent::Static(count));
    Ok(operator.builder().slice(input.value, starts, sizes, vec![1; input.rank()])?)
}

/// SLICE: a size of −1 goes to the end.
pub(super) fn slice_box(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let (input, begin, size) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?);
    if operator.evaluated(&begin).is_none() || operator.evaluated(&size).is_none() || operator.require_known(&input, 0).is_err() {
        return dynamic_slice_box(operator, &input, &begin, &size);
    }
    let (begin, size) = (operator.integers(&begin, "positions")?, operator.integers(&size, "sizes")?);
    if begin.len() != input.rank() || size.len() != input.rank() {
        let found = format!("{} and {}", begin.len(), size.len());
        return Err(invalid(codes::SHAPES_DIFFER, "positions and sizes do not fit the rank").expected(input.rank().to_string(), found));
    }
    let (mut starts, mut sizes) = (Vec::new(), Vec::new());
    for d in 0..input.rank() {
        let extent = input.shape[d] as i64;
        let count = if size[d] == -1 { extent.saturating_sub(begin[d]) } else { size[d] };
        if begin[d] < 0 || begin[d] > extent || count < 0 || count > extent - begin[d] {
            let found = format!("{count} from {}", begin[d]);
            return Err(invalid(codes::SLICE_RANGE, format!("the slice leaves dimension {d}")).expected(format!("within {extent}"), found));
        }
        starts.push(Extent::Static(begin[d] as u64));
        sizes.push(Extent::Static(count as u64));
    }
    let value = operator.builder().slice(input.value, starts, sizes, vec![1; input.rank()])?;
    operator.bind(0, value)
}

/// SLICE at positions, with sizes or of a shape that are known only when the model runs.
fn dynamic_slice_box(operator: &mut Operator<'_, '_, '_>, input: &Operand, begin: &Operand, size: &Operand) -> Lowered {
    let bounds: Vec<Option<u64>> = input.shape.iter().copied().map(Some).collect();
    let (begin, size) = (operator.extent_list(begin, "positions", &bounds)?, operator.index_list(size, "sizes", -1, &bounds)?);
    if begin.len() != input.rank() || size.len() != input.rank() {
        let found = format!("{} and {}", begin.len(), size.len());
        return Err(invalid(codes::SHAPES_DIFFER, "positions and sizes do not fit the rank").expected(input.rank().to_string(), found));
    }
    let (mut starts, mut sizes) = (Vec::new(), Vec::new());
    for d in 0..input.rank() {
        let start = begin[d].extent().ok_or_else(|| invalid(codes::SLICE_RANGE, format!("the slice leaves dimension {d}")))?;
        let size = match size[d] {
            ListItem::Number(-1) => operator.graph().sub(input.extents[d], start)?,
            ListItem::Index(size) => counted_or_rest(operator, size, input.extents[d], start)?,
            size => size.extent().ok_or_else(|| invalid(codes::SLICE_RANGE, format!("the slice leaves dimension {d}")))?,
        };
        sizes.push(size);
        starts.push(start);
    }
    let value = operator.builder().slice(input.value, starts, sizes, vec![1; input.rank()])?;
    operator.bind(0, value)
}

/// A size that is read when the model runs: −1 is the rest of the dimension from `start` on.
fn counted_or_rest(operator: &mut Operator<'_, '_, '_>, size: Value, extent: Extent, start: Extent) -> Result<Extent, Diagnostic> {
    let size = Extent::Value(size);
    if operator.interval(size).low >= 0 {
        return Ok(size);
    }
    let zero = Extent::Static(0);
    let graph = operator.graph();
    let rest = graph.sub(extent, start)?;
    // 1 for a size of −1, and else 0.
    let is_rest = graph.sub(zero, size)?;
    let rest = graph.mul(rest, is_rest)?;
    let counted = graph.max(size, zero)?;
    let sum = graph.add(counted, rest)?;
    // One of the two is 0, so the sum is no larger than the dimension, which intervals cannot tell.
    let most = u64::try_from(graph.interval(extent).high).unwrap_or(0);
    Ok(graph.min(sum, Extent::Static(most))?)
}

/// One dimension of a strided slice.
struct Cut {
    extent: Extent,
    start: Extent,
    count: Extent,
    stride: i64,
    /// Whether the dimension is left out of the result.
    dropped: bool,
}

impl Cut {
    fn whole(extent: Extent) -> Self {
        Self { extent, start: Extent::Static(0), count: extent, stride: 1, dropped: false }
    }
}

/// STRIDED_SLICE, Python's slicing written as bit masks.
pub(super) fn strided_slice(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(4..=4, 1..=1)?;
    let options = operator.record.builtin_options_as_strided_slice_options().ok_or_else(missing_options)?;
    let input = operator.any_input(0)?;
    // Positions after the end are the end.
    let most = Some(i32::MAX as u64);
    let mut lists = Vec::new();
    for (index, what) in [(1, "positions"), (2, "ends"), (3, "strides")] {
        let operand = operator.input(index)?;
        let bounds = vec![most; operand.elements().min(32) as usize];
        lists.push(operator.extent_list(&operand, what, &bounds)?);
    }
    if lists.iter().any(|list| list.len() != lists[0].len()) || lists[0].len() > 31 {
        return Err(invalid(codes::SHAPES_DIFFER, "positions, ends and strides differ in number"));
    }
    let positions: Vec<[ListItem; 3]> = (0..lists[0].len()).map(|i| [lists[0][i], lists[1][i], lists[2][i]]).collect();
    let cuts = cuts(operator, &input.extents, &positions, &options)?;
    let shape: Vec<Extent> = cuts.iter().map(|c| c.extent).collect();
    let value = operator.reshape_to(input.value, &shape)?;
    let starts = cuts.iter().map(|c| c.start).collect();
    let sizes = cuts.iter().map(|c| c.count).collect();
    let value = operator.builder().slice(value, starts, sizes, cuts.iter().map(|c| c.stride).collect())?;
    let kept: Vec<Extent> = cuts.iter().filter(|c| !c.dropped).map(|c| c.count).collect();
    let value = operator.reshape_to(value, &kept)?;
    operator.bind(0, value)
}

/// The cuts of all dimensions, new ones of extent 1 among them: an ellipsis, and what comes after the list, is taken whole.
fn cuts(
    operator: &mut Operator<'_, '_, '_>,
    shape: &[Extent],
    positions: &[[ListItem; 3]],
    options: &StridedSliceOptions<'_>,
) -> Result<Vec<Cut>, Diagnostic> {
    let bit = |mask: i32, index: usize| mask >> index & 1 != 0;
    let is_ellipsis = |index: usize| bit(options.ellipsis_mask(), index);
    let is_new = |index: usize| bit(options.new_axis_mask(), index) && !is_ellipsis(index);
    let indices = 0..positions.len();
    if indices.clone().filter(|&i| is_ellipsis(i)).count() > 1 {
        return Err(invalid(codes::OPTION_CHOICE, "there is more than one ellipsis"));
    }
    let consumed = indices.filter(|&i| !is_ellipsis(i) && !is_new(i)).count();
    let Some(free) = shape.len().checked_sub(consumed) else {
        let expected = format!("at most {}", shape.len());
        return Err(invalid(codes::SHAPES_DIFFER, "the slice has more dimensions than the input").expected(expected, consumed.to_string()));
    };
    let mut dimensions = shape.iter().copied();
    let mut cuts = Vec::new();
    for (i, &position) in positions.iter().enumerate() {
        if is_ellipsis(i) {
            cuts.extend(dimensions.by_ref().take(free).map(Cut::whole));
        } else if is_new(i) {
            cuts.push(Cut::whole(Extent::Static(1)));
        } else if let Some(extent) = dimensions.next() {
            let masks = [options.begin_mask(), options.end_mask(), options.shrink_axis_mask()].map(|mask| bit(mask, i));
            let known = |item: ListItem| if let ListItem::Number(n) = item { Some(n) } else { None };
            cuts.push(match (extent, position.map(known)) {
                (Extent::Static(extent), [Some(begin), Some(end), Some(stride)]) => {
                    cut(extent, [begin, end, stride], masks, options.offset())?
                }
                _ => dynamic_cut(operator, extent, position, masks, options.offset())?,
            });
        }
    }
    cuts.extend(dimensions.map(Cut::whole));
    Ok(cuts)
}

/// The cut of a dimension by begin, end and stride; `masks` say whether begin and end are open and whether the dimension is dropped.
fn cut(extent: u64, [begin, end, stride]: [i64; 3], [open_begin, open_end, dropped]: [bool; 3], offset: bool) -> Result<Cut, Diagnostic> {
    let whole = Cut::whole(Extent::Static(extent));
    let extent = i64::try_from(extent).map_err(|_| invalid(codes::TOO_MANY_ELEMENTS, "the dimension is too large"))?;
    if stride == 0 || i32::try_from(stride).is_err() {
        return Err(invalid(codes::OPTION_RANGE, "a stride is zero or too large").expected("", stride.to_string()));
    }
    let (lowest, highest) = if stride > 0 { (0, extent) } else { (-1, extent - 1) };
    let from_end = |position: i64| if position < 0 { position.saturating_add(extent) } else { position };
    let start = match open_begin {
        true if stride > 0 => 0,
        true => extent - 1,
        false => from_end(begin),
    };
    if dropped {
        if !(0..extent).contains(&start) {
            return Err(
                invalid(codes::SLICE_RANGE, "a position is outside its dimension").expected(format!("below {extent}"), begin.to_string())
            );
        }
        return Ok(Cut { start: Extent::Static(start as u64), count: Extent::Static(1), dropped: true, ..whole });
    }
    let start = start.clamp(lowest, highest.max(lowest));
    let stop = match open_end {
        true if stride > 0 => extent,
        true => -1,
        false if offset => from_end(end.saturating_add(start)),
        false => from_end(end),
    };
    let stop = stop.clamp(lowest, highest.max(lowest));
    let distance = if stride > 0 { stop - start } else { start - stop };
    let count = if distance <= 0 { 0 } else { (distance - 1) / stride.abs() + 1 };
    let start = if count == 0 { 0 } else { start as u64 };
    Ok(Cut { start: Extent::Static(start), count: Extent::Static(count as u64), stride, ..whole })
}

/// The cut of a dimension where the extent or a position is known only when the model runs. Such positions are not counted from the end,
/// and steps go forwards.
fn dynamic_cut(
    operator: &mut Operator<'_, '_, '_>,
    extent: Extent,
    [begin, end, stride]: [ListItem; 3],
    [open_begin, open_end, dropped]: [bool; 3],
    offset: bool,
) -> Result<Cut, Diagnostic> {
    let ListItem::Number(stride @ 1..=0x7fff_ffff) = stride else {
        return Err(super::extents::dynamic());
    };
    let zero = Extent::Static(0);
    let from_end = |operator: &mut Operator<'_, '_, '_>, position: ListItem| match position.extent() {
        Some(position) => Ok(operator.graph().min(position, extent)?),
        None if let ListItem::Number(n) = position => Ok(operator.graph().sub(extent, Extent::Static(n.unsigned_abs()))?),
        None => Err(super::extents::dynamic()),
    };
    if dropped && !open_begin {
        // That the position is inside is checked where it is taken.
        let start = match begin.extent() {
            Some(start) => start,
            None => from_end(operator, begin)?,
        };
        return Ok(Cut { start, count: Extent::Static(1), dropped: true, ..Cut::whole(extent) });
    }
    let start = if open_begin { zero } else { from_end(operator, begin)? };
    if dropped {
        return Ok(Cut { start, count: Extent::Static(1), dropped: true, ..Cut::whole(extent) });
    }
    let stop = match (open_end, end.extent()) {
        (true, _) => extent,
        (false, Some(end)) if offset => {
            let end = operator.graph().add(end, start)?;
            operator.graph().min(end, extent)?
        }
        (false, _) if offset => return Err(super::extents::dynamic()),
        (false, _) => from_end(operator, end)?,
    };
    let distance = operator.graph().sub(stop, start)?;
    let count = operator.graph().ceil_div(distance, Extent::Static(stride as u64))?;
    Ok(Cut { start, count, stride, ..Cut::whole(extent) })
}

/// SPLIT: equal parts along an axis.
pub(super) fn split(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let parts = operator.output_count();
    operator.arity(2..=2, 1..=parts.max(1))?;
    let (list, input) = (operator.input(0)?, operator.any_input(1)?);
    let axis = one_axis(operator, &list, input.rank())?;
    known_axis(&input, axis)?;
    if input.shape[axis] % parts as u64 != 0 {
        let expected = format!("a multiple of {parts}");
        return Err(invalid(codes::SHAPES_DIFFER, "the dimension does not divide into the outputs")
            .expected(expected, input.shape[axis].to_string()));
    }
    let size = input.shape[axis] / parts as u64;
    for part in 0..parts {
        let value = slice(operator, &input, axis, part as u64 * size, size)?;
        operator.bind(part, value)?;
    }
    Ok(())
}

/// Refuses to cut along a dimension whose extent is known only when the model runs.
fn known_axis(input: &Operand, axis: usize) -> Lowered {
    if input.extents[axis].as_static().is_some() { Ok(()) } else { Err(super::extents::dynamic().about_tensor(&input.info.name)) }
}

fn one_axis(operator: &mut Operator<'_, '_, '_>, list: &Operand, rank: usize) -> Result<usize, Diagnostic> {
    match operator.integers(list, "axes")?[..] {
        [axis] => operator.axis(axis, rank),
        ref other => Err(invalid(codes::AXIS, "there must be one axis").expected("1", other.len().to_string())),
    }
}

/// SPLIT_V: parts of given sizes, one of which may be −1.
pub(super) fn split_v(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let parts = operator.output_count();
    operator.arity(3..=3, 1..=parts.max(1))?;
    let (input, sizes, list) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?);
    let axis = one_axis(operator, &list, input.rank())?;
    known_axis(&input, axis)?;
    let mut sizes = operator.integers(&sizes, "sizes")?;
    let known: i64 = sizes.iter().filter(|&&size| size != -1).fold(0, |sum: i64, &size| sum.saturating_add(size));
    let extent = input.shape[axis] as i64;
    if let Some(open) = sizes.iter().position(|&size| size == -1) {
        sizes[open] = extent.saturating_sub(known);
    }
    if sizes.len() != parts
        || sizes.iter().any(|&size| size < 0)
        || sizes.iter().fold(0, |sum: i64, &size| sum.saturating_add(size)) != extent
    {
        return Err(invalid(codes::SHAPES_DIFFER, "the sizes do not add up to the dimension")
            .expected(format!("{parts} sizes, {extent} together"), format!("{sizes:?}")));
    }
    let mut start = 0;
    for (part, &size) in sizes.iter().enumerate() {
        let value = slice(operator, &input, axis, start, size as u64)?;
        operator.bind(part, value)?;
        start += size as u64;
    }
    Ok(())
}

/// GATHER
pub(super) fn gather(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_gather_options();
    let (input, indices) = (operator.any_input(0)?, operator.any_input(1)?);
    if input.element() == I4 {
        return Err(operator.type_error(&[input.element(), indices.element()]));
    }
    let positions = super::indexing::index_type(operator, &indices)?;
    let axis = operator.axis(options.map_or(0, |o| i64::from(o.axis())), input.rank())?;
    let batch = options.map_or(0, |o| i64::from(o.batch_dims()));
    let batch = if batch < 0 { batch + indices.rank() as i64 } else { batch };
    // Fewer than none are more than any tensor has.
    let batch = usize::try_from(batch).unwrap_or(usize::MAX);
    let value = operator.builder().gather(input.value, positions, axis, batch)?;
    operator.bind(0, value)
}

/// REVERSE_V2
pub(super) fn reverse(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    let mut starts = vec![Extent::Static(0); input.rank()];
    let mut strides = vec![1; input.rank()];
    for axis in operator.integers(&list, "axes")? {
        let axis = operator.axis(axis, input.rank())?;
        starts[axis] = operator.graph().sub(input.extents[axis], Extent::Static(1))?;
        strides[axis] = -1;
    }
    let value = operator.builder().slice(input.value, starts, input.extents.clone(), strides)?;
    operator.bind(0, value)
}
