//! `cargo xtask peers`: measures our latency and that of LiteRT and ExecuTorch, in turns on the same processors. `docs/benchmarks.md` explains
//! the results.

mod chart;
mod environment;
mod machine;
mod measure;
mod suites;
mod table;

use crate::Outcome;
use crate::process::{self, cargo, root};
use measure::Runner;
use std::path::{Path, PathBuf};
use suites::{SUITES, Suite};

const FLAGS: &str = "[--rounds N] [--seconds S] [--cpu N] [--threads N]";

/// Options of the command line.
struct Options {
    /// Number of interleaved measurements of each contender.
    rounds: usize,
    /// Duration of each measurement in seconds.
    seconds: f64,
    /// The processor of the measurement; with several threads, the last of them.
    cpu: usize,
    /// Number of threads of each contender, each on its own processor.
    threads: usize,
    models: Vec<PathBuf>,
}

/// One model's result.
struct Row {
    name: String,
    group: Group,
    /// Median over the rounds of each round's median, in nanoseconds, for each contender; or the reason why there is none.
    latency: Vec<Result<f64, String>>,
    /// Slowest round divided by the fastest, for each contender.
    spread: Vec<f64>,
}

/// A group of models with a common mean: a class, and `true` if the model's file delegates work to XNNPACK.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Group {
    class: Class,
    delegated: bool,
}

impl Group {
    fn name(self) -> String {
        format!("{}{}", self.class.name(), if self.delegated { ", delegated" } else { "" })
    }
}

/// Kind of a model's arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    Integer,
    Float,
    /// Float inputs and outputs with quantized weights.
    Mixed,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Integer => "integer",
            Class::Float => "float",
            Class::Mixed => "mixed",
        }
    }
}

impl Row {
    /// Returns the peer's latency divided by ours: above 1 we are faster. `None` if one of them has no figure.
    fn ratio(&self, contender: usize) -> Option<f64> {
        match (&self.latency[0], &self.latency[contender]) {
            (Ok(ours), Ok(theirs)) if *ours > 0.0 => Some(theirs / ours),
            _ => None,
        }
    }

    /// Tests whether the row counts in means.
    fn counts(&self, suite: &Suite) -> bool {
        self.latency.iter().all(|latency| latency.as_ref().is_ok_and(|time| *time >= suite.least_nanoseconds))
    }
}

/// Returns the geometric mean of the ratios of the rows that count, and their number.
fn geometric_mean<'a>(suite: &Suite, rows: impl Iterator<Item = &'a Row>, contender: usize) -> Option<(f64, usize)> {
    let logarithms: Vec<f64> = rows.filter(|row| row.counts(suite)).filter_map(|row| Some(row.ratio(contender)?.ln())).collect();
    let count = logarithms.len();
    (count > 0).then(|| ((logarithms.iter().sum::<f64>() / count as f64).exp(), count))
}

/// Measures, and writes a table and a chart of each peer to `target/peers`.
///
/// # Errors
/// A message if an argument is not understood, if there is no model, or if a tool is missing or cannot be built. A model that one contender
/// cannot run is no error: its row has the reason.
pub fn run(arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    process::run(cargo().args(["build", "--release", "--bin", "modelc"]))?;
    for suite in SUITES {
        let models: Vec<&PathBuf> = options.models.iter().filter(|model| suite.runs(model)).collect();
        if !models.is_empty() {
            compare(&options, suite, &models)?;
        }
    }
    Ok(())
}

