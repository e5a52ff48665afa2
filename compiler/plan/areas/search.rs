//! The search for a placement: greedy in several orders, then branch and bound if the items are few.

use super::items::{Item, Items};
use super::placement::{Area, PlaceError, Planner, Shortage};
use super::room::{Answer, Room};
use crate::request::{Effort, PlanError, Request};
use std::cmp::{Ordering, Reverse};

/// Maximum number of items for branch and bound.
const MOST_ITEMS: usize = 24;
/// Limit of branch and bound: items that are put into an area.
const MOST_NODES: usize = 4096;

/// A placement that was found.
pub struct Found {
    /// The area of each item.
    pub of: Vec<usize>,
    pub rooms: Vec<Room>,
    pub cost: u64,
    /// `true` if no placement costs less.
    pub is_exhaustive: bool,
}

/// Orders of items. The first items get the cheapest areas.
const ORDERS: [fn(&Item, &Item) -> Ordering; 5] = [
    |a, b| ratio(b.moved, b.bytes, a.moved, a.bytes),
    |a, b| ratio(b.moved, b.bytes.saturating_mul(b.steps()), a.moved, a.bytes.saturating_mul(a.steps())),
    |a, b| b.moved.cmp(&a.moved),
    |a, b| Reverse(a.bytes).cmp(&Reverse(b.bytes)),
    |a, b| a.live[0].start.cmp(&b.live[0].start),
];

/// Compares two fractions.
fn ratio(a: u64, of_a: u64, b: u64, of_b: u64) -> Ordering {
    (u128::from(a) * u128::from(of_b)).cmp(&(u128::from(b) * u128::from(of_a)))
}

/// Finds a placement of a request, with the planner of an area.
///
/// # Errors
/// A fault in the request, or what did not fit.
pub fn search(request: (&Request, Planner), items: &Items, areas: &[Area]) -> Result<Found, PlaceError> {
    let attempts = modelc_parallel::map(&ORDERS, |order| Attempt::new(request, items, areas, *order));
    let attempts = attempts.into_iter().collect::<Result<Vec<_>, PlanError>>()?;
    let best = attempts.into_iter().min_by_key(|attempt| (attempt.left_bytes(items), attempt.cost(items)));
    let best = best.expect("there is an order");
    let whole = if items.list.len() <= MOST_ITEMS { Exact::run(request, items, areas, &best)? } else { None };
    let (best, is_exhaustive) = match whole {
        Some((found, is_exhaustive)) => (found.unwrap_or(best), is_exhaustive),
        None => (best, false),
    };
    match best.of.iter().copied().collect::<Option<Vec<usize>>>() {
        Some(of) => Ok(Found { cost: best.cost(items), of, rooms: best.rooms, is_exhaustive }),
        None => Err(PlaceError::Shortage(best.shortage(request.0, items)?)),
    }
}

/// A placement of all or some items.
#[derive(Clone)]
struct Attempt {
    /// The area of each item; `None` if it fits nowhere.
    of: Vec<Option<usize>>,
    rooms: Vec<Room>,
}

impl Attempt {
    /// Puts each item into the cheapest area that has room for it.
    fn new(request: (&Request, Planner), items: &Items, areas: &[Area], order: fn(&Item, &Item) -> Ordering) -> Result<Self, PlanError> {
        let mut rooms: Vec<Room> = areas.iter().map(|&area| Room::new(request, area)).collect();
        let mut of = vec![None; items.list.len()];
        let mut numbers: Vec<usize> = (0..items.list.len()).collect();
        numbers.sort_by(|&a, &b| order(&items.list[a], &items.list[b]).then(a.cmp(&b)));
        for number in numbers {
            for area in by_cost(areas) {
                if rooms[area].add(items, &items.list[number], Effort::Trial)? == Answer::Taken {
                    of[number] = Some(area);
                    break;
                }
            }
        }
        Ok(Self { of, rooms })
    }

    fn left_bytes(&self, items: &Items) -> u64 {
        self.of.iter().zip(&items.list).filter(|(of, _)| of.is_none()).map(|(_, item)| item.bytes).sum()
    }

    fn cost(&self, items: &Items) -> u64 {
        let cost = |(of, item): (&Option<usize>, &Item)| of.map_or(0, |area| item.moved.saturating_mul(self.rooms[area].area.cost));
        self.of.iter().zip(&items.list).map(cost).fold(0, u64::saturating_add)
    }

