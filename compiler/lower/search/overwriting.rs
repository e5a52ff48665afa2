//! Choice of pixel products that overwrite their input with their output.
//!
//! A product of floats reads its input directly, once for each panel of outputs. So its output has another place, and both are live at the same time.
//! If the product stages its rows, it reads each row once, before it writes there. Then the output may take the input's place. Staging costs a little
//! time. It is used if the largest step of the plan is such a product. The arena must shrink as much as bands would have to save.

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

/// Chooses the groups that stage their rows to overwrite their input.
///
/// # Errors
/// The errors of the plan without such groups.
pub(in crate::lower) fn choose(trial: &Frame<'_>, candidate: &Candidate, fusions: &Fusions) -> Result<Overwriting, Diagnostics> {
    // The file's plan is for the file's operators, and a GPU stages no rows.
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

/// Tests whether the step that needs most memory is a product that could overwrite its operand, but does not. Else the arena cannot shrink.
fn largest_is_one(frame: &Frame<'_>, planned: &Planned<'_>) -> bool {
    let shares = |item: &Item<'_>| planned.addresses(frame).shares_one_of(&item.needs.if_staged);
    planned.items.get(planned.plan.peak_step).is_some_and(|item| !item.needs.if_staged.is_empty() && !shares(item))
}

/// Returns the roots of the groups that overwrite their operand in a plan with staged rows.
fn overwriting(frame: &Frame<'_>, planned: &Planned<'_>) -> FxHashSet<Inst> {
    let addresses = planned.addresses(frame);
    let root = |item: &Item<'_>| match item.work {
        Work::Group(group) if addresses.shares_one_of(&item.needs.if_staged) => group.root(),
        _ => None,
    };
    planned.items.iter().filter_map(root).collect()
}
