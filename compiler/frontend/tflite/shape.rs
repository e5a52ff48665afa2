//! Operators that move or repeat elements: RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, TILE, BROADCAST_TO, FILL, SHAPE, RANK,
//! BROADCAST_ARGS, RANGE.

use super::error::{invalid, missing_options};
use super::extents::ListItem;
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::size::Size;
use crate::ir::{ElementType, Extent, Scalar, Value, list_text};
use crate::operators::joins;
use crate::operators::terms::Terms;
use crate::schema::tflite::TensorType as TypeCode;
use ElementType::{I32, I64};

/// RESHAPE: the shape is a tensor, or in the options of older files. The size for −1 follows from the number of elements.
pub(super) fn reshape(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=2, 1..=1)?;
    let input = operator.any_input(0)?;
    let options = operator.record.builtin_options_as_reshape_options();
    let bounds = output_bounds(operator);
    let mut wanted: Vec<ListItem> = match operator.optional_input(1)? {
        Some(list) => operator.extent_list(&list, "shapes", &bounds)?,
        None => options.and_then(|o| o.new_shape()).into_iter().flatten().map(|n| ListItem::Number(n.into())).collect(),
    };
    // The oldest converter wrote [0] for the shape of a scalar.
    if wanted == [ListItem::Number(0)] && input.elements() == 1 {
        wanted.clear();
    }
    let is_open = |d: &usize| wanted[*d] == ListItem::Number(-1);
    let open: Vec<usize> = (0..wanted.len()).filter(is_open).collect();
    let mut shape: Vec<Extent> = wanted.iter().map(|n| n.extent().unwrap_or(Extent::Static(1))).collect();
    let count = |operator: &Operator<'_, '_, '_>, shape: &[Extent]| operator.lowering.graph.builder.function.size(shape);
    let all = count(operator, &input.extents);
    let error = || {
        let expected = format!("{} elements", input.elements());
        invalid(codes::SHAPES_DIFFER, "the elements do not fill the new shape").expected(expected, list_text(&wanted))
    };
    if open.len() > 1 || (0..wanted.len()).any(|d| wanted[d].extent().is_none() && !open.contains(&d)) {
        return Err(error());
    }
    if let ([open], Some(all), Some(known)) = (&open[..], &all, count(operator, &shape)) {
        shape[*open] = match quotient(all, &known) {
            Some(rest) => operator.graph().product(&rest)?,
            // Whether it divides is seen when the model runs.
            None if !all.extents.is_empty() && known.known > 0 => {
                let fixed: Vec<Extent> = (0..shape.len()).filter(|d| d != open).map(|d| shape[d]).collect();
                operator.graph().quotient(&input.extents, &fixed)?
            }
            None => return Err(error()),
        };
    }
    let (has, wants) = (all, count(operator, &shape));
    let is_known = |size: &Option<Size>| size.as_ref().is_some_and(|size| size.extents.is_empty());
    if has.is_none() || wants.is_none() || has != wants && is_known(&has) && is_known(&wants) {
        return Err(error());
    }
    rebind(operator, &input, &shape)
}

/// The factors of a number of elements divided by another one; `None` if it does not divide.
fn quotient(all: &Size, part: &Size) -> Option<Vec<Extent>> {
    let mut extents = all.extents.clone();
    for extent in &part.extents {
        extents.remove(extents.iter().position(|e| e == extent)?);
    }
    let known = all.known.checked_div(part.known).filter(|known| known * part.known == all.known)?;
    Some(extents.into_iter().map(Extent::Value).chain([Extent::Static(known)]).collect())
}

/// The user's bounds of the first result, if it is an output of the model.
pub(super) fn output_bounds(operator: &Operator<'_, '_, '_>) -> Vec<Option<u64>> {
    bounds_of_output(operator, 0)
}

/// The user's bounds of a result, if it is an output of the model.
pub(super) fn bounds_of_output(operator: &Operator<'_, '_, '_>, result: usize) -> Vec<Option<u64>> {
    let lowering = &operator.lowering;
    let outputs = lowering.indices(lowering.subgraph.record.outputs()).unwrap_or_default();
    let port = outputs.iter().position(|output| output.is_some() && *output == operator.outputs.get(result).copied());
    let mut bounds = vec![None; crate::ir::operators::MAX_RANK];
    for bound in lowering.shared.file.bounds.iter().filter(|bound| bound.is_output && Some(bound.port) == port) {
        if let Some(slot) = bounds.get_mut(bound.dimension) {
            *slot = Some(bound.most);
        }
    }
    bounds
}

/// Binds the operand's elements under another shape.
fn rebind(operator: &mut Operator<'_, '_, '_>, input: &Operand, shape: &[Extent]) -> Lowered {
    let value = operator.reshape_to(input.value, shape)?;
    operator.bind(0, value)
}

