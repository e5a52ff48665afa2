//! Statistics of latencies.

use crate::cli::output::{grouped, microseconds};
use serde_json::json;

/// Latencies in nanoseconds.
pub(super) struct Statistics {
    pub(super) runs: usize,
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) mean: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) std: f64,
}

impl Statistics {
    pub(super) fn new(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| sorted.get(((sorted.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(0.0);
        let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
        let variance = sorted.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / sorted.len().max(1) as f64;
        Self { runs: sorted.len(), min: at(0.0), median: at(0.5), mean, p90: at(0.9), p99: at(0.99), std: variance.sqrt() }
    }

    /// Returns the times that are shown.
    pub(super) fn shown(&self) -> [f64; 6] {
        [self.min, self.median, self.mean, self.p90, self.p99, self.std]
    }

    pub(super) fn cells(&self, name: &str, longest: f64) -> Vec<String> {
        let mut cells = vec![name.to_owned(), grouped(self.runs as u64)];
        cells.extend(self.shown().map(|time| microseconds(time, longest)));
        cells
    }

    pub(super) fn json(&self) -> serde_json::Value {
        json!({ "runs": self.runs, "min_ns": self.min, "median_ns": self.median, "mean_ns": self.mean, "p90_ns": self.p90,
                "p99_ns": self.p99, "std_ns": self.std })
    }
}
