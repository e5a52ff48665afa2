//! An independent check of a placement in several areas.
//!
//! All areas become one arena, one after the other. The replay of [`check`] then proves that steps compute the same there as with separate memory for
//! every storage. In addition, every storage and every scratch buffer must lie inside one area, and no area may hold more than its size.

use super::areas::{Area, Placement};
use super::check::{CheckError, check};
use super::request::{Place, Plan, Request};

/// Alignment of areas: that of the arena.
const ALIGNMENT: u64 = 64;

/// Checks a placement of a request.
///
/// # Errors
/// The first error of the plan. Offsets in messages count from the start of the first area.
pub fn check_areas(request: &Request, areas: &[Area], placement: &Placement) -> Result<(), CheckError> {
    if areas.len() != placement.areas.len() {
        return Err(CheckError::Shape);
    }
    let mut whole = Plan { offset: vec![None; request.tensors.len()], scratch: vec![], arena_bytes: 0, ..empty() };
    whole.scratch = request.steps.iter().map(|step| vec![u64::MAX; step.scratch.len()]).collect();
    for (number, (area, own)) in areas.iter().zip(&placement.areas).enumerate() {
        if own.plan.arena_bytes > area.bytes {
            return Err(CheckError::OutOfBounds { name: format!("area {number}"), offset: own.plan.arena_bytes });
        }
        if own.plan.offset.len() != request.tensors.len() || own.plan.scratch.len() != request.steps.len() {
            return Err(CheckError::Shape);
        }
        tensors(request, placement, number, &mut whole)?;
        scratch(request, placement, number, &mut whole)?;
        whole.arena_bytes = (whole.arena_bytes + own.plan.arena_bytes).next_multiple_of(ALIGNMENT);
    }
    check(request, &whole)
}

/// Adds the tensors of an area to the plan of all areas.
fn tensors(request: &Request, placement: &Placement, number: usize, whole: &mut Plan) -> Result<(), CheckError> {
    let own = &placement.areas[number];
    for (index, tensor) in request.tensors.iter().enumerate() {
        let Some(offset) = own.plan.offset[index] else { continue };
        let name = || tensor.name.clone();
        if offset.checked_add(tensor.bytes).is_none_or(|end| end > own.plan.arena_bytes) && tensor.bytes > 0 {
            return Err(CheckError::OutOfBounds { name: name(), offset });
        }
        let place = &mut whole.offset[index];
        if tensor.bytes > 0 && (place.is_some() || own.request.tensors[index].place != Place::Arena) {
            return Err(CheckError::Misplaced { name: name(), offset });
        }
        *place = Some(whole.arena_bytes + offset);
    }
    Ok(())
}

/// Adds the scratch buffers of an area to the plan of all areas.
fn scratch(request: &Request, placement: &Placement, number: usize, whole: &mut Plan) -> Result<(), CheckError> {
    let own = &placement.areas[number];
    for (index, step) in request.steps.iter().enumerate() {
        let here = own.request.steps.get(index).map_or(&[][..], |step| &step.scratch);
        if here.len() != step.scratch.len() || own.plan.scratch[index].len() != here.len() {
            return Err(CheckError::Shape);
        }
        for (buffer, (asked, here)) in step.scratch.iter().zip(here).enumerate() {
            let offset = own.plan.scratch[index][buffer];
            let place = &mut whole.scratch[index][buffer];
            match here.bytes {
                0 if asked.bytes > 0 => continue,
                0 => *place = 0,
                bytes if bytes != asked.bytes || *place != u64::MAX => return Err(CheckError::Shape),
                bytes if offset.checked_add(bytes).is_none_or(|end| end > own.plan.arena_bytes) => {
                    return Err(CheckError::OutOfBounds { name: step.name.clone(), offset });
                }
                _ => *place = whole.arena_bytes + offset,
            }
        }
    }
    Ok(())
}

/// Returns a plan of nothing.
fn empty() -> Plan {
    Plan {
        offset: vec![],
        scratch: vec![],
        arena_bytes: 0,
        lower_bound: 0,
        optimal: false,
        explored_nodes: 0,
        lent_bytes: 0,
        peak_bytes: 0,
        peak_step: 0,
    }
}
