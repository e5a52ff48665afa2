//! Memory areas of the file's plan beside the first one. The application provides each area separately; they are not part of the arena.

use super::checked::PlanFault;
use super::imported::{FIRST_AREA, InFile, given_up};
use crate::plan::{self, Place, Request, TensorId};
use crate::program::Address;

/// Tensors that lie in these areas.
#[derive(Default)]
pub(in crate::lower) struct Areas {
    /// Tensors with their addresses.
    pub places: Vec<(TensorId, Address)>,
    /// Size of each area in bytes, up to the end of its last tensor.
    pub bytes: Vec<u64>,
}

impl Areas {
    /// Takes the tensors of areas out of a request. A tensor stays with the planner if it lives longer than in the file, or shares its place with
    /// others. It cannot keep the file's place then.
    ///
    /// # Errors
    /// A fault if the planner refuses, or if a plan does not pass its check.
    pub fn new(request: &mut Request, wanted: &[(TensorId, InFile)]) -> Result<Self, PlanFault> {
        let mut areas = Self::default();
        let last = wanted.iter().map(|(_, place)| place.memory_id).max().unwrap_or(0);
        for (number, memory_id) in (FIRST_AREA + 1..=last).enumerate() {
            let members: Vec<(TensorId, InFile)> = wanted.iter().filter(|(_, place)| place.memory_id == memory_id).copied().collect();
            if members.is_empty() {
                areas.bytes.push(0);
                continue;
            }
            let mut alone = alone(request, &members);
            let plan = loop {
                let error = match plan::plan(&alone) {
                    Ok(plan) => break plan,
                    Err(error) => error,
                };
                let index = given_up(&alone, &error).ok_or(error)?;
                let tensor = &mut alone.tensors[index];
                (tensor.fixed, tensor.place) = (None, Place::State);
            };
            plan::check(&alone, &plan)?;
            areas.bytes.push(plan.arena_bytes);
            for (tensor, alone) in (0..).zip(&alone.tensors) {
                if let Some(offset) = alone.fixed {
                    areas.places.push((TensorId(tensor), Address::Area(number as u32, offset)));
                    request.tensors[tensor as usize].place = Place::State;
                }
            }
        }
        Ok(areas)
    }
}

/// Makes the request of one area: only `members` are in its arena, at their fixed offsets.
fn alone(request: &Request, members: &[(TensorId, InFile)]) -> Request {
    let mut alone = request.clone();
    for step in &mut alone.steps {
        step.scratch.clear();
    }
    for tensor in &mut alone.tensors {
        tensor.fixed = None;
        if tensor.view_of.is_none() && tensor.place == Place::Arena {
            tensor.place = Place::State;
        }
    }
    let moves = |id: TensorId| request.steps.iter().flat_map(|step| &step.moves).any(|&(from, to)| from == id || to == id);
    for &(id, place) in members {
        let (asked, tensor) = (&request.tensors[id.index()], &mut alone.tensors[id.index()]);
        if asked.place == Place::Arena && place.fits(asked) && !moves(id) {
            (tensor.place, tensor.fixed) = (Place::Arena, Some(place.offset));
        }
    }
    alone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Effort, Step, Tensor};

    fn tensor(bytes: u64, name: &str) -> Tensor {
        Tensor { bytes, alignment: 64, place: Place::Arena, view_of: None, takes_over: false, fixed: None, name: name.into() }
    }

    fn step(reads: &[u32], writes: &[u32]) -> Step {
        let ids = |list: &[u32]| list.iter().map(|&id| TensorId(id)).collect();
        Step { reads: ids(reads), writes: ids(writes), ..Step::default() }
    }

    #[test]
    fn tensors_of_other_areas_leave_the_request() {
        let tensors = vec![tensor(100, "a"), tensor(64, "b"), tensor(64, "c"), tensor(10, "d")];
        let steps = vec![step(&[], &[0]), step(&[0], &[1]), step(&[0, 1], &[2]), step(&[2], &[3]), step(&[3], &[])];
        let mut request = Request { tensors, steps, effort: Effort::Normal };
        let at = |memory_id, offset| InFile { memory_id, offset };
        // The second and the third tensor are live at the same time, so one of them cannot stay.
        let wanted = [(TensorId(0), at(1, 0)), (TensorId(1), at(3, 128)), (TensorId(2), at(3, 128)), (TensorId(3), at(2, 0))];
        let areas = Areas::new(&mut request, &wanted).expect("a plan");
        assert_eq!(areas.bytes, [10, 192]);
        let mut places = areas.places;
        places.sort_by_key(|(id, _)| *id);
        assert_eq!(places.len(), 2);
        assert!(matches!(places[0], (TensorId(1 | 2), Address::Area(1, 128))));
        assert_eq!(places[1], (TensorId(3), Address::Area(0, 0)));
        let left: Vec<bool> = request.tensors.iter().map(|tensor| tensor.place == Place::Arena).collect();
        assert_eq!((left[0], left[1] != left[2], left[3]), (true, true, false));
    }
}
