//! The computer on which figures were measured.

use super::Options;
use super::measure::{number, text};
use crate::process::{output, root};
use std::path::Path;
use std::process::Command;

/// Returns two lines for every table and chart: versions and settings, then processor, vector level and peak speeds.
///
/// # Errors
/// A message if the peaks cannot be measured.
pub fn conditions(options: &Options, modelc: &Path, model: &Path, peer: &str) -> Result<String, String> {
    let commit = Command::new("git").current_dir(root()).args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let threads = if options.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", options.threads) };
    let settings = format!(
        "modelc {commit} beside {peer}, {threads} on processor {}, {} rounds of {} s in turns",
        options.processors(),
        options.rounds,
        options.seconds
    );
    let mut bench = Command::new(modelc);
    bench.arg("bench").arg(model).args(["--profile", "--json", "--num-runs", "1", "--min-secs", "0"]);
    Ok(format!("{settings}\n{}", machine(&processor(), &output(&mut bench)?)))
}

/// Returns the processor's name from the system.
fn processor() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = |line: &str| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned());
    information.lines().find_map(model).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Returns the second line, from the output of `modelc bench --profile --json`.
fn machine(processor: &str, report: &str) -> String {
    let giga = |key: &str, factor: f64| number(report, key).map_or_else(|| "?".to_owned(), |rate| format!("{:.0}", rate * factor * 1e-9));
    format!(
        "{processor}, {}, one thread: {} GFLOP/s (f32), {} GOP/s (8-bit), {} GB/s copied in the cache, {} GB/s read from memory",
        text(report, "cpu_level").unwrap_or("?"),
        giga("float_multiply_accumulates_per_s", 2.0),
        giga("integer_multiply_accumulates_per_s", 2.0),
        giga("copied_bytes_per_s", 1.0),
        giga("read_bytes_per_s", 1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_by_level_peaks_and_bandwidth() {
        let report = "{\"cpu_level\": \"x86-64-v4\", \"peaks\": {\"copied_bytes_per_s\": 8e10, \"read_bytes_per_s\": 2.1e10, \
                      \"float_multiply_accumulates_per_s\": 5e10, \"integer_multiply_accumulates_per_s\": 2e11}}";
        let line = machine("Some CPU", report);
        assert_eq!(
            line,
            "Some CPU, x86-64-v4, one thread: 100 GFLOP/s (f32), 400 GOP/s (8-bit), 80 GB/s copied in the cache, 21 GB/s read from memory"
        );
    }
}
