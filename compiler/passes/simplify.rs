//! Removal of movement that moves nothing, and merging of two instructions where one is enough.
//!
//! Contract:
//! * An operator that computes nothing and keeps every axis in its place → its operand. So are a reduction and a map that change nothing.
//! * `reshape(reshape x)` → one reshape; `transpose(transpose x)` → one transpose; `slice(slice x)` → one slice.
//! * A reshape of a transpose that splits dimensions, or merges neighbours → a transpose of a reshape.
//! * A transpose that only moves extents of 1 → a reshape.
//! * A spatial pad by the value of padded taps → the padding of its convolution or window.
//! * A map of a broadcast → a map that broadcasts. A matrix product does this along its leading dimensions, or along parts that a reshape merged
//!   ([`repeated`]).
//! * The transpose of a broadcast → the broadcast of a transpose. A map of a constant's broadcast → the broadcast of a map.
//! * A reshape of a broadcast that keeps repeated dimensions apart from others → a broadcast of a reshape.
//!
//! Floats: a padded tap adds nothing, but a border of zeros times an infinite weight is NaN. This pass ignores the difference.

use super::edit::{Edit, Visit, rewrite};
use super::{repeated, through_reshape};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        if let Some(operand) = unmoved(edit, inst) {
            return Visit::Replace(vec![operand]);
        }
        let found = match edit.function.insts[inst].op() {
            Op::Reshape => reshape(edit, inst).or_else(|| reshaped_broadcast(edit, inst)).or_else(|| through_reshape::in_front(edit, inst)),
            Op::Transpose => transpose(edit, inst).or_else(|| reordered(edit, inst)).or_else(|| transposed_broadcast(edit, inst)),
            Op::Matmul => through_broadcasts(edit, inst).or_else(|| edit.attempt(|edit| repeated::in_groups(edit, inst))),
            Op::Slice => slice(edit, inst),
            Op::Reduce => reduce(edit, inst),
            Op::Map => map(edit, inst),
            Op::Conv | Op::Window => return absorb_pad(edit, inst).unwrap_or(Visit::Keep),
            _ => None,
        };
        found.map_or(Visit::Keep, Visit::Replace)
    })
}

/// The operand of an operator that computes nothing, where every element stays in its place.
fn unmoved(edit: &Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let (&[operand], &[result]) = (&data.operands[..], &data.results[..]) else { return None };
    let shape = |v: Value| edit.function.values[v].ty.as_tensor().map(|ty| &ty.shape);
    if shape(operand)? != shape(result)? {
        return None;
    }
    let axes = data.axes(edit.module, &edit.function);
    let stays = || axes.in_order || axes.places(0).is_some_and(|places| places.into_iter().eq(0..shape(operand).map_or(0, Vec::len)));
    (axes.moves && stays()).then_some(operand)
}

/// Replaces a transpose that only moves extents of 1 by a reshape. The other axes must keep their order.
fn reordered(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let (operand, whole) = (data.operands[0], edit.function.tensor(data.results[0]).shape.clone());
    let places = data.axes(edit.module, &edit.function).places(0)?;
    let shape = edit.static_shape(operand)?;
    let others = places.into_iter().zip(shape).filter(|&(_, extent)| extent != 1).map(|(place, _)| place);
    if !others.is_sorted() {
        return None;
    }
    Some(vec![edit.insert_one(operators::Reshape { shape: whole }, &[operand])?])
}

fn reshape(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let inner = edit.defined_by(data.operands[0], Op::Reshape)?.operands[0];
    let reshape = data.operation.clone();
    Some(vec![edit.insert_one(reshape, &[inner])?])
}

fn transpose(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let Operation::Transpose(outer) = &data.operation else { return None };
    let (inner, source) = edit.transpose(data.operands[0])?;
    let composed = operators::Transpose { permutation: outer.permutation.iter().map(|&p| inner.permutation[p]).collect() };
    if composed.is_identity() {
        return Some(vec![source]);
    }
    Some(vec![edit.insert_one(composed, &[source])?])
}

