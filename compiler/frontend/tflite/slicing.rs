//! SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, GATHER and REVERSE_V2.

use super::error::{invalid, missing_options};
use super::extents::ListItem;
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::indexing::positions;
use crate::operators::slices::{self, Cut, End};
use crate::schema::tflite::StridedSliceOptions;
use ElementType::{I4, I16, I32, I64};

/// SLICE: a size of −1 extends to the end.
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
            return Err(
                invalid(codes::SLICE_RANGE, format!("the slice extends beyond dimension {d}")).expected(format!("within {extent}"), found)
            );
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
    let (begin, size) = (operator.extent_list(begin, "positions", &bounds)?, operator.index_list(size, "sizes", Some(-1), &bounds)?);
    if begin.len() != input.rank() || size.len() != input.rank() {
        let found = format!("{} and {}", begin.len(), size.len());
        return Err(invalid(codes::SHAPES_DIFFER, "positions and sizes do not fit the rank").expected(input.rank().to_string(), found));
    }
    let (mut starts, mut sizes) = (Vec::new(), Vec::new());
    for d in 0..input.rank() {
        let start = begin[d].extent().ok_or_else(|| invalid(codes::SLICE_RANGE, format!("the slice extends beyond dimension {d}")))?;
        let size = match size[d] {
            ListItem::Number(-1) => operator.graph().sub(input.extents[d], start)?,
            ListItem::Index(size) => counted_or_rest(operator, size, input.extents[d], start)?,
            size => size.extent().ok_or_else(|| invalid(codes::SLICE_RANGE, format!("the slice extends beyond dimension {d}")))?,
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
struct Dimension {
    extent: Extent,
    cut: Cut,
    /// `true` if the dimension is left out of the result.
    dropped: bool,
}

impl Dimension {
    fn whole(extent: Extent) -> Self {
        Self { extent, cut: Cut::whole(extent), dropped: false }
    }
}

/// STRIDED_SLICE: Python's slicing, encoded as bit masks.
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
        lists.push(operator.index_list(&operand, what, None, &bounds)?);
    }
    if lists.iter().any(|list| list.len() != lists[0].len()) || lists[0].len() > 31 {
        return Err(invalid(codes::SHAPES_DIFFER, "positions, ends and strides differ in number"));
    }
    let positions: Vec<[ListItem; 3]> = (0..lists[0].len()).map(|i| [lists[0][i], lists[1][i], lists[2][i]]).collect();
    let list = dimensions(operator, &input.extents, &positions, &options)?;
    let shape: Vec<Extent> = list.iter().map(|d| d.extent).collect();
    let value = operator.reshape_to(input.value, &shape)?;
    let (starts, sizes): (Vec<Extent>, Vec<Extent>) = list.iter().map(|d| (d.cut.start, d.cut.count)).unzip();
    let steps: Vec<i64> = list.iter().map(|d| d.cut.step).collect();
    let value = operator.graph().slice(value, &starts, &sizes, &steps)?;
    let kept: Vec<Extent> = list.iter().filter(|d| !d.dropped).map(|d| d.cut.count).collect();
    let value = operator.reshape_to(value, &kept)?;
    operator.bind(0, value)
}

/// The slices of all dimensions, including new ones of extent 1. Dimensions of an ellipsis, and dimensions after the list, are taken whole.
fn dimensions(
    operator: &mut Operator<'_, '_, '_>,
    shape: &[Extent],
    positions: &[[ListItem; 3]],
    options: &StridedSliceOptions<'_>,
) -> Result<Vec<Dimension>, Diagnostic> {
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
    let mut open = shape.iter().copied();
    let mut list = Vec::new();
    for (i, &position) in positions.iter().enumerate() {
        if is_ellipsis(i) {
            list.extend(open.by_ref().take(free).map(Dimension::whole));
        } else if is_new(i) {
            list.push(Dimension::whole(Extent::Static(1)));
        } else if let Some(extent) = open.next() {
            let masks = [options.begin_mask(), options.end_mask(), options.shrink_axis_mask()].map(|mask| bit(mask, i));
            list.push(dimension(operator, extent, position, masks, options.offset())?);
        }
    }
    list.extend(open.map(Dimension::whole));
    Ok(list)
}

/// The slice of a dimension by begin, end and stride. The truth values tell that begin or end is open, and that the dimension is dropped. A negative
/// stride needs static positions.
fn dimension(
    operator: &mut Operator<'_, '_, '_>,
    extent: Extent,
    [begin, end, stride]: [ListItem; 3],
    [open_begin, open_end, dropped]: [bool; 3],
    offset: bool,
) -> Result<Dimension, Diagnostic> {
    let ListItem::Number(stride) = stride else { return Err(super::extents::dynamic()) };
    if stride == 0 || i32::try_from(stride).is_err() {
        return Err(invalid(codes::OPTION_RANGE, "a stride is zero or too large").expected("", stride.to_string()));
    }
    let graph = operator.graph();
    let cut = if dropped {
        let first = if stride > 0 { 0 } else { -1 };
        let begin = if open_begin { ListItem::Number(first) } else { begin };
        Cut::at(slices::position(graph, begin, extent, false)?)
    } else {
        let end = match (open_end, offset) {
            (true, _) => End::Open,
            (false, true) => End::After(end),
            (false, false) => End::At(end),
        };
        slices::strided(graph, extent, Some(begin).filter(|_| !open_begin), end, stride)?
    };
    Ok(Dimension { extent, cut, dropped })
}

