//! One method through all stages: grouped, chosen, placed, planned, written.
//!
//! Bands of rows and merges of groups are chosen by trials. A trial goes as far as the memory plan, and the size of the plan decides.

use super::memory::imported;
use super::memory::variables::Variables;
use super::options::{Options, PlanSource};
use super::pool::Pool;
use super::possible;
use super::search::bands::{self, Candidate, Terms};
use super::search::merges;
use super::search::needs::KnownNeeds;
use super::search::overwriting;
use super::search::shortened;
use super::search::special::{Overwriting, Shortened};
use super::search::trials;
use super::stages::chosen::{self, Purpose};
use super::stages::frame::Frame;
use super::stages::grouped::Grouped;
use super::stages::placed::Placed;
use super::stages::planned::{self, Planned};
use super::stages::written::{LoweredMethod, write};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::fuse::flow::Flow;
use crate::fuse::unroll::{self, FlowError};
use crate::fuse::{self, Fusions, Merge};
use crate::ir::{Method, Module, Verified};
use crate::machine::Machine;
use crate::parallel::{self, Memo};
use crate::plan::{Effort, Request};
use crate::schedule::{PackedWeights, Threads};
use std::sync::Arc;

/// Lowers a method for some machines, with one plan.
///
/// # Errors
/// One diagnostic for each operator without lowering.
pub(super) fn lower(
    verified: Verified<'_>,
    method: &Method,
    (options, machines): (Options, &[&'static Machine]),
    variables: &Variables,
    pool: &mut Pool,
) -> Result<LoweredMethod, Diagnostics> {
    let module = verified.module();
    let flow = unroll::unroll(verified, method.function).map_err(|error| flow_diagnostic(module, method, &error))?;
    let (packed, plans, orders) = (&PackedWeights::default(), &Memo::default(), &Memo::default());
    let frame = Frame {
        module,
        method,
        options,
        machines,
        variables,
        packed,
        plans,
        orders,
        overwriting: &Overwriting::None,
        shortened: &Shortened::default(),
    };
    let trial = Frame { options: Options { effort: Effort::Trial, ..options }, ..frame };
    let (candidate, fusions) = cut_and_merged(&frame, &trial, flow)?;
    let overwriting = &overwriting::choose(&trial, &candidate, &fusions)?;
    let shortened = &shortened::choose(&Frame { overwriting, ..trial }, &candidate, &fusions)?;
    let frame = Frame { overwriting, shortened, ..frame };
    let alone = Frame { options: Options { threads: Threads::ALONE, ..options }, ..frame };
    let alone = match options.threads.count {
        0 | 1 => None,
        _ if !options.areas.list().is_empty() => None,
        _ => Some(arena_of(&alone, &candidate, &fusions, &KnownNeeds::default())?),
    };

    let grouped = Grouped::new(&frame, candidate.flow, &fusions)?;
    let items = chosen::choose(&frame, &grouped, &grouped.work(), Purpose::Kernels)?;
    let placed = Placed::new(&frame, &grouped, &items);
    let planned = Planned::new(&frame, &placed, items, &candidate.bands, Purpose::Kernels)?;
    let mut lowered = write(&frame, &grouped, &planned, &candidate.bands, pool)?;
    lowered.levels.iter_mut().for_each(|level| level.scratch_bytes_alone = alone);
    if options.lists_schedules {
        lowered.possible = possible::of_method(&frame, &grouped)?;
    }
    Ok(lowered)
}

/// Maximum ratio of the arena to the scratch memory of the file's plan for dearer cuts to be tried. A larger arena would not reach the file's size.
const NEAR: f64 = 1.25;

/// Chooses cuts and merges for a method. If the arena is larger than the scratch memory of the file's plan, dearer cuts are tried, too. They are used
/// if they make the arena at most as large as that.
fn cut_and_merged(frame: &Frame<'_>, trial: &Frame<'_>, flow: Flow) -> Result<(Candidate, Fusions), Diagnostics> {
    let on = |terms: &Terms, flow: Flow| {
        // Merges make some arenas smaller: a large result that only its readers' group needs is never stored.
        let least = |candidate: &Candidate| Ok(arena(trial, candidate, &Fusions::none())?.min(arena(trial, candidate, &Fusions::All)?));
        let candidate = bands::choose(frame.module, flow, (frame.options, terms), least)?;
        let fusions = chosen_merges(frame, trial, &candidate)?;
        Ok::<_, Diagnostics>((candidate, fusions))
    };
    let state = frame.variables.state_bytes();
    let wanted = imported::bytes_for_scratch(frame.module, frame.method, state).filter(|_| frame.options.plan == PlanSource::Own);
    let Some(wanted) = wanted else { return on(&Terms::of(frame.options), flow) };
    let (candidate, fusions) = on(&Terms::of(frame.options), flow.clone())?;
    let bytes = arena(frame, &candidate, &fusions)?;
    if bytes > wanted && bytes as f64 <= NEAR * wanted as f64 {
        let (dearer, merged) = on(&Terms::MAX, flow)?;
        if arena(frame, &dearer, &merged)? <= wanted {
            return Ok((dearer, merged));
        }
    }
    Ok((candidate, fusions))
}

/// Chooses the merges of groups that do not enlarge the arena.
fn chosen_merges(frame: &Frame<'_>, trial: &Frame<'_>, candidate: &Candidate) -> Result<Fusions, Diagnostics> {
    let all = match frame.options.plan {
        // The file's plan has places only for the file's own tensors.
        PlanSource::Program => vec![],
        PlanSource::Own | PlanSource::Smallest => fuse::group(candidate.flow.clone(), frame.module, &Fusions::All).merges,
    };
    let fusions = merges::choose(&all, |fusions| arena(trial, candidate, fusions))?;
    // Trials use a shorter search than the final plan, so the choice is checked at the final effort.
    if fusions.is_empty() {
        return Ok(fusions);
    }
    let (without, with) = parallel::both(|| arena(frame, candidate, &Fusions::none()), || arena(frame, candidate, &fusions));
    if with? > without? {
        return merges::choose(&all, |fusions| arena(frame, candidate, fusions));
    }
    Ok(fusions)
}

/// Returns the arena size in bytes of a method with given merges. The requests to the planner are kept in the candidate.
fn arena(frame: &Frame<'_>, candidate: &Candidate, fusions: &Fusions) -> Result<u64, Diagnostics> {
    let (Fusions::These(merges), PlanSource::Own | PlanSource::Smallest) = (fusions, frame.options.plan) else {
        return arena_of(frame, candidate, fusions, &candidate.known);
    };
    let mut merges: Vec<Merge> = merges.iter().copied().collect();
    merges.sort_unstable_by_key(|merge| (merge.first, merge.second));
    // The request does not depend on the planner's effort, so both efforts share it.
    let request = candidate.requests.get(&merges, || {
        let purpose = Purpose::Trial(&candidate.known);
        let grouped = Grouped::new(frame, candidate.flow.clone(), fusions)?;
        let items = chosen::choose(frame, &grouped, &grouped.work(), purpose)?;
        let placed = Placed::new(frame, &grouped, &items);
        planned::trial(frame, &placed, items, purpose).map(Arc::new)
    })?;
    planned::own_arena(frame, &Request { effort: frame.options.effort, ..Request::clone(&request) })
}

/// Returns the arena size of a method, planned from the start. `known` has the needs of schedules from earlier trials.
fn arena_of(frame: &Frame<'_>, candidate: &Candidate, fusions: &Fusions, known: &KnownNeeds) -> Result<u64, Diagnostics> {
    trials::planned(frame, candidate, fusions, known, |_, planned| planned.plan.arena_bytes)
}

fn flow_diagnostic(module: &Module, method: &Method, error: &FlowError) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(codes::USE_UNSUPPORTED, error.to_string()).in_function(&method.name);
    if let FlowError::StoringCondition(Some(source)) = error {
        let source = &module.sources[*source];
        diagnostic = diagnostic.at_operator(source.operator, &source.operator_name);
    }
    diagnostic
}
