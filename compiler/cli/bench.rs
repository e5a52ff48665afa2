//! `modelc bench MODEL`, with the options of TFLite's benchmark_model.

mod profile;
mod regions;
mod report;

use super::Outcome;
use super::batches::Call as Sequenced;
use super::compared;
use super::console;
use super::files::Files;
use super::interrupt::{self, Measuring};
use super::options::{Common, MessageFormat};
use super::output::{grouped, table, usage};
use super::pin;
use super::progress;
use super::run::Calls;
use super::sizes;
use crate::api::engine::Engine;
use crate::diagnostic::Diagnostics;
use crate::emit::OutputKind;
use crate::jit::{JitOptions, Symbol, check_status};
use clap::{Args, ValueEnum};
use profile::{Detail, Profile};
use serde_json::json;
use std::time::{Duration, Instant};

#[derive(Args)]
pub struct Arguments {
    /// A .tflite, .pte or .bpte file; `-` is standard input
    model: String,
    #[command(flatten)]
    calls: Calls,
    /// Minimum number of measured runs
    #[arg(long = "num-runs", alias = "num_runs", value_name = "N", default_value_t = 50)]
    num_runs: u64,
    /// Number of runs before the measurement
    #[arg(long = "warmup-runs", alias = "warmup_runs", value_name = "N", default_value_t = 1)]
    warmup_runs: u64,
    /// Minimum duration of the measurement, in seconds
    #[arg(long = "min-secs", alias = "min_secs", value_name = "S", default_value_t = 1.0)]
    min_secs: f64,
    /// Maximum duration of the measurement, in seconds
    #[arg(long = "max-secs", alias = "max_secs", value_name = "S", default_value_t = 150.0)]
    max_secs: f64,
    /// Pause between runs, in seconds
    #[arg(long = "run-delay", alias = "run_delay", value_name = "S", default_value_t = 0.0)]
    run_delay: f64,
    /// Number of threads
    #[arg(long = "num-threads", alias = "num_threads", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    num_threads: u32,
    /// Processors to run on, separated by commas
    #[arg(long, value_name = "CPU", value_delimiter = ',')]
    pin: Vec<usize>,
    /// Show times of operators; =kernels: also of their kernels
    #[arg(long, value_enum, value_name = "DETAIL", num_args = 0..=1, require_equals = true, default_missing_value = "operators")]
    #[arg(hide_possible_values = true)]
    profile: Option<ProfileArgument>,
    /// Write a page with times; OUT.json: a report
    #[arg(long, value_name = "OUT.html")]
    report: Option<String>,
    /// Show in Markdown what differs from an earlier report
    #[arg(long, value_name = "OLD.json")]
    compare: Option<String>,
    /// Write the times of operators for Model Explorer
    #[arg(long = "node-data", value_name = "OUT.json")]
    node_data: Option<String>,
    /// Write /tmp/perf-PID.map, for names in Linux's perf
    #[arg(long = "perf-map")]
    perf_map: bool,
    /// Print JSON (schema modelc.bench/1)
    #[arg(long)]
    json: bool,
    /// Write a CSV file with one line for each run
    #[arg(long, value_name = "PATH")]
    csv: Option<String>,
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
    fn profiles(&self) -> bool {
        self.profile.is_some() || self.reports()
    }

    /// Tells if a report is made.
    fn reports(&self) -> bool {
        self.report.is_some() || self.compare.is_some() || self.node_data.is_some()
    }

    fn wants_json(&self) -> bool {
        self.json || self.common.messages.format == MessageFormat::Json
    }

    fn detail(&self) -> Detail {
        if self.profile == Some(ProfileArgument::Kernels) { Detail::Kernels } else { Detail::Operators }
    }
}

/// Latencies in nanoseconds.
struct Statistics {
    runs: usize,
    min: f64,
    median: f64,
    mean: f64,
    p90: f64,
    p99: f64,
    std: f64,
}

