//! Earlier reports, and differences from them: `--compare OLD.json`.

use super::console;
use super::io::map;
use super::output::usage;
use crate::diagnostic::Diagnostics;
use crate::emit::difference::markdown;
use serde_json::Value;

/// Reads a report.
///
/// # Errors
/// Diagnostics if the file cannot be read, or if it is no report.
pub fn read(path: &str) -> Result<Value, Diagnostics> {
    let bytes = map(path)?;
    let report: Option<Value> = serde_json::from_slice((*bytes).as_ref()).ok();
    let is_report = |report: &Value| report["schema"].as_str() == Some("modelc.report/1");
    report.filter(is_report).ok_or_else(|| {
        let error = usage(format!("{path} is not a report")).expected("JSON of schema modelc.report/1", "something else");
        error.help("`modelc MODEL --emit json=OLD.json` and `modelc bench MODEL --report OLD.json` write reports").into()
    })
}

/// Prints a difference.
///
/// # Errors
/// A diagnostic if standard output cannot be written.
pub fn print(difference: &Value, as_json: bool) -> Result<(), Diagnostics> {
    Ok(console::print(&if as_json { format!("{difference:#}\n") } else { markdown(difference) })?)
}
