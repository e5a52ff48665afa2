//! Steps of the planner's request, one for each item of the list.

use super::tensors::Tensors;
use crate::lower::stages::chosen::Item;
use crate::lower::stages::extents::Ends;
use crate::lower::stages::grouped::StatePlace;
use crate::lower::stages::work::Work;
use crate::plan::Step;
use crate::schedule::Requirements;

/// Makes the planner's steps of a list.
pub(in crate::lower) fn of_list(items: &[Item<'_>], tensors: &mut Tensors<'_>, ends: &Ends<'_>) -> Vec<Step> {
    let states = &tensors.resolver.grouped.states;
    let mut steps: Vec<Step> = Vec::new();
    let mut loops = Vec::new();
    for Item { work, needs, .. } in items {
        let step = match work {
            Work::Group(group) => tensors.group_step(group, needs),
            // The external function may have effects, so no step moves across it.
            Work::External(group) => Step { barrier: true, ..tensors.group_step(group, &Requirements::default()) },
            Work::Enter => {
                let entered = states.iter().map(|s| s.flow.entry).chain(ends.entered.iter().copied());
                let writes = entered.map(|value| tensors.id(value)).collect();
                Step { writes, ..tensors.barrier("enter", []) }
            }
            Work::Moves(moves) => tensors.moves_step(moves),
            Work::Test(condition) => tensors.barrier("if", [*condition]),
            Work::Check(condition) => tensors.barrier("while", [*condition]),
            Work::Else(_) | Work::End => tensors.barrier("end", []),
            Work::Loop => {
                loops.push(steps.len());
                tensors.barrier("loop", [])
            }
            Work::Repeat(moves) => {
                let start = loops.pop().unwrap_or(0);
                let mut step = tensors.barrier("repeat", moves.iter().map(|m| m.to));
                step.reads.extend(tensors.brought_in(&steps[start..]));
                step
            }
            Work::Leave => tensors.barrier("leave", ends.read().chain(states.iter().map(StatePlace::last))),
        };
        steps.push(step);
    }
    steps
}
