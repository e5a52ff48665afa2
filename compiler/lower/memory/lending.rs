//! Tensors that lie in callers' buffers until the results are written there: see [`plan::plan_lent`].

use super::resolver::{Memory, Resolver};
use crate::diagnostic::Diagnostics;
use crate::ir::Value;
use crate::lower::options::PlanSource;
use crate::lower::stages::frame::{Frame, bug};
use crate::lower::stages::placed::Placed;
use crate::plan::{self, Lender, Lent, Plan, Request, TensorId};
use crate::program::Address;
use rustc_hash::FxHashMap;

/// Places of the tensors that callers' memory holds: buffers for results, and areas.
#[derive(Default)]
pub(in crate::lower) struct Loans {
    places: FxHashMap<TensorId, Address>,
}

impl Loans {
    /// The place of a tensor, if it is in a caller's memory and not in the scratch memory.
    pub fn of_tensor(&self, tensor: TensorId) -> Option<Address> {
        self.places.get(&tensor).copied()
    }

    /// The loans of a request whose storages are these tensors, each with its address.
    ///
    /// # Errors
    /// A bug, if views are not sound.
    pub fn new(request: &Request, storages: &[(TensorId, Address)]) -> Result<Self, Diagnostics> {
        if storages.is_empty() {
            return Ok(Self::default());
        }
        let storages: FxHashMap<TensorId, Address> = storages.iter().copied().collect();
        let homes = plan::homes(request).map_err(|error| bug(error.to_string()))?;
        let place = |home: plan::Home| Some(storages.get(&home.root)?.plus(home.offset));
        let places = (0..).zip(homes).filter_map(|(tensor, home)| Some((TensorId(tensor), place(home)?))).collect();
        Ok(Self { places })
    }
}

/// The request and the plan of a method with tensors in callers' buffers, unchecked, where its arena is smaller so. Plans for several threads hold more than
/// lifetimes say, and a device mirrors what is where: both are left as they are. So are plans of files, and methods of run-time extents,
/// whose callers' buffers may be shorter than the bound.
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

/// The outputs that have callers' buffers of their own and of known size, with their numbers and values.
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

/// For each tensor what its address must be a multiple of: its elements, and those of all that lies in it.
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
