//! A walk over the steps of a method and all nested steps.

use super::address::Address;
use super::call::Call;
use super::division::Division;
use super::step::{External, Parallel, Step, Tasks};

/// An event of a walk over steps, in program order.
#[derive(Clone, Copy, Debug)]
pub enum Visit<'a> {
    /// A kernel call.
    Call(&'a Call),
    /// A custom operator.
    External(&'a External),
    /// Start of a branch on the byte at an address, then the steps when true.
    If(Address),
    /// Start of the steps when false.
    Else,
    /// Start of a loop, then its head.
    While,
    /// Start of the body of a loop, which runs while the byte at the address is not 0.
    Do(Address),
    /// Start of calls that tasks divide.
    Parallel(&'a Parallel),
    /// Start of a region of the device, then the host steps that do the same.
    Region(usize),
    /// End of a branch, a loop, calls in parallel or a region.
    End,
}

/// Starts a walk over steps and all nested steps.
pub fn walk(steps: &[Step]) -> Walk<'_> {
    Walk { open: vec![OpenList { steps: steps.iter(), second: None }] }
}

/// Returns the kernel calls in steps, each once, even in a loop.
pub fn calls(steps: &[Step]) -> Vec<&Call> {
    let call = |visit| if let Visit::Call(call) = visit { Some(call) } else { None };
    walk(steps).filter_map(call).collect()
}

/// Returns the number of calls of each group of calls whose ranges run together.
pub fn calls_together(steps: &[Step]) -> Vec<usize> {
    let ranges = |run: &&Parallel| matches!(run.tasks, Tasks::Ranges { .. });
    parallel(steps).filter(ranges).map(|run| run.calls.len()).collect()
}

/// Returns the number of calls of each stream, for each step with streams.
pub fn calls_in_streams(steps: &[Step]) -> Vec<Vec<usize>> {
    let lists = |run: &&Parallel| matches!(run.tasks, Tasks::Lists { .. });
    parallel(steps).filter(lists).map(|run| run.lists().map(<[_]>::len).collect()).collect()
}

fn parallel(steps: &[Step]) -> impl Iterator<Item = &Parallel> {
    walk(steps).filter_map(|visit| if let Visit::Parallel(run) = visit { Some(run) } else { None })
}

/// Returns the calls of functions of the application.
pub fn externals(steps: &[Step]) -> Vec<&External> {
    let external = |visit| if let Visit::External(external) = visit { Some(external) } else { None };
    walk(steps).filter_map(external).collect()
}

/// Returns the numbers of the device's regions in steps, each once, even in a loop.
pub fn regions(steps: &[Step]) -> Vec<usize> {
    let region = |visit| if let Visit::Region(number) = visit { Some(number) } else { None };
    walk(steps).filter_map(region).collect()
}

/// Returns the kernel calls in steps, each with `true` if it is inside a region of the device.
pub fn calls_of_sides(steps: &[Step]) -> Vec<(&Call, bool)> {
    let (mut calls, mut open) = (Vec::new(), Vec::new());
    for visit in walk(steps) {
        match visit {
            Visit::Call(call) => calls.push((call, open.contains(&true))),
            Visit::Region(_) => open.push(true),
            Visit::If(_) | Visit::While | Visit::Parallel(_) => open.push(false),
            Visit::End => drop(open.pop()),
            Visit::External(_) | Visit::Else | Visit::Do(_) => {}
        }
    }
    calls
}

/// Returns the lists of steps that run in their order: these steps, and the lists in branches, loops and regions. Calls that tasks divide are no such
/// list. A list comes before the lists inside it.
pub fn lists(steps: &[Step]) -> Vec<&[Step]> {
    let mut found = vec![steps];
    let mut next = 0;
    while let Some(&list) = found.get(next) {
        next += 1;
        for step in list {
            match step {
                Step::Call(_) | Step::External(_) | Step::Parallel(_) => {}
                Step::Region { otherwise, .. } => found.push(otherwise),
                Step::If { .. } | Step::While { .. } => found.extend(step.arms().into_iter().flatten()),
            }
        }
    }
    found
}

/// Changes the lists that [`lists`] returns, each after the lists inside it.
pub fn change_lists(steps: &mut Vec<Step>, change: &mut impl FnMut(&mut Vec<Step>)) {
    for step in steps.iter_mut() {
        match step {
            Step::Call(_) | Step::External(_) | Step::Parallel(_) => {}
            Step::Region { otherwise, .. } => change_lists(otherwise, change),
            Step::If { .. } | Step::While { .. } => step.arms_mut().into_iter().flatten().for_each(|arm| change_lists(arm, change)),
        }
    }
    change(steps);
}

/// Changes all steps, each before the steps inside it.
pub fn change_steps(steps: &mut [Step], change: &mut impl FnMut(&mut Step)) {
    for step in steps {
        change(step);
        match step {
            Step::Call(_) | Step::External(_) => {}
            Step::Region { otherwise: inner, .. } | Step::Parallel(Parallel { calls: inner, .. }) => change_steps(inner, change),
            Step::If { .. } | Step::While { .. } => step.arms_mut().into_iter().flatten().for_each(|arm| change_steps(arm, change)),
        }
    }
}

/// Changes every kernel call in steps.
pub fn change_calls(steps: &mut [Step], change: &mut impl FnMut(&mut Call)) {
    change_steps(steps, &mut |step| {
        if let Step::Call(call) = step {
            change(call)
        }
    });
}

/// Changes every address in steps, except constants that functions of the application receive by number.
pub fn change_addresses(steps: &mut [Step], change: &mut impl FnMut(&mut Address)) {
    change_steps(steps, &mut |step| match step {
        Step::Call(call) => {
            call.arguments.iter_mut().for_each(&mut *change);
            if let Division::Blocks(blocks) = &mut call.division {
                blocks.extents.iter_mut().for_each(|extent| change(&mut extent.0));
            }
            call.division.ranges_mut().into_iter().flat_map(|ranges| &mut ranges.private).for_each(|own| change(&mut own.second));
            call.origin.results.iter_mut().for_each(|written| change(&mut written.address));
        }
        Step::External(external) => {
            for tensor in external.inputs.iter_mut().chain(&mut external.outputs) {
                [&mut tensor.address, &mut tensor.scale, &mut tensor.zero_point].into_iter().for_each(&mut *change);
            }
        }
        Step::If { condition, .. } | Step::While { condition, .. } => change(condition),
        Step::Region { .. } | Step::Parallel(_) => {}
    });
}

/// Iterator of [`walk`].
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// The open lists of steps, the innermost last.
    open: Vec<OpenList<'a>>,
}

