//! Tensors and scratch memory in the application's areas. The first area is the arena. Tensors in other areas leave the request.

use super::checked::PlanFault;
use super::lending::ScratchBuffer;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::lower::division::held::held;
use crate::lower::lowered::Peak;
use crate::lower::stages::chosen::Item;
use crate::lower::stages::frame::{Frame, bug};
use crate::lower::stages::grouped::Grouped;
use crate::lower::stages::memory_map::{memory_map, peak};
use crate::lower::stages::work::Work;
use crate::plan::{self, AreaPlan, Lifetimes, PlaceError, Placement, Plan, Request, Shortage, TensorId, thousands};
use crate::program::{Address, AreaUse, InAreas};

/// A method's request and plan of the first area, and what lies in the others.
pub(in crate::lower) struct Split {
    pub request: Request,
    pub plan: Plan,
    /// Storages with their addresses.
    pub places: Vec<(TensorId, Address)>,
    /// Scratch buffers, by step and number, with their addresses.
    pub scratch: Vec<(ScratchBuffer, Address)>,
    /// Bytes of each area beside the first one.
    pub bytes: Vec<u64>,
    /// Figures for reports.
    pub in_areas: InAreas,
}

/// Divides a request among the areas of the options. The steps have their final order.
///
/// # Errors
/// A diagnostic if the areas are too small. A bug if the planner refuses, or if a placement does not pass its check.
pub(in crate::lower) fn split(frame: &Frame<'_>, grouped: &Grouped, items: &[Item<'_>], request: &Request) -> Result<Split, Diagnostics> {
    if let Some(error) = without_state(frame) {
        return Err(error.into());
    }
    let areas = frame.options.areas.for_plan(frame.variables.state_bytes(), frame.variables.alignment);
    let mut placement = match plan::place(request, &areas) {
        Ok(placement) => placement,
        Err(PlaceError::Plan(error)) => return Err(bug(PlanFault::from(error).to_string()).into()),
        Err(PlaceError::Shortage(shortage)) => return Err(too_small(frame, grouped, items, &shortage).into()),
    };
    if frame.options.threads.count > 1 {
        for (own, area) in placement.areas.iter_mut().zip(&areas) {
            let found = held(&own.request, &own.plan, &|_| false);
            own.plan = found.filter(|found| found.arena_bytes <= area.bytes).unwrap_or_else(|| own.plan.clone());
        }
    }
    let checked = plan::check_areas(request, &areas, &placement);
    checked.map_err(|error| bug(PlanFault::from(error).to_string()))?;
    of_placement(frame, placement)
}

fn of_placement(frame: &Frame<'_>, placement: Placement) -> Result<Split, Diagnostics> {
    let peaks: Vec<Peak> = placement.areas.iter().map(peak_of).collect::<Result<_, _>>()?;
    let in_areas = InAreas {
        areas: frame
            .options
            .areas
            .list()
            .iter()
            .zip(placement.areas.iter().zip(peaks))
            .map(|(area, (own, peak))| AreaUse {
                name: area.name().to_owned(),
                size: area.bytes,
                rank: area.rank.word(),
                bytes: own.plan.arena_bytes,
                weights: 0,
                moved: own.moved,
                peak: peak.tensors,
            })
            .collect(),
        cost: placement.cost,
        lower_bound: placement.lower_bound,
        optimal: placement.optimal,
    };
    let (mut places, mut scratch, mut bytes) = (vec![], vec![], vec![]);
    for (number, own) in (0..).zip(&placement.areas[1..]) {
        places.extend(own.storages().map(|(tensor, offset)| (tensor, Address::Area(number, offset))));
        scratch.extend(own.scratch().map(|(step, buffer, offset)| (ScratchBuffer { step, number: buffer }, Address::Area(number, offset))));
        bytes.push(own.plan.arena_bytes);
    }
    let first = placement.areas.into_iter().next().expect("there is a first area");
    Ok(Split { request: first.request, plan: first.plan, places, scratch, bytes, in_areas })
}

/// Returns what is live in an area at its peak.
///
/// # Errors
/// A bug if the area's request is malformed.
fn peak_of(own: &AreaPlan) -> Result<Peak, Diagnostics> {
    let lifetimes = Lifetimes::new(&own.request).map_err(|error| bug(PlanFault::from(error).to_string()))?;
    Ok(peak(&own.plan, &memory_map(&own.request, &own.plan, &lifetimes, vec![])))
}

/// Makes the diagnostic about an arena that is smaller than the state. `None` if the state fits.
fn without_state(frame: &Frame<'_>) -> Option<Diagnostic> {
    let (arena, state) = (frame.options.areas.list().first()?, frame.variables.state_bytes());
    let (name, bytes) = (arena.name(), thousands(arena.bytes));
    let error = Diagnostic::new(codes::AREAS_TOO_SMALL, format!("the state does not fit into {name}, the first memory area"))
        .expected(format!("{name} of at least {} B", thousands(state)), format!("{name} of {bytes} B"))
        .help("enlarge it, or list a larger area first; the first one is the arena, which holds the state")
        .in_function(&frame.method.name);
    (state > arena.bytes).then_some(error)
}

/// Maximum number of tensors that a message names.
const MOST_NAMED: usize = 5;

/// Makes the diagnostic about areas that are too small. It names what did not fit, by how much, and at which operator.
fn too_small(frame: &Frame<'_>, grouped: &Grouped, items: &[Item<'_>], shortage: &Shortage) -> Diagnostic {
    let areas = frame.options.areas.list();
    let sizes: Vec<String> = areas.iter().map(|area| format!("{} of {} B", area.name(), thousands(area.bytes))).collect();
    let named = |(name, bytes): &(String, u64)| format!("\n{} B  {}", thousands(*bytes), name.split(';').next().unwrap_or(name));
    let mut left: String = shortage.left.iter().take(MOST_NAMED).map(named).collect();
    if let Some(more) = shortage.left.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        left.push_str(&format!("\nand {more} more"));
    }
    let state = frame.variables.state_bytes();
    let area = areas.get(shortage.area).map_or("", |area| area.name());
    let found = format!(
        "{area} lacks {} B; {} B of {} are the state. Not placed:{left}",
        thousands(shortage.missing),
        thousands(state),
        areas[0].name()
    );
    let mut error = Diagnostic::new(codes::AREAS_TOO_SMALL, "the tensors do not fit into the memory areas")
        .expected(sizes.join(", "), found)
        .help("enlarge an area, or add a slow one; `--plan-effort max` searches for a smaller plan")
        .in_function(&frame.method.name);
    if let Some(Work::Group(group) | Work::External(group)) = items.get(shortage.step).map(|item| item.work) {
        let source = group.insts.iter().find_map(|&inst| grouped.function.insts[inst].source);
        if let Some(source) = source.map(|source| &frame.module.sources[source]) {
            error = error.at_operator(source.operator, &source.operator_name);
        }
    }
    error
}
