//! Several memory areas: every storage and every scratch buffer gets an area, so that few bytes move in the slow ones.
//!
//! An area has a size and a cost for each byte that a step reads or writes there. The cost of a placement is the sum over all steps. A tensor counts
//! once for each step that reads it, and once for each step that writes it. Scratch memory counts twice: it is written, then read.
//!
//! `placement.rs` has the types. The steps are:
//!
//! 1. `items.rs`: the storages and scratch buffers of a request, with the bytes that steps move in each.
//! 2. `room.rs`: an area as a request with some of the items. The planner tells whether these fit.
//! 3. `search.rs`: each item goes to the cheapest area that has room for it, in several orders of the items. For few items, branch and bound follows.
//! 4. `bound.rs`: a lower bound of the cost.
//!
//! [`super::check_areas`] checks a placement, and shares no code with this one.

mod bound;
mod items;
mod placement;
mod room;
mod search;

pub use placement::{Area, AreaPlan, PlaceError, Placement, Shortage};

use super::lifetimes::Lifetimes;
use super::request::{PlanError, Request};
use items::Items;
use placement::Planner;

/// Places the tensors and the scratch memory of a request in areas, at the least cost that the search finds. The steps keep their order. `planner` plans
/// one area.
///
/// # Errors
/// A fault in the request, or what did not fit.
pub fn place(request: &Request, areas: &[Area], planner: Planner) -> Result<Placement, PlaceError> {
    let lifetimes = Lifetimes::new(request)?;
    let items = Items::new(request, &lifetimes);
    let found = search::search((request, planner), &items, areas)?;
    let lower_bound = bound::of_cost(&items, areas);
    let moved = |area: usize| found.of.iter().zip(&items.list).filter(|(of, _)| **of == area).map(|(_, item)| item.moved).sum();
    let areas =
        found.rooms.into_iter().enumerate().map(|(area, room)| room.of_area(moved(area))).collect::<Result<Vec<AreaPlan>, PlanError>>()?;
    let optimal = found.is_exhaustive || found.cost == lower_bound;
    Ok(Placement { areas, cost: found.cost, lower_bound: if optimal { found.cost } else { lower_bound }, optimal })
}

#[cfg(test)]
mod tests;