fn slice(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let Operation::Slice(outer) = &data.operation else { return None };
    let definition = edit.definition(data.operands[0])?;
    let Operation::Slice(inner) = &definition.operation else { return None };
    let numbers = |list: &[Extent]| -> Option<Vec<i64>> { list.iter().map(|e| i64::try_from(e.as_static()?).ok()).collect() };
    let (outer_start, inner_start) = (numbers(&outer.start)?, numbers(&inner.start)?);
    let (outer_stride, inner_stride) = (&outer.stride, &inner.stride);
    let rank = outer_start.len();
    let mut start = Vec::with_capacity(rank);
    let mut stride = Vec::with_capacity(rank);
    for d in 0..rank {
        let first = inner_stride[d].checked_mul(outer_start[d])?.checked_add(inner_start[d])?;
        start.push(Extent::Static(u64::try_from(first).ok()?));
        stride.push(inner_stride[d].checked_mul(outer_stride[d])?);
    }
    let (source, size) = (definition.operands[0], outer.size.clone());
    Some(vec![edit.insert_one(operators::Slice { start, size, stride }, &[source])?])
}

/// A reduction over extents of 1. `any` and `all` of other than truth values still turn numbers into 0 and 1. A sum of floats turns −0 into 0, and an
/// extreme of floats leaves NaN out.
fn reduce(edit: &Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let element = edit.function.tensor(data.operands[0]).element;
    let Operation::Reduce(reduce) = &data.operation else { return None };
    let exact = match reduce.reduction {
        Reduction::Any | Reduction::All => element == ElementType::Bool,
        Reduction::Product => element != ElementType::C64,
        _ => element.is_integer(),
    };
    if !exact {
        return None;
    }
    let shape = edit.static_shape(data.operands[0])?;
    reduce.axes.iter().all(|&a| shape[a] == 1).then(|| vec![data.operands[0]])
}

/// Removes a map whose results are all inputs of its own shape. Otherwise lets it read through broadcasts.
fn map(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let expression = data.expression();
    let shape = edit.function.tensor(data.results[0]).shape.clone();
    let passed_through = |&node: &Node| match expression.nodes[node].op {
        ScalarOp::Input(i) => Some(data.operands[i as usize]).filter(|&v| edit.function.tensor(v).shape == shape),
        _ => None,
    };
    if let Some(values) = expression.results.iter().map(passed_through).collect() {
        return Some(values);
    }
    through_broadcasts(edit, inst).or_else(|| before_broadcast(edit, inst))
}

/// Moves work on a broadcast constant before the broadcast. Products then broadcast the result themselves. Other tensors are broadcast by the
/// kernel that does the work.
fn before_broadcast(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let &[whole] = &data.operands[..] else { return None };
    let source = edit.defined_by(whole, Op::Broadcast).filter(|_| edit.uses[whole] == 1)?.operands[0];
    edit.moved_constant(source)?;
    let (operation, shape) = (data.operation.clone(), edit.function.tensor(whole).shape.clone());
    let results = edit.insert(operation, &[source]).ok()?;
    results.into_iter().map(|value| edit.insert_one(operators::Broadcast { shape: shape.clone() }, &[value])).collect()
}

/// Makes an operator that broadcasts its operands itself read the source of a broadcast.
fn through_broadcasts(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let shape = edit.function.tensor(data.results[0]).shape.clone();
    let (mut operands, operation) = (data.operands.clone(), data.operation.clone());
    let mut changed = false;
    for i in 0..operands.len() {
        let Some(broadcast) = edit.defined_by(operands[i], Op::Broadcast) else { continue };
        let whole = std::mem::replace(&mut operands[i], broadcast.operands[0]);
        let same = edit.infer(&operation, &operands).is_ok_and(|types| types[0].as_tensor().is_some_and(|t| t.shape == shape));
        if same {
            changed = true;
        } else {
            operands[i] = whole;
        }
    }
    if changed { edit.insert(operation, &operands).ok() } else { None }
}

