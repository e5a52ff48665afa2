//! Products of pixels that write their output over their input.
//!
//! A product of floats reads its input where it lies, once for each panel of outputs, so its output is elsewhere and both are live at once. If it
//! stages its rows it reads each once, before anything is written there, and the output may take the input's place. Staging takes a few percent of
//! the product's time. It is done where the largest step of the plan is such a product and the arena shrinks by as much as bands would have to
//! save.

use super::bands::{Candidate, Terms};
use super::needs::KnownNeeds;
use super::special::Overwriting;
use super::trials::planned;
use crate::diagnostic::Diagnostics;
use crate::fuse::Fusions;
use crate::ir::Inst;
use crate::lower::options::PlanSource;
use crate::lower::stages::chosen::Item;
use crate::lower::stages::frame::Frame;
use crate::lower::stages::planned::Planned;
use crate::lower::stages::work::Work;
use rustc_hash::FxHashSet;

/// The groups for which it is worth it.
///
/// # Errors
/// As a plan without any.
pub(in crate::lower) fn choose(trial: &Frame<'_>, candidate: &Candidate, fusions: &Fusions) -> Result<Overwriting, Diagnostics> {
    // The plan of the file is one for the operators of the file, and a GPU has no rows to stage.
    if trial.options.plan == PlanSource::Program || trial.options.gpu.is_some() {
        return Ok(Overwriting::None);
    }
    let (without, is_promising) =
        planned(trial, candidate, fusions, &candidate.known, |frame, planned| (planned.plan.arena_bytes, largest_is_one(frame, planned)))?;
    if !is_promising {
        return Ok(Overwriting::None);
    }
    let all = Frame { overwriting: &Overwriting::All, ..*trial };
    let (with, roots) = planned(&all, candidate, fusions, &KnownNeeds::default(), |frame, planned| {
        (planned.plan.arena_bytes, overwriting(frame, planned))
    })?;
    let is_worth_it = with as f64 <= Terms::of(trial.options).size * without as f64;
    Ok(if is_worth_it { Overwriting::These(roots) } else { Overwriting::None })
}

/// Tells whether the step that needs most is a product that could overwrite its operand and does not: no other gain is possible.
fn largest_is_one(frame: &Frame<'_>, planned: &Planned<'_>) -> bool {
    let shares = |item: &Item<'_>| planned.addresses(frame).shares_one_of(&item.needs.if_staged);
    planned.items.get(planned.plan.peak_step).is_some_and(|item| !item.needs.if_staged.is_empty() && !shares(item))
}

/// The roots of the groups that overwrite their operand since they stage it.
fn overwriting(frame: &Frame<'_>, planned: &Planned<'_>) -> FxHashSet<Inst> {
    let addresses = planned.addresses(frame);
    let root = |item: &Item<'_>| match item.work {
        Work::Group(group) if addresses.shares_one_of(&item.needs.if_staged) => group.root,
        _ => None,
    };
    planned.items.iter().filter_map(root).collect()
}
