//! Memory that callers lend. A caller's result buffer holds nothing until the first step that writes the result. Tensors that are dead by then
//! may lie there, which makes the arena smaller.
//!
//! At the step with the most live bytes, the largest tensor that fits is moved to a buffer. This repeats with the step that then has the most
//! live bytes. A moved tensor becomes a view of the result that takes the place over in reverse: the result comes later. So the planner and the
//! check need no special case.

use std::cmp::Reverse;

use super::bound::{self, StepBound};
use super::inplace::{Merger, pairs};
use super::lifetimes::Lifetimes;
use super::problem::align_up;
use super::request::{Place, PlanError, Request, TensorId};
use super::views::{demands, homes};

/// A buffer that a caller lends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lender {
    /// The result that the buffer is for: a tensor of [`Place::Output`] that is no view.
    pub output: TensorId,
    /// Alignment of the buffer's address.
    pub alignment: u64,
}

/// Result of moving tensors to callers' buffers.
pub(super) struct Loan {
    /// The request with moved tensors as views of an output.
    pub request: Request,
    /// Bytes of the moved tensors.
    pub bytes: u64,
    /// A lower bound of the arena for every choice of moved tensors.
    pub lower_bound: u64,
    /// Number of placements tried.
    pub nodes: u64,
}

/// Limit of moved tensors; each one rebuilds the request.
const MOST_LENT: usize = 64;

/// Moves tensors of a request to callers' buffers, if this lowers its peak. `alignment` is the alignment of each tensor's address, in the arena
/// and in buffers. Returns `None` if the peak stays.
///
/// # Errors
/// The errors of [`super::plan`].
pub(super) fn lend(request: &Request, lenders: &[Lender], alignment: &[u64]) -> Result<Option<Loan>, PlanError> {
    let lifetimes = Lifetimes::new(request)?;
    let homes = homes(request)?;
    let demands = demands(request, &homes)?;
    let pairs = pairs(request, &lifetimes)?;
    let merger = Merger::new(request, &lifetimes, &demands);
    let mut buffers: Vec<Buffer> = lenders.iter().map(|&lender| Buffer::new(request, &lifetimes, lender)).collect();
    let mut lent = request.clone();
    // The first of the requests tried that has the lowest peak.
    let (mut best, mut least) = (None, bound::of_steps(request, &lifetimes, &demands, &pairs));
    let mut last = least;
    let mut nodes = 0;
    for _ in 0..MOST_LENT {
        let mut live = live_at(&lent, &lifetimes, last.step);
        live.sort_by_key(|tensor| (Reverse(request.tensors[tensor.index()].bytes), *tensor));
        let place = |tensor: &TensorId| {
            let fits = |buffer: &mut Buffer| Some((*tensor, buffer.output, buffer.take(request, &merger, *tensor, alignment)?));
            buffers.iter_mut().find_map(fits)
        };
        let Some((tensor, output, at)) = live.iter().find_map(place) else { break };
        let view = &mut lent.tensors[tensor.index()];
        (view.view_of, view.takes_over) = (Some((output, at)), true);
        last = peak(&lent)?;
        nodes += 1;
        if last.bytes < least.bytes {
            (best, least) = (Some(lent.clone()), last);
        }
    }
    let Some(lent) = best else { return Ok(None) };
    let free = |step: usize| buffers.iter().filter(|buffer| buffer.is_free_at(step)).map(|buffer| buffer.bytes).sum();
    let lower_bound = bound::beside(request, &lifetimes, &pairs, free);
    Ok(Some(Loan { bytes: lent_bytes(request, &lent), request: lent, lower_bound, nodes }))
}

/// Returns the step with the most live bytes.
fn peak(request: &Request) -> Result<StepBound, PlanError> {
    let lifetimes = Lifetimes::new(request)?;
    let demands = demands(request, &homes(request)?)?;
    Ok(bound::of_steps(request, &lifetimes, &demands, &pairs(request, &lifetimes)?))
}

/// Returns the arena storages that are live at a step and may be moved. `lifetimes` are of the original request.
fn live_at(request: &Request, lifetimes: &Lifetimes, step: usize) -> Vec<TensorId> {
    let ids = (0..request.tensors.len()).map(|index| TensorId(index as u32));
    let is_root = |tensor: &TensorId| {
        let tensor = &request.tensors[tensor.index()];
        tensor.place == Place::Arena && tensor.view_of.is_none() && tensor.fixed.is_none()
    };
    ids.filter(is_root).filter(|&tensor| lifetimes.steps(tensor).is_some_and(|steps| steps.contains(&step))).collect()
}

/// Returns the bytes of all tensors that `before` holds in the arena and `lent` in callers' buffers.
fn lent_bytes(before: &Request, lent: &Request) -> u64 {
    let tensors = before.tensors.iter().zip(&lent.tensors);
    tensors.filter(|(before, after)| before.view_of != after.view_of).map(|(tensor, _)| tensor.bytes).sum()
}

/// A caller's buffer, and the storages in it before its result.
struct Buffer {
    output: TensorId,
    alignment: u64,
    bytes: u64,
    /// The first step that touches the result; the number of steps if none does.
    first: usize,
    /// `true` if that step may work in place.
    in_place: bool,
    /// Storages in the buffer with their offsets.
    holds: Vec<(TensorId, u64)>,
}

impl Buffer {
    fn new(request: &Request, lifetimes: &Lifetimes, Lender { output, alignment }: Lender) -> Self {
        let touches = |tensor: &TensorId| lifetimes.home(*tensor).root == output;
        let first = request.steps.iter().position(|step| {
            let moved = step.moves.iter().map(|(_, to)| to);
            step.reads.iter().chain(&step.writes).chain(moved).any(touches)
        });
        let in_place = first.is_some_and(|step| request.steps[step].may_share.iter().any(|(_, written)| touches(written)));
        let bytes = request.tensors[output.index()].bytes;
        Self { output, alignment, bytes, first: first.unwrap_or(request.steps.len()), in_place, holds: vec![] }
    }

    /// Tests whether other tensors may use the buffer at a step.
    fn is_free_at(&self, step: usize) -> bool {
        step < self.first || (step == self.first && self.in_place)
    }

    /// Places a storage at the lowest offset that is free during its live range. Returns the offset, or `None`.
    fn take(&mut self, request: &Request, merger: &Merger<'_>, storage: TensorId, alignment: &[u64]) -> Option<u64> {
        let tensor = &request.tensors[storage.index()];
        if alignment[storage.index()] > self.alignment {
            return None;
        }
        let ends = self.holds.iter().map(|&(held, at)| at + request.tensors[held.index()].bytes);
        let mut places: Vec<u64> =
            ends.chain(self.holds.iter().map(|&(_, at)| at)).chain([0]).map(|at| align_up(at, tensor.alignment)).collect();
        places.sort_unstable();
        places.dedup();
        let fits = |at: &u64| {
            at + tensor.bytes <= self.bytes
                && merger.is_dead_before(self.first, (storage, *at), self.output)
                && self.holds.iter().all(|&held| merger.harmless((storage, *at), held))
        };
        let at = places.into_iter().find(fits)?;
        self.holds.push((storage, at));
        Some(at)
    }
}
