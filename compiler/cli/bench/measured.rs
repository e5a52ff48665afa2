//! Measured times of calls.

use super::profile::Profile;
use super::statistics::Statistics;
use crate::cli::batches::Call;

/// Nanoseconds of each call of each run.
#[derive(Default)]
pub(super) struct Times(pub(super) Vec<Vec<f64>>);

impl Times {
    /// Returns the times of whole runs.
    pub(super) fn totals(&self) -> Vec<f64> {
        self.0.iter().map(|calls| calls.iter().sum()).collect()
    }

    /// Returns the times of one call, over all runs.
    pub(super) fn of_call(&self, call: usize) -> Vec<f64> {
        self.0.iter().filter_map(|calls| calls.get(call).copied()).collect()
    }
}

/// Results of the measurement.
pub(super) struct Measured<'a> {
    pub(super) calls: &'a [Call],
    pub(super) phases: &'a [(&'static str, Statistics)],
    pub(super) steady: &'a Times,
    pub(super) profile: Option<&'a Profile>,
}
