//! The schedules that were possible for each group, with their estimates: the chosen one, and the one without each technique.

use super::options::Options;
use super::stages::frame::Frame;
use super::stages::grouped::Grouped;
use super::stages::work::Work;
use crate::diagnostic::Diagnostics;
use crate::fuse::Group;
use crate::ir::Function;
use crate::kernel::cost::instructions;
use crate::machine::Machine;
use crate::parallel;
use crate::schedule::outer::Choice;
use crate::schedule::piece::{Piece, PieceSlices};
use crate::schedule::{TECHNIQUES, Unsupported};

/// The schedules of a group on a CPU level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Possible {
    /// Source operators: position, and name in the file's vocabulary.
    pub operators: Vec<(u32, String)>,
    /// Number of the level in [`Lowered::levels`](super::Lowered::levels).
    pub level: usize,
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

/// A schedule with its cost, as the compiler estimates it. Dynamic dimensions are at their bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Description of the schedule and its choices.
    pub schedule: String,
    /// Instructions of a call of the method. A loop whose bounds are computed counts with the most rounds that it can have, so this is an upper bound.
    pub instructions: u64,
    /// Bytes of scratch memory.
    pub scratch_bytes: u64,
}

/// A schedule, and the text of its kernels.
struct Written {
    estimate: Estimate,
    kernels: String,
}

/// Lists the schedules of all groups of a method, for each CPU level.
///
/// # Errors
/// A diagnostic for each group without a schedule.
pub(super) fn of_method(frame: &Frame<'_>, grouped: &Grouped) -> Result<Vec<Possible>, Diagnostics> {
    let work = grouped.work();
    let groups: Vec<&Group> = work.iter().filter_map(|work| if let Work::Group(group) = work { Some(*group) } else { None }).collect();
    let of_group = |&group: &&Group| {
        let cpus = frame.machines.iter().enumerate().filter(|(_, machine)| !frame.is_on_device(machine));
        let of_level = |(level, &machine)| of_level(frame, &grouped.function, group, (level, machine));
        cpus.map(of_level).collect::<Result<Vec<_>, _>>().map_err(|error| frame.unsupported(&grouped.function, group, &error))
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

fn of_level(
    frame: &Frame<'_>,
    function: &Function,
    group: &Group,
    (level, machine): (usize, &'static Machine),
) -> Result<Possible, Unsupported> {
    let chosen = written(frame, function, group, machine)?;
    let without = |row: &crate::schedule::technique::Row| {
        let options = Options { techniques: frame.options.techniques.without(row.technique), ..frame.options };
        let other = written(&Frame { options, ..*frame }, function, group, machine)?;
        let differs = other.kernels != chosen.kernels;
        Ok(differs.then_some(Other { technique: row.name, estimate: other.estimate }))
    };
    let others = TECHNIQUES.iter().filter_map(|row| without(row).transpose()).collect::<Result<_, _>>()?;
    Ok(Possible { operators: operators(frame, function, group), level, chosen: chosen.estimate, others })
}

/// Writes the kernels of a group, without tensors in shared memory.
fn written(frame: &Frame<'_>, function: &Function, group: &Group, machine: &'static Machine) -> Result<Written, Unsupported> {
    let choice = Choice::new(frame.context(function, group, machine))?;
    let (needs, pieces) = (choice.requirements(), choice.pieces(&[])?);
    let cost = |piece: &Piece| {
        let whole = piece.extent.map_or(vec![], |rounds| vec![0, rounds as i64]);
        let calls = piece.slices.as_ref().map_or(1, PieceSlices::most_blocks);
        calls.saturating_mul(instructions(&piece.lowered.kernel, &whole, machine.vector_bytes().into()))
    };
    let mut schedules: Vec<&str> = pieces.iter().map(|piece| &piece.lowered.description[..]).collect();
    schedules.dedup();
    let estimate = Estimate {
        schedule: schedules.join("; "),
        instructions: pieces.iter().map(cost).fold(0, u64::saturating_add),
        scratch_bytes: needs.scratch.iter().chain(&needs.common).fold(0, |sum, &bytes| sum.saturating_add(bytes)),
    };
    Ok(Written { estimate, kernels: pieces.iter().map(|piece| piece.lowered.kernel.to_string()).collect() })
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
