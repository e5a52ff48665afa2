//! Tensors picked along rows and columns by constant positions, as images are resized. Element-wise work that reads nothing else of their size reads
//! the elements where they lie instead. For example, a resized image is as large as the result, and four of them are blended.

use super::flow::Item;
use super::memory::viewed;
use super::row_major;
use crate::ir::{Constant, ElementType, Function, Inst, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A tensor in memory and the positions that select elements of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Gathered {
    /// The tensor in memory.
    pub source: Value,
    /// Pairs of a dimension and the constant positions selected along it, the last gather first.
    pub positions: Vec<(usize, Constant)>,
}

/// Returns the source and the positions of a value that consecutive gathers compute, the last first; `None` without gathers.
pub(super) fn gathered(function: &Function, gathers: &[Inst], value: Value) -> Option<Gathered> {
    let mut found = Gathered { source: value, positions: vec![] };
    for &inst in gathers {
        let data = &function.insts[inst];
        found.source = data.operands[0];
        found.positions.push((data.operation.picked_along()?, constant(function, data.operands[1])?));
    }
    (found.source != value).then_some(found)
}

/// Tests whether one of the instructions is a gather from `tensor` or from a view of it.
pub fn is_picked_from(function: &Function, insts: &[Inst], tensor: Value) -> bool {
    let tensor = viewed(function, tensor);
    let picks = |inst: &Inst| picked_along(function, *inst).is_some() && viewed(function, function.insts[*inst].operands[0]) == tensor;
    insts.iter().any(picks)
}

/// Returns the consecutive gathers that compute a value, the last first, as long as they satisfy `is_meant`.
pub(super) fn chain(function: &Function, is_meant: impl Fn(Inst) -> bool, value: Value) -> Vec<Inst> {
    let gather = |value: Value| function.defining_inst(value).filter(|&inst| picked_along(function, inst).is_some() && is_meant(inst));
    std::iter::successors(gather(value), |&inst| gather(function.insts[inst].operands[0])).collect()
}

fn picked_along(function: &Function, inst: Inst) -> Option<usize> {
    function.insts[inst].operation.picked_along()
}

/// Returns the integers of a constant; `None` for other element types.
pub fn integers(module: &Module, constant: Constant) -> Option<Vec<i64>> {
    let data = &module.constants[constant];
    let bytes = data.data.bytes();
    match data.ty.element {
        ElementType::I32 => Some(bytes.chunks_exact(4).map(|b| i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()),
        ElementType::I64 => {
            let number = |b: &[u8]| b.try_into().map(i64::from_le_bytes).ok();
            bytes.chunks_exact(8).map(number).collect()
        }
        _ => None,
    }
}

fn constant(function: &Function, value: Value) -> Option<Constant> {
    function.insts[function.defining_inst(value)?].constant()
}

/// Returns the gathers whose only readers read them in place. They get no kernel of their own.
pub(super) fn absorbed(function: &Function, module: &Module, items: &[Item], uses: &FxHashMap<Value, usize>) -> FxHashSet<Inst> {
    let mut readers: FxHashMap<Value, Vec<Inst>> = FxHashMap::default();
    let mut gathers = Vec::new();
    for item in items {
        let Item::Inst(inst) = *item else { continue };
        function.uses(inst).for_each(|value| readers.entry(value).or_default().push(inst));
        if picks(function, module, inst) {
            gathers.push(inst);
        }
    }
    let all: FxHashSet<Inst> = gathers.iter().copied().collect();
    let mut absorbed = FxHashSet::default();
    for &inst in gathers.iter().rev() {
        let result = function.insts[inst].results[0];
        let reads = |reader: &Inst| match picked_along(function, *reader) {
            // Gathers of one chain select along different dimensions.
            Some(axis) => absorbed.contains(reader) && picked_along(function, inst) != Some(axis),
            None => function.insts[*reader].op() == Op::Map && blends(function, *reader, &all),
        };
        let found = readers.get(&result).map_or(&[][..], Vec::as_slice);
        if !found.is_empty() && uses.get(&result) == Some(&found.len()) && found.iter().all(reads) {
            absorbed.insert(inst);
        }
    }
    absorbed
}

/// Tests whether a gather selects constant, valid positions along one dimension other than the last.
fn picks(function: &Function, module: &Module, inst: Inst) -> bool {
    let data = &function.insts[inst];
    let Some(axis) = picked_along(function, inst).filter(|_| !module.open_constants) else { return false };
    let [source, positions] = data.operands[..] else { return false };
    let Some(shape) = row_major(function, source).filter(|shape| axis + 1 < shape.len()) else { return false };
    let known = constant(function, positions).filter(|&c| module.constants[c].ty.shape.len() == 1);
    let exist = |list: Vec<i64>| list.iter().all(|n| u64::try_from(*n).is_ok_and(|n| n < shape[axis]));
    function.tensor(source).element.bits() >= 8
        && row_major(function, data.results[0]).is_some()
        && known.and_then(|constant| integers(module, constant)).is_some_and(exist)
}

/// Tests whether a map reads all operands of its result's shape through `gathers`. Such a map is no group's epilogue.
fn blends(function: &Function, map: Inst, gathers: &FxHashSet<Inst>) -> bool {
    let data = &function.insts[map];
    let Some(shape) = row_major(function, data.results[0]) else { return false };
    let is_picked = |value: Value| function.defining_inst(value).is_some_and(|inst| gathers.contains(&inst));
    data.operands.iter().all(|&value| match row_major(function, value) {
        Some(own) => is_picked(value) == (own == shape),
        None => false,
    })
}
