//! Which chains of a method are computed in bands of rows: as many as make the arena smaller, tried in the planner.

use super::{Options, PlanSource};
use crate::diagnostic::Diagnostics;
use crate::fuse::flow::Flow;
use crate::fuse::{rows, uses_of};
use crate::ir::Value;
use crate::plan::Effort;
use std::collections::HashSet;

/// What an arena in bands must save, and what it may cost.
struct Terms {
    /// The arena in bands is at most this share of the one without.
    size: f64,
    /// Work done twice is at most this share of all work.
    extra: f64,
}

impl Terms {
    fn of(options: Options) -> Self {
        if options.effort == Effort::Max || options.plan == PlanSource::Smallest {
            return Self { size: 0.98, extra: 0.25 };
        }
        // Speed is dear: a few percent of it must buy much memory.
        Self { size: 0.8, extra: 0.05 }
    }
}

/// A chain more must make the arena smaller by this much, or one of the next few.
const GAIN: f64 = 0.98;
/// Chains that are tried without gain: several may need equally much, and all must be cut before any gains.
const PATIENCE: usize = 4;
/// Chains that are tried at all.
const MOST: usize = 24;

/// The method with the chains cut that are worth it, and the values that are bands of others. `arena` plans a method and gives its size.
///
/// # Errors
/// As `arena` on the method as it is.
pub(super) fn choose(
    flow: Flow,
    options: Options,
    arena: impl Fn(Flow) -> Result<u64, Diagnostics>,
) -> Result<(Flow, HashSet<Value>), Diagnostics> {
    let (candidates, work) = rows::candidates(&flow, &uses_of(&flow));
    // The plan of the file is one for whole tensors.
    if candidates.is_empty() || options.plan == PlanSource::Program {
        return Ok((flow, HashSet::new()));
    }
    let cut = |count: usize| {
        let mut flow = flow.clone();
        let bands = rows::apply(&mut flow, &candidates[..count]);
        (flow, bands)
    };
    let terms = Terms::of(options);
    let whole = arena(flow.clone())?;
    let (mut best, mut chosen, mut extra, mut patience) = (whole, 0, 0u64, PATIENCE);
    for (count, candidate) in (1..).zip(candidates.iter().take(MOST)) {
        extra = extra.saturating_add(candidate.extra_work);
        let is_small = candidate.peak < best / 2;
        if is_small || patience == 0 || extra as f64 > terms.extra * work as f64 {
            break;
        }
        // What has no schedule in bands is not cut.
        let bytes = arena(cut(count).0).unwrap_or(u64::MAX);
        if (bytes as f64) < GAIN * best as f64 {
            (best, chosen, patience) = (bytes, count, PATIENCE);
        } else {
            patience -= 1;
        }
    }
    if best as f64 > terms.size * whole as f64 {
        chosen = 0;
    }
    Ok(cut(chosen))
}
