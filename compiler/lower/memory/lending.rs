//! Tensors in callers' output buffers before the results are written: see [`plan::plan_lent`].

use super::resolver::{Memory, Resolver};
use crate::diagnostic::Diagnostics;
use crate::ir::Value;
use crate::lower::options::PlanSource;
use crate::lower::stages::frame::{Frame, bug};
use crate::lower::stages::placed::Placed;
use crate::plan::{self, Lender, Lent, Plan, Request, TensorId};
use crate::program::Address;
use rustc_hash::FxHashMap;

/// A scratch buffer of a step, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::lower) struct ScratchBuffer {
    pub step: usize,
    pub number: usize,
}

/// Addresses of tensors that lie in callers' memory: output buffers and areas.
#[derive(Default)]
pub(in crate::lower) struct Loans {
    places: FxHashMap<TensorId, Address>,
    /// Scratch buffers.
    scratch: FxHashMap<ScratchBuffer, Address>,
}

impl Loans {
    /// Returns the address of a tensor, if it is in a caller's memory.
    pub fn of_tensor(&self, tensor: TensorId) -> Option<Address> {
        self.places.get(&tensor).copied()
    }

    /// Returns the address of a scratch buffer of a step, if it is in a caller's memory.
    pub fn of_scratch(&self, step: usize, number: usize) -> Option<Address> {
        self.scratch.get(&ScratchBuffer { step, number }).copied()
    }

    /// Adds scratch buffers with their addresses.
    pub fn with_scratch(self, scratch: Vec<(ScratchBuffer, Address)>) -> Self {
        Self { scratch: scratch.into_iter().collect(), ..self }
    }

    /// Finds all tensors that lie in `storages`, directly or as views. Each storage has its address.
    ///
    /// # Errors
    /// A bug, if a view of the request is not valid.
    pub fn new(request: &Request, storages: &[(TensorId, Address)]) -> Result<Self, Diagnostics> {
        if storages.is_empty() {
            return Ok(Self::default());
        }
        let storages: FxHashMap<TensorId, Address> = storages.iter().copied().collect();
        let homes = plan::homes(request).map_err(|error| bug(error.to_string()))?;
        let place = |home: plan::Home| Some(storages.get(&home.root)?.plus(home.offset));
        let places = (0..).zip(homes).filter_map(|(tensor, home)| Some((TensorId(tensor), place(home)?))).collect();
        Ok(Self { places, ..Self::default() })
    }
}

/// Plans a method with tensors in callers' buffers, if this makes its arena smaller. The plan is unchecked. Returns `None` in these cases, too:
/// - several threads: their plans reserve memory for longer than live ranges,
/// - a plan of the file,
/// - run-time extents: callers' buffers may be shorter than the bound.
///
/// # Errors
/// A bug, if the planner refuses.
pub(in crate::lower) fn lent(
    frame: &Frame<'_>,
    placed: &Placed<'_>,
    ids: &FxHashMap<Value, TensorId>,
    (request, plan): (&Request, &Plan),
) -> Result<Option<(Lent, Loans)>, Diagnostics> {
    let lends = frame.options.plan != PlanSource::Program && frame.options.threads.count <= 1 && placed.ends.entered.is_empty();
    let outputs = if lends { outputs(&placed.resolver, ids, request) } else { vec![] };
    if outputs.is_empty() {
        return Ok(None);
    }
    let function = placed.resolver.function();
    let lender = |&(output, _, value): &(TensorId, u32, Value)| Lender { output, alignment: function.tensor(value).element.alignment() };
    let lenders: Vec<Lender> = outputs.iter().map(lender).collect();
    let alignments = alignments(&placed.resolver, ids, request)?;
    let Some(lent) = plan::plan_lent(request, plan, &lenders, &alignments).map_err(|error| bug(error.to_string()))? else {
        return Ok(None);
    };
    let storages: Vec<(TensorId, Address)> = outputs.iter().map(|&(tensor, number, _)| (tensor, Address::Output(number, 0))).collect();
    let loans = Loans::new(&lent.request, &storages)?;
    Ok(Some((lent, loans)))
}

/// Returns the outputs of static size that have a caller's buffer and are not views, with their numbers and values.
fn outputs(resolver: &Resolver<'_>, ids: &FxHashMap<Value, TensorId>, request: &Request) -> Vec<(TensorId, u32, Value)> {
    let output = |(number, &value): (u32, &Value)| {
        let root = resolver.root(value);
        let id = *ids.get(&root)?;
        let is_known = resolver.function().tensor(value).static_shape().is_some();
        let is_own = resolver.memory(root) == Memory::Output(number) && request.tensors[id.index()].view_of.is_none();
        (is_known && is_own).then_some((id, number, value))
    };
    (0..).zip(&resolver.grouped.outputs).filter_map(output).collect()
}

/// Returns the alignment of each tensor: the largest of its element type's and its subtensors' element types'.
fn alignments(resolver: &Resolver<'_>, ids: &FxHashMap<Value, TensorId>, request: &Request) -> Result<Vec<u64>, Diagnostics> {
    let homes = plan::homes(request).map_err(|error| bug(error.to_string()))?;
    let mut alignments = vec![1; request.tensors.len()];
    for (&root, id) in ids {
        let own = resolver.function().stored_type(root).element.alignment();
        for index in [id.index(), homes[id.index()].root.index()] {
            alignments[index] = own.max(alignments[index]);
        }
    }
    Ok(alignments)
}
