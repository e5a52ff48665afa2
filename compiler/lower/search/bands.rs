//! Choice of the operators that are computed band by band. Counts of cuts are tried with the planner; the fewest cuts with a small arena are taken.

use super::needs::KnownNeeds;
use crate::diagnostic::Diagnostics;
use crate::fuse::Merge;
use crate::fuse::band::Bands;
use crate::fuse::bands::{self, Cut};
use crate::fuse::flow::Flow;
use crate::ir::Module;
use crate::lower::division::ranges;
use crate::lower::options::{Options, PlanSource};
use crate::parallel::{self, Memo};
use crate::plan::{Effort, Request};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Requests of trials to the planner, valid for every effort.
pub(in crate::lower) type Requests = Memo<Vec<Merge>, Result<Arc<Request>, Diagnostics>>;

/// A method with some of the possible cuts.
#[derive(Default)]
pub(in crate::lower) struct Candidate {
    pub flow: Flow,
    /// The values that are bands of others.
    pub bands: Bands,
    /// Needs of its groups' schedules, from earlier trials.
    pub known: KnownNeeds,
    /// Requests to the planner, by the sorted list of merges.
    pub requests: Requests,
}

/// Limits for cuts: the memory that they must save, and the work that they may add.
pub(in crate::lower) struct Terms {
    /// Maximum ratio of the arena to the arena without cuts.
    pub size: f64,
    /// Maximum ratio of work that is done twice to all work.
    extra: f64,
    /// Maximum ratio of the arena to the smallest possible one. Within this ratio, the choice with less work is taken.
    pub nearly: f64,
}

impl Terms {
    /// Terms for as little memory as possible.
    pub const MAX: Self = Self { size: 0.98, extra: 0.25, nearly: NEARLY };
    /// Normal terms: a little more work must save much memory.
    const NORMAL: Self = Self { size: 0.8, extra: 0.05, nearly: NEARLY };
    /// Terms for small code: a single byte is worth any work.
    pub const SIZE: Self = Self { size: 1.0, extra: f64::INFINITY, nearly: 1.0 };

    /// Returns the terms of the options.
    pub fn of(options: Options) -> Self {
        if options.effort == Effort::Max || options.plan == PlanSource::Smallest { Self::MAX } else { Self::NORMAL }
    }

    /// Returns the additional work that is allowed for a total of `work`.
    pub fn allowed(&self, work: u64) -> u64 {
        (self.extra * work as f64) as u64
    }
}

/// Maximum ratio to the smallest arena for which fewer cuts are taken.
const NEARLY: f64 = 1.02;
/// Maximum number of chains that are tried. Regions of batches do not count, because they add no work at run time.
const MOST_CHAINS: usize = 24;

/// Chooses the cuts of a method. `arena` plans a method and returns the size of its arena.
///
/// # Errors
/// The error of `arena` for the method without cuts.
pub(in crate::lower) fn choose(
    module: &Module,
    flow: Flow,
    (options, terms): (Options, &Terms),
    arena: impl Fn(&Candidate) -> Result<u64, Diagnostics> + Sync,
) -> Result<Candidate, Diagnostics> {
    let threads = if ranges::takes(options) { options.threads.count.into() } else { 1 };
    let (cuts, work) = bands::candidates(module, &flow, threads);
    let whole = Candidate { flow, ..Candidate::default() };
    // The file's plan is for whole tensors. On a GPU, the additional dispatches cost more than the memory is worth.
    if cuts.is_empty() || options.plan == PlanSource::Program || options.gpu.is_some() {
        return Ok(whole);
    }
    let bytes = arena(&whole)?;
    let allowed = terms.allowed(work);
    let (mut chains, mut extra) = (0, 0u64);
    let is_allowed = |cut: &&Cut| {
        chains += usize::from(matches!(cut, Cut::Rows(_)));
        extra = extra.saturating_add(cut.extra_work());
        chains <= MOST_CHAINS && extra <= allowed
    };
    let most = cuts.iter().take_while(is_allowed).count();
    let tried: Mutex<FxHashMap<usize, Candidate>> = Mutex::default();
    // A cut without a schedule is an arena of maximum size, so it is not chosen.
    let (chosen, best) = fewest(most, |count| {
        if count == 0 {
            return bytes;
        }
        let mut candidate = Candidate { flow: whole.flow.clone(), ..Candidate::default() };
        candidate.bands = bands::apply(module, &mut candidate.flow, &cuts[..count]);
        let bytes = arena(&candidate).unwrap_or(u64::MAX);
        tried.lock().unwrap_or_else(PoisonError::into_inner).insert(count, candidate);
        bytes
    });
    let is_worth_it = best as f64 <= terms.size * bytes as f64;
    let mut tried = tried.into_inner().unwrap_or_else(PoisonError::into_inner);
    let chosen = if is_worth_it { tried.remove(&chosen) } else { None };
    Ok(chosen.unwrap_or(whole))
}

/// Finds the fewest cuts, up to `most`, whose arena is nearly the smallest one tried. Returns their number and the arena's size. The cuts that save most
/// come first. So nearly every further cut shrinks the arena, until another step needs most memory. Sometimes only several cuts together save memory.
fn fewest(most: usize, arena: impl Fn(usize) -> u64 + Sync) -> (usize, u64) {
    let doubled = std::iter::successors(Some(1), |count| Some(2 * count));
    let counts = std::iter::once(0).chain(doubled.take_while(|&count| count < most)).chain((most > 0).then_some(most));
    let tried = parallel::map(&counts.collect::<Vec<_>>(), |&count| (count, arena(count)));
    let least = tried.iter().map(|(_, bytes)| *bytes).min().unwrap_or(0);
    let suffices = |bytes: u64| bytes as f64 <= NEARLY * least as f64;
    let first = tried.iter().position(|(_, bytes)| suffices(*bytes)).unwrap_or(0);
    let mut found = tried[first];
    let mut too_few = if first == 0 { 0 } else { tried[first - 1].0 };
    while found.0 > too_few + 1 {
        let count = too_few.midpoint(found.0);
        let bytes = arena(count);
        if suffices(bytes) {
            found = (count, bytes);
        } else {
            too_few = count;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::fewest;

    #[test]
    fn no_more_cuts_are_made_than_make_the_arena_small() {
        let arenas = |list: &'static [u64]| fewest(list.len() - 1, |count| list[count]);
        assert_eq!(arenas(&[100]), (0, 100));
        assert_eq!(arenas(&[100, 100, 101]), (0, 100));
        assert_eq!(arenas(&[100, 100, 100, 60, 60, 60, 59]), (3, 60));
        assert_eq!(arenas(&[100, 90, 80, 70, 60, 50, 40, 41, 41, 60]), (6, 40));
        assert_eq!(arenas(&[100, 80, u64::MAX, 50]), (3, 50));
    }
}
