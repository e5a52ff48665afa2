//! `cargo xtask peers`: our latency beside LiteRT's, measured in turns on one processor; `docs/benchmarks.md` says how to read it.

mod chart;
mod measure;
mod table;

use crate::Outcome;
use crate::process::{self, cargo, root};
use measure::Runner;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the virtual environment holds. Figures are only comparable where these are the same.
const PACKAGES: &[&str] = &["ai-edge-litert==2.3.0", "numpy==2.4.6"];

/// What is compared, in the order of a round.
const CONTENDERS: &[&str] = &["modelc", "xnnpack", "builtin"];

/// What the command line asks for.
struct Options {
    /// Measurements of each contender, interleaved.
    rounds: usize,
    /// Seconds of each measurement.
    seconds: f64,
    /// The processor that everything runs on.
    cpu: usize,
    models: Vec<PathBuf>,
}

/// One model's result.
struct Row {
    name: String,
    class: Class,
    /// By contender: the median over the rounds of each round's median, in nanoseconds; or why there is none.
    latency: Vec<Result<f64, String>>,
    /// By contender: the slowest round over the fastest.
    spread: Vec<f64>,
}

/// What a model computes with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    Integer,
    Float,
    /// Floats outside, quantized weights inside.
    Mixed,
}

impl Class {
    const ALL: [Class; 3] = [Class::Integer, Class::Float, Class::Mixed];

    fn name(self) -> &'static str {
        match self {
            Class::Integer => "integer",
            Class::Float => "float",
            Class::Mixed => "mixed",
        }
    }
}

/// Below this, the call from Python, about a microsecond, is no longer small beside the model: such rows are in no mean.
const LEAST_NANOSECONDS: f64 = 20_000.0;

impl Row {
    /// The peer's latency over ours: above 1 we are faster. None where one of them has no figure.
    fn ratio(&self, contender: usize) -> Option<f64> {
        match (&self.latency[0], &self.latency[contender]) {
            (Ok(ours), Ok(theirs)) if *ours > 0.0 => Some(theirs / ours),
            _ => None,
        }
    }

    /// Whether the row counts in means.
    fn counts(&self) -> bool {
        self.latency.iter().all(|latency| latency.as_ref().is_ok_and(|time| *time >= LEAST_NANOSECONDS))
    }
}

/// The geometric mean of the ratios of those rows that count, and how many do.
fn geometric_mean<'a>(rows: impl Iterator<Item = &'a Row>, contender: usize) -> Option<(f64, usize)> {
    let logarithms: Vec<f64> = rows.filter(|row| row.counts()).filter_map(|row| Some(row.ratio(contender)?.ln())).collect();
    let count = logarithms.len();
    (count > 0).then(|| ((logarithms.iter().sum::<f64>() / count as f64).exp(), count))
}

/// Measures and writes `target/peers/peers.txt` and `target/peers/peers.svg`.
///
/// # Errors
/// When an argument is not understood, there is no model, or a tool is missing or cannot be built. A model that one contender
/// cannot run is no error: its row says why.
pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    let folder = root().join("target/peers");
    let python = environment(&folder)?;
    process::run(cargo().args(["build", "--release", "--bin", "modelc"]))?;
    let runner = Runner { modelc: root().join("target/release/modelc"), python, cpu: options.cpu, seconds: options.seconds };
    let mut rows = Vec::new();
    for (number, model) in options.models.iter().enumerate() {
        let row = measure(&runner, model, options.rounds);
        println!("{:3}/{} {}", number + 1, options.models.len(), table::line(&row));
        rows.push(row);
    }
    rows.sort_by(|a, b| (a.class, &a.name).cmp(&(b.class, &b.name)));
    let conditions = conditions(&options);
    let text = table::table(&rows, &conditions);
    println!("\n{text}");
    for (name, contents) in [("peers.txt", text), ("peers.svg", chart::chart(&rows, &conditions))] {
        let path = folder.join(name);
        std::fs::write(&path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options { rounds: 5, seconds: 1.0, cpu: last_cpu(), models: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
            let wrong = |text: &String| format!("{argument} {text} is not understood");
            match argument.as_str() {
                "--rounds" => options.rounds = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                "--seconds" => options.seconds = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                "--cpu" => options.cpu = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                model if !model.starts_with('-') => options.models.push(model.into()),
                _ => return Err(format!("`{argument}` is not understood: [MODEL.tflite ...] [--rounds N] [--seconds S] [--cpu N]")),
            }
        }
        if options.models.is_empty() {
            options.models = corpus()?;
        }
        if options.rounds == 0 {
            return Err("--rounds wants one at least".into());
        }
        Ok(options)
    }
}

