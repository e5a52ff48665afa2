//! What threads would bring: `cargo bench --bench threads -- MODEL…`.
//!
//! The parts of each kernel run one after the other on one core, each measured alone; the least of its times counts, so that other work on the
//! computer hardly shows. On so many threads a call takes as long as its longest part and an empty call of `parallel_for`. What parts do to
//! each other's caches and to the bandwidth of memory is not in it.

use modelc::frontend::LoadOptions;
use modelc::ir::Tensor;
use modelc::jit::{Jit, JitOptions, Order};
use modelc::lower::{Options, Threads};
use modelc::program::{Port, calls};
use modelc::{pipeline, target};
use std::sync::Arc;

/// Calls of each model.
const RUNS: usize = 60;

/// Nanoseconds of an empty call in parts, as `bench --profile` measures them.
const HANDING_OVER: u64 = 400;

/// A model on a number of threads.
struct Measured {
    /// Nanoseconds of a call.
    total: u64,
    in_parts: usize,
    scratch_bytes: u64,
    /// The kernels that take longest, with their time and the number of their parts.
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
    let mut measured = Measured { total: 0, in_parts: 0, scratch_bytes: lowered.program.methods[0].scratch_bytes, longest: vec![] };
    let calls = calls(&lowered.program.methods[0].steps);
    for (number, time) in instance.kernel_times().iter().enumerate().take(calls.len()) {
        let parts = instance.part_times().get(number).map_or(&[][..], Vec::as_slice);
        let time = parts.iter().max().map_or(time.least(), |longest| longest + HANDING_OVER);
        measured.total += time;
        measured.in_parts += usize::from(!parts.is_empty());
        let kernel = &lowered.program.kernels[calls[number].kernel];
        measured.longest.push((time, parts.len(), format!("{} {}", kernel.name, calls[number].origin.schedule)));
    }
    measured.longest.sort_by_key(|(time, ..)| std::cmp::Reverse(*time));
    Ok(measured)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    println!(
        "{:44} {:>10} {:>10} {:>6} {:>10} {:>6} {:>9} {:>9} {:>8}",
        "model", "1, µs", "2, µs", "", "4, µs", "", "B at 1", "B at 2", "in parts"
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
            two.in_parts,
            two.longest.len()
        );
        for (time, parts, kernel) in two.longest.iter().filter(|(_, parts, _)| *parts == 0).take(4) {
            println!("    whole: {:>8.1} µs, {parts} parts: {kernel}", *time as f64 / 1e3);
        }
    }
    Ok(())
}