    /// Describes what did not fit: the largest item first.
    fn shortage(&self, request: &Request, items: &Items) -> Result<Shortage, PlanError> {
        let mut left: Vec<usize> = (0..self.of.len()).filter(|&item| self.of[item].is_none()).collect();
        left.sort_by_key(|&item| (Reverse(items.list[item].bytes), item));
        let mut least = Shortage { left: vec![], area: 0, missing: u64::MAX, step: 0 };
        for (area, room) in self.rooms.iter().enumerate() {
            let plan = room.with(&items.list[left[0]])?;
            let missing = plan.arena_bytes.saturating_sub(room.area.bytes);
            if missing < least.missing {
                least = Shortage { area, missing, step: plan.peak_step, ..least };
            }
        }
        let named = |&item: &usize| (items.name(request, item), items.list[item].bytes);
        Ok(Shortage { left: left.iter().map(named).collect(), ..least })
    }
}

/// Returns the numbers of areas, the cheapest first.
fn by_cost(areas: &[Area]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..areas.len()).collect();
    numbers.sort_by_key(|&area| areas[area].cost);
    numbers
}

/// Branch and bound over the areas of items.
struct Exact<'a> {
    items: &'a Items,
    /// The items that move most first.
    order: Vec<usize>,
    /// Cost of the items from each position of the order on, in the cheapest area.
    least: Vec<u64>,
    by_cost: Vec<usize>,
    effort: Effort,
    now: Attempt,
    best: Option<Attempt>,
    best_cost: u64,
    nodes: usize,
    /// `true` as long as no placement was skipped that may fit.
    is_exhaustive: bool,
}

impl<'a> Exact<'a> {
    /// Searches for a placement that costs less than `known`. Returns it, if there is one, and `true` if none costs less than the best one.
    fn run(
        request: (&Request, Planner),
        items: &'a Items,
        areas: &[Area],
        known: &Attempt,
    ) -> Result<Option<(Option<Attempt>, bool)>, PlanError> {
        let mut order: Vec<usize> = (0..items.list.len()).collect();
        order.sort_by_key(|&item| (Reverse(items.list[item].moved), item));
        let by_cost = by_cost(areas);
        let cheapest = by_cost.first().map_or(0, |&area| areas[area].cost);
        let mut least = vec![0u64; order.len() + 1];
        for position in (0..order.len()).rev() {
            least[position] = least[position + 1].saturating_add(items.list[order[position]].moved.saturating_mul(cheapest));
        }
        let rooms = areas.iter().map(|&area| Room::new(request, area)).collect();
        let now = Attempt { of: vec![None; order.len()], rooms };
        let best_cost = if known.left_bytes(items) == 0 { known.cost(items) } else { u64::MAX };
        let effort = request.0.effort;
        let mut search = Self { items, order, least, by_cost, effort, now, best: None, best_cost, nodes: 0, is_exhaustive: true };
        search.from(0, 0)?;
        Ok(Some((search.best, search.is_exhaustive)))
    }

    /// Places the items from a position of the order on. `cost` is that of the items before.
    fn from(&mut self, position: usize, cost: u64) -> Result<(), PlanError> {
        if cost.saturating_add(self.least[position]) >= self.best_cost {
            return Ok(());
        }
        let Some(&number) = self.order.get(position) else {
            (self.best, self.best_cost) = (Some(self.now.clone()), cost);
            return Ok(());
        };
        for area in self.by_cost.clone() {
            self.nodes += 1;
            if self.nodes > MOST_NODES {
                self.is_exhaustive = false;
                return Ok(());
            }
            let item = &self.items.list[number];
            match self.now.rooms[area].add(self.items, item, self.effort)? {
                Answer::Taken => {}
                Answer::TooSmall => continue,
                Answer::NotFound => {
                    self.is_exhaustive = false;
                    continue;
                }
            }
            self.now.of[number] = Some(area);
            let more = item.moved.saturating_mul(self.now.rooms[area].area.cost);
            self.from(position + 1, cost.saturating_add(more))?;
            self.now.of[number] = None;
            self.now.rooms[area].remove(item);
        }
        Ok(())
    }
}
