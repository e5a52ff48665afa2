//! Plans that are made to be compared.

use super::bands::Candidate;
use super::chosen::{self, Purpose};
use super::frame::Frame;
use super::grouped::Grouped;
use super::needs::KnownNeeds;
use super::placed::Placed;
use super::planned::Planned;
use crate::diagnostic::Diagnostics;
use crate::fuse::Fusions;

/// What `tell` says of the plan of a method with some cuts and merges, whose groups need what is known.
///
/// # Errors
/// For work without a schedule; a bug, if the planner refuses.
pub(super) fn planned<'a, R>(
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
    Ok(tell(frame, &Planned::new(frame, &placed, items, &candidate.parts, purpose)?))
}
