//! Memory of a method's values: values that share a place, requests to the planner, and addresses in its plan.

pub(super) mod addresses;
pub(super) mod areas;
pub(super) mod checked;
pub(super) mod copies;
pub(super) mod imported;
pub(super) mod lending;
pub(super) mod moving;
pub(super) mod places;
pub(super) mod resolver;
pub(super) mod split;
pub(super) mod steps;
pub(super) mod subtensors;
pub(super) mod tensors;
pub(super) mod values;
pub(super) mod variables;
