//! Static memory planning: arena offsets of tensors, for a fixed order of steps.
//!
//! The planner does not know what tensors mean. A [`Request`] has tensors as numbers of bytes, and steps that read and write them. The answer
//! is a [`Plan`]. [`check`] shares no code with the planner, and replays the steps against the plan.
//!
//! A request passes through these modules:
//!
//! 1. `views`: every tensor becomes a range of bytes in a *storage*, the tensor at the root of its chain of views;
//! 2. `lifetimes`: the steps between which each byte of a storage is live;
//! 3. `bound`: the arena is at least as large as the bytes live at one step, less the bytes that may share memory there;
//! 4. `inplace`: storages that take over one another's bytes become one *block*, whose height changes over time;
//! 5. `problem`, `greedy`, `rank`, `exact`, `pack`: blocks are packed as low as the search finds;
//! 6. `lend`: tensors at the peak go to callers' buffers that hold no result yet.
//!
//! `areas` divides a request among several memory areas, each with a plan of its own.
//!
//! Everything is deterministic: the search is limited by nodes, not by time.

mod areas;
mod bound;
mod check;
mod check_areas;
pub mod csv;
mod exact;
mod fixed;
mod greedy;
mod inplace;
mod lend;
mod lifetimes;
mod order;
mod pack;
mod problem;
mod rank;
mod request;
mod views;

#[cfg(test)]
mod tests;

pub use areas::{Area, AreaPlan, PlaceError, Placement, Shortage};
pub use check::{CheckError, check};
pub use check_areas::check_areas;
pub use lend::Lender;
pub use lifetimes::Lifetimes;
pub use order::{Order, order};
pub use pack::{Packing, pack};
pub use problem::{Block, Segment};
pub use request::{Effort, Place, Plan, PlanError, Request, Scratch, Step, Tensor, TensorId, thousands};
pub use views::{Home, homes};

use inplace::{Merger, Pair};
use lend::{Loan, lend};
use problem::Sections;
use views::Demand;

/// The chosen in-place pairs, and their packing.
struct Layout {
    pairs: Vec<Pair>,
    packing: Packing,
}

/// Plans the arena of a request: the lower bound first, then a plan as close to it as the effort allows.
pub fn plan(request: &Request) -> Result<Plan, PlanError> {
    let lifetimes = Lifetimes::new(request)?;
    let homes = views::homes(request)?;
    let demands = views::demands(request, &homes)?;
    let pairs = inplace::pairs(request, &lifetimes)?;
    let bound = bound::of_steps(request, &lifetimes, &demands, &pairs);
    let planner = Planner { request, lifetimes: &lifetimes, demands: &demands };
    planner.check_fixed(&pairs)?;
    let layout = planner.choose(pairs.clone(), bound.bytes);
    let mut lower_bound = bound.bytes;
    if pairs.is_empty() && bound.whole {
        // There was no choice of pairs, so the bound of this packing holds for all plans.
        lower_bound = lower_bound.max(layout.packing.lower_bound);
    }
    let (offset, scratch) = planner.resolve(&layout);
    Ok(Plan {
        offset,
        scratch,
        arena_bytes: layout.packing.height,
        lower_bound,
        lent_bytes: 0,
        peak_bytes: lower_bound,
        optimal: layout.packing.height == lower_bound,
        explored_nodes: layout.packing.nodes,
        peak_step: bound.step,
    })
}

/// Places the tensors and the scratch memory of a request in several areas, at the least cost that the search finds. The steps keep their order.
///
/// # Errors
/// A fault in the request, or what did not fit.
pub fn place(request: &Request, areas: &[Area]) -> Result<Placement, PlaceError> {
    areas::place(request, areas, plan)
}

/// A request with tensors in callers' buffers, and its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    /// The request with moved tensors as views of an output.
    pub request: Request,
    /// The plan of this request. Its lower bound holds for every choice of moved tensors.
    pub plan: Plan,
}

/// Least saving of callers' buffers: one part in this many of the arena. The reason is that kernels then work at addresses unknown at compile
/// time.
const LEAST_SAVED: u64 = 64;