/// SPLIT: equal parts along an axis.
pub(super) fn split(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let parts = operator.output_count();
    operator.arity(2..=2, 1..=parts.max(1))?;
    let (list, input) = (operator.input(0)?, operator.any_input(1)?);
    let axis = one_axis(operator, &list, input.rank())?;
    let (extent, count) = (input.extents[axis], Extent::Static(parts as u64));
    if extent.as_static().is_some_and(|extent| extent % parts as u64 != 0) {
        let expected = format!("a multiple of {parts}");
        return Err(invalid(codes::SHAPES_DIFFER, "the dimension does not divide into the outputs")
            .expected(expected, input.shape[axis].to_string()));
    }
    let size = operator.graph().floor_div(extent, count)?;
    let input = made_of(operator, input, axis, &vec![size; parts])?;
    bind_parts(operator, &input, axis, &vec![size; parts])
}

/// Requires that an operand's extent along an axis is the sum of sizes. A run-time extent is checked at run time.
fn made_of(operator: &mut Operator<'_, '_, '_>, input: Operand, axis: usize, sizes: &[Extent]) -> Result<Operand, Diagnostic> {
    let mut shape = input.extents.clone();
    if shape[axis].as_static().is_some() {
        return Ok(input);
    }
    let g = operator.graph();
    shape[axis] = sizes.iter().try_fold(Extent::Static(0), |sum, &size| g.add(sum, size))?;
    let value = g.reshape(input.value, &shape)?;
    Ok(operator.operand(value, input.info))
}

/// Binds the parts of a tensor along an axis.
fn bind_parts(operator: &mut Operator<'_, '_, '_>, input: &Operand, axis: usize, sizes: &[Extent]) -> Lowered {
    let values = slices::parts(operator.graph(), input.value, axis, sizes)?;
    values.into_iter().enumerate().try_for_each(|(index, value)| operator.bind(index, value))
}

fn one_axis(operator: &mut Operator<'_, '_, '_>, list: &Operand, rank: usize) -> Result<usize, Diagnostic> {
    match operator.integers(list, "axes")?[..] {
        [axis] => operator.axis(axis, rank),
        ref other => Err(invalid(codes::AXIS, "there must be one axis").expected("1", other.len().to_string())),
    }
}

/// SPLIT_V: parts of given sizes. One size may be −1.
pub(super) fn split_v(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let parts = operator.output_count();
    operator.arity(3..=3, 1..=parts.max(1))?;
    let (input, sizes, list) = (operator.any_input(0)?, operator.input(1)?, operator.input(2)?);
    let axis = one_axis(operator, &list, input.rank())?;
    let mut sizes = operator.integers(&sizes, "sizes")?;
    if input.extents[axis].as_static().is_none() {
        return split_open(operator, input, axis, &sizes);
    }
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
    let sizes: Vec<Extent> = sizes.iter().map(|&size| Extent::Static(size as u64)).collect();
    bind_parts(operator, &input, axis, &sizes)
}

/// SPLIT_V along an extent that is known only when the model runs.
fn split_open(operator: &mut Operator<'_, '_, '_>, input: Operand, axis: usize, sizes: &[i64]) -> Lowered {
    let known: Vec<u64> = sizes.iter().filter_map(|&size| u64::try_from(size).ok()).collect();
    let open = sizes.iter().filter(|&&size| size == -1).count();
    if sizes.len() != operator.output_count() || known.len() + open != sizes.len() || open > 1 {
        let expected = format!("{} sizes, one of them -1 at most", operator.output_count());
        return Err(invalid(codes::SHAPES_DIFFER, "the sizes do not add up to the dimension").expected(expected, format!("{sizes:?}")));
    }
    let sum = known.iter().fold(0u64, |sum, &size| sum.saturating_add(size));
    let rest = operator.graph().sub(input.extents[axis], Extent::Static(sum))?;
    let sizes: Vec<Extent> = sizes.iter().map(|&size| u64::try_from(size).map_or(rest, Extent::Static)).collect();
    let input = made_of(operator, input, axis, &sizes)?;
    bind_parts(operator, &input, axis, &sizes)
}

/// GATHER
pub(super) fn gather(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_as_gather_options();
    let (input, indices) = (operator.any_input(0)?, operator.any_input(1)?);
    // The reference gathers packed integers of four bits with a sign alone.
    let is_known = !input.element().is_packed() || input.element() == I4;
    if !is_known || !matches!(indices.element(), I16 | I32 | I64) {
        return Err(operator.type_error(&[input.element(), indices.element()]));
    }
    let mut positions = positions::as_index(operator.graph(), indices.value)?;
    let axis = operator.axis(options.map_or(0, |o| i64::from(o.axis())), input.rank())?;
    let batch = options.map_or(0, |o| i64::from(o.batch_dims()));
    let batch = if batch < 0 { batch + indices.rank() as i64 } else { batch };
    // Fewer than none are more than any tensor has.
    let batch = usize::try_from(batch).unwrap_or(usize::MAX);
    for (axis, &extent) in input.extents.iter().enumerate().take(batch.min(indices.rank())) {
        positions = operator.graph().agree(positions, axis, extent)?;
    }
    let value = operator.builder().gather(input.value, positions, axis, batch)?;
    let value = operator.graph().unpacked(value)?;
    operator.bind(0, value)
}

/// REVERSE_V2
pub(super) fn reverse(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    let axes = operator.integers(&list, "axes")?;
    let axes = axes.into_iter().map(|axis| operator.axis(axis, input.rank())).collect::<Result<Vec<usize>, _>>()?;
    let value = slices::reversed(operator.graph(), input.value, &axes)?;
    operator.bind(0, value)
}
