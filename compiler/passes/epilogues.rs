//! Element-wise work on a reshaped product moves before the reshape, where it becomes the product's epilogue.
//!
//! Contract: the map reads a reshape of the result of a contraction and of maps on its elements. Nobody else reads the result or the reshape.
//! The map's other operands must exist before the contraction, or no epilogue could read them. They get the inverse reshape, which moves no byte.
//! The dimensions along which such an operand broadcasts must be whole dimensions before the reshape, too.
//! A map that widens bytes stays behind the reshape: movement of bytes goes before widening ([`super::narrow_movement`]).

use super::edit::{Edit, replace};
use super::through_reshape::Factors;
use crate::ir::*;

/// Maps between a contraction and the reshape that are looked through.
const MOST_MAPS: usize = 16;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    replace(module, |edit, inst| match edit.function.insts[inst].op() {
        Op::Map => before_reshape(edit, inst),
        _ => None,
    })
}

/// The results of a map that is done in the shape of the product which it reads.
fn before_reshape(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = edit.function.insts[inst].clone();
    let after = edit.function.tensor(*data.results.first()?).shape.clone();
    let (source, contraction) = data.operands.iter().find_map(|&value| product(edit, value, &after))?;
    let others = data.operands.iter().filter(|&&value| edit.viewed(value) != edit.viewed(source));
    if !others.into_iter().all(|&value| exists_before(edit, value, contraction)) {
        return None;
    }
    let widens = |value: &Value| edit.function.tensor(*value).element.bits() > 8;
    if edit.function.tensor(source).element.bits() <= 8 && data.results.iter().any(widens) {
        return None;
    }
    let before = edit.function.tensor(source).shape.clone();
    let factors = Factors::between(&before, &after)?;
    let operands: Vec<Value> = data.operands.iter().map(|&value| operand(edit, value, &factors, &after)).collect::<Option<_>>()?;
    let results = edit.insert(data.operation, &operands).ok()?;
    if results.iter().any(|&value| edit.function.tensor(value).shape != before) {
        return None;
    }
    results.into_iter().map(|value| edit.insert_one(operators::Reshape { shape: after.clone() }, &[value])).collect()
}

/// Returns the product that is reshaped to a map's operand of this shape, and its contraction. `None` unless the product and the reshape each have
/// one use.
fn product(edit: &Edit<'_>, value: Value, shape: &[Extent]) -> Option<(Value, Inst)> {
    let source = edit.defined_by(value, Op::Reshape)?.operands[0];
    let alone = edit.uses[value] == 1 && edit.uses[source] == 1 && edit.function.tensor(value).shape == shape;
    Some((source, contraction(edit, source).filter(|_| alone)?))
}

/// Returns the contraction that computed a value, directly or through maps that would become its epilogue.
fn contraction(edit: &Edit<'_>, mut value: Value) -> Option<Inst> {
    for _ in 0..MOST_MAPS {
        let inst = edit.function.defining_inst(value)?;
        let data = &edit.function.insts[inst];
        if matches!(data.op(), Op::Conv | Op::Matmul | Op::BlockMatmul) {
            return Some(inst);
        }
        let shape = &edit.function.tensor(value).shape;
        let continues = |operand: &&Value| edit.uses[**operand] == 1 && edit.function.tensor(**operand).shape == *shape;
        value = *data.operands.iter().filter(|_| data.op() == Op::Map).find(continues)?;
    }
    None
}

/// Tests whether an operand exists before a contraction runs. Constants and parameters always do.
fn exists_before(edit: &Edit<'_>, value: Value, contraction: Inst) -> bool {
    match edit.function.defining_inst(edit.viewed(value)) {
        Some(inst) => edit.function.insts[inst].op() == Op::Constant || edit.comes_before(inst, contraction),
        None => true,
    }
}

/// An operand of the map in front of the reshape.
fn operand(edit: &mut Edit<'_>, value: Value, factors: &Factors, after: &[Extent]) -> Option<Value> {
    let shape = edit.function.tensor(value).shape.clone();
    if shape.is_empty() {
        return Some(value);
    }
    let missing = after.len().checked_sub(shape.len())?;
    let resolved = |extent: Extent| edit.function.resolved(extent);
    let is_repeated = |(&own, &whole): (&Extent, &Extent)| (resolved(own) != resolved(whole)).then_some(resolved(own));
    let repeated: Vec<Option<Extent>> = shape.iter().zip(&after[missing..]).map(is_repeated).collect();
    // One extent may be named in two ways.
    if repeated.iter().flatten().any(|&own| own != Extent::Static(1)) {
        return None;
    }
    let shape = factors.with_repeated(|dimension| dimension < missing || repeated[dimension - missing].is_some())?;
    let source = edit.defined_by(value, Op::Reshape).map(|data| data.operands[0]);
    if let Some(source) = source.filter(|&source| edit.function.tensor(source).shape == shape) {
        return Some(source);
    }
    edit.insert_one(operators::Reshape { shape }, &[value])
}
