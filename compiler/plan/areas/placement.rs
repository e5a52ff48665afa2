//! Areas, placements, and reasons why there is none.

use crate::request::{Plan, PlanError, Request, TensorId};

/// A function that plans one area.
pub type Planner = fn(&Request) -> Result<Plan, PlanError>;

/// A memory area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Area {
    /// Size.
    pub bytes: u64,
    /// Cost of a byte that is read or written.
    pub cost: u64,
}

/// A request with several areas, and its plan in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The areas in order.
    pub areas: Vec<AreaPlan>,
    /// Cost of all bytes that steps move.
    pub cost: u64,
    /// A lower bound of the cost for this order of steps.
    pub lower_bound: u64,
    /// `true` if no placement costs less: it meets the bound, or the search was exhaustive.
    pub optimal: bool,
}

/// Contents of one area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaPlan {
    /// The request, without what lies in other areas: tensors there have [`crate::Place::State`], and scratch buffers have no bytes.
    pub request: Request,
    /// Its plan.
    pub plan: Plan,
    /// Bytes that steps read and write in the area.
    pub moved: u64,
}

impl AreaPlan {
    /// Returns the storages in the area, with their offsets.
    pub fn storages(&self) -> impl Iterator<Item = (TensorId, u64)> {
        let tensors = (0..).zip(self.request.tensors.iter().zip(&self.plan.offset));
        tensors.filter_map(|(number, (tensor, offset))| {
            (tensor.view_of.is_none() && tensor.bytes > 0).then_some((TensorId(number), (*offset)?))
        })
    }

    /// Returns the scratch buffers in the area: step, number, offset.
    pub fn scratch(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let steps = self.request.steps.iter().zip(&self.plan.scratch).enumerate();
        steps.flat_map(|(step, (needs, offsets))| {
            let buffers = needs.scratch.iter().zip(offsets).enumerate();
            buffers.filter(|(_, (scratch, _))| scratch.bytes > 0).map(move |(number, (_, &offset))| (step, number, offset))
        })
    }
}

/// Reason why a request has no placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// A fault in the request.
    Plan(PlanError),
    /// The areas are too small.
    Shortage(Shortage),
}

/// Items that did not fit into any area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// Names and bytes of what was left.
    pub left: Vec<(String, u64)>,
    /// The area that lacks the fewest bytes for the first of these.
    pub area: usize,
    /// The bytes that it lacks.
    pub missing: u64,
    /// The step that needs most memory there.
    pub step: usize,
}

impl From<PlanError> for PlaceError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}
