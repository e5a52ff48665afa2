//! `modelc bench MODEL`, in the vocabulary of TFLite's benchmark_model.

mod regions;

use super::Outcome;
use super::batches::Call as Sequenced;
use super::console;
use super::files::Files;
use super::interrupt::{self, Measuring};
use super::options::{Common, MessageFormat};
use super::output::{grouped, numbered, table, usage};
use super::pin;
use super::progress;
use super::run::Calls;
use super::sizes;
use crate::api::engine::Engine;
use crate::diagnostic::Diagnostics;
use crate::emit::OutputKind;
use crate::jit::peaks::{self, Peaks};
use crate::jit::{JitOptions, Symbol, check_status};
use crate::program::{Call, calls, calls_in_streams, calls_together};
use clap::Args;
use regions::RegionProfile;
use serde_json::json;
use std::collections::BTreeSet;
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
    /// Show the time of every kernel
    #[arg(long)]
    profile: bool,
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
    if !arguments.pin.is_empty() {
        pin::pin(&arguments.pin)?;
    }
    let inputs = arguments.calls.files()?.into_iter().chain(arguments.common.inputs());
    let files = Files::new(inputs.chain([arguments.model.as_str()]));
    files.check(arguments.csv.as_deref().map(|path| (path, OutputKind::Csv)))?;
    let batches = arguments.calls.batches(&arguments.model, &arguments.common)?;
    let batch = &batches[0];
    let is_sequence = arguments.calls.are_a_sequence();
    if batches.len() > 1 && is_sequence && batch.calls.len() > 1 {
        return Err(usage("these calls need several models: --bound lets one take all shapes, or bench them apart").into());
    }
    let options = JitOptions { profile: arguments.profile, threads: arguments.num_threads, ..JitOptions::default() };
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
    let profile = if arguments.profile { Some(profile(&mut engine, calls, calls_in_parts)?) } else { None };
    let measured = Measured { calls, phases: &phases, steady: &steady, profile: profile.as_ref() };
    if interrupt::is_asked() {
        let runs = grouped(steady.0.len() as u64);
        console::note(&format!("interrupted: {runs} of at least {} runs were measured", grouped(arguments.num_runs)));
    }
    console::print(&if arguments.json || arguments.common.messages.format == MessageFormat::Json {
        json_text(arguments, &engine, &measured)
    } else {
        text(arguments, &engine, &measured)
    })?;
    Ok(Outcome::Done)
}

/// One line a function: first address and size in hexadecimal, name. perf looks for the map of a process under this name.
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
    /// Of whole runs.
    fn totals(&self) -> Vec<f64> {
        self.0.iter().map(|calls| calls.iter().sum()).collect()
    }

    /// Of one call of each run.
    fn of_call(&self, call: usize) -> Vec<f64> {
        self.0.iter().filter_map(|calls| calls.get(call).copied()).collect()
    }
}

/// What was measured.
struct Measured<'a> {
    calls: &'a [Sequenced],
    phases: &'a [(&'static str, Statistics)],
    steady: &'a Times,
    profile: Option<&'a Profile>,
}

/// Runs until both bounds below are reached, or the one above. The inputs of a single call are where it takes them from; several calls begin at the
/// initial state, and each gets its inputs before its time starts.
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

/// Waits, but not when the measurement is to end.
fn sleep(delay: Duration) {
    const STEP: Duration = Duration::from_millis(50);
    let begin = Instant::now();
    while !interrupt::is_asked() && begin.elapsed() < delay {
        std::thread::sleep(STEP.min(delay.saturating_sub(begin.elapsed())));
    }
}

/// Nanoseconds of each call.
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

/// The name of the method of each call of a sequence, and how long it took; nothing for a single call.
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
        let parts = profile.parts.as_ref().map_or(String::new(), InParts::text);
        text.push_str(&format!("\n{}{}{parts}", profile_table(profile), peaks_text(&profile.peaks)));
        text.push_str(&regions::text(&profile.regions));
    }
    text
}

