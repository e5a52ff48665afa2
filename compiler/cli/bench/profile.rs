//! The time of each operator and each kernel, for `bench --profile`.

use super::regions::{self, RegionProfile};
use crate::api::engine::Engine;
use crate::cli::batches::Call as Sequenced;
use crate::cli::output::{fitted, microseconds, numbered, scaled, table};
use crate::diagnostic::Diagnostics;
use crate::emit::Nodes;
use crate::ir::Module;
use crate::jit::peaks::{self, Peaks};
use crate::program::{Call, by_operator, calls, calls_in_streams, calls_together};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Rows of a table of times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Operators.
    Operators,
    /// Operators, with the kernels of each.
    Kernels,
}

/// The kernel calls of the methods, with the computer's peak speeds.
pub struct Profile {
    /// Peak speeds.
    peaks: Peaks,
    /// One row for each kernel call.
    rows: Vec<Row>,
    /// The calls by operator.
    operators: Vec<Operator>,
    parallel: Option<ParallelCalls>,
    /// The regions that ran on a device.
    pub regions: Vec<RegionProfile>,
}

/// The kernel calls that compute some operators.
struct Operator {
    name: String,
    /// Indices of the kernel calls.
    calls: Vec<usize>,
    parameters: u64,
}

/// The cost of parallel calls.
struct ParallelCalls {
    /// Number of parallel calls in a run.
    calls: u64,
    /// Time of a parallel call without work.
    empty: Duration,
    /// Number of calls in each group of calls that run together. Their times are not measured separately.
    together: Vec<usize>,
    /// Number of calls in each stream of each step with streams.
    streams: Vec<Vec<usize>>,
}

impl ParallelCalls {
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
        let empty = empty.as_nanos() as f64;
        let line = format!("Calls in ranges: {calls} a run, at {} µs if they did nothing.{together}{streams}", microseconds(empty, empty));
        fitted(&line) + "\n"
    }
}

/// A kernel call, or several.
#[derive(Clone)]
struct Row {
    /// Number of the call among the calls of all methods.
    number: usize,
    symbol: String,
    /// Nanoseconds.
    median: f64,
    mean: f64,
    multiply_accumulates: u64,
    bytes: u64,
    /// `true` if its products are of floats.
    float: bool,
    /// Time at peak speed, in nanoseconds.
    least: f64,
    schedule: String,
    operators: Vec<String>,
}

impl Row {
    /// Sums several calls. The schedule is that of the call with the most products, or with the most time if there are none.
    fn of(rows: &[&Row]) -> Option<Row> {
        let more = |one: &&&Row, other: &&&Row| {
            one.multiply_accumulates.cmp(&other.multiply_accumulates).then(one.median.total_cmp(&other.median))
        };
        let mut sum = (*rows.iter().max_by(more)?).clone();
        sum.median = rows.iter().map(|row| row.median).sum();
        sum.mean = rows.iter().map(|row| row.mean).sum();
        sum.multiply_accumulates = rows.iter().map(|row| row.multiply_accumulates).sum();
        sum.bytes = rows.iter().map(|row| row.bytes).sum();
        sum.least = rows.iter().map(|row| row.least).sum();
        Some(sum)
    }

    /// Returns the fraction of peak speed; `None` if the time is 0.
    fn share(&self) -> Option<f64> {
        (self.median > 0.0).then(|| self.least / self.median)
    }

    /// Formats the rate: multiply-accumulates in the measured time, or bytes if there are none.
    fn rate(&self) -> String {
        if self.median <= 0.0 {
            return "-".into();
        }
        let (amount, unit) = match (self.multiply_accumulates, self.float) {
            (0, _) => (self.bytes as f64, "GB/s"),
            (products, true) => (2.0 * products as f64, "GFLOP/s"),
            (products, false) => (2.0 * products as f64, "GOP/s"),
        };
        format!("{:.1} {unit}", amount / self.median)
    }

