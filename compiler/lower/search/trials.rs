//! Trial plans, which are compared with each other.

use super::bands::Candidate;
use super::needs::KnownNeeds;
use crate::diagnostic::Diagnostics;
use crate::fuse::Fusions;
use crate::lower::stages::chosen::{self, Purpose};
use crate::lower::stages::frame::Frame;
use crate::lower::stages::grouped::Grouped;
use crate::lower::stages::placed::Placed;
use crate::lower::stages::planned::Planned;

/// Plans a method with given cuts and merges, and passes the plan to `tell`. `known` are the known needs of its groups.
///
/// # Errors
/// A diagnostic for each group without a schedule, or a bug if the planner refuses.
pub(in crate::lower) fn planned<'a, R>(
    frame: &Frame<'a>,
    candidate: &Candidate,
    fusions: &Fusions,
    known: &KnownNeeds,
    tell: impl FnOnce(&Frame<'a>, &Planned<'_>) -> R,
) -> Result<R, Diagnostics> {
    let purpose = Purpose::Trial(known);
    let grouped = Grouped::new(frame, candidate.flow.clone(), fusions)?;
    let items = chosen::choose(frame, &grouped, &grouped.work(), purpose)?;
    let placed = Placed::new(frame, &grouped, &items);
    Ok(tell(frame, &Planned::new(frame, &placed, items, &candidate.bands, purpose)?))
}