/// One row a kernel and the operators it computes: calls, their time together, share, rate, share of the peak, schedule, operators.
fn profile_table(profile: &Profile) -> String {
    let total: f64 = profile.rows.iter().map(|row| row.median).sum();
    let mut cells = vec![["kernel", "calls", "µs", "%", "rate", "% of peak", "schedule", "operators"].map(String::from).to_vec()];
    for (row, calls) in &profile.by_kernel() {
        let (rate, share) = row.rate();
        cells.push(vec![
            row.symbol.clone(),
            calls.to_string(),
            microseconds(row.median),
            format!("{:.1}", 100.0 * row.median / total.max(1.0)),
            rate,
            share.map_or_else(|| "-".into(), |share| format!("{:.0}", 100.0 * share)),
            row.schedule.clone(),
            row.operators.join(" "),
        ]);
    }
    table(&cells, &[1, 2, 3, 4, 5])
}

fn peaks_text(peaks: &Peaks) -> String {
    format!(
        "Medians. Measured peaks: {:.1} GFLOP/s (f32), {:.1} GOP/s (8-bit), {:.1} GB/s copied within the cache, {:.1} GB/s read from memory.\n",
        2e-9 * peaks.float,
        2e-9 * peaks.integer,
        1e-9 * peaks.copy_bytes,
        1e-9 * peaks.read_bytes
    )
}

/// The kernel calls of a method with the computer's peaks.
struct Profile {
    peaks: Peaks,
    rows: Vec<ProfileRow>,
    parts: Option<InParts>,
    /// What ran on a device.
    regions: Vec<RegionProfile>,
}

/// What calls in parts cost on several threads.
struct InParts {
    /// Calls in parts of a run.
    calls: u64,
    /// One that does nothing.
    empty: Duration,
    /// How many of the methods' calls are in each run of calls that run together where no time is taken of each.
    together: Vec<usize>,
    /// How many calls are in each stream, wherever streams run side by side.
    streams: Vec<Vec<usize>>,
}

impl InParts {
    fn text(&self) -> String {
        let Self { calls, empty, together, streams } = self;
        let all: usize = together.iter().sum();
        let together = match together.len() {
            0 => String::new(),
            runs => format!(" Without --profile {all} of them are {runs}, of calls that run together."),
        };
        let in_streams: usize = streams.iter().flatten().sum();
        let streams = match streams.len() {
            0 => String::new(),
            sides => format!(" {in_streams} more are {sides} without --profile, in streams."),
        };
        format!("Calls in parts: {calls} a run, at {} µs if they did nothing.{together}{streams}\n", microseconds(empty.as_nanos() as f64))
    }
}

impl Profile {
    /// The calls of one kernel for the same operators, bands of rows say, as one row, and how many they are. In the order of the first calls.
    fn by_kernel(&self) -> Vec<(ProfileRow, usize)> {
        let mut kernels: Vec<(ProfileRow, usize)> = Vec::new();
        for row in &self.rows {
            match kernels.iter_mut().find(|(kernel, _)| kernel.symbol == row.symbol && kernel.operators == row.operators) {
                Some((kernel, calls)) => {
                    kernel.median += row.median;
                    kernel.mean += row.mean;
                    kernel.multiply_accumulates += row.multiply_accumulates;
                    kernel.bytes += row.bytes;
                    *calls += 1;
                }
                None => kernels.push((row.clone(), 1)),
            }
        }
        kernels
    }
}

#[derive(Clone)]
struct ProfileRow {
    symbol: String,
    /// Nanoseconds.
    median: f64,
    mean: f64,
    multiply_accumulates: u64,
    bytes: u64,
    /// Whether its products are of floats.
    float: bool,
    /// The peak a second: multiply-accumulates for a kernel that has some, else bytes.
    peak: f64,
    schedule: String,
    operators: Vec<String>,
}

impl ProfileRow {
    /// What the rate is of.
    fn amount(&self) -> f64 {
        if self.multiply_accumulates > 0 { self.multiply_accumulates as f64 } else { self.bytes as f64 }
    }

