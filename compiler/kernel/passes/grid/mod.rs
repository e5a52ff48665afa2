//! Conversion of a kernel for a machine that runs many positions at the same time. Rounds of its loops become positions of grids.
//!
//! Schedules write loops, and mark those whose rounds may run in any order, and at the same time. The positions of nested loops multiply. Independent
//! loops in a row add up, for example whole vectors and the rest of a row. Dependent loops become **launches**: kernels that run one after another. Values
//! that several positions need are computed by each of them, if this takes only arithmetic and loads.
//!
//! A mark says nothing about loops in a row, about values that positions compute again, or about a loop around that stays in order. The places of
//! accesses decide this (`kernel/dependence/`). They also check the marks: debug builds find no independent loop without a mark ([`unmarked`]).
//!
//! First, kernels are rewritten into forms in which more accesses are found to be independent (`normal.rs`).
//!
//! The rounds of one workgroup can be chosen freely: they are rounds that read the same places (`uniform.rs`).
//!
//! If a loop ends at a number known only at run time, there are positions for the maximum number of rounds. Positions beyond its end do nothing. A
//! separate kernel computes how many workgroups are needed (`counts.rs`).
//!
//! A kernel without such a loop has one position. It is correct, but slow. Few positions with long rows become workgroups (`team.rs`). If the lanes
//! of a workgroup read distant rows, they first copy these to shared memory (`shared_rows/`).

mod chain;
mod counts;
mod emit;
mod limits;
mod normal;
mod shared_rows;
mod team;
mod tree;
mod uniform;
mod used;
mod writes;

#[cfg(test)]
mod tests;

use super::whole::{in_order, of_all_rounds};
use super::{COMMON, DEAD, INVARIANTS, KNOWN};
use crate::dependence::Places;
use crate::intervals::Assumed;
use crate::verify::verify;
use crate::*;
use chain::Chain;
pub use counts::Counts;
use emit::Writer;
use limits::MOST_POSITIONS;
pub use limits::WORKGROUP;
use rustc_hash::FxHashSet;
pub use shared_rows::with_shared_rows;
pub use team::team;
use tree::{Independence, Item, Planner};
use used::only_used;

/// A kernel with a grid. It does the work of some loops of a kernel, after the launches before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: Kernel,
    /// Number of the original kernel's pointer parameter, for each pointer parameter. `None` for the status, which comes last.
    pub pointers: Vec<Option<usize>>,
    /// Computation of the number of workgroups, if it depends on loaded numbers.
    pub counts: Option<Counts>,
}

/// Splits a verified kernel with these integer parameters into kernels with grids, which run one after another. `assumed` are facts about its
/// buffers. Returns `None` if a grid would have too many positions.
///
/// # Panics
/// In debug builds, if a kernel breaks a rule of the language.
pub fn launches(kernel: &Kernel, integers: &[i64], assumed: &Assumed, places: &Places) -> Option<Vec<Launch>> {
    let kernel = with_numbers(kernel, integers);
    let mut planner = Planner::new(&kernel, assumed, places, Independence::Marks);
    let launches = planner.launches();
    let is_grid = |items: &Vec<Item>| items.iter().map(Item::positions).fold(0, u64::saturating_add) <= MOST_POSITIONS;
    launches.iter().all(is_grid).then(|| launches.iter().map(|items| launch(&kernel, &planner, items)).collect())
}

/// Returns the counters of loops whose rounds are independent by the places of their accesses, but that are not marked. The parameters are those of
/// [`launches`].
pub fn unmarked(kernel: &Kernel, integers: &[i64], assumed: &Assumed, places: &Places) -> Vec<Value> {
    let kernel = with_numbers(kernel, integers);
    let mut planner = Planner::new(&kernel, assumed, places, Independence::Places);
    let launches = planner.launches();
    let mut found = Vec::new();
    launches.iter().flatten().for_each(|item| item.unmarked(&kernel.body, &mut found));
    found
}

/// Replaces the integer parameters of a kernel by constants, and simplifies it.
fn with_numbers(kernel: &Kernel, integers: &[i64]) -> Kernel {
    let mut kernel = of_all_rounds(kernel, integers);
    (KNOWN.run)(&mut kernel);
    normal::without_rests(&mut kernel);
    (KNOWN.run)(&mut kernel);
    normal::loops_outward(&mut kernel);
    // Loop bounds are then computed before all loops, where possible. The analysis of run-time rounds depends on this.
    if has_open_loops(&kernel) {
        (INVARIANTS.run)(&mut kernel);
    }
    kernel
}

/// Tests whether some loop begins or ends at a value known only at run time.
fn has_open_loops(kernel: &Kernel) -> bool {
    let constants = kernel.statements().filter(|statement| matches!(statement.inst, Inst::Constant { .. }));
    let known: FxHashSet<Value> = constants.flat_map(|statement| &statement.results).copied().collect();
    let is_open = |inst: &Inst| matches!(inst, Inst::For { start, end, .. } if !known.contains(start) || !known.contains(end));
    kernel.statements().any(|statement| is_open(&statement.inst))
}

fn launch(kernel: &Kernel, planner: &Planner<'_>, items: &[Item]) -> Launch {
    let loops = &planner.loops;
    let writer = Writer::new(loops);
    let ((body, types), positions, counts) = match uniform::chains(loops, items) {
        Some(chains) => {
            let chains = counts::ordered(chains, |chain| Counts::of_chain(loops, chain), Chain::groups);
            let groups = chains.iter().map(Chain::groups).sum::<u64>();
            (writer.chains(&chains), groups * u64::from(WORKGROUP), Counts::of_chains(loops, &chains))
        }
        None => {
            let items = counts::ordered(items.to_vec(), |item| Counts::of_item(loops, item), Item::positions);
            let positions = items.iter().map(Item::positions).sum();
            (writer.body(&items), positions, Counts::of_items(loops, &items))
        }
    };
    let grid = Some(Grid { positions, workgroup: WORKGROUP });
    let mut written =
        Kernel { name: kernel.name.clone(), buffers: kernel.buffers.clone(), integers: 1, grid, types, body, proof: Proof::Alone };
    in_order(&mut written);
    for pass in [COMMON, DEAD] {
        (pass.run)(&mut written);
    }
    let pointers = only_used(&mut written);
    debug_assert_eq!(verify(&written), Ok(()), "{written}");
    Launch { kernel: written, pointers, counts }
}