    /// Formats the cells of numbers: time, share of the total, rate, fraction of peak, products.
    fn cells(&self, total: f64) -> [String; 5] {
        let share = self.share().map_or_else(|| "-".into(), |share| format!("{:.0}", 100.0 * share));
        let time = microseconds(self.median, total);
        [time, format!("{:.1}", 100.0 * self.median / total.max(1.0)), self.rate(), share, scaled(self.multiply_accumulates)]
    }

    fn json(&self) -> Value {
        json!({ "number": self.number, "symbol": self.symbol, "median_ns": self.median, "mean_ns": self.mean,
                "multiply_accumulates": self.multiply_accumulates, "bytes": self.bytes, "peak_share": self.share(),
                "schedule": self.schedule, "operators": self.operators })
    }
}

impl Profile {
    /// Formats one row for each operator, with products and parameters, and a total. The peaks and facts about threads and devices follow.
    pub fn text(&self, detail: Detail) -> String {
        let total: f64 = self.rows.iter().map(|row| row.median).sum();
        let heads = ["operators", "µs", "%", "rate", "% of peak", "MAC", "params", "schedule"];
        let mut cells = vec![heads.map(String::from).to_vec()];
        for operator in &self.operators {
            let calls: Vec<&Row> = operator.calls.iter().map(|&call| &self.rows[call]).collect();
            let Some(sum) = Row::of(&calls) else { continue };
            cells.push(line(times(&operator.name, calls.len()), sum.cells(total), scaled(operator.parameters), &sum.schedule));
            if detail == Detail::Kernels {
                cells.extend(
                    by_kernel(&calls).iter().map(|(row, calls)| {
                        line(times(&format!("  {}", row.symbol), *calls), row.cells(total), String::new(), &row.schedule)
                    }),
                );
            }
        }
        if let Some(sum) = Row::of(&self.rows.iter().collect::<Vec<_>>()) {
            let [time, share, _, peak, products] = sum.cells(total);
            let parameters = self.operators.iter().map(|operator| operator.parameters).sum();
            let numbers = [time, share, String::new(), peak, products];
            cells.push(line(times("total", self.rows.len()), numbers, scaled(parameters), ""));
        }
        let parallel = self.parallel.as_ref().map_or(String::new(), ParallelCalls::text);
        format!("{}{}{parallel}{}", table(&cells, &[1, 2, 3, 4, 5, 6]), self.peaks_text(), regions::text(&self.regions))
    }

    fn peaks_text(&self) -> String {
        let Peaks { float, integer, copy_bytes, read_bytes, .. } = self.peaks;
        let line = format!(
            "Medians. Measured peaks: {:.1} GFLOP/s (f32), {:.1} GOP/s (8-bit), {:.1} GB/s copied within the cache, {:.1} GB/s read from memory.",
            2e-9 * float,
            2e-9 * integer,
            1e-9 * copy_bytes,
            1e-9 * read_bytes
        );
        fitted(&line) + "\n"
    }

    /// Returns one JSON object for each row of the table.
    pub fn operators_json(&self) -> Vec<Value> {
        let json = |operator: &Operator| {
            let calls: Vec<&Row> = operator.calls.iter().map(|&call| &self.rows[call]).collect();
            let sum = Row::of(&calls)?;
            Some(json!({ "operators": operator.name, "kernels": calls.iter().map(|row| row.number).collect::<Vec<_>>(),
                         "median_ns": sum.median, "mean_ns": sum.mean, "multiply_accumulates": sum.multiply_accumulates,
                         "bytes": sum.bytes, "parameters": operator.parameters, "peak_share": sum.share(), "schedule": sum.schedule }))
        };
        self.operators.iter().filter_map(json).collect()
    }

    /// Returns one JSON object for each kernel call.
    pub fn kernels_json(&self) -> Vec<Value> {
        self.rows.iter().map(Row::json).collect()
    }

    /// Returns the peak speeds of the computer as JSON.
    pub fn peaks_json(&self) -> Value {
        let Peaks { float, integer, copy_bytes, read_bytes, .. } = self.peaks;
        json!({ "float_multiply_accumulates_per_s": float, "integer_multiply_accumulates_per_s": integer,
                "copied_bytes_per_s": copy_bytes, "read_bytes_per_s": read_bytes })
    }

