//! A lower bound of the cost of a placement.
//!
//! A step uses its items at the same time, so they lie in areas at the same time. A step costs at least what it costs if these bytes are divided
//! freely. Then the most used bytes are in the cheapest area, as far as they fit there. Bytes that the step could share count as additional room. The
//! bound is the sum over all steps.

use super::items::{Items, Use};
use super::placement::Area;

/// Returns a lower bound of the cost.
pub fn of_cost(items: &Items, areas: &[Area]) -> u64 {
    let mut areas = areas.to_vec();
    areas.sort_by_key(|area| area.cost);
    let steps = items.uses.iter().zip(&items.shared);
    steps.map(|(uses, &shared)| of_step(uses.clone(), shared, &areas)).fold(0, u64::saturating_add)
}

/// Returns the least cost of a step. `areas` are sorted by their cost.
fn of_step(mut uses: Vec<Use>, shared: u64, areas: &[Area]) -> u64 {
    let parts = |one: &Use, other: &Use| u128::from(one.moved) * u128::from(other.size);
    uses.sort_by(|one, other| parts(other, one).cmp(&parts(one, other)));
    let (mut cost, mut left) = (0u64, uses.into_iter());
    let mut open: Option<(Use, u64)> = None;
    for area in areas {
        let mut room = area.bytes.saturating_add(shared);
        while room > 0 {
            let Some((one, rest)) = open.take().or_else(|| left.next().map(|one| (one, one.size))) else { return cost };
            let taken = rest.min(room);
            let moved = u128::from(one.moved) * u128::from(taken) / u128::from(one.size);
            cost = cost.saturating_add((moved as u64).saturating_mul(area.cost));
            room -= taken;
            open = (taken < rest).then_some((one, rest - taken));
        }
    }
    cost
}
