//! `modelc bench MODEL`, with the options of TFLite's benchmark_model.

mod arguments;
mod measured;
mod profile;
mod regions;
mod report;
mod statistics;

pub use arguments::Arguments;

use super::batches::{Batch, Call as Sequenced};
use super::compared;
use super::console;
use super::files::Files;
use super::interrupt::{self, Measuring};
use super::outcome::Outcome;
use super::output::{fitted, grouped, table, usage};
use super::pin;
use super::progress::{self, Steps};
use super::sizes;
use crate::api::engine::Engine;
use crate::diagnostic::Diagnostics;
use crate::emit::OutputKind;
use crate::jit::{JitOptions, Symbol, check_status};
use measured::{Measured, Times};
use profile::Profile;
use serde_json::json;
use statistics::Statistics;
use std::borrow::Cow;
use std::time::{Duration, Instant};

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
    if batches.len() > 1 && arguments.calls.are_a_sequence() && batch.calls.len() > 1 {
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
    let found = progress::counting(&format!("measuring {}", arguments.model), "runs", |done| phases(arguments, batch, &mut engine, done))?;
    let Phases { calls, first, warmup, steady, parallel_calls } = found;
    let calls = &calls[..arguments.measured(&calls)];
    if let Some(path) = &arguments.csv {
        let lines: String = steady.totals().iter().enumerate().map(|(run, ns)| format!("{run},{ns}\n")).collect();
        files.write(path, OutputKind::Csv, format!("{}{lines}", crate::emit::CSV_BEGINNING).into_bytes())?;
    }
    let phases =
        [("first", &first), ("warm-up", &warmup), ("steady", &steady)].map(|(name, times)| (name, Statistics::new(&times.totals())));
    let profile = match arguments.profiles() {
        true => Some(progress::during("measuring the peaks of this computer", || {
            profile::profile(&mut engine, &batch.model.module, calls, parallel_calls)
        })?),
        false => None,
    };
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

/// The three phases of a measurement.
struct Phases<'b> {
    /// The calls, of which [`Arguments::measured`] are measured.
    calls: Cow<'b, [Sequenced]>,
    first: Times,
    warmup: Times,
    steady: Times,
    /// Number of parallel calls in a steady run.
    parallel_calls: u64,
}

fn phases<'b>(arguments: &Arguments, batch: &'b Batch, engine: &mut Engine, done: &Steps) -> Result<Phases<'b>, Diagnostics> {
    let _measuring = Measuring::begin();
    let (calls, first) = batch.settle(engine.bytes_of_call(), |calls| {
        engine.instance.reset()?;
        engine.instance.write_tensors(calls[0].method, &calls[0].inputs)?;
        let once = Until { runs: 1, least: Duration::ZERO, most: Duration::MAX, delay: Duration::ZERO };
        measure(engine, &calls[..arguments.measured(calls)], &once, done)
    })?;
    let measured = &calls[..arguments.measured(&calls)];
    let (most, delay) = (seconds(arguments.max_secs), seconds(arguments.run_delay));
    let warmup = measure(engine, measured, &Until { runs: arguments.warmup_runs, least: Duration::ZERO, most, delay }, done)?;
    engine.instance.clear_kernel_times();
    let before = engine.instance.parallel_calls();
    let steady = measure(engine, measured, &Until { runs: arguments.num_runs, least: seconds(arguments.min_secs), most, delay }, done)?;
    let parallel_calls = (engine.instance.parallel_calls() - before) / steady.0.len().max(1) as u64;
    Ok(Phases { calls, first, warmup, steady, parallel_calls })
}

/// Writes one line for each function: address and size in hexadecimal, name. perf expects the map of a process under this file name.
fn write_perf_map(files: &Files<'_>, symbols: &[Symbol]) -> Result<(), Diagnostics> {
    let lines: String = symbols.iter().map(|symbol| format!("{:x} {:x} {}\n", symbol.address, symbol.bytes, symbol.name)).collect();
    Ok(files.write(&format!("/tmp/perf-{}.map", std::process::id()), OutputKind::PerfMap, lines.into_bytes())?)
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

/// The end of a measurement.
struct Until {
    /// Least number of runs.
    runs: u64,
    least: Duration,
    most: Duration,
    /// Pause after a run.
    delay: Duration,
}

/// Runs until both minima are reached, or the maximum. A single call reuses its inputs in place. Several calls start from the initial state,
/// and each gets its inputs before its time starts.
fn measure(engine: &mut Engine, calls: &[Sequenced], until: &Until, done: &Steps) -> Result<Times, Diagnostics> {
    let begin = Instant::now();
    let mut times = Times::default();
    while (times.0.len() as u64) < until.runs || begin.elapsed() < until.least {
        if !times.0.is_empty() && (begin.elapsed() >= until.most || interrupt::is_asked()) {
            break;
        }
        times.0.push(run(engine, calls)?);
        done.set(times.0.len());
        if until.delay > Duration::ZERO {
            sleep(until.delay);
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
    text.push_str(&fitted(&format!("memory          {memory}; with code for {} only", engine.machine.level)));
    text.push_str("\n\n");
    let header = ["µs", "runs", "min", "median", "mean", "p90", "p99", "std"].map(String::from).to_vec();
    let longest = measured.phases.iter().flat_map(|(_, s)| s.shown()).fold(0.0, f64::max);
    let mut rows: Vec<_> = std::iter::once(header).chain(measured.phases.iter().map(|(name, s)| s.cells(name, longest))).collect();
    let calls = by_call(engine, measured);
    rows.extend(calls.iter().enumerate().map(|(number, (name, s))| s.cells(&format!("  call {number} {name}"), longest)));
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
        "parts": profile.map(Profile::parallel_json),
    });
    format!("{report:#}\n")
}