    /// Returns the parallel calls as JSON; null for one thread.
    pub fn parallel_json(&self) -> Value {
        let Some(ParallelCalls { calls, empty, together, streams }) = &self.parallel else { return Value::Null };
        json!({ "calls": calls, "empty_call_ns": empty.as_nanos() as u64, "together": together, "streams": streams })
    }
}

fn line(name: String, cells: [String; 5], parameters: String, schedule: &str) -> Vec<String> {
    [name].into_iter().chain(cells).chain([parameters, schedule.to_owned()]).collect()
}

/// Adds the number of kernel calls to a name, if there are several: `0:CONV_2D ×6`.
fn times(name: &str, calls: usize) -> String {
    if calls == 1 { name.to_owned() } else { format!("{name} ×{calls}") }
}

/// Sums the calls of each kernel, with their number, in the order of first calls.
fn by_kernel(calls: &[&Row]) -> Vec<(Row, usize)> {
    let mut symbols: Vec<&str> = Vec::new();
    for call in calls {
        if !symbols.contains(&call.symbol.as_str()) {
            symbols.push(&call.symbol);
        }
    }
    let of_symbol = |symbol: &str| calls.iter().copied().filter(|call| call.symbol == symbol).collect::<Vec<_>>();
    symbols.into_iter().map(of_symbol).filter_map(|calls| Some((Row::of(&calls)?, calls.len()))).collect()
}

/// Measures the kernels of all methods in `sequence`.
///
/// # Errors
/// A diagnostic if the peaks cannot be measured.
pub fn profile(engine: &mut Engine, module: &Module, sequence: &[Sequenced], parallel_calls: u64) -> Result<Profile, Diagnostics> {
    let peaks = peaks::measure(engine.machine)?;
    let empty = engine.instance.empty_parallel_for();
    let program = engine.program();
    let methods: BTreeSet<usize> = sequence.iter().map(|call| call.method).collect();
    let together = methods.iter().flat_map(|&method| calls_together(&program.methods[method].steps)).collect();
    let streams = methods.iter().flat_map(|&method| calls_in_streams(&program.methods[method].steps)).collect();
    let parallel = empty.map(|empty| ParallelCalls { calls: parallel_calls, empty, together, streams });
    let (mut rows, mut operators) = (Vec::new(), Vec::new());
    let nodes = Nodes::new(module);
    for &method in &methods {
        let before: usize = program.methods[..method].iter().map(|method| calls(&method.steps).len()).sum();
        let calls = calls(&program.methods[method].steps);
        let first = rows.len();
        rows.extend((before..).zip(&calls).map(|(number, call)| row(engine, &peaks, number, call)));
        for found in by_operator(&calls, |source| &module.sources[source]) {
            let places = nodes.of(found.calls.iter().map(|&call| calls[call]));
            let calls: Vec<usize> = found.calls.iter().map(|call| first + call).collect();
            let name = if found.operators.is_empty() { rows[calls[0]].symbol.clone() } else { numbered(&found.operators).join(" ") };
            operators.push(Operator { name, calls, parameters: nodes.parameters(&places) });
        }
    }
    Ok(Profile { rows, operators, peaks, parallel, regions: regions::regions(engine) })
}

fn row(engine: &Engine, peaks: &Peaks, number: usize, call: &Call) -> Row {
    let time = engine.instance.kernel_times().get(number).cloned().unwrap_or_default();
    let kernel = &engine.program().kernels[call.kernel];
    let (float, origin) = (peaks::multiplies_floats(kernel), &call.origin);
    let (amount, peak) = match origin.multiply_accumulates {
        0 => (origin.bytes, peaks.copy_bytes),
        products => (products, peaks.multiply_accumulates(float)),
    };
    Row {
        number,
        symbol: kernel.name.clone(),
        median: time.median() as f64,
        mean: time.nanoseconds as f64 / time.runs.max(1) as f64,
        multiply_accumulates: origin.multiply_accumulates,
        bytes: origin.bytes,
        float,
        least: 1e9 * amount as f64 / peak,
        schedule: origin.schedule.clone(),
        operators: numbered(&origin.operators),
    }
}
