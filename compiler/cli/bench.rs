//! `modelc bench MODEL`, in the vocabulary of TFLite's benchmark_model.

use super::Outcome;
use super::engine::Engine;
use super::io::{Inputs, read_model, write};
use super::options::Common;
use super::output::{grouped, table};
use super::run::Calls;
use crate::codegen::driver::calls;
use crate::diagnostic::Diagnostics;
use clap::Args;
use serde_json::json;
use std::time::{Duration, Instant};

#[derive(Args)]
pub struct Arguments {
    /// The model
    model: String,
    #[command(flatten)]
    calls: Calls,
    /// Runs to measure, at least
    #[arg(long = "num-runs", alias = "num_runs", default_value_t = 50)]
    num_runs: u64,
    /// Runs before measuring
    #[arg(long = "warmup-runs", alias = "warmup_runs", default_value_t = 1)]
    warmup_runs: u64,
    /// Seconds to measure, at least
    #[arg(long = "min-secs", alias = "min_secs", default_value_t = 1.0)]
    min_secs: f64,
    /// Seconds to measure, at most
    #[arg(long = "max-secs", alias = "max_secs", default_value_t = 150.0)]
    max_secs: f64,
    /// Seconds between runs
    #[arg(long = "run-delay", alias = "run_delay", default_value_t = 0.0)]
    run_delay: f64,
    /// Threads; one for now
    #[arg(long = "num-threads", alias = "num_threads", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1))]
    num_threads: u32,
    /// Show the time of every kernel
    #[arg(long)]
    profile: bool,
    /// Print JSON, schema modelc.bench/1
    #[arg(long)]
    json: bool,
    /// Write one line a run to a CSV file
    #[arg(long, value_name = "PATH")]
    csv: Option<String>,
    #[command(flatten)]
    pub common: Common,
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
/// Whatever is wrong with the model or the inputs.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let model = read_model(&arguments.model, &arguments.common)?;
    let inputs: Inputs = arguments.calls.read()?;
    let method = arguments.calls.methods(&model, &inputs)?[0];
    let mut engine = Engine::new(&model, &arguments.common, arguments.profile)?;
    let tensors = inputs.of_call(&model.module, method, 0)?;
    let slices: Vec<&[u8]> = tensors.iter().map(|t| t.bytes.as_slice()).collect();
    engine.instance.write_inputs(method, &slices)?;
    let first = measure(&mut engine, method, 1, Duration::ZERO, Duration::MAX, Duration::ZERO)?;
    let delay = seconds(arguments.run_delay);
    let warmup = measure(&mut engine, method, arguments.warmup_runs, Duration::ZERO, seconds(arguments.max_secs), delay)?;
    engine.instance.clear_kernel_times();
    let steady = measure(&mut engine, method, arguments.num_runs, seconds(arguments.min_secs), seconds(arguments.max_secs), delay)?;
    if let Some(path) = &arguments.csv {
        let lines: String = steady.iter().enumerate().map(|(run, ns)| format!("{run},{ns}\n")).collect();
        write(path, format!("run,latency_ns\n{lines}").as_bytes())?;
    }
    let phases = [("first", Statistics::new(&first)), ("warm-up", Statistics::new(&warmup)), ("steady", Statistics::new(&steady))];
    if arguments.json {
        print_json(arguments, &engine, method, &phases)
    } else {
        print_text(arguments, &engine, method, &phases)
    };
    Ok(Outcome::Done)
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

/// Runs until both bounds below are reached, or the one above; nanoseconds of each run.
fn measure(
    engine: &mut Engine,
    method: usize,
    runs: u64,
    least: Duration,
    most: Duration,
    delay: Duration,
) -> Result<Vec<f64>, Diagnostics> {
    let begin = Instant::now();
    let mut times = Vec::new();
    while (times.len() as u64) < runs || begin.elapsed() < least {
        if !times.is_empty() && begin.elapsed() >= most {
            break;
        }
        let start = Instant::now();
        let status = engine.instance.run(method)?;
        times.push(start.elapsed().as_nanos() as f64);
        if status != 0 {
            return Err(crate::diagnostic::Diagnostic::new(
                513,
                crate::diagnostic::Kind::Invalid,
                format!("the method ended with status {status}"),
            )
            .into());
        }
        if delay > Duration::ZERO {
            std::thread::sleep(delay);
        }
    }
    Ok(times)
}

fn print_text(arguments: &Arguments, engine: &Engine, method: usize, phases: &[(&str, Statistics)]) {
    let (state, scratch) = (engine.program().variable_bytes, engine.program().methods[method].scratch_bytes);
    println!("{} on {}, 1 thread", arguments.model, engine.machine.level);
    println!("init (compile)  {:.1} ms", engine.compile_time.as_secs_f64() * 1e3);
    println!("memory          {} B scratch, {} B variables\n", grouped(scratch), grouped(state));
    let header = ["µs", "runs", "min", "median", "mean", "p90", "p99", "std"].map(String::from).to_vec();
    let rows: Vec<_> = std::iter::once(header).chain(phases.iter().map(|(name, s)| s.cells(name))).collect();
    print!("{}", table(&rows, &[1, 2, 3, 4, 5, 6, 7]));
    if arguments.profile {
        println!();
        print!("{}", profile_table(engine, method));
    }
}

/// One row a kernel call: share, time, speed, schedule, operators.
fn profile_table(engine: &Engine, method: usize) -> String {
    let rows = profile_rows(engine, method);
    let total: f64 = rows.iter().map(|r| r.nanoseconds).sum();
    let mut cells = vec![["kernel", "µs", "%", "GMAC/s", "GB/s", "schedule", "operators"].map(String::from).to_vec()];
    for row in &rows {
        let rate = |amount: u64| if row.nanoseconds > 0.0 { format!("{:.1}", amount as f64 / row.nanoseconds) } else { "-".into() };
        cells.push(vec![
            row.symbol.clone(),
            microseconds(row.nanoseconds),
            format!("{:.1}", 100.0 * row.nanoseconds / total.max(1.0)),
            if row.multiply_accumulates == 0 { "-".into() } else { rate(row.multiply_accumulates) },
            rate(row.bytes),
            row.schedule.clone(),
            row.operators.join(" "),
        ]);
    }
    table(&cells, &[1, 2, 3, 4])
}

struct ProfileRow {
    symbol: String,
    nanoseconds: f64,
    multiply_accumulates: u64,
    bytes: u64,
    schedule: String,
    operators: Vec<String>,
}

fn profile_rows(engine: &Engine, method: usize) -> Vec<ProfileRow> {
    let program = engine.program();
    let before: usize = program.methods[..method].iter().map(|m| calls(&m.steps).len()).sum();
    let times = engine.instance.kernel_times();
    calls(&program.methods[method].steps)
        .into_iter()
        .enumerate()
        .map(|(i, call)| {
            let time = times.get(before + i);
            ProfileRow {
                symbol: program.kernels[call.kernel].name.clone(),
                nanoseconds: time.map_or(0.0, |t| t.nanoseconds as f64 / t.runs.max(1) as f64),
                multiply_accumulates: call.origin.multiply_accumulates,
                bytes: call.origin.bytes,
                schedule: call.origin.schedule.clone(),
                operators: call.origin.operators.iter().map(|(index, name)| format!("{index}:{name}")).collect(),
            }
        })
        .collect()
}

fn print_json(arguments: &Arguments, engine: &Engine, method: usize, phases: &[(&str, Statistics)]) {
    let kernels = arguments.profile.then(|| {
        let rows = profile_rows(engine, method);
        let row = |r: &ProfileRow| {
            json!({ "symbol": r.symbol, "mean_ns": r.nanoseconds, "multiply_accumulates": r.multiply_accumulates,
                                           "bytes": r.bytes, "schedule": r.schedule, "operators": r.operators })
        };
        rows.iter().map(row).collect::<Vec<_>>()
    });
    let report = json!({
        "schema": "modelc.bench/1",
        "model": arguments.model,
        "method": engine.program().methods[method].name,
        "cpu_level": engine.machine.level,
        "threads": arguments.num_threads,
        "init_ns": engine.compile_time.as_nanos() as u64,
        "scratch_bytes": engine.program().methods[method].scratch_bytes,
        "first": phases[0].1.json(),
        "warmup": phases[1].1.json(),
        "steady": phases[2].1.json(),
        "kernels": kernels,
    });
    println!("{report:#}");
}
