//! Movement of elements that moves nothing, or that two instructions do where one is enough.
//!
//! Contract: reshape of reshape is one reshape; transpose of transpose one transpose; slice of slice one slice; reshape, transpose,
//! broadcast, slice, pad, reduce, single concat and map that change nothing are their operand; a transpose that only moves
//! extents of 1 is a reshape; a spatial pad by what padded taps stand for becomes the padding of its convolution or window; a map does its own broadcasting.
//! Floats: a padded tap adds nothing, while a border of zeros times an infinite weight is NaN; the former is taken for the latter.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| {
        let found = match edit.function.insts[inst].op {
            Op::Reshape => reshape(edit, inst),
            Op::Transpose => transpose(edit, inst),
            Op::Broadcast => unchanged(edit, inst),
            Op::Slice => slice(edit, inst),
            Op::Pad | Op::MirrorPad => no_padding(edit, inst),
            Op::Reduce => reduce(edit, inst),
            Op::Concat => single_concat(edit, inst),
            Op::Map => map(edit, inst),
            Op::Conv | Op::Window => return absorb_pad(edit, inst).unwrap_or(Visit::Keep),
            _ => None,
        };
        found.map_or(Visit::Keep, Visit::Replace)
    })
}

/// The operand, when the result has its very type.
fn unchanged(edit: &Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let (operand, result) = (*data.operands.first()?, data.results[0]);
    let shape = |v: Value| &edit.function.tensor(v).shape;
    (shape(operand) == shape(result)).then(|| vec![operand])
}

fn reshape(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    if let Some(same) = unchanged(edit, inst) {
        return Some(same);
    }
    let data = &edit.function.insts[inst];
    let inner = edit.defined_by(data.operands[0], Op::Reshape)?.operands[0];
    let attributes = data.attributes.clone();
    Some(vec![edit.insert_one(Op::Reshape, &[inner], attributes)?])
}

fn transpose(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let (operand, permutation) = (data.operands[0], data.ints("permutation").to_vec());
    if permutation.iter().enumerate().all(|(i, &p)| p == i as i64) {
        return Some(vec![operand]);
    }
    if let Some(inner) = edit.defined_by(operand, Op::Transpose) {
        let composed: Vec<i64> = permutation.iter().map(|&p| inner.ints("permutation")[p as usize]).collect();
        let source = inner.operands[0];
        if composed.iter().enumerate().all(|(i, &p)| p == i as i64) {
            return Some(vec![source]);
        }
        return Some(vec![edit.insert_one(Op::Transpose, &[source], vec![Attribute::Ints(composed)])?]);
    }
    // Dimensions of extent 1 may stand anywhere; the others must keep their order.
    let shape = edit.static_shape(operand)?;
    let others: Vec<i64> = permutation.iter().copied().filter(|&p| shape[p as usize] != 1).collect();
    if !others.is_sorted() {
        return None;
    }
    let shape = edit.function.tensor(data.results[0]).shape.clone();
    Some(vec![edit.insert_one(Op::Reshape, &[operand], vec![Attribute::Extents(shape)])?])
}

fn slice(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let zero = |e: &Extent| *e == Extent::Static(0);
    let from_start = data.extents("start").iter().all(zero) && data.ints("stride").iter().all(|&s| s == 1);
    if from_start && let Some(same) = unchanged(edit, inst) {
        return Some(same);
    }
    let inner = edit.defined_by(data.operands[0], Op::Slice)?;
    let numbers =
        |data: &InstData| -> Option<Vec<i64>> { data.extents("start").iter().map(|e| i64::try_from(e.as_static()?).ok()).collect() };
    let (outer_start, inner_start) = (numbers(data)?, numbers(inner)?);
    let (outer_stride, inner_stride) = (data.ints("stride"), inner.ints("stride"));
    let rank = outer_start.len();
    let mut start = Vec::with_capacity(rank);
    let mut stride = Vec::with_capacity(rank);
    for d in 0..rank {
        let first = inner_stride[d].checked_mul(outer_start[d])?.checked_add(inner_start[d])?;
        start.push(Extent::Static(u64::try_from(first).ok()?));
        stride.push(inner_stride[d].checked_mul(outer_stride[d])?);
    }
    let (source, size) = (inner.operands[0], data.extents("size").to_vec());
    let attributes = vec![Attribute::Extents(start), Attribute::Extents(size), Attribute::Ints(stride)];
    Some(vec![edit.insert_one(Op::Slice, &[source], attributes)?])
}