impl Statistics {
    fn new(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| sorted.get(((sorted.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(0.0);
        let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
        let variance = sorted.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / sorted.len().max(1) as f64;
        Self { runs: sorted.len(), min: at(0.0), median: at(0.5), mean, p90: at(0.9), p99: at(0.99), std: variance.sqrt() }
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let numbers = [self.min, self.median, self.mean, self.p90, self.p99, self.std];
        let mut cells = vec![name.to_owned(), grouped(self.runs as u64)];
        cells.extend(numbers.map(microseconds));
        cells
    }

    fn json(&self) -> serde_json::Value {
        json!({ "runs": self.runs, "min_ns": self.min, "median_ns": self.median, "mean_ns": self.mean, "p90_ns": self.p90,
                "p99_ns": self.p99, "std_ns": self.std })
    }
}

fn microseconds(nanoseconds: f64) -> String {
    format!("{:.2}", nanoseconds / 1e3)
}

/// Measures a model.
///
/// # Errors
/// Any diagnostic about the model or the inputs.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    if !arguments.pin.is_empty() {
        pin::pin(&arguments.pin)?;
    }
    let inputs = arguments.calls.files()?.into_iter().chain(arguments.common.inputs()).chain(arguments.compare.as_deref());
    let files = Files::new(inputs.chain([arguments.model.as_str()]));
    files.check(arguments.csv.as_deref().map(|path| (path, OutputKind::Csv)).into_iter().chain(report::outputs(arguments)))?;
    let earlier = arguments.compare.as_deref().map(compared::read).transpose()?;
    let batches = arguments.calls.batches(&arguments.model, &arguments.common)?;
    let batch = &batches[0];
    let is_sequence = arguments.calls.are_a_sequence();
    if batches.len() > 1 && is_sequence && batch.calls.len() > 1 {
        return Err(usage("these calls need several models: --bound lets one take all shapes, or bench them apart").into());
    }
    let options = JitOptions { profile: arguments.profiles(), threads: arguments.num_threads, ..JitOptions::default() };
    let mut engine = progress::during(&format!("compiling {}", arguments.model), || {
        Engine::new(&batch.model, &arguments.common.general_settings(), options)
    })?;
    if let Some(info) = engine.instance.gpu()? {
        console::note(&info.to_string());
    }
    if arguments.perf_map {
        write_perf_map(&files, &engine.symbols)?;
    }
    let measuring = Measuring::begin();
    let measured = |calls: &[Sequenced]| if is_sequence { calls.len() } else { calls.len().min(1) };
    let (calls, first) = batch.settle(engine.bytes_of_call(), |calls| {
        engine.instance.reset()?;
        engine.instance.write_tensors(calls[0].method, &calls[0].inputs)?;
        measure(&mut engine, &calls[..measured(calls)], 1, Duration::ZERO, Duration::MAX, Duration::ZERO)
    })?;
    let calls = &calls[..measured(&calls)];
    let delay = seconds(arguments.run_delay);
    let warmup = measure(&mut engine, calls, arguments.warmup_runs, Duration::ZERO, seconds(arguments.max_secs), delay)?;
    engine.instance.clear_kernel_times();
    let before = engine.instance.calls_in_parts();
    let steady = measure(&mut engine, calls, arguments.num_runs, seconds(arguments.min_secs), seconds(arguments.max_secs), delay)?;
    drop(measuring);
    let calls_in_parts = (engine.instance.calls_in_parts() - before) / steady.0.len().max(1) as u64;
    if let Some(path) = &arguments.csv {
        let lines: String = steady.totals().iter().enumerate().map(|(run, ns)| format!("{run},{ns}\n")).collect();
        files.write(path, OutputKind::Csv, format!("{}{lines}", crate::emit::CSV_BEGINNING).into_bytes())?;
    }
    let phases =
        [("first", &first), ("warm-up", &warmup), ("steady", &steady)].map(|(name, times)| (name, Statistics::new(&times.totals())));
    let profile =
        if arguments.profiles() { Some(profile::profile(&mut engine, &batch.model.module, calls, calls_in_parts)?) } else { None };
    let measured = Measured { calls, phases: &phases, steady: &steady, profile: profile.as_ref() };
    let report = if arguments.reports() { Some(report::report(arguments, &batch.model, &engine, &measured)?) } else { None };
    if interrupt::is_asked() {
        let runs = grouped(steady.0.len() as u64);
        console::note(&format!("interrupted: {runs} of at least {} runs were measured", grouped(arguments.num_runs)));
    }
    if let Some(mut report) = report
        && report::is_all(arguments, &files, earlier.as_ref(), &mut report)?
    {
        return Ok(Outcome::Done);
    }
    console::print(&if arguments.wants_json() { json_text(arguments, &engine, &measured) } else { text(arguments, &engine, &measured) })?;
    Ok(Outcome::Done)
}

/// Writes one line for each function: address and size in hexadecimal, name. perf expects the map of a process under this file name.
fn write_perf_map(files: &Files<'_>, symbols: &[Symbol]) -> Result<(), Diagnostics> {
    let lines: String = symbols.iter().map(|symbol| format!("{:x} {:x} {}\n", symbol.address, symbol.bytes, symbol.name)).collect();
    Ok(files.write(&format!("/tmp/perf-{}.map", std::process::id()), OutputKind::PerfMap, lines.into_bytes())?)
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

/// Nanoseconds of each call of each run.
#[derive(Default)]
struct Times(Vec<Vec<f64>>);

impl Times {
    /// Returns the times of whole runs.
    fn totals(&self) -> Vec<f64> {
        self.0.iter().map(|calls| calls.iter().sum()).collect()
    }

    /// Returns the times of one call, over all runs.
    fn of_call(&self, call: usize) -> Vec<f64> {
        self.0.iter().filter_map(|calls| calls.get(call).copied()).collect()
    }
}

/// Results of the measurement.
struct Measured<'a> {
    calls: &'a [Sequenced],
    phases: &'a [(&'static str, Statistics)],
    steady: &'a Times,
    profile: Option<&'a Profile>,
}

