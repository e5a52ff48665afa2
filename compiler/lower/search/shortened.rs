//! Contractions that compute a row in short sections.
//!
//! Staged rows take scratch memory: an image that is one row is staged as a whole, or in sections as long as a cache allows. Short sections take a
//! fraction of it, and move the pixels that neighbours share more often. The step that needs most takes them, then the next one that does, while
//! the additional work is allowed. The fewest are kept whose arena is nearly the smallest, and only if it shrinks by as much as bands would have
//! to save. Small code takes whatever is smaller.

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

/// Plans that are tried: no model has as many long rows at its peak.
const MOST: usize = 24;

/// The groups for which it is worth it.
///
/// # Errors
/// As a plan without any.
pub(in crate::lower) fn choose(trial: &Frame<'_>, candidate: &Candidate, fusions: &Fusions) -> Result<Shortened, Diagnostics> {
    let mut taken = Shortened::default();
    // The plan of the file is one for the operators of the file, and a GPU stages whole images.
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

/// Terms of the options: bytes come first where code is to be small.
fn terms(options: Options) -> Terms {
    if options.goal == Goal::Size { Terms::SIZE } else { Terms::of(options) }
}

/// The root of the group that needs most, and the work that short sections add, if it may have them.
fn at_peak(planned: &Planned<'_>) -> Option<(Inst, u64)> {
    let item: &Item<'_> = planned.items.get(planned.plan.peak_step)?;
    let Work::Group(group) = item.work else { return None };
    group.root.zip(item.needs.shorter)
}

/// The first of some choices whose arena is nearly the smallest, if it pays beside that of the first one of all.
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