/// Plans a request again with tensors in callers' buffers. Returns `None` unless the arena gets smaller than in `without`. `alignment` is the
/// alignment of each tensor's address, in the arena and in buffers.
pub fn plan_lent(request: &Request, without: &Plan, lenders: &[Lender], alignment: &[u64]) -> Result<Option<Lent>, PlanError> {
    let Some(Loan { request, bytes, lower_bound, nodes }) = lend(request, lenders, alignment)? else { return Ok(None) };
    let plan = plan(&request)?;
    if plan.arena_bytes + without.arena_bytes / LEAST_SAVED >= without.arena_bytes {
        return Ok(None);
    }
    let optimal = plan.arena_bytes == lower_bound;
    let explored_nodes = plan.explored_nodes + nodes;
    Ok(Some(Lent { request, plan: Plan { lower_bound, optimal, explored_nodes, lent_bytes: bytes, ..plan } }))
}

/// Plans a request in the given order and in the order of [`order`]. Returns the smaller plan with its order of steps; see
/// [`Request::reordered`].
pub fn plan_reordered(request: &Request) -> Result<(Vec<usize>, Plan), PlanError> {
    plan_reordered_by(request, order)
}

/// Plans a request as [`plan_reordered`] does, with the orders that `order` returns, for example from a cache.
pub fn plan_reordered_by(
    request: &Request,
    order: impl Fn(&Request) -> Result<Order, PlanError> + Sync,
) -> Result<(Vec<usize>, Plan), PlanError> {
    let reordered = || -> Result<Option<(Vec<usize>, Plan)>, PlanError> {
        let found = order(request)?;
        if found.peak >= found.peak_before {
            return Ok(None);
        }
        let plan = plan(&request.reordered(&found.steps))?;
        Ok(Some((found.steps, plan)))
    };
    let (given, other) = modelc_parallel::both(|| plan(request), reordered);
    let given = given?;
    match other? {
        Some(other) if other.1.arena_bytes < given.arena_bytes => Ok(other),
        _ => Ok(((0..request.steps.len()).collect(), given)),
    }
}

/// Returns the blocks of a request as a problem for [`csv::print`]. They are named by their tensors; scratch is named after its step.
pub fn blocks(request: &Request) -> Result<Vec<(String, Block)>, PlanError> {
    let lifetimes = Lifetimes::new(request)?;
    let homes = views::homes(request)?;
    let demands = views::demands(request, &homes)?;
    let pairs = inplace::pairs(request, &lifetimes)?;
    let planner = Planner { request, lifetimes: &lifetimes, demands: &demands };
    let merger = planner.merged(&pairs);
    let name = |group: &inplace::Group| {
        let names: Vec<&str> = group.members.iter().map(|(root, _)| request.tensors[root.index()].name.as_str()).collect();
        names.join("+")
    };
    let mut blocks: Vec<(String, Block)> = merger.blocks().into_iter().map(|(group, block)| (name(group), block)).collect();
    for (step, block) in planner.scratch_blocks() {
        blocks.push((format!("scratch of {}", request.steps[step].name), block));
    }
    Ok(blocks)
}

struct Planner<'a> {
    request: &'a Request,
    lifetimes: &'a Lifetimes,
    demands: &'a [Demand],
}