/// Runs until both minima are reached, or the maximum. A single call reuses its inputs in place. Several calls start from the initial state,
/// and each gets its inputs before its time starts.
fn measure(
    engine: &mut Engine,
    calls: &[Sequenced],
    runs: u64,
    least: Duration,
    most: Duration,
    delay: Duration,
) -> Result<Times, Diagnostics> {
    let begin = Instant::now();
    let mut times = Times::default();
    while (times.0.len() as u64) < runs || begin.elapsed() < least {
        if !times.0.is_empty() && (begin.elapsed() >= most || interrupt::is_asked()) {
            break;
        }
        times.0.push(run(engine, calls)?);
        if delay > Duration::ZERO {
            sleep(delay);
        }
    }
    Ok(times)
}

/// Waits, but no longer than the measurement may last.
fn sleep(delay: Duration) {
    const STEP: Duration = Duration::from_millis(50);
    let begin = Instant::now();
    while !interrupt::is_asked() && begin.elapsed() < delay {
        std::thread::sleep(STEP.min(delay.saturating_sub(begin.elapsed())));
    }
}

/// Runs the calls once and returns the nanoseconds of each.
fn run(engine: &mut Engine, calls: &[Sequenced]) -> Result<Vec<f64>, Diagnostics> {
    let mut times = Vec::with_capacity(calls.len());
    if calls.len() > 1 {
        engine.instance.reset()?;
    }
    for call in calls {
        if calls.len() > 1 {
            engine.instance.write_tensors(call.method, &call.inputs)?;
        }
        let start = Instant::now();
        let status = engine.instance.run(call.method)?;
        times.push(start.elapsed().as_nanos() as f64);
        check_status(&engine.program().methods[call.method].name, status)?;
    }
    Ok(times)
}

/// Returns method and time of each call of a sequence; empty for a single call.
fn by_call(engine: &Engine, measured: &Measured<'_>) -> Vec<(String, Statistics)> {
    let calls = measured.calls.iter().enumerate().filter(|_| measured.calls.len() > 1);
    let name = |call: &Sequenced| engine.program().methods[call.method].name.clone();
    calls.map(|(number, call)| (name(call), Statistics::new(&measured.steady.of_call(number)))).collect()
}

fn text(arguments: &Arguments, engine: &Engine, measured: &Measured<'_>) -> String {
    let threads = if arguments.num_threads == 1 { "1 thread".into() } else { format!("{} threads", arguments.num_threads) };
    let pinned = if arguments.pin.is_empty() { String::new() } else { format!(" on processor {}", pin::list(&arguments.pin)) };
    let mut text = format!("{} on {}, {threads}{pinned}\n", arguments.model, engine.machine.level);
    text.push_str(&format!("init (compile)  {:.1} ms\n", engine.compile_time.as_secs_f64() * 1e3));
    let memory = sizes::arena(&engine.footprint) + &sizes::areas(&engine.footprint);
    text.push_str(&format!("memory          {memory}; with code for {} only\n\n", engine.machine.level));
    let header = ["µs", "runs", "min", "median", "mean", "p90", "p99", "std"].map(String::from).to_vec();
    let mut rows: Vec<_> = std::iter::once(header).chain(measured.phases.iter().map(|(name, s)| s.cells(name))).collect();
    rows.extend(by_call(engine, measured).iter().enumerate().map(|(number, (name, s))| s.cells(&format!("  call {number} {name}"))));
    text.push_str(&table(&rows, &[1, 2, 3, 4, 5, 6, 7]));
    if let Some(profile) = measured.profile {
        text.push_str(&format!("\n{}", profile.text(arguments.detail())));
    }
    text
}

fn json_text(arguments: &Arguments, engine: &Engine, measured: &Measured<'_>) -> String {
    let &Measured { calls, phases, profile, .. } = measured;
    let report = json!({
        "schema": "modelc.bench/1",
        "model": arguments.model,
        "method": engine.program().methods[calls[0].method].name,
        "cpu_level": engine.machine.level,
        "threads": arguments.num_threads,
        "pinned_to": arguments.pin,
        "init_ns": engine.compile_time.as_nanos() as u64,
        "scratch_bytes": engine.footprint.scratch_bytes,
        "memory": engine.footprint.to_json(),
        "first": phases[0].1.json(),
        "warmup": phases[1].1.json(),
        "steady": phases[2].1.json(),
        "calls": by_call(engine, measured).iter().map(|(name, s)| json!({ "method": name, "steady": s.json() })).collect::<Vec<_>>(),
        "operators": profile.map(Profile::operators_json),
        "kernels": profile.map(Profile::kernels_json),
        "regions": profile.map(|profile| regions::json(&profile.regions)),
        "peaks": profile.map(Profile::peaks_json),
        "parts": profile.map(Profile::parts_json),
    });
    format!("{report:#}\n")
}