/// Measures one format's models with their peers.
fn compare(options: &Options, suite: &Suite, models: &[&PathBuf]) -> Outcome {
    let folder = process::target().join("peers");
    let tools = suite.tools(&folder)?;
    let modelc = process::target().join("release/modelc");
    let conditions = machine::conditions(options, &modelc, models[0], suite.packages[0])?;
    let runner =
        Runner { modelc, tools, processors: options.processors(), threads: options.threads, seconds: options.seconds, folder: &folder };
    let mut rows = Vec::new();
    for (number, model) in models.iter().enumerate() {
        let row = measure(&runner, suite, model, options.rounds);
        println!("{:3}/{} {}", number + 1, models.len(), table::line(suite, &row));
        rows.push(row);
    }
    rows.sort_by(|a, b| (a.group, &a.name).cmp(&(b.group, &b.name)));
    let text = table::table(suite, &rows, &conditions);
    println!("\n{text}");
    for (extension, contents) in [("txt", text), ("svg", chart::chart(suite, &rows, &conditions))] {
        let path = folder.join(suite.name).with_extension(extension);
        std::fs::write(&path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options { rounds: 5, seconds: 1.0, cpu: last_cpu(), threads: 1, models: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
            let wrong = |text: &String| format!("{argument} {text} is not understood");
            match argument.as_str() {
                "--rounds" => options.rounds = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                "--seconds" => options.seconds = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                "--cpu" => options.cpu = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                "--threads" => options.threads = value().and_then(|text| text.parse().map_err(|_| wrong(text)))?,
                model if SUITES.iter().any(|suite| suite.runs(Path::new(model))) => options.models.push(model.into()),
                _ => return Err(format!("`{argument}` is not understood: [MODEL.tflite|MODEL.pte ...] {FLAGS}")),
            }
        }
        if options.models.is_empty() {
            options.models = corpus()?;
        }
        if options.rounds == 0 || options.threads == 0 {
            return Err("--rounds and --threads want one at least".into());
        }
        if options.cpu + 1 < options.threads {
            return Err(format!("--threads {} wants as many processors, up to --cpu {}", options.threads, options.cpu));
        }
        Ok(options)
    }

    /// Returns the processors of the measurement, in the syntax of `taskset`.
    fn processors(&self) -> String {
        if self.threads == 1 { self.cpu.to_string() } else { format!("{}-{}", self.cpu + 1 - self.threads, self.cpu) }
    }
}

/// Returns the processor with the highest number, because the first one takes most interrupts.
fn last_cpu() -> usize {
    std::thread::available_parallelism().map_or(0, |count| count.get() - 1)
}

/// Returns the recorded models of every suite, or the examples.
fn corpus() -> Result<Vec<PathBuf>, String> {
    let models = std::env::var_os("MODELC_CORPUS").map_or_else(|| root().join("../shared/models"), PathBuf::from);
    let mut list: Vec<PathBuf> = SUITES.iter().flat_map(|suite| models_in(&models.join(suite.folder), suite)).collect();
    if list.is_empty() {
        list = SUITES.iter().flat_map(|suite| models_in(&root().join("examples/digits"), suite)).collect();
    }
    if list.is_empty() { Err("there are no models to measure".into()) } else { Ok(list) }
}

/// Returns the models of a folder that a suite runs, sorted by name.
fn models_in(folder: &Path, suite: &Suite) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut list: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_left_out = |path: &Path| !suite.left_out.is_empty() && path.to_string_lossy().ends_with(suite.left_out);
    list.retain(|path| suite.runs(path) && !is_left_out(path));
    list.sort();
    list
}

fn measure(runner: &Runner<'_>, suite: &Suite, model: &Path, rounds: usize) -> Row {
    let mut commands: Vec<_> = suite.contenders.iter().map(|&contender| runner.command(contender, model)).collect();
    let mut times: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); suite.contenders.len()];
    for _ in 0..rounds {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            // A contender that failed once is skipped.
            let Ok(list) = times else { continue };
            match command.as_mut().map_err(|error| error.clone()).and_then(measure::median) {
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
        group: runner.group(model),
        spread: times.iter().map(|list| list.as_ref().map_or(1.0, spread)).collect(),
        latency: times.into_iter().map(|list| list.map(|list| list[list.len() / 2])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn row(name: &str, class: Class, latency: [Option<f64>; 3]) -> Row {
        let latency = latency.map(|time| time.ok_or_else(|| "unsupported: SIGN".to_owned())).into();
        Row { name: name.into(), group: Group { class, delegated: false }, latency, spread: vec![1.0; 3] }
    }

    #[test]
    fn means_are_geometric_and_leave_out_what_does_not_count() {
        let rows = [
            row("a", Class::Integer, [Some(1e6), Some(2e6), Some(8e6)]),
            row("b", Class::Integer, [Some(1e6), Some(0.5e6), Some(2e6)]),
            row("tiny", Class::Integer, [Some(1e3), Some(9e3), Some(9e3)]),
            row("refused", Class::Integer, [None, Some(1e6), Some(1e6)]),
        ];
        let (mean, count) = geometric_mean(&SUITES[0], rows.iter(), 1).expect("two rows count");
        assert!((mean - 1.0).abs() < 1e-12 && count == 2, "{mean} {count}");
        let (mean, _) = geometric_mean(&SUITES[0], rows.iter(), 2).expect("two rows count");
        assert!((mean - 4.0).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean(&SUITES[0], rows[2..].iter(), 1), None);
    }

    #[test]
    fn every_thread_has_a_processor() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(parse(&["m.pte", "--cpu", "3", "--threads", "2"]).expect("all is well").processors(), "2-3");
        assert_eq!(parse(&["m.pte", "--cpu", "0"]).expect("all is well").processors(), "0");
        assert!(parse(&["m.pte", "--cpu", "0", "--threads", "2"]).is_err());
    }

    #[test]
    fn options_are_read_and_mistakes_refused() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let options = parse(&["m.tflite", "--rounds", "3", "--seconds", "0.5", "--cpu", "1"]).expect("all is well");
        assert_eq!((options.rounds, options.seconds, options.cpu, options.models.len()), (3, 0.5, 1, 1));
        for wrong in [&["m.pte", "--rounds", "0"][..], &["m.pte", "--rounds", "x"], &["m.pte", "--cpu"], &["m.pte", "--fast"], &["m.onnx"]]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
