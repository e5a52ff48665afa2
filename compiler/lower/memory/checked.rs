//! Plans that pass their check, and what is said of others.

use crate::plan::{self, Plan, PlanError, Request};

/// Describes a refusal of the planner, which is a bug.
pub(in crate::lower) fn refused(error: &PlanError) -> String {
    format!("the memory planner refused its request: {error}")
}

/// A plan of a request whose steps are in an order, if it passes its check.
pub(in crate::lower) fn checked(request: &Request, order: Vec<usize>, plan: Plan) -> Result<(Vec<usize>, Plan), String> {
    check(request, &plan)?;
    Ok((order, plan))
}

/// Checks a plan of a request.
pub(in crate::lower) fn check(request: &Request, plan: &Plan) -> Result<(), String> {
    plan::check(request, plan).map_err(|error| format!("the memory plan does not pass its check: {error}"))
}
