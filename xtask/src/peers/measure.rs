//! One measurement: a process of its own, pinned to one processor.

use super::Class;
use crate::process::{root, shown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How contenders are run.
pub struct Runner {
    pub modelc: PathBuf,
    pub python: PathBuf,
    pub cpu: usize,
    pub seconds: f64,
}

impl Runner {
    /// The median latency of a model in nanoseconds.
    ///
    /// # Errors
    /// The first line of what a contender said when it failed.
    pub fn median(&self, contender: &str, model: &Path) -> Result<f64, String> {
        let seconds = self.seconds.to_string();
        let inputs = model.with_extension("inputs.npz");
        let mut command = Command::new("taskset");
        command.arg("--cpu-list").arg(self.cpu.to_string());
        if contender == "modelc" {
            command.arg(&self.modelc).arg("bench").arg(model).args(["--json", "--warmup-runs", "3", "--min-secs", &seconds]);
            command.args(["--num-runs", "1"]);
        } else {
            command.arg(&self.python).arg(root().join("benches/litert.py")).arg(model).args([
                "--kernels",
                contender,
                "--seconds",
                &seconds,
            ]);
        }
        if inputs.is_file() {
            command.arg("--inputs").arg(inputs);
        }
        let text = output(&mut command)?;
        // The last object with a median is the steady state; LiteRT's script writes one only.
        let steady = text.rsplit_once("\"steady\"").map_or(text.as_str(), |(_, rest)| rest);
        number(steady, "median_ns").ok_or_else(|| format!("`{}` gave no median", shown(&command)))
    }

    /// What a model computes with, by the types of its inputs and of its kernels.
    pub fn class(&self, model: &Path) -> Class {
        let mut command = Command::new(&self.modelc);
        let text = output(command.arg("inspect").arg(model).arg("--json")).unwrap_or_default();
        classify(&text)
    }
}

/// The class that an inspection tells; float where it tells nothing.
fn classify(inspection: &str) -> Class {
    let strings = |key: &str| {
        let parts: Vec<&str> = inspection.split(&format!("\"{key}\": \"")).skip(1).collect();
        parts.into_iter().map(|rest| rest.split('"').next().unwrap_or_default()).collect::<Vec<_>>()
    };
    let narrow = |symbol: &&str| ["_i8", "_u8", "_i16", "_i4"].iter().any(|suffix| symbol.ends_with(suffix));
    match (strings("element").contains(&"f32"), strings("symbol").iter().any(narrow)) {
        (false, true) => Class::Integer,
        (true, true) => Class::Mixed,
        _ => Class::Float,
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run `{}`: {error}", shown(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A Python traceback ends with what went wrong; our diagnostics begin with it.
    let line = if said.contains("Traceback") { said.lines().last() } else { said.lines().next() };
    Err(line.unwrap_or("it failed without a word").to_owned())
}

/// The number of a field of a JSON text.
fn number(json: &str, key: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    rest.trim_start().split([',', '}', '\n', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_json() {
        assert_eq!(number("{\"median_ns\": 12.5, \"runs\": 3}", "median_ns"), Some(12.5));
        assert_eq!(number("{\"runs\":3}", "runs"), Some(3.0));
        assert_eq!(number("{}", "runs"), None);
    }

    #[test]
    fn classes_follow_types() {
        let text = |element: &str, symbol: &str| format!("\"element\": \"{element}\", \"symbol\": \"{symbol}\"");
        assert_eq!(classify(&text("i8", "op000_conv_1x1_i8")), Class::Integer);
        assert_eq!(classify(&text("f32", "op000_matmul_i8")), Class::Mixed);
        assert_eq!(classify(&text("f32", "op000_matmul_f32")), Class::Float);
    }
}