/// Moves a reshape before a broadcast, if no dimension of the result is repeated in part.
fn reshaped_broadcast(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let (whole, shape) = (data.operands[0], edit.function.tensor(data.results[0]).shape.clone());
    let source = edit.defined_by(whole, Op::Broadcast).filter(|_| edit.uses[whole] == 1)?.operands[0];
    let own = edit.function.tensor(source).shape.clone();
    let whole = &edit.function.tensor(whole).shape;
    let wanted = behind_repeated(&own, whole, &shape).or_else(|| beside_repeated(&own, whole, &shape))?;
    let source = if own == wanted { source } else { edit.insert_one(operators::Reshape { shape: wanted }, &[source])? };
    Some(vec![edit.insert_one(operators::Broadcast { shape }, &[source])?])
}

/// Returns the source's shape before the reshape if it repeats only along leading dimensions, and the reshape changes only these.
fn behind_repeated(own: &[Extent], whole: &[Extent], shape: &[Extent]) -> Option<Vec<Extent>> {
    let repeated: Vec<Extent> = own.iter().copied().skip_while(|&extent| extent == Extent::Static(1)).collect();
    (shape.ends_with(&repeated) && whole.ends_with(&repeated)).then_some(repeated)
}

/// Returns the source's shape after the reshape if the reshape keeps, splits or merges repeated dimensions apart from the others.
fn beside_repeated(own: &[Extent], whole: &[Extent], shape: &[Extent]) -> Option<Vec<Extent>> {
    let missing = whole.len() - own.len();
    let is_repeated = |dimension: usize| dimension < missing || own[dimension - missing] == Extent::Static(1);
    through_reshape::Factors::between(shape, whole)?.with_repeated(is_repeated)
}

/// Moves a transpose before a broadcast, where it moves fewer elements. The elements of a constant are transposed at compile time.
fn transposed_broadcast(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let Operation::Transpose(transpose) = data.operation.clone() else { return None };
    let (whole, shape) = (data.operands[0], edit.function.tensor(data.results[0]).shape.clone());
    let source = edit.defined_by(whole, Op::Broadcast).filter(|_| edit.uses[whole] == 1)?.operands[0];
    let own = edit.function.tensor(source).shape.clone();
    let missing = shape.len() - own.len();
    let source = if missing == 0 {
        source
    } else {
        let shape = [vec![Extent::Static(1); missing], own].concat();
        edit.insert_one(operators::Reshape { shape }, &[source])?
    };
    let turned = edit.insert_one(transpose, &[source])?;
    Some(vec![edit.insert_one(operators::Broadcast { shape }, &[turned])?])
}

/// The amounts of padding of a `conv` or `window` grown by the `pad` in front of it.
fn absorb_pad(edit: &mut Edit<'_>, inst: Inst) -> Option<Visit> {
    let data = &edit.function.insts[inst];
    let definition = edit.definition(data.operands[0])?;
    let Operation::Pad(pad) = &definition.operation else { return None };
    let (low, high) = (&pad.low, &pad.high);
    let last = low.len() - 1;
    let axes = &definition.axes(edit.module, &edit.function).operands[0];
    let only_spatial = axes[0] == Axis::Kept(0) && axes[last] == Axis::Kept(last);
    if !only_spatial || low.iter().chain(high).any(|&n| n < 0) || !adds_nothing(&data.operation, pad.value) {
        return None;
    }
    let mut grown = data.clone();
    grown.operands[0] = definition.operands[0];
    let ones = vec![1; last - 1];
    // Padding is counted in steps of the dilated input.
    let (geometry, steps) = match &mut grown.operation {
        Operation::Conv(conv) => (&mut conv.geometry, &conv.input_dilation),
        Operation::Window(window) => (&mut window.geometry, &ones),
        _ => return None,
    };
    for (padding, amounts) in [(&mut geometry.padding_low, low), (&mut geometry.padding_high, high)] {
        let amounts = amounts[1..last].iter().zip(steps).map(|(n, step)| n.saturating_mul(*step));
        padding.iter_mut().zip(amounts).for_each(|(p, n)| *p = p.saturating_add(n));
    }
    let fits = edit
        .infer(&grown.operation, &grown.operands)
        .is_ok_and(|types| types[0].as_tensor().map(|t| &t.shape) == Some(&edit.function.tensor(data.results[0]).shape));
    if !fits {
        return None;
    }
    edit.function.insts[inst] = grown;
    Some(Visit::Changed)
}

