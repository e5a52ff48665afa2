//! One measurement: a separate process on given processors.

use super::suites::{Contender, Tools};
use super::{Class, Group};
use crate::process::{output, root, shown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings for running contenders.
pub struct Runner<'a> {
    pub modelc: PathBuf,
    pub tools: Tools,
    /// Processors in the syntax of `taskset`.
    pub processors: String,
    pub threads: usize,
    pub seconds: f64,
    /// Folder for temporary files.
    pub folder: &'a Path,
}

impl Runner<'_> {
    /// Returns the command that measures a model. It is valid until the next call for another model, because some commands read files written
    /// here.
    ///
    /// # Errors
    /// The line of a contender's message that tells why it has no command.
    pub fn command(&self, contender: Contender, model: &Path) -> Result<Command, String> {
        match contender {
            Contender::Modelc => Ok(self.modelc(model, "3", self.seconds)),
            Contender::Xnnpack | Contender::Builtin => Ok(self.litert(contender, model)),
            Contender::ExecuTorch => self.executorch(model),
        }
    }

    /// Makes a command that runs on the processors.
    fn pinned(&self, program: &Path) -> Command {
        let mut command = Command::new("taskset");
        command.arg("--cpu-list").arg(&self.processors).arg(program);
        command
    }

    /// Makes a command that measures a model for at least `seconds`, and at least once.
    fn modelc(&self, model: &Path, warmup: &str, seconds: f64) -> Command {
        let mut command = self.pinned(&self.modelc);
        command.arg("bench").arg(model).args(["--json", "--warmup-runs", warmup, "--num-runs", "1"]);
        command.args(["--min-secs", &seconds.to_string(), "--num-threads", &self.threads.to_string()]);
        for (flag, file) in [("--inputs", recorded_inputs(model)), ("--data", tensors_beside(model))] {
            file.iter().for_each(|file| {
                command.arg(flag).arg(file);
            });
        }
        command
    }

    fn litert(&self, contender: Contender, model: &Path) -> Command {
        let mut command = self.pinned(&self.tools.python);
        command.arg(root().join("benches/litert.py")).arg(model).args(["--kernels", contender.name()]);
        command.args(["--seconds", &self.seconds.to_string(), "--threads", &self.threads.to_string()]);
        recorded_inputs(model).iter().for_each(|inputs| {
            command.arg("--inputs").arg(inputs);
        });
        command
    }

    fn executorch(&self, model: &Path) -> Result<Command, String> {
        let inputs = self.folder.join("executorch.inputs");
        let archive = recorded_inputs(model).unwrap_or_else(|| "-".into());
        let script = root().join("benches/executorch_inputs.py");
        output(Command::new(&self.tools.python).arg(script).arg(archive).arg(&inputs))?;
        let mut command = self.pinned(&self.tools.executorch);
        command.arg(model).arg(self.method(model)?).arg(inputs).args([self.threads.to_string(), self.seconds.to_string()]);
        command.args(tensors_beside(model));
        Ok(command)
    }

    /// Returns the method that modelc measures.
    fn method(&self, model: &Path) -> Result<String, String> {
        let report = output(&mut self.modelc(model, "0", 0.0))?;
        Ok(text(&report, "method").unwrap_or("forward").to_owned())
    }

    /// Returns the kind of arithmetic of a model, from the types of its inputs and kernels.
    pub fn group(&self, model: &Path) -> Group {
        let mut command = Command::new(&self.modelc);
        let text = output(command.arg("inspect").arg(model).arg("--json")).unwrap_or_default();
        Group { class: classify(&text), delegated: text.contains("XnnpackBackend") }
    }
}

/// Returns the median latency in nanoseconds that a contender's command prints.
///
/// # Errors
/// The line of a contender's message that tells the reason of a failure.
pub fn median(command: &mut Command) -> Result<f64, String> {
    let text = output(command)?;
    // The last object with a median is the steady state; peers print only one.
    let steady = text.rsplit_once("\"steady\"").map_or(text.as_str(), |(_, rest)| rest);
    number(steady, "median_ns").ok_or_else(|| format!("`{}` gave no median", shown(command)))
}

/// Returns the recorded inputs beside a model.
fn recorded_inputs(model: &Path) -> Option<PathBuf> {
    Some(model.with_extension("inputs.npz")).filter(|inputs| inputs.is_file())
}

/// Returns the tensor file beside an ExecuTorch program.
fn tensors_beside(model: &Path) -> Option<PathBuf> {
    Some(model.with_extension("ptd")).filter(|file| file.is_file())
}

/// Returns the class from an inspection; float by default.
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

/// Returns the number in a field of a JSON text.
pub fn number(json: &str, key: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    rest.trim_start().split([',', '}', '\n', ' ']).next()?.parse().ok()
}

/// Returns the text in a field of a JSON text.
pub fn text<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_json() {
        assert_eq!(number("{\"median_ns\": 12.5, \"runs\": 3}", "median_ns"), Some(12.5));
        assert_eq!(number("{\"runs\":3}", "runs"), Some(3.0));
        assert_eq!(number("{}", "runs"), None);
        assert_eq!(text("{\"method\": \"forward\"}", "method"), Some("forward"));
    }

    #[test]
    fn classes_follow_types() {
        let text = |element: &str, symbol: &str| format!("\"element\": \"{element}\", \"symbol\": \"{symbol}\"");
        assert_eq!(classify(&text("i8", "op000_conv_1x1_i8")), Class::Integer);
        assert_eq!(classify(&text("f32", "op000_matmul_i8")), Class::Mixed);
        assert_eq!(classify(&text("f32", "op000_matmul_f32")), Class::Float);
    }
}
