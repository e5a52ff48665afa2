//! Checks of memory plans, and the messages if they fail.

use crate::plan::{self, Plan, PlanError, Request};

/// Describes a refusal of the planner. A refusal is a bug.
pub(in crate::lower) fn refused(error: &PlanError) -> String {
    format!("the memory planner refused its request: {error}")
}

/// Returns a plan with the order of its request's steps, if the plan passes its check.
pub(in crate::lower) fn checked(request: &Request, order: Vec<usize>, plan: Plan) -> Result<(Vec<usize>, Plan), String> {
    check(request, &plan)?;
    Ok((order, plan))
}

/// Checks a plan against its request. The error is a message.
pub(in crate::lower) fn check(request: &Request, plan: &Plan) -> Result<(), String> {
    plan::check(request, plan).map_err(|error| format!("the memory plan does not pass its check: {error}"))
}