    /// The share of the peak; none for a kernel that took no time to speak of.
    fn share(&self) -> Option<f64> {
        (self.median > 0.0).then(|| 1e9 * self.amount() / self.median / self.peak)
    }

    /// The rate as text, and the share of the peak.
    fn rate(&self) -> (String, Option<f64>) {
        if self.median <= 0.0 {
            return ("-".into(), None);
        }
        let (factor, unit) = match (self.multiply_accumulates, self.float) {
            (0, _) => (1.0, "GB/s"),
            (_, true) => (2.0, "GFLOP/s"),
            (_, false) => (2.0, "GOP/s"),
        };
        (format!("{:.1} {unit}", factor * self.amount() / self.median), self.share())
    }

    fn json(&self) -> serde_json::Value {
        json!({ "symbol": self.symbol, "median_ns": self.median, "mean_ns": self.mean,
                "multiply_accumulates": self.multiply_accumulates, "bytes": self.bytes, "peak_share": self.share(),
                "schedule": self.schedule, "operators": self.operators })
    }
}

/// The kernels of all methods that are called.
fn profile(engine: &mut Engine, sequence: &[Sequenced], calls_in_parts: u64) -> Result<Profile, Diagnostics> {
    let peaks = peaks::measure(engine.machine)?;
    let empty = engine.instance.empty_parallel_for();
    let program = engine.program();
    let methods: BTreeSet<usize> = sequence.iter().map(|call| call.method).collect();
    let together = methods.iter().flat_map(|&method| calls_together(&program.methods[method].steps)).collect();
    let streams = methods.iter().flat_map(|&method| calls_in_streams(&program.methods[method].steps)).collect();
    let parts = empty.map(|empty| InParts { calls: calls_in_parts, empty, together, streams });
    let before = |method: usize| program.methods[..method].iter().map(|m| calls(&m.steps).len()).sum::<usize>();
    let times = engine.instance.kernel_times();
    let row = |(number, call): (usize, &Call)| {
        let time = times.get(number).cloned().unwrap_or_default();
        let kernel = &program.kernels[call.kernel];
        let float = peaks::multiplies_floats(kernel);
        let counts = call.origin.multiply_accumulates > 0;
        ProfileRow {
            symbol: kernel.name.clone(),
            median: time.median() as f64,
            mean: time.nanoseconds as f64 / time.runs.max(1) as f64,
            multiply_accumulates: call.origin.multiply_accumulates,
            bytes: call.origin.bytes,
            float,
            peak: if counts { peaks.multiply_accumulates(float) } else { peaks.copy_bytes },
            schedule: call.origin.schedule.clone(),
            operators: numbered(&call.origin.operators),
        }
    };
    let of_method = |&method: &usize| (before(method)..).zip(calls(&program.methods[method].steps));
    let rows = methods.iter().flat_map(of_method).map(row).collect();
    Ok(Profile { rows, peaks, parts, regions: regions::regions(engine) })
}

fn json_text(arguments: &Arguments, engine: &Engine, measured: &Measured<'_>) -> String {
    let &Measured { calls, phases, profile, .. } = measured;
    let kernels = profile.map(|profile| profile.rows.iter().map(ProfileRow::json).collect::<Vec<_>>());
    let parts = profile.and_then(|profile| profile.parts.as_ref());
    let peaks = profile.map(|Profile { peaks, .. }| {
        json!({ "float_multiply_accumulates_per_s": peaks.float, "integer_multiply_accumulates_per_s": peaks.integer,
                "copied_bytes_per_s": peaks.copy_bytes, "read_bytes_per_s": peaks.read_bytes })
    });
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
        "kernels": kernels,
        "regions": profile.map(|profile| regions::json(&profile.regions)),
        "peaks": peaks,
        "parts": parts.map(|parts| json!({ "calls": parts.calls, "empty_call_ns": parts.empty.as_nanos() as u64,
                                             "together": parts.together, "streams": parts.streams })),
    });
    format!("{report:#}\n")
}
