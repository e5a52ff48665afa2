//! The schedules that were possible for each group, with their estimates: the chosen one, and the one without each technique.

mod estimate;

use super::options::Options;
use super::stages::frame::Frame;
use super::stages::grouped::Grouped;
use super::stages::work::Work;
use crate::diagnostic::Diagnostics;
use crate::fuse::Group;
use crate::ir::Function;
use crate::machine::Machine;
use crate::parallel;
use crate::schedule::technique::Row;
use crate::schedule::{TECHNIQUES, Unsupported};
use estimate::Written;
pub use estimate::{Cost, Estimate};

/// The processor that a schedule is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Processor {
    /// Number of the level in [`Lowered::levels`](super::Lowered::levels).
    Cpu(usize),
    /// Name of the profile.
    Gpu(&'static str),
}

/// The schedules of a group on a CPU level, or on a GPU if the group is marked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Possible {
    /// Source operators: position, and name in the file's vocabulary.
    pub operators: Vec<(u32, String)>,
    /// The processor.
    pub of: Processor,
    /// The chosen schedule.
    pub chosen: Estimate,
    /// Schedules without one technique, if their kernels differ from the chosen ones.
    pub others: Vec<Other>,
}

/// A schedule without a technique.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// Name of the technique.
    pub technique: &'static str,
    /// The schedule.
    pub estimate: Estimate,
}

/// Lists the schedules of all groups of a method, for each CPU level, and for the GPU if a group is marked for it.
///
/// # Errors
/// A diagnostic for each group without a schedule.
pub(super) fn of_method(frame: &Frame<'_>, grouped: &Grouped) -> Result<Vec<Possible>, Diagnostics> {
    let work = grouped.work();
    let groups: Vec<&Group> = work.iter().filter_map(|work| if let Work::Group(group) = work { Some(*group) } else { None }).collect();
    let of_group = |&group: &&Group| {
        let is_for_gpu = group.is_for_gpu(&grouped.function, frame.module);
        let machines = frame.machines.iter().enumerate().filter(|(_, machine)| is_for_gpu || !frame.is_on_device(machine));
        let of_machine = |(level, &machine)| of_machine(frame, &grouped.function, group, (level, machine));
        machines.map(of_machine).collect::<Result<Vec<_>, _>>().map_err(|error| frame.unsupported(&grouped.function, group, &error))
    };
    let (mut found, mut failures) = (vec![], vec![]);
    for result in parallel::map(&groups, of_group) {
        match result {
            Ok(levels) => found.extend(levels),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(found) } else { Err(Diagnostics(failures)) }
}

fn of_machine(
    frame: &Frame<'_>,
    function: &Function,
    group: &Group,
    (level, machine): (usize, &'static Machine),
) -> Result<Possible, Unsupported> {
    let chosen = Written::new(frame, function, group, machine)?;
    let kernels = chosen.text();
    let without = |row: &Row| {
        let options = Options { techniques: frame.options.techniques.without(row.technique), ..frame.options };
        let frame = Frame { options, ..*frame };
        let other = Written::new(&frame, function, group, machine)?;
        let differs = other.text() != kernels;
        Ok(differs.then(|| Other { technique: row.name, estimate: other.estimate(&frame, function, machine) }))
    };
    let others = TECHNIQUES.iter().filter_map(|row| without(row).transpose()).collect::<Result<_, _>>()?;
    let gpu = frame.options.gpu.filter(|_| frame.is_on_device(machine));
    let of = gpu.map_or(Processor::Cpu(level), |gpu| Processor::Gpu(gpu.level));
    Ok(Possible { operators: operators(frame, function, group), of, chosen: chosen.estimate(frame, function, machine), others })
}

/// Returns the source operators of a group, each once.
fn operators(frame: &Frame<'_>, function: &Function, group: &Group) -> Vec<(u32, String)> {
    let mut found = vec![];
    for source in group.insts.iter().filter_map(|&inst| function.insts[inst].source) {
        let source = &frame.module.sources[source];
        let operator = (source.operator, source.operator_name.clone());
        if !found.contains(&operator) {
            found.push(operator);
        }
    }
    found
}