impl Planner<'_> {
    /// Returns the layout with the smallest arena found. It starts from all pairs. A pair saves bytes but can force a worse offset, so pairs
    /// are dropped while that helps and the bound is not met.
    fn choose(&self, pairs: Vec<Pair>, bound: u64) -> Layout {
        let mut layout = self.pack(pairs, bound, self.request.effort);
        if layout.packing.height <= bound || layout.pairs.is_empty() {
            return layout;
        }
        let mut pairs = layout.pairs.clone();
        // The allowance counts pairs of blocks inspected; it corresponds to a few dozen milliseconds.
        let mut allowance: usize = match self.request.effort {
            Effort::Trial => 0,
            Effort::Normal => 1 << 18,
            Effort::Max => 1 << 26,
        };
        let mut tried = 0;
        let Some(mut height) = self.quick(&pairs, bound, u64::MAX, (&mut allowance, &mut tried)) else {
            return layout;
        };
        let mut index = 0;
        while index < pairs.len() && height > bound {
            if self.imported(&pairs[index]) {
                index += 1;
                continue;
            }
            let mut fewer = pairs.clone();
            fewer.remove(index);
            let Some(lower) = self.quick(&fewer, bound, height, (&mut allowance, &mut tried)) else {
                break;
            };
            if lower < height {
                (pairs, height) = (fewer, lower);
            } else {
                index += 1;
            }
        }
        layout.packing.nodes += tried;
        if height < layout.packing.height {
            let mut other = self.pack(pairs, bound, self.request.effort);
            let nodes = layout.packing.nodes + other.packing.nodes;
            if other.packing.height < layout.packing.height {
                std::mem::swap(&mut layout, &mut other);
            }
            layout.packing.nodes = nodes;
        }
        layout
    }

    /// Groups storages by the pairs that can be used together. Pairs of imported offsets come first, because they are fixed.
    fn merged(&self, pairs: &[Pair]) -> Merger<'_> {
        let mut merger = Merger::new(self.request, self.lifetimes, self.demands);
        let (imported, others): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| self.imported(pair));
        for pair in imported.into_iter().chain(others) {
            merger.merge(pair);
        }
        merger
    }

    /// Tests whether both tensors of a pair have imported offsets.
    fn imported(&self, pair: &Pair) -> bool {
        let fixed = |tensor: TensorId| self.demands[self.lifetimes.home(tensor).root.index()].fixed.is_some();
        fixed(pair.read) && fixed(pair.written)
    }

    /// Returns all blocks: groups of storages, then scratch.
    fn blocks(&self, merger: &Merger) -> Vec<Block> {
        let groups = merger.blocks().into_iter().map(|(_, block)| block);
        groups.chain(self.scratch_blocks().map(|(_, block)| block)).collect()
    }

    fn scratch_blocks(&self) -> impl Iterator<Item = (usize, Block)> {
        self.request.steps.iter().enumerate().flat_map(|(index, step)| {
            step.scratch.iter().map(move |scratch| {
                let block = Block::new(index as u64, index as u64 + 1, scratch.bytes);
                (index, Block { alignment: scratch.alignment, ..block })
            })
        })
    }

    fn pack(&self, pairs: Vec<Pair>, enough: u64, effort: Effort) -> Layout {
        let packing = pack(&self.blocks(&self.merged(&pairs)), enough, effort);
        Layout { pairs, packing }
    }

    /// Returns the height of the best of a few greedy packings, or `limit` if none is lower. Returns `None` if the allowance is used up. Placed
    /// blocks count as nodes, as in the exact search.
    fn quick(&self, pairs: &[Pair], enough: u64, limit: u64, (allowance, nodes): (&mut usize, &mut u64)) -> Option<u64> {
        const VARIANTS: usize = 4;
        let blocks = self.blocks(&self.merged(pairs));
        let sections = Sections::new(&blocks)?;
        let looks = VARIANTS * sections.pairs();
        *allowance = allowance.checked_sub(looks + sections.entries() + 16 * blocks.len())?;
        *nodes += (VARIANTS * blocks.len()) as u64;
        Some(pack::quick_below(&blocks, &sections, enough, looks, limit).unwrap_or(limit))
    }

    /// Returns the offsets of all tensors and of all scratch.
    fn resolve(&self, layout: &Layout) -> (Vec<Option<u64>>, Vec<Vec<u64>>) {
        let merger = self.merged(&layout.pairs);
        let mut offsets = layout.packing.offsets.iter().copied();
        let mut root_offset: Vec<Option<u64>> = vec![None; self.request.tensors.len()];
        for ((group, _), offset) in merger.blocks().into_iter().zip(&mut offsets) {
            for (root, shift) in &group.members {
                root_offset[root.index()] = Some(offset + shift);
            }
        }
        let scratch = self.request.steps.iter().map(|step| offsets.by_ref().take(step.scratch.len()).collect()).collect();
        let offset = |index: usize| {
            let home = self.lifetimes.home(TensorId(index as u32));
            let root = home.root.index();
            let nowhere = self.request.tensors[root].place == Place::Arena && self.request.tensors[index].bytes == 0;
            root_offset[root].map(|offset| offset + home.offset).or(nowhere.then_some(0))
        };
        ((0..self.request.tensors.len()).map(offset).collect(), scratch)
    }

    /// Checks that tensors with imported offsets do not overlap while both are live, except in place.
    fn check_fixed(&self, pairs: &[Pair]) -> Result<(), PlanError> {
        let merger = self.merged(pairs);
        let (groups, blocks): (Vec<_>, Vec<_>) = merger.blocks().into_iter().unzip();
        let Some((first, second)) = fixed::conflict(&blocks) else {
            return Ok(());
        };
        let name = |block: usize| {
            let root = groups[block].members.first().map(|(root, _)| root.index());
            root.map_or(String::new(), |root| self.request.tensors[root].name.clone())
        };
        Err(PlanError::FixedConflict { first: name(first), second: name(second) })
    }
}