/// SQUEEZE: removes all dimensions of extent 1, or the listed ones.
pub(super) fn squeeze(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let input = operator.any_input(0)?;
    let list: Vec<i32> =
        operator.record.builtin_options_as_squeeze_options().and_then(|o| o.squeeze_dims()).into_iter().flatten().collect();
    let mut dropped: Vec<bool> = input.extents.iter().map(|&n| list.is_empty() && n == Extent::Static(1)).collect();
    for axis in list {
        let axis = operator.axis(i64::from(axis), input.rank())?;
        if input.extents[axis] != Extent::Static(1) {
            return Err(invalid(codes::SHAPES_DIFFER, format!("dimension {axis} cannot be dropped"))
                .expected("extent 1", input.shape[axis].to_string()));
        }
        dropped[axis] = true;
    }
    let shape: Vec<Extent> = (0..input.rank()).filter(|&d| !dropped[d]).map(|d| input.extents[d]).collect();
    rebind(operator, &input, &shape)
}

/// EXPAND_DIMS: a new dimension of extent 1.
pub(super) fn expand_dims(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    let axes = operator.integers(&list, "axes")?;
    let [axis] = axes[..] else { return Err(invalid(codes::AXIS, "there must be one axis").expected("1", axes.len().to_string())) };
    let axis = operator.axis(axis, input.rank() + 1)?;
    let mut shape = input.extents.clone();
    shape.insert(axis, Extent::Static(1));
    rebind(operator, &input, &shape)
}

/// TRANSPOSE
pub(super) fn transpose(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    let permutation = operator.integers(&list, "permutations")?;
    let axes: Result<Vec<usize>, Diagnostic> = permutation.iter().map(|&axis| operator.axis(axis, input.rank())).collect();
    let value = operator.builder().transpose(input.value, axes?)?;
    operator.bind(0, value)
}

/// TILE: the tensor repeated along each dimension.
pub(super) fn tile(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    let bounds = output_bounds(operator);
    let times = operator.extent_list(&list, "multiples", &bounds)?;
    let factors: Option<Vec<Extent>> = times.iter().map(|n| n.extent()).collect();
    let Some(factors) = factors.filter(|list| list.len() == input.rank()) else {
        return Err(invalid(codes::SHAPES_DIFFER, "the multiples do not fit the rank")
            .expected(format!("{} numbers", input.rank()), format!("{times:?}")));
    };
    let value = joins::tiled(operator.graph(), input.value, &factors)?;
    operator.bind(0, value)
}

/// A list of extents in a tensor, which may be known only when the model runs.
pub(super) fn extent_list(operator: &mut Operator<'_, '_, '_>, index: usize) -> Result<Vec<Extent>, Diagnostic> {
    let list = operator.input(index)?;
    let bounds = output_bounds(operator);
    let items = operator.extent_list(&list, "shapes", &bounds)?;
    let extent = |item: &ListItem| {
        item.extent().ok_or_else(|| invalid(codes::NEGATIVE_DIMENSION, "a dimension is negative").expected("0 or more", item.to_string()))
    };
    items.iter().map(extent).collect()
}

/// BROADCAST_TO
pub(super) fn broadcast_to(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let input = operator.any_input(0)?;
    let shape = extent_list(operator, 1)?;
    let value = operator.broadcast_to(input.value, &shape)?;
    operator.bind(0, value)
}

/// FILL: a shape, and the number that fills it.
pub(super) fn fill(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let shape = extent_list(operator, 0)?;
    let input = operator.input(1)?;
    if input.rank() != 0 {
        return Err(invalid(codes::RANK, "the number to fill with must be a scalar").expected("rank 0", format!("{:?}", input.shape)));
    }
    let value = operator.broadcast_to(input.value, &shape)?;
    operator.bind(0, value)
}

/// A one-dimensional or scalar constant of i32 or i64.
fn integer_constant(
    operator: &mut Operator<'_, '_, '_>,
    element: ElementType,
    shape: &[u64],
    numbers: &[u64],
) -> Result<Value, Diagnostic> {
    let bytes = match element {
        I32 => numbers.iter().flat_map(|&n| (n as i32).to_le_bytes()).collect(),
        I64 => numbers.iter().flat_map(|&n| (n as i64).to_le_bytes()).collect(),
        other => return Err(operator.type_error(&[other])),
    };
    operator.constant(element, shape, bytes)
}

/// SHAPE
pub(super) fn shape(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_shape_options().ok_or_else(missing_options)?;
    let input = operator.any_input(0)?;
    let element = if options.out_type() == TypeCode::INT64 { I64 } else { I32 };
    let value = extents_tensor(operator, element, &input.extents)?;
    operator.bind(0, value)
}

/// RANK
pub(super) fn rank(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let input = operator.any_input(0)?;
    let value = integer_constant(operator, I32, &[], &[input.rank() as u64])?;
    operator.bind(0, value)
}

/// BROADCAST_ARGS: the shape that two shapes broadcast to.
pub(super) fn broadcast_args(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let element = operator.output(0)?.element;
    let (left, right) = (extent_list(operator, 0)?, extent_list(operator, 1)?);
    let error = || {
        invalid(codes::SHAPES_DIFFER, "the shapes do not broadcast")
            .expected("equal dimensions, or 1", format!("{} and {}", list_text(&left), list_text(&right)))
    };
    let joined = joins::broadcast(operator.graph(), &left, &right)?.ok_or_else(error)?;
    let value = extents_tensor(operator, element, &joined)?;
    operator.bind(0, value)
}

