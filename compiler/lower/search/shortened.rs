//! Choice of contractions that compute a row in short sections.
//!
//! Staged rows take scratch memory. An image of one row is staged as a whole, or in sections that fit into a cache. Short sections take a fraction of the
//! memory, but copy the pixels that neighbouring sections share more often. The step that needs most memory gets them first, then the next such step,
//! while the additional work is allowed. The fewest are kept whose arena is nearly the smallest. The arena must shrink as much as bands would have to
//! save. With `--optimize size`, every saving is taken.

use super::bands::{Candidate, Terms};
use super::special::Shortened;
use super::trials::planned;
use crate::diagnostic::Diagnostics;
use crate::fuse::{Fusions, rows};
use crate::ir::Inst;
use crate::lower::options::{Options, PlanSource};
use crate::lower::stages::chosen::Item;
use crate::lower::stages::frame::Frame;
use crate::lower::stages::planned::Planned;
use crate::lower::stages::work::Work;
use crate::schedule::Goal;

/// Maximum number of plans that are tried. No known model has as many contractions with long rows at its peak.
const MOST: usize = 24;

/// Chooses the groups that compute a row in short sections.
///
/// # Errors
/// The errors of a plan.
pub(in crate::lower) fn choose(trial: &Frame<'_>, candidate: &Candidate, fusions: &Fusions) -> Result<Shortened, Diagnostics> {
    let mut taken = Shortened::default();
    // The file's plan is for the file's operators, and a GPU stages whole images.
    if trial.options.plan == PlanSource::Program || trial.options.gpu.is_some() {
        return Ok(taken);
    }
    let terms = terms(trial.options);
    let mut left = None;
    let mut tried = Vec::new();
    loop {
        let frame = Frame { shortened: &taken, ..*trial };
        let (bytes, next) =
            planned(&frame, candidate, fusions, &candidate.known, |_, planned| (planned.plan.arena_bytes, at_peak(planned)))?;
        tried.push((bytes, taken.clone()));
        let Some((root, work)) = next.filter(|_| tried.len() < MOST) else { break };
        let allowed = *left.get_or_insert_with(|| terms.allowed(rows::work(&candidate.flow)));
        if work > allowed {
            break;
        }
        left = Some(allowed - work);
        taken.insert(root);
    }
    Ok(fewest(tried, &terms))
}

/// Returns the terms of the options. If code must be small, every byte counts.
fn terms(options: Options) -> Terms {
    if options.goal == Goal::Size { Terms::SIZE } else { Terms::of(options) }
}

/// Returns the root of the group at the plan's peak and the work that short sections add. `None` if it cannot have them.
fn at_peak(planned: &Planned<'_>) -> Option<(Inst, u64)> {
    let item: &Item<'_> = planned.items.get(planned.plan.peak_step)?;
    let Work::Group(group) = item.work else { return None };
    group.root().zip(item.needs.shorter)
}

/// Returns the first choice whose arena is nearly the smallest and saves enough compared with the first entry, which has no short sections.
fn fewest(tried: Vec<(u64, Shortened)>, terms: &Terms) -> Shortened {
    let whole = tried.first().map_or(0, |(bytes, _)| *bytes);
    let least = tried.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0);
    let suffices = |bytes: u64| bytes as f64 <= terms.nearly * least as f64 && bytes < whole && bytes as f64 <= terms.size * whole as f64;
    tried.into_iter().find(|(bytes, _)| suffices(*bytes)).map(|(_, taken)| taken).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_fewest_are_kept_that_save_enough() {
        let count = |arenas: &[u64], terms: &Terms| {
            let taken = |count: usize| (0..count as u32).map(Inst::from_u32).collect();
            fewest(arenas.iter().enumerate().map(|(count, &bytes)| (bytes, taken(count))).collect(), terms).len()
        };
        let normal = Terms::of(Options::new(&crate::machine::MACHINES[0]));
        assert_eq!(count(&[100], &normal), 0);
        assert_eq!(count(&[100, 90, 81], &normal), 0, "less than a fifth");
        assert_eq!(count(&[100, 100, 60, 59, 59], &normal), 2, "nearly the smallest");
        assert_eq!([count(&[100, 99], &Terms::SIZE), count(&[100, 100], &Terms::SIZE)], [1, 0]);
    }
}
