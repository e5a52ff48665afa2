//! Merging of equal constants and equal instructions.
//!
//! Contract: constants of the same type and bytes become one. Open constants are merged only if they are the same bytes of the file.
//! Among instructions with the same operator, operands and attributes, the first stays.
//! Instructions with control flow or effect tokens, and functions of the application, are left alone.

use super::edit::{Visit, each_constant, rewrite};
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    let same = equal_constants(module);
    let mut changed = false;
    each_constant(module, |constant| {
        changed |= same[*constant] != *constant;
        *constant = same[*constant];
    });
    let mut seen: FxHashMap<(Op, Vec<Value>), Vec<Inst>> = FxHashMap::default();
    let mut current = None;
    let merged = rewrite(module, |edit, inst| {
        // Values are numbered in each function anew.
        if current != Some(edit.func) {
            current = Some(edit.func);
            seen.clear();
        }
        let data = &edit.function.insts[inst];
        if data.operation.has_effect() {
            return Visit::Keep;
        }
        let candidates = seen.entry((data.op(), data.operands.clone())).or_default();
        match candidates.iter().find(|&&other| edit.function.insts[other].operation == data.operation) {
            Some(&other) => Visit::Replace(edit.function.insts[other].results.clone()),
            None => {
                candidates.push(inst);
                Visit::Keep
            }
        }
    });
    merged | changed
}

/// Maps each constant to the first constant that equals it.
fn equal_constants(module: &Module) -> SecondaryMap<Constant, Constant> {
    let mut same = SecondaryMap::with_default(Constant::from_u32(0));
    let mut seen: FxHashMap<&TensorType, EqualData<Constant>> = FxHashMap::default();
    for (id, constant) in module.constants.iter() {
        let of_type = seen.entry(&constant.ty).or_insert_with(|| EqualData::new(module.open_constants));
        same[id] = of_type.first(&constant.data, id);
    }
    same
}