/// The processor with the highest number: the first one takes most interrupts.
fn last_cpu() -> usize {
    std::thread::available_parallelism().map_or(0, |count| count.get() - 1)
}

/// The recorded TFLite models, or the examples.
fn corpus() -> Result<Vec<PathBuf>, String> {
    let models = std::env::var_os("MODELC_CORPUS").map_or_else(|| root().join("../shared/models"), PathBuf::from);
    for folder in [models.join("tflite"), root().join("examples/digits")] {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut list: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        list.retain(|path| path.extension().is_some_and(|extension| extension == "tflite"));
        list.sort();
        if !list.is_empty() {
            return Ok(list);
        }
    }
    Err("there are no models to measure".into())
}

/// A Python with the pinned packages, made once; its interpreter.
fn environment(folder: &Path) -> Result<PathBuf, String> {
    let venv = folder.join("venv");
    let python = venv.join("bin/python");
    let stamp = venv.join("packages");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    process::run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES))?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(python)
}

fn measure(runner: &Runner, model: &Path, rounds: usize) -> Row {
    let mut times: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); CONTENDERS.len()];
    for _ in 0..rounds {
        for (contender, times) in CONTENDERS.iter().zip(&mut times) {
            // Who fails once is not asked again.
            let Ok(list) = times else { continue };
            match runner.median(contender, model) {
                Ok(time) => list.push(time),
                Err(error) => *times = Err(error),
            }
        }
    }
    let sorted = |mut list: Vec<f64>| {
        list.sort_by(f64::total_cmp);
        list
    };
    let times: Vec<_> = times.into_iter().map(|list| list.map(sorted)).collect();
    let spread = |list: &Vec<f64>| list.last().zip(list.first()).map_or(1.0, |(last, first)| last / first);
    Row {
        name: model.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
        class: runner.class(model),
        spread: times.iter().map(|list| list.as_ref().map_or(1.0, spread)).collect(),
        latency: times.into_iter().map(|list| list.map(|list| list[list.len() / 2])).collect(),
    }
}

/// What the figures hold for: computer, versions, settings. It is in every table and chart.
fn conditions(options: &Options) -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map_or("", |(_, name)| name.trim());
    let commit = Command::new("git").current_dir(root()).args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    format!(
        "modelc {commit} and {} on {model}, one thread on processor {}, {} rounds of {} s in turns",
        PACKAGES[0], options.cpu, options.rounds, options.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn row(name: &str, class: Class, latency: [Option<f64>; 3]) -> Row {
        let latency = latency.map(|time| time.ok_or_else(|| "unsupported: SIGN".to_owned())).into();
        Row { name: name.into(), class, latency, spread: vec![1.0; 3] }
    }

    #[test]
    fn means_are_geometric_and_leave_out_what_does_not_count() {
        let rows = [
            row("a", Class::Integer, [Some(1e6), Some(2e6), Some(8e6)]),
            row("b", Class::Integer, [Some(1e6), Some(0.5e6), Some(2e6)]),
            row("tiny", Class::Integer, [Some(1e3), Some(9e3), Some(9e3)]),
            row("refused", Class::Integer, [None, Some(1e6), Some(1e6)]),
        ];
        let (mean, count) = geometric_mean(rows.iter(), 1).expect("two rows count");
        assert!((mean - 1.0).abs() < 1e-12 && count == 2, "{mean} {count}");
        let (mean, _) = geometric_mean(rows.iter(), 2).expect("two rows count");
        assert!((mean - 4.0).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean(rows[2..].iter(), 1), None);
    }

    #[test]
    fn options_are_read_and_mistakes_refused() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let options = parse(&["m.tflite", "--rounds", "3", "--seconds", "0.5", "--cpu", "1"]).expect("all is well");
        assert_eq!((options.rounds, options.seconds, options.cpu, options.models.len()), (3, 0.5, 1, 1));
        for wrong in [&["m", "--rounds", "0"][..], &["m", "--rounds", "x"], &["m", "--cpu"], &["m", "--fast"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
