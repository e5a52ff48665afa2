//! Memory that callers lend. A caller's buffer for a result holds nothing until the first step that writes it, so tensors that are dead by then
//! may lie there, and the arena is smaller.
//!
//! At the step with the most live bytes the largest tensor that fits somewhere is lent a place, then at the step that has the most without it, and so
//! on. A tensor that is lent a place is a view of the result in the request that follows, which takes the place over the other way round: the
//! result comes later. So the planner, and the check, need to know nothing of it.

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
    /// What the address of the buffer is a multiple of.
    pub alignment: u64,
}

/// What is lent.
pub(super) struct Loan {
    /// The same tensors and steps; those that were lent a place are views of an output.
    pub request: Request,
    /// Bytes of tensors that were lent a place.
    pub bytes: u64,
    /// A size below which no arena can be, whatever is lent.
    pub lower_bound: u64,
    /// Tensors that were put into buffers on the way.
    pub nodes: u64,
}

/// Tensors that are lent a place at most: each makes the request anew.
const MOST_LENT: usize = 64;

/// Lends places to tensors of a request, if fewer bytes are live at its peak then. `alignment` is what the address of a tensor must be a multiple
/// of, wherever it lies.
///
/// # Errors
/// As [`super::plan`].
pub(super) fn lend(request: &Request, lenders: &[Lender], alignment: &[u64]) -> Result<Option<Loan>, PlanError> {
    let lifetimes = Lifetimes::new(request)?;
    let homes = homes(request)?;
    let demands = demands(request, &homes)?;
    let pairs = pairs(request, &lifetimes)?;
    let merger = Merger::new(request, &lifetimes, &demands);
    let mut buffers: Vec<Buffer> = lenders.iter().map(|&lender| Buffer::new(request, &lifetimes, lender)).collect();
    let mut lent = request.clone();
    // The first request with the least bytes at its peak, of those on the way.
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

/// The step with the most live bytes.
fn peak(request: &Request) -> Result<StepBound, PlanError> {
    let lifetimes = Lifetimes::new(request)?;
    let demands = demands(request, &homes(request)?)?;
    Ok(bound::of_steps(request, &lifetimes, &demands, &pairs(request, &lifetimes)?))
}

/// The storages of the arena that are live at a step and may lie elsewhere. `lifetimes` are those before any was lent a place.
fn live_at(request: &Request, lifetimes: &Lifetimes, step: usize) -> Vec<TensorId> {
    let ids = (0..request.tensors.len()).map(|index| TensorId(index as u32));
    let is_root = |tensor: &TensorId| {
        let tensor = &request.tensors[tensor.index()];
        tensor.place == Place::Arena && tensor.view_of.is_none() && tensor.fixed.is_none()
    };
    ids.filter(is_root).filter(|&tensor| lifetimes.steps(tensor).is_some_and(|steps| steps.contains(&step))).collect()
}

/// The bytes of all tensors that one request holds in the arena, and the other in callers' buffers.
fn lent_bytes(before: &Request, lent: &Request) -> u64 {
    let tensors = before.tensors.iter().zip(&lent.tensors);
    tensors.filter(|(before, after)| before.view_of != after.view_of).map(|(tensor, _)| tensor.bytes).sum()
}

/// A buffer, and what lies in it before its result does.
struct Buffer {
    output: TensorId,
    alignment: u64,
    bytes: u64,
    /// The first step that touches the result; as many as there are steps where none does.
    first: usize,
    /// Whether that step may work in place.
    in_place: bool,
    /// Storages with the bytes at which they start.
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

    /// Whether something else may lie in the buffer at a step.
    fn is_free_at(&self, step: usize) -> bool {
        step < self.first || (step == self.first && self.in_place)
    }

    /// Takes a storage in, at the lowest place that is free as long as it lives. Gives the byte at which it starts.
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