/// A list of extents as a tensor.
fn extents_tensor(operator: &mut Operator<'_, '_, '_>, element: ElementType, list: &[Extent]) -> Result<Value, Diagnostic> {
    if let Some(numbers) = list.iter().map(|extent| extent.as_static()).collect::<Option<Vec<u64>>>() {
        return integer_constant(operator, element, &[numbers.len() as u64], &numbers);
    }
    let items: Vec<ListItem> = list.iter().map(|&extent| ListItem::of(extent)).collect();
    Ok(operator.graph().list(&items, element)?)
}

/// RANGE of numbers known while compiling: integers, or floats as `start + index × step` in binary32.
pub(super) fn range(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let element = operator.output(0)?.element;
    if element == ElementType::F32 {
        return float_range(operator);
    }
    let mut items = Vec::new();
    let bounds = output_bounds(operator);
    for (index, what) in [(0, "starts"), (1, "limits"), (2, "steps")] {
        let operand = operator.input(index)?;
        items.extend(operator.extent_list(&operand, what, &bounds[..1])?);
    }
    let known = |item: &ListItem| if let ListItem::Number(n) = *item { Some(n) } else { None };
    let Some(numbers) = items.iter().map(known).collect::<Option<Vec<i64>>>() else { return dynamic_range(operator, &items) };
    let [start, limit, step] = numbers[..] else {
        return Err(invalid(codes::SHAPES_DIFFER, "start, limit and step must be one number each"));
    };
    let distance = if step > 0 { limit.checked_sub(start) } else { start.checked_sub(limit) };
    let count = distance.filter(|_| step != 0 && step != i64::MIN).map(|d| d.max(0) / step.abs() + i64::from(d > 0 && d % step.abs() != 0));
    let count = checked_count(count.map(|count| count as f64), || format!("{numbers:?}"))?;
    // Within the limits, so that no product overflows; integers are written by their low bits.
    let list: Vec<u64> = (0..count).map(|index| (start + index * step) as u64).collect();
    let value = integer_constant(operator, element, &[list.len() as u64], &list)?;
    operator.bind(0, value)
}

/// RANGE of non-negative integers, some of which are known only at run time, with a static positive step.
fn dynamic_range(operator: &mut Operator<'_, '_, '_>, items: &[ListItem]) -> Lowered {
    let element = operator.output(0)?.element;
    let &[start, limit, ListItem::Number(step)] = items else { return Err(super::extents::dynamic()) };
    let (Some(start), Some(limit), Ok(step @ 1..)) = (start.extent(), limit.extent(), i32::try_from(step)) else {
        return Err(super::extents::dynamic());
    };
    let distance = operator.graph().sub(limit, start)?;
    let count = operator.graph().ceil_div(distance, Extent::Static(step as u64))?;
    let steps = operator.builder().iota(vec![count], 0, element)?;
    let start = operator.graph().index(start)?;
    let start = operator.builder().index_tensor(start, element)?;
    let mut terms = Terms::new(&[element, element]);
    let (number, start_term, step) = (terms.input(0), terms.input(1), terms.constant(Scalar::int(element, step.into())));
    let number = terms.mul(number, step)?;
    let number = terms.add(number, start_term)?;
    let value = operator.map(&[steps, start], terms.finish(number))?;
    operator.bind(0, value)
}

fn float_range(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let mut numbers = Vec::new();
    for index in 0..3 {
        let operand = operator.input(index)?;
        if operand.element() != ElementType::F32 {
            return Err(operator.type_error(&[operand.element()]));
        }
        let Some(number) = operator.number(&operand) else { return Err(operator.unknown(&operand, "numbers of a range")) };
        numbers.push(number.as_f64() as f32);
    }
    let [start, limit, step] = numbers[..] else {
        return Err(invalid(codes::SHAPES_DIFFER, "start, limit and step must be one number each"));
    };
    let steps = libm::ceilf(libm::fabsf((limit - start) / step));
    let runs = (step > 0.0 && limit >= start) || (step < 0.0 && limit <= start);
    let count = checked_count(runs.then_some(f64::from(steps)), || format!("{numbers:?}"))?;
    let list: Vec<f32> = (0..count).map(|index| start + index as f32 * step).collect();
    let value = operator.constant_f32(&[list.len() as u64], &list)?;
    operator.bind(0, value)
}

/// The length of a range, which must have an end.
fn checked_count(count: Option<f64>, numbers: impl Fn() -> String) -> Result<i64, Diagnostic> {
    const MOST: f64 = (1 << 20) as f64;
    let count = count.filter(|count| (0.0..=MOST).contains(count));
    let error = || invalid(codes::OPTION_RANGE, "the range is endless or too long").expected(format!("at most {MOST} numbers"), numbers());
    Ok(count.ok_or_else(error)? as i64)
}
