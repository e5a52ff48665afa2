//! The second stage: every group gets a schedule for each level. The schedules are kept until they write their kernels.

use super::frame::Frame;
use super::grouped::Grouped;
use super::work::Work;
use crate::diagnostic::Diagnostics;
use crate::fuse::Group;
use crate::lower::search::needs::KnownNeeds;
use crate::machine::{Alignment, Machine};
use crate::parallel;
use crate::schedule::outer::Choice;
use crate::schedule::{Requirements, Unsupported};

/// An entry of the list of work, with its schedules and their needs.
pub(in crate::lower) struct Item<'a> {
    pub work: Work<'a>,
    /// Needs of all schedules of a group. Empty for other work.
    pub needs: Requirements,
    /// The schedules of a group, one for each machine. Empty for other work, and in a trial.
    pub schedules: Vec<Scheduled<'a>>,
}

/// A schedule of a group for one machine.
pub(in crate::lower) struct Scheduled<'a> {
    pub choice: Choice<'a>,
    /// The needs of the whole kernel, undivided.
    pub needs: Requirements,
    /// The number of ranges that get scratch memory.
    pub scratch_ranges: u64,
    /// `true` for a schedule of a GPU. Its working memory is not in the arena.
    pub is_on_device: bool,
}

/// Purpose of a choice of schedules.
#[derive(Clone, Copy)]
pub(in crate::lower) enum Purpose<'k> {
    /// A trial plan. Only the needs of groups are kept, for the next trial.
    Trial(&'k KnownNeeds),
    /// The final plan. The schedules are kept to write kernels.
    Kernels,
}

/// Chooses the schedules of all groups in a list.
///
/// # Errors
/// One diagnostic for each group without a schedule.
pub(in crate::lower) fn choose<'a>(
    frame: &Frame<'a>,
    grouped: &'a Grouped,
    list: &[Work<'a>],
    purpose: Purpose<'_>,
) -> Result<Vec<Item<'a>>, Diagnostics> {
    let found = parallel::map(list, |&work| match work {
        Work::Group(group) => of_group(frame, grouped, group, purpose).map_err(|error| frame.unsupported(&grouped.function, group, &error)),
        _ => Ok(Item { work, needs: Requirements::default(), schedules: vec![] }),
    });
    let (mut items, mut failures) = (Vec::with_capacity(list.len()), Vec::new());
    for result in found {
        match result {
            Ok(item) => items.push(item),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(items) } else { Err(Diagnostics(failures)) }
}

fn of_group<'a>(frame: &Frame<'a>, grouped: &'a Grouped, group: &'a Group, purpose: Purpose<'_>) -> Result<Item<'a>, Unsupported> {
    let (work, alignment) = (Work::Group(group), frame.variables.alignment);
    if let Purpose::Trial(known) = purpose {
        let needs = || Ok(together(&scheduled(frame, grouped, group)?, alignment));
        let needs = if frame.is_special(group) { needs()? } else { known.of(group, needs)? };
        return Ok(Item { work, needs, schedules: vec![] });
    }
    let schedules = scheduled(frame, grouped, group)?;
    Ok(Item { work, needs: together(&schedules, alignment), schedules })
}

/// Returns the schedules of a group, one for each machine.
fn scheduled<'a>(frame: &Frame<'a>, grouped: &'a Grouped, group: &'a Group) -> Result<Vec<Scheduled<'a>>, Unsupported> {
    let of_machine = |&machine: &&'static Machine| {
        let choice = Choice::new(frame.context(&grouped.function, group, machine))?;
        let is_on_device = frame.is_on_device(machine);
        Ok(Scheduled { needs: choice.requirements(), scratch_ranges: choice.scratch_ranges(), is_on_device, choice })
    };
    frame.machines.iter().map(of_machine).collect()
}

/// Combines the requirements of all machines. Scratch memory of a GPU does not count.
fn together(schedules: &[Scheduled<'_>], alignment: Alignment) -> Requirements {
    schedules
        .iter()
        .map(|schedule| {
            let scratch = if schedule.is_on_device { vec![] } else { schedule.needs.scratch.clone() };
            Requirements { scratch, ..schedule.needs.clone() }.for_ranges(schedule.scratch_ranges, alignment)
        })
        .reduce(Requirements::of_both)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::testing::{input, negated, with_groups};
    use crate::machine::MACHINES;

    #[test]
    fn a_trial_finds_what_the_kernels_need() {
        with_groups(
            &[&MACHINES[0].capabilities, &MACHINES[1].capabilities],
            |b| {
                let x = input(b, &[4, 4]);
                let y = negated(b, x);
                vec![b.transpose(y, vec![1, 0]).expect("two dimensions")]
            },
            |frame, grouped| {
                let list = grouped.work();
                let known = KnownNeeds::default();
                let choose = |purpose| choose(frame, grouped, &list, purpose).expect("floats");
                let (tried, kept) = (choose(Purpose::Trial(&known)), choose(Purpose::Kernels));
                assert_eq!(tried.len(), list.len());
                for (tried, kept) in tried.iter().zip(&kept) {
                    assert_eq!(tried.needs, kept.needs);
                    let levels = if matches!(kept.work, Work::Group(_)) { 2 } else { 0 };
                    assert_eq!((tried.schedules.len(), kept.schedules.len()), (0, levels));
                }
            },
        );
    }
}
