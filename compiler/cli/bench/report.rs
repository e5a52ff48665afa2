//! The report of a model with times: `bench --report`, `--compare`, `--node-data`.

use super::arguments::Arguments;
use super::measured::Measured;
use super::profile::Profile;
use crate::api::Loaded;
use crate::api::engine::{self, Engine};
use crate::cli::compared;
use crate::cli::files::Files;
use crate::diagnostic::Diagnostics;
use crate::emit::difference::difference;
use crate::emit::{self, OutputKind};
use serde_json::{Value, json};
use std::path::Path;

/// Returns the files to write, each with its kind.
pub fn outputs(arguments: &Arguments) -> impl Iterator<Item = (&str, OutputKind)> {
    let report = arguments.report.as_deref().map(|path| (path, kind(path)));
    report.into_iter().chain(arguments.node_data.as_deref().map(|path| (path, OutputKind::NodeData)))
}

/// Returns the kind of a report: JSON by its suffix, otherwise a page.
fn kind(path: &str) -> OutputKind {
    match Path::new(path).extension().and_then(|suffix| suffix.to_str()) {
        Some("json") => OutputKind::Json,
        _ => OutputKind::Html,
    }
}

/// Returns the report of a measurement.
///
/// # Errors
/// The errors of compiling.
pub fn report(arguments: &Arguments, model: &Loaded, engine: &Engine, measured: &Measured<'_>) -> Result<Value, Diagnostics> {
    let mut report = engine::report(model, &arguments.common.general_settings(), engine.machine, arguments.num_threads)?;
    report["time"] = json!({
        "cpu_level": engine.machine.level,
        "threads": arguments.num_threads,
        "steady": measured.phases[2].1.json(),
        "kernels": measured.profile.map(Profile::kernels_json),
        "peaks": measured.profile.map(Profile::peaks_json),
    });
    Ok(report)
}

/// Writes a report to the paths in the arguments, and prints its differences from an earlier one. Returns `true` if nothing else is printed.
///
/// # Errors
/// A diagnostic if a file cannot be written.
pub fn is_all(arguments: &Arguments, files: &Files<'_>, earlier: Option<&Value>, report: &mut Value) -> Result<bool, Diagnostics> {
    if let Some(earlier) = earlier {
        let found = difference(earlier, report);
        report["compared"] = found;
    }
    for (path, kind) in outputs(arguments) {
        let text = match kind {
            OutputKind::Html => emit::html::page(report),
            OutputKind::NodeData => format!("{:#}\n", emit::explorer::node_data(report)),
            _ => format!("{report:#}\n"),
        };
        files.write(path, kind, text.into_bytes())?;
    }
    if earlier.is_some() {
        compared::print(&report["compared"], arguments.wants_json())?;
    }
    Ok(earlier.is_some())
}
