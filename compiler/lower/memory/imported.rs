//! The memory plan of the file, kept for every tensor that still exists.
//!
//! Rewrites and fusion replace the file's values, so a place belongs to an operator of the file. The tensor that the operator's last kernels write gets
//! the place of the operator's result, if it has the same number of bytes. A tensor that lives longer than in the file may then overlap another one.
//! In this case the planner chooses the place of the later one.

use super::values::root_of;
use crate::fuse::Group;
use crate::ir::{self, Function, Module, Value};
use crate::plan::{self, Plan, PlanError, Request};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Memory id of the area that becomes the scratch memory. Id 0 is not used.
pub(in crate::lower) const FIRST_AREA: u32 = 1;

/// Place of a tensor in the file's plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lower) struct InFile {
    /// The memory area, from [`FIRST_AREA`] on.
    pub memory_id: u32,
    /// The first byte there.
    pub offset: u64,
}

impl InFile {
    /// Tests whether a tensor can have this place: it has bytes and is not a view, and the offset is aligned.
    pub fn fits(self, tensor: &plan::Tensor) -> bool {
        tensor.bytes > 0 && tensor.view_of.is_none() && self.offset.is_multiple_of(tensor.alignment)
    }
}

/// An operator of the file, and the bytes of a result.
type Key = (u32, u64);

/// Returns the file's places of the tensors that groups write, by root.
pub(in crate::lower) fn places<'a>(
    module: &Module,
    method: &ir::Method,
    function: &Function,
    groups: impl Iterator<Item = &'a Group>,
) -> FxHashMap<Value, InFile> {
    let known = in_file(module, method);
    let mut written: FxHashMap<Key, Vec<Value>> = FxHashMap::default();
    for &output in groups.flat_map(|group| &group.outputs) {
        let root = root_of(function, output);
        let operator = function.defining_inst(output).and_then(|inst| function.insts[inst].source).map(|s| module.sources[s].operator);
        if let (Some(operator), Some(bytes)) = (operator, function.bound_bytes(function.stored_type(root))) {
            let list = written.entry((operator, bytes)).or_default();
            list.retain(|&value| value != root);
            list.push(root);
        }
    }
    let mut places = FxHashMap::default();
    for (key, offsets) in known {
        let Some(values) = written.get(&key) else { continue };
        // The operator's last tensors of this size are its results. The others are intermediate.
        let last = &values[values.len().saturating_sub(offsets.len())..];
        places.extend(last.iter().copied().zip(offsets));
    }
    places
}

/// Returns the bytes of the file's plan of a method without inputs, outputs and `state` bytes of state. `None` if the file has no plan, or a smaller
/// one.
pub(in crate::lower) fn bytes_for_scratch(module: &Module, method: &ir::Method, state: u64) -> Option<u64> {
    let plans = module.imported_plan.iter().flat_map(|plan| &plan.methods);
    let planned: u64 = plans.filter(|plan| plan.function == method.function).flat_map(|plan| &plan.area_bytes).sum();
    let function = &module.functions[method.function];
    let ports = function.params.iter().chain(&function.results).filter_map(|&value| function.values[value].ty.as_tensor());
    let ports = ports.filter_map(|ty| function.bound_bytes(ty)).sum::<u64>();
    planned.checked_sub(ports)?.checked_sub(state)
}

/// Returns the file's places of results by operator and size, in the order of the file.
fn in_file(module: &Module, method: &ir::Method) -> BTreeMap<Key, Vec<InFile>> {
    let mut known: BTreeMap<Key, Vec<InFile>> = BTreeMap::new();
    let plans = module.imported_plan.iter().flat_map(|plan| &plan.methods);
    for plan in plans.filter(|plan| plan.function == method.function) {
        for place in &plan.placements {
            let function = &module.functions[place.function];
            let source = function.defining_inst(place.value).and_then(|inst| function.insts[inst].source);
            if let Some(source) = source {
                let list = known.entry((module.sources[source].operator, place.bytes)).or_default();
                list.push(InFile { memory_id: place.memory_id, offset: place.offset });
            }
        }
    }
    known
}

/// Plans a request whose tensors may have fixed places of the file. A place that cannot be kept is given up, one at a time.
///
/// # Errors
/// The planner's error, if giving up a place cannot remove it.
pub(in crate::lower) fn plan_with_places(request: &mut Request) -> Result<Plan, PlanError> {
    loop {
        let error = match plan::plan(request) {
            Ok(plan) => return Ok(plan),
            Err(error) => error,
        };
        let index = given_up(request, &error).ok_or(error)?;
        request.tensors[index].fixed = None;
    }
}

/// Returns the index of the tensor that must give up its fixed place after a planner's error. It is the second of a conflict, if that has one. `None`
/// for other errors.
pub(in crate::lower) fn given_up(request: &Request, error: &PlanError) -> Option<usize> {
    let (PlanError::FixedConflict { second: name, .. } | PlanError::FixedOffset { name, .. }) = error else { return None };
    let first = if let PlanError::FixedConflict { first, .. } = error { first } else { name };
    let is_one = |name: &String| request.tensors.iter().rposition(|tensor| tensor.name == *name && tensor.fixed.is_some());
    is_one(name).or_else(|| is_one(first))
}