fn no_padding(edit: &Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let none = data.ints("low").iter().chain(data.ints("high")).all(|&n| n == 0);
    none.then(|| vec![data.operands[0]])
}

/// A reduction over extents of 1. `any` and `all` of other than truth values still turn numbers into 0 and 1; of floats, a sum
/// turns −0 into 0, and an extreme leaves NaN out.
fn reduce(edit: &Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let element = edit.function.tensor(data.operands[0]).element;
    let exact = match data.word("reduction") {
        "any" | "all" => element == ElementType::Bool,
        "product" => element != ElementType::C64,
        _ => element.is_integer(),
    };
    if !exact {
        return None;
    }
    let shape = edit.static_shape(data.operands[0])?;
    data.ints("axes").iter().all(|&a| shape[a as usize] == 1).then(|| vec![data.operands[0]])
}

fn single_concat(edit: &Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let operands = &edit.function.insts[inst].operands;
    (operands.len() == 1).then(|| operands.clone())
}

/// A map whose results are all inputs of its own shape; else one that reads through broadcasts.
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
    let mut operands = data.operands.clone();
    let attributes = data.attributes.clone();
    let mut changed = false;
    for i in 0..operands.len() {
        let Some(broadcast) = edit.defined_by(operands[i], Op::Broadcast) else { continue };
        let whole = std::mem::replace(&mut operands[i], broadcast.operands[0]);
        let same = edit.infer(Op::Map, &operands, &attributes).is_ok_and(|types| types[0].as_tensor().is_some_and(|t| t.shape == shape));
        if same {
            changed = true;
        } else {
            operands[i] = whole;
        }
    }
    if changed { edit.insert(Op::Map, &operands, attributes).ok() } else { None }
}

/// The amounts of padding of a `conv` or `window` grown by the `pad` in front of it.
fn absorb_pad(edit: &mut Edit<'_>, inst: Inst) -> Option<Visit> {
    let data = &edit.function.insts[inst];
    let pad = edit.defined_by(data.operands[0], Op::Pad)?;
    let (low, high) = (pad.ints("low").to_vec(), pad.ints("high").to_vec());
    let last = low.len() - 1;
    let only_spatial = [low[0], high[0], low[last], high[last]] == [0; 4];
    if !only_spatial || low.iter().chain(&high).any(|&n| n < 0) || !adds_nothing(data, pad.scalar("value")) {
        return None;
    }
    let source = pad.operands[0];
    let mut grown = data.clone();
    grown.operands[0] = source;
    // Padding is counted in steps of the dilated input.
    let steps = if data.op == Op::Conv { data.ints("input_dilation").to_vec() } else { vec![1; last - 1] };
    for (name, amounts) in [("padding_low", &low), ("padding_high", &high)] {
        if let Attribute::Ints(padding) = &mut grown.attributes[data.op.attribute_index(name)] {
            let amounts = amounts[1..last].iter().zip(&steps).map(|(n, step)| n.saturating_mul(*step));
            padding.iter_mut().zip(amounts).for_each(|(p, n)| *p = p.saturating_add(n));
        }
    }
    let fits = edit
        .infer(grown.op, &grown.operands, &grown.attributes)
        .is_ok_and(|types| types[0].as_tensor().map(|t| &t.shape) == Some(&edit.function.tensor(data.results[0]).shape));
    if !fits {
        return None;
    }
    edit.function.insts[inst] = grown;
    Some(Visit::Changed)
}

/// Whether an element of this value leaves the result as if it were not there.
fn adds_nothing(data: &InstData, value: Scalar) -> bool {
    let element = value.element();
    if data.op == Op::Conv {
        let zero_point = data.int("input_zero_point");
        return if element.is_float() { value.as_f64() == zero_point as f64 } else { value.as_i64() == zero_point };
    }
    match data.word("reduction") {
        "sum" | "any" => value.as_f64() == 0.0,
        "product" | "all" => value.as_f64() == 1.0,
        word => {
            let infinity = if word == "max" { f64::NEG_INFINITY } else { f64::INFINITY };
            match element.integer_range() {
                Some((low, high)) => i128::from(value.as_i64()) == if word == "max" { low } else { high } && element != ElementType::U64,
                None => value.as_f64() == infinity,
            }
        }
    }
}