#[derive(Clone, Debug)]
struct OpenList<'a> {
    steps: std::slice::Iter<'a, Step>,
    /// The second list of the same branch or loop, and the event at its start.
    second: Option<(Visit<'a>, &'a [Step])>,
}

impl<'a> Iterator for Walk<'a> {
    type Item = Visit<'a>;

    fn next(&mut self) -> Option<Visit<'a>> {
        match self.open.last_mut()?.steps.next() {
            Some(Step::Call(call)) => Some(Visit::Call(call)),
            Some(Step::External(external)) => Some(Visit::External(external)),
            Some(Step::If { condition, then, otherwise }) => {
                self.open.push(OpenList { steps: then.iter(), second: Some((Visit::Else, otherwise)) });
                Some(Visit::If(*condition))
            }
            Some(Step::While { head, condition, body }) => {
                self.open.push(OpenList { steps: head.iter(), second: Some((Visit::Do(*condition), body)) });
                Some(Visit::While)
            }
            Some(Step::Parallel(run)) => {
                self.open.push(OpenList { steps: run.calls.iter(), second: None });
                Some(Visit::Parallel(run))
            }
            Some(Step::Region { region, otherwise }) => {
                self.open.push(OpenList { steps: otherwise.iter(), second: None });
                Some(Visit::Region(*region))
            }
            None => match self.open.pop()?.second {
                Some((visit, second)) => {
                    self.open.push(OpenList { steps: second.iter(), second: None });
                    Some(visit)
                }
                // The end of a list ends the walk or a step with nested steps.
                None => (!self.open.is_empty()).then_some(Visit::End),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn call(kernel: usize) -> Step {
        Step::Call(Call { kernel, arguments: vec![], bounds: vec![], division: Division::Whole, origin: Origin::default() })
    }

    /// A loop in a branch between two calls, and streams.
    fn nested() -> Vec<Step> {
        let body = vec![Step::Parallel(Parallel { calls: vec![call(2), call(3)], tasks: Tasks::Ranges { rounds: 8, most: 2 } })];
        let inner = Step::While { head: vec![call(1)], condition: Address::Scratch(4), body };
        let tasks = Tasks::Lists { starts: vec![0, 1] };
        let streams = Step::Parallel(Parallel { calls: vec![call(5), call(6), call(7)], tasks });
        vec![call(0), Step::If { condition: Address::Scratch(0), then: vec![], otherwise: vec![inner] }, call(4), streams]
    }

    #[test]
    fn a_walk_comes_to_everything_in_order() {
        let text = |visit: Visit<'_>| match visit {
            Visit::Call(call) => call.kernel.to_string(),
            Visit::Parallel(run) => format!("{:?}", run.tasks),
            other => format!("{other:?}"),
        };
        let found: Vec<String> = walk(&nested()).map(text).collect();
        assert_eq!(
            found,
            [
                "0",
                "If(Scratch(0))",
                "Else",
                "While",
                "1",
                "Do(Scratch(4))",
                "Ranges { rounds: 8, most: 2 }",
                "2",
                "3",
                "End",
                "End",
                "End",
                "4",
                "Lists { starts: [0, 1] }",
                "5",
                "6",
                "7",
                "End"
            ]
        );
        assert!(walk(&[]).next().is_none());
        assert_eq!(calls_together(&nested()), [2]);
        assert_eq!(calls_in_streams(&nested()), [[1, 2]]);
    }

    /// Calls that run one after another are in one list; a call of a stream is in none.
    #[test]
    fn lists_run_in_their_order() {
        let firsts = |steps: &[Step]| match steps.first() {
            Some(Step::Call(call)) => call.kernel.to_string(),
            Some(_) => format!("{} steps", steps.len()),
            None => "none".into(),
        };
        let mut steps = nested();
        assert_eq!(lists(&steps).into_iter().map(firsts).collect::<Vec<_>>(), ["0", "none", "1 steps", "1", "1 steps"]);
        let mut changed = vec![];
        change_lists(&mut steps, &mut |list| {
            changed.push(firsts(list));
            list.truncate(1);
        });
        assert_eq!(changed, ["none", "1", "1 steps", "1 steps", "0"]);
        assert_eq!(steps, [call(0)]);
    }

    #[test]
    fn every_call_can_be_changed() {
        let mut steps = nested();
        change_calls(&mut steps, &mut |call| call.kernel += 10);
        assert_eq!(calls(&steps).iter().map(|call| call.kernel).collect::<Vec<_>>(), [10, 11, 12, 13, 14, 15, 16, 17]);
    }
}
