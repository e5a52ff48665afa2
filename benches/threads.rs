//! Estimated effect of threads: `cargo bench --bench threads -- MODEL…`.
//!
//! The tasks of each kernel run one after the other on one core, each measured alone. The least of its times counts, so that other work on the
//! computer has little effect. With `n` threads, a call takes as long as its longest task and an empty call of `parallel_for`. The estimate
//! does not include effects of tasks on each other's caches and on memory bandwidth.

use modelc::frontend::LoadOptions;
use modelc::ir::Tensor;
use modelc::jit::{Jit, JitOptions, Order};
use modelc::lower::{Options, Threads};
use modelc::program::{Port, Step, Tasks, Visit, calls, walk};
use modelc::{pipeline, target};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Number of calls of each model.
const RUNS: usize = 60;

/// Nanoseconds of an empty parallel call, as measured by `bench --profile`.
const HANDING_OVER: u64 = 400;

/// Results of a model with a number of threads.
struct Measured {
    /// Nanoseconds of a call.
    total: u64,
    divided: usize,
    scratch_bytes: u64,
    /// The kernels with the longest times: time, number of tasks, name.
    longest: Vec<(u64, usize, String)>,
}

fn measure(path: &str, threads: u32) -> Result<Measured, Box<dyn std::error::Error>> {
    let machine = target::host_machine()?;
    let module = pipeline::read(Arc::new(std::fs::read(path)?), path, &LoadOptions::default())?;
    let lowered = pipeline::lower(&module, path, Options { threads: Threads::new(threads), ..Options::new(machine) })?;
    let jit = Jit::with_options(&lowered.program, machine, JitOptions { profile: true, ..JitOptions::default() })?;
    let mut instance = jit.instance_in_order(threads, Order::Shuffled(1))?;
    let zeros = |port: &Port| Tensor::zeros(port.element, &port.shape).ok_or("an input without a size");
    let inputs = lowered.program.methods[0].inputs.iter().map(zeros).collect::<Result<Vec<_>, _>>()?;
    instance.write_tensors(0, &inputs)?;
    for _ in 0..RUNS {
        instance.run(0)?;
    }
    let mut measured = Measured { total: 0, divided: 0, scratch_bytes: lowered.program.methods[0].scratch_bytes, longest: vec![] };
    let calls = calls(&lowered.program.methods[0].steps);
    let streams = stream_of_each(&lowered.program.methods[0].steps);
    let mut of_streams: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (number, time) in instance.kernel_times().iter().enumerate().take(calls.len()) {
        let tasks = instance.task_times().get(number).map_or(&[][..], Vec::as_slice);
        let time = tasks.iter().max().map_or(time.least(), |longest| longest + HANDING_OVER);
        match streams[number] {
            Some(stream) => *of_streams.entry(stream).or_default() += time,
            None => measured.total += time,
        }
        measured.divided += usize::from(!tasks.is_empty() || streams[number].is_some());
        let kernel = &lowered.program.kernels[calls[number].kernel];
        measured.longest.push((time, tasks.len(), format!("{} {}", kernel.name, calls[number].origin.schedule)));
    }
    // Streams take as long as the longest of them.
    let sides: BTreeSet<usize> = of_streams.keys().map(|(side, _)| *side).collect();
    let longest = |side: usize| of_streams.range((side, 0)..(side + 1, 0)).map(|(_, time)| *time).max().unwrap_or(0);
    measured.total += sides.into_iter().map(|side| longest(side) + HANDING_OVER).sum::<u64>();
    measured.longest.sort_by_key(|(time, ..)| std::cmp::Reverse(*time));
    Ok(measured)
}

/// Returns for each kernel call the number of its step of streams, and the number of its stream.
fn stream_of_each(steps: &[Step]) -> Vec<Option<(usize, usize)>> {
    let (mut streams, mut inside, mut side) = (Vec::new(), VecDeque::new(), 0);
    for visit in walk(steps) {
        match visit {
            Visit::Parallel(run) if matches!(run.tasks, Tasks::Lists { .. }) => {
                inside.extend(run.lists().enumerate().flat_map(|(number, calls)| vec![(side, number); calls.len()]));
                side += 1;
            }
            Visit::Call(_) => streams.push(inside.pop_front()),
            _ => {}
        }
    }
    streams
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    println!(
        "{:44} {:>10} {:>10} {:>6} {:>10} {:>6} {:>9} {:>9} {:>8}",
        "model", "1, µs", "2, µs", "", "4, µs", "", "B at 1", "B at 2", "divided"
    );
    for path in &names {
        let [one, two, four] = [measure(path, 1)?, measure(path, 2)?, measure(path, 4)?];
        let micro = |measured: &Measured| measured.total as f64 / 1e3;
        let gain = |measured: &Measured| one.total as f64 / measured.total.max(1) as f64;
        let name = std::path::Path::new(path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        println!(
            "{name:44} {:>10.1} {:>10.1} {:>6.2} {:>10.1} {:>6.2} {:>9} {:>9} {:>4}/{}",
            micro(&one),
            micro(&two),
            gain(&two),
            micro(&four),
            gain(&four),
            one.scratch_bytes,
            two.scratch_bytes,
            two.divided,
            two.longest.len()
        );
        for (time, tasks, kernel) in two.longest.iter().filter(|(_, tasks, _)| *tasks == 0).take(4) {
            println!("    whole: {:>8.1} µs, {tasks} tasks: {kernel}", *time as f64 / 1e3);
        }
    }
    Ok(())
}
