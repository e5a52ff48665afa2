//! Memory map of a plan, for reports.

use crate::lower::lowered::Peak;
use crate::plan::{Lifetimes, Plan, Request, TensorId};
use crate::program::{MemoryMap, Occupant};

/// Makes the memory map of a plan. `calls` are the steps that call kernels.
pub fn memory_map(request: &Request, plan: &Plan, lifetimes: &Lifetimes, calls: Vec<usize>) -> MemoryMap {
    let mut occupants = Vec::new();
    for (i, tensor) in request.tensors.iter().enumerate() {
        let steps = lifetimes.steps(TensorId(i as u32)).filter(|_| tensor.view_of.is_none() && tensor.bytes > 0);
        if let (Some(steps), Some(offset)) = (steps, plan.offset[i]) {
            occupants.push(Occupant { name: tensor.name.clone(), offset, bytes: tensor.bytes, steps, working: false });
        }
    }
    for (i, (step, offsets)) in request.steps.iter().zip(&plan.scratch).enumerate() {
        for (scratch, &offset) in step.scratch.iter().zip(offsets).filter(|(scratch, _)| scratch.bytes > 0) {
            let name = format!("scratch of {}", step.name);
            occupants.push(Occupant { name, offset, bytes: scratch.bytes, steps: i..i + 1, working: true });
        }
    }
    let steps = request.steps.iter().map(|step| step.name.clone()).collect();
    MemoryMap { steps, calls, peak_step: plan.peak_step, occupants }
}

/// Returns the tensors and scratch memory that are live at the peak step. A tensor that is overwritten in place is listed once, with both names.
pub fn peak(plan: &Plan, map: &MemoryMap) -> Peak {
    let mut places: Vec<(u64, u64, String)> = Vec::new();
    for occupant in map.occupants.iter().filter(|occupant| occupant.steps.contains(&map.peak_step)) {
        match places.iter_mut().find(|(offset, _, _)| *offset == occupant.offset) {
            Some((_, bytes, names)) => {
                *bytes = occupant.bytes.max(*bytes);
                *names = format!("{names}, in place {}", shown(&occupant.name));
            }
            None => places.push((occupant.offset, occupant.bytes, shown(&occupant.name).to_owned())),
        }
    }
    Peak { bytes: plan.peak_bytes, tensors: places.into_iter().map(|(_, bytes, names)| (names, bytes)).collect() }
}

/// Shortens a tensor's name for reports. Converters join the names of fused operators with `;`; the first one is shown.
fn shown(name: &str) -> &str {
    name.split(';').next().unwrap_or(name)
}
