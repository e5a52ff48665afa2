//! A kernel for a machine that runs many positions at the same time: the rounds of its loops become positions of grids.
//!
//! Schedules write loops. Rounds that never meet in an element, one of them writing it, can run in any order and at the same time. Where accesses
//! lie tells which do (`collide.rs`). Nested loops multiply; loops that follow each other and do not meet add up, such as whole vectors and the
//! rest of a row. Those that do meet are stages, a kernel each, which run one after another. What several positions need, and nothing but
//! computing or reading gives, each of them does for itself.
//!
//! Before that kernels are brought to forms that hide fewer such rounds (`normal.rs`).
//!
//! Which rounds are in one workgroup is free; those are that read the same (`uniform.rs`).
//!
//! Where a loop ends at a number that is known when the kernel runs, there are positions for the most rounds, and those beyond its end do nothing. A
//! kernel of its own computes how many workgroups are needed (`counts.rs`).
//!
//! A kernel of no such loop is one position. It is right, and slow. Where positions are few and go through long rows, workgroups take their place
//! (`team.rs`). Where lanes of a workgroup read rows that lie apart, they copy these together first (`staged/`).

mod accesses;
mod collide;
mod counts;
mod emit;
mod normal;
mod radix;
mod staged;
mod team;
mod tree;
mod uniform;
mod writes;

#[cfg(test)]
mod tests;

use super::{COMMON, DEAD, INVARIANTS, KNOWN};
use crate::kernel::intervals::Assumed;
use crate::kernel::verify::verify;
use crate::kernel::*;
pub use counts::Counts;
use emit::Writer;
use rustc_hash::FxHashSet;
use smallvec::smallvec;
pub use staged::staged;
pub use team::team;
use tree::{Item, Planner};
use uniform::Chain;

/// Positions of a workgroup: what runs well on most devices, and all of them allow.
pub const WORKGROUP: u32 = 64;

/// What workgroups in two dimensions of 65,535, the least that devices allow, and indices of 32 bits have room for.
const MOST_POSITIONS: u64 = 1 << 30;

/// A kernel with a grid that does a part of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The kernel.
    pub kernel: Kernel,
    /// For each of its pointer parameters the number of that of the kernel it is of; none for the status, which comes last.
    pub pointers: Vec<Option<usize>>,
    /// How many workgroups it needs, where that follows from numbers that it loads.
    pub counts: Option<Counts>,
}

/// Where pointer parameters are: for each the number of a memory, and its first byte there. What lies in different memories never overlaps.
pub type Places = Vec<(usize, u64)>;

/// Each of `parameters` pointer parameters in memory of its own.
pub fn apart(parameters: usize) -> Places {
    (0..parameters).map(|number| (number, 0)).collect()
}

/// Kernels with grids that one after another do what a verified kernel does whose integer parameters are these, and of whose buffers something is
/// assumed. None where there would be more positions than grids have.
///
/// # Panics
/// In debug builds, if one breaks a rule of the language.
pub fn stages(kernel: &Kernel, integers: &[i64], assumed: &Assumed, places: &Places) -> Option<Vec<Stage>> {
    let kernel = with_numbers(kernel, integers);
    let mut planner = Planner::new(&kernel, assumed, places);
    let stages = planner.stages();
    let is_grid = |items: &Vec<Item>| items.iter().map(Item::positions).fold(0, u64::saturating_add) <= MOST_POSITIONS;
    stages.iter().all(is_grid).then(|| stages.iter().map(|items| stage(&kernel, &planner, items)).collect())
}

/// The kernel with its integer parameters as constants, and what follows from them.
fn with_numbers(kernel: &Kernel, integers: &[i64]) -> Kernel {
    let mut kernel = kernel.clone();
    let constant =
        |(&param, &number): (&Value, &i64)| Statement { results: smallvec![param], inst: Inst::Constant { bits: number as u64 } };
    let constants: Vec<Statement> = kernel.body.params.iter().zip(integers).map(constant).collect();
    kernel.body.statements.splice(0..0, constants);
    kernel.body.params.clear();
    kernel.integers = 0;
    (KNOWN.run)(&mut kernel);
    normal::without_rests(&mut kernel);
    (KNOWN.run)(&mut kernel);
    normal::loops_outward(&mut kernel);
    // What loops begin and end at is then computed before all of them where it can be: rounds that are known when the kernel runs are told apart by it.
    if has_open_loops(&kernel) {
        (INVARIANTS.run)(&mut kernel);
    }
    kernel
}

/// Whether some loop begins or ends at what is known when the kernel runs.
fn has_open_loops(kernel: &Kernel) -> bool {
    let constants = kernel.statements().filter(|statement| matches!(statement.inst, Inst::Constant { .. }));
    let known: FxHashSet<Value> = constants.flat_map(|statement| &statement.results).copied().collect();
    let is_open = |inst: &Inst| matches!(inst, Inst::For { start, end, .. } if !known.contains(start) || !known.contains(end));
    kernel.statements().any(|statement| is_open(&statement.inst))
}

fn stage(kernel: &Kernel, planner: &Planner<'_>, items: &[Item]) -> Stage {
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
    let mut written = Kernel { name: kernel.name.clone(), buffers: kernel.buffers.clone(), integers: 1, grid, types, body };
    for pass in [COMMON, DEAD] {
        (pass.run)(&mut written);
    }
    let pointers = only_used(&mut written);
    debug_assert_eq!(verify(&written), Ok(()), "{written}");
    Stage { kernel: written, pointers, counts }
}

/// Removes buffers that nothing touches, and adds the status if it may fail. Gives what the pointer parameters were.
fn only_used(kernel: &mut Kernel) -> Vec<Option<usize>> {
    let used: FxHashSet<Buffer> = kernel.statements().filter_map(|statement| statement.inst.buffer()).collect();
    let params = kernel.pointer_params().map(|(buffer, _)| buffer).enumerate();
    let mut pointers: Vec<Option<usize>> = params.filter(|(_, buffer)| used.contains(buffer)).map(|(number, _)| Some(number)).collect();
    kernel.retain_buffers(|buffer| used.contains(&buffer));
    if kernel.may_fail() {
        let status = BufferData { name: "status".into(), kind: BufferKind::Output, lane: Lane::I32, elements: 1, alignment: 4 };
        kernel.buffers.push(status);
        pointers.push(None);
    }
    pointers
}
