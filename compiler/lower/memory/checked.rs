//! Checks of memory plans, and the errors if they fail. All are bugs.

use crate::plan::{self, CheckError, Plan, PlanError, Request};

/// The reason why a request has no plan. Both are bugs: the first of what makes requests, the second of the planner.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(in crate::lower) enum PlanFault {
    /// A request that the planner refuses.
    #[error("the memory planner refused its request: {0}")]
    Refused(#[from] PlanError),
    /// A plan that breaks the rules of its request.
    #[error("the memory plan does not pass its check: {0}")]
    Wrong(#[from] CheckError),
}

/// Returns a plan with the order of its request's steps, if the plan passes its check.
pub(in crate::lower) fn checked(request: &Request, order: Vec<usize>, plan: Plan) -> Result<(Vec<usize>, Plan), PlanFault> {
    plan::check(request, &plan)?;
    Ok((order, plan))
}