/// Tests whether padding with this value gives the same result as taps that are left out.
fn adds_nothing(operation: &Operation, value: Scalar) -> bool {
    let element = value.element();
    let reduction = match operation {
        Operation::Conv(conv) if element.is_float() => return value.as_f64() == conv.input_zero_point as f64,
        Operation::Conv(conv) => return value.as_i64() == conv.input_zero_point,
        Operation::Window(window) => window.reduction,
        _ => return false,
    };
    let is_end = |end: fn((i128, i128)) -> i128, infinity: f64| match element.integer_range() {
        Some(range) => i128::from(value.as_i64()) == end(range) && element != ElementType::U64,
        None => value.as_f64() == infinity,
    };
    match reduction {
        Reduction::Sum | Reduction::Any => value.as_f64() == 0.0,
        Reduction::Product | Reduction::All => value.as_f64() == 1.0,
        Reduction::Max | Reduction::MaxOrNan => is_end(|(low, _)| low, f64::NEG_INFINITY),
        Reduction::Min | Reduction::MinOrNan => is_end(|(_, high)| high, f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{dead_code, simplify};
    use crate::ir::text::parse_module;
    use crate::ir::*;

    /// The operators left after simplifying an addition of v0 and a constant of 3 × 1 that is repeated and reshaped.
    fn left(input: &str, repeated: &str, reshaped: &str) -> Vec<Op> {
        let text = format!(
            "const0: f32[1, 1, 3, 1] = [1.0, 2.0, 3.0]\nfunc @main(v0: f32{input}) {{\n  v1 = constant {{ data = const0 }}\n  \
             v2 = broadcast v1 {{ shape = {repeated} }}\n  v3 = reshape v2 {{ shape = {reshaped} }}\n  v4 = map v0, v3 {{\n    \
             expression = (f32, f32) {{\n      n0: f32 = input 0\n      n1: f32 = input 1\n      n2: f32 = add n0, n1\n      return n2\n    }}\n  }}\n  \
             return v4\n}}\nmethod \"main\" = @main {{\n  input \"x\"\n  output \"y\"\n}}\n"
        );
        let mut module = parse_module(&text).unwrap();
        while simplify::run(&mut module) {}
        dead_code::run(&mut module);
        module.functions.values().flat_map(|function| function.body.iter().map(|&inst| function.insts[inst].op())).collect()
    }

    #[test]
    fn a_reshape_that_keeps_apart_what_is_repeated_comes_before_the_repetition() {
        let once = [Op::Constant, Op::Reshape, Op::Map];
        assert_eq!(left("[5, 3, 4]", "[1, 1, 3, 4]", "[1, 3, 4]"), once, "a mask of attention");
        assert_eq!(left("[3, 2, 2]", "[1, 1, 3, 4]", "[3, 2, 2]"), once, "what is repeated is split");
        assert_eq!(left("[6, 3, 1]", "[2, 3, 3, 1]", "[6, 3, 1]"), once, "what is repeated is merged");
        assert_eq!(
            left("[12]", "[1, 1, 3, 4]", "[12]"),
            [Op::Constant, Op::Broadcast, Op::Reshape, Op::Map],
            "part of a dimension is repeated"
        );
    }
}
