//! Arguments of `modelc bench`.

use super::profile::Detail;
use crate::cli::batches::Call;
use crate::cli::calls::Calls;
use crate::cli::messages::MessageFormat;
use crate::cli::options::Common;
use clap::{Args, ValueEnum};

#[derive(Args)]
pub struct Arguments {
    /// A .tflite, .pte or .bpte file; `-` is standard input
    pub(super) model: String,
    #[command(flatten)]
    pub(super) calls: Calls,
    /// Minimum number of measured runs
    #[arg(long = "num-runs", alias = "num_runs", value_name = "N", default_value_t = 50)]
    pub(super) num_runs: u64,
    /// Number of runs before the measurement
    #[arg(long = "warmup-runs", alias = "warmup_runs", value_name = "N", default_value_t = 1)]
    pub(super) warmup_runs: u64,
    /// Minimum duration of the measurement, in seconds
    #[arg(long = "min-secs", alias = "min_secs", value_name = "S", default_value_t = 1.0)]
    pub(super) min_secs: f64,
    /// Maximum duration of the measurement, in seconds
    #[arg(long = "max-secs", alias = "max_secs", value_name = "S", default_value_t = 150.0)]
    pub(super) max_secs: f64,
    /// Pause between runs, in seconds
    #[arg(long = "run-delay", alias = "run_delay", value_name = "S", default_value_t = 0.0)]
    pub(super) run_delay: f64,
    /// Number of threads
    #[arg(long = "num-threads", alias = "num_threads", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) num_threads: u32,
    /// Processors to run on, separated by commas
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pub(super) pin: Vec<usize>,
    /// Show times of operators; =kernels: also of their kernels
    #[arg(long, value_enum, value_name = "DETAIL", num_args = 0..=1, require_equals = true, default_missing_value = "operators")]
    #[arg(hide_possible_values = true)]
    profile: Option<ProfileArgument>,
    /// Write a page with times; OUT.json: a report
    #[arg(long, value_name = "OUT.html")]
    pub(super) report: Option<String>,
    /// Show in Markdown what differs from an earlier report
    #[arg(long, value_name = "OLD.json")]
    pub(super) compare: Option<String>,
    /// Write the times of operators for Model Explorer
    #[arg(long = "node-data", value_name = "OUT.json")]
    pub(super) node_data: Option<String>,
    /// Write /tmp/perf-PID.map, for names in Linux's perf
    #[arg(long = "perf-map")]
    pub(super) perf_map: bool,
    /// Print JSON (schema modelc.bench/1)
    #[arg(long)]
    json: bool,
    /// Write a CSV file with one line for each run
    #[arg(long, value_name = "PATH")]
    pub(super) csv: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

/// Values of `--profile`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ProfileArgument {
    Operators,
    Kernels,
}

impl Arguments {
    /// Tells if kernels are measured.
    pub(super) fn profiles(&self) -> bool {
        self.profile.is_some() || self.reports()
    }

    /// Tells if a report is made.
    pub(super) fn reports(&self) -> bool {
        self.report.is_some() || self.compare.is_some() || self.node_data.is_some()
    }

    pub(super) fn wants_json(&self) -> bool {
        self.json || self.common.messages.format == MessageFormat::Json
    }

    /// Returns how many of the calls are measured: all of a sequence, else the first.
    pub(super) fn measured(&self, calls: &[Call]) -> usize {
        if self.calls.are_a_sequence() { calls.len() } else { calls.len().min(1) }
    }

    pub(super) fn detail(&self) -> Detail {
        if self.profile == Some(ProfileArgument::Kernels) { Detail::Kernels } else { Detail::Operators }
    }
}
