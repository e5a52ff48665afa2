//! Statistics of a driver about the GPU kernels of models: `cargo xtask shaders MODEL…`.
//!
//! Nothing runs: the driver compiles pipelines and reports their contents. So a driver that compiles for an absent device is enough. The
//! numbers and their names are the driver's. The table of `docs/gpu.md` has those of Mesa's RADV.

#[path = "../tests/support/mod.rs"]
mod support;

use modelc::codegen::spirv::module;
use modelc::frontend::GpuOperators;
use modelc::machine::{GPUS, Gpu, GpuMachine, MACHINES};
use modelc::program::DeviceKernel;
use modelc::{lower, passes, pipeline};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use support::vulkan::Device;

/// Options of the command line.
struct Wanted {
    models: Vec<PathBuf>,
    profile: &'static GpuMachine,
    /// `true` for a row for each kernel.
    each: bool,
    /// `true` to assign all operators to the device, and not only those that the file assigns.
    all: bool,
}

fn main() -> ExitCode {
    match wanted(std::env::args().skip(1)).and_then(|wanted| tell(&wanted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("shaders: {message}");
            ExitCode::FAILURE
        }
    }
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted { models: vec![], profile: &GPUS[0], each: false, all: false };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo passes this to all benchmarks.
            "--bench" => {}
            "--each" => wanted.each = true,
            "--all" => wanted.all = true,
            "--vk-profile" => {
                let level = arguments.next().ok_or("--vk-profile wants the name of a profile")?;
                wanted.profile = GPUS.iter().find(|row| row.level == level).ok_or_else(|| format!("`{level}` is no profile"))?;
            }
            option if option.starts_with("--") => return Err(format!("`{option}` is no option")),
            model => wanted.models.push(model.into()),
        }
    }
    if wanted.models.is_empty() { Err("which models?".into()) } else { Ok(wanted) }
}

fn tell(wanted: &Wanted) -> Result<(), String> {
    let gpu = &wanted.profile.limits;
    let Some(device) = Device::find() else {
        println!("skipped: no driver of Vulkan with a device");
        return Ok(());
    };
    if !device.tells() {
        println!("skipped: {} does not say what it makes of a kernel", device.name);
        return Ok(());
    }
    println!("{}, {}", device.name, wanted.profile.level);
    println!("| | kernels | {} |", COLUMNS.join(" | "));
    println!("|---|---|{}", "---|".repeat(COLUMNS.len()));
    for path in &wanted.models {
        let kernels = kernels(path, wanted)?;
        let rows = kernels.iter().map(|kernel| Row::of(kernel, gpu, &device)).collect::<Result<Vec<_>, _>>()?;
        if wanted.each {
            kernels.iter().zip(&rows).for_each(|(kernel, row)| line(&kernel.kernel.name, std::slice::from_ref(row)));
        }
        line(&support::stem(path), &rows);
    }
    Ok(())
}

/// Returns the kernels of a model for a device.
fn kernels(path: &Path, wanted: &Wanted) -> Result<Vec<DeviceKernel>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut loaded = support::load(path).map_err(|error| failed(&error))?;
    if wanted.all {
        GpuOperators::All.mark(&mut loaded).map_err(|error| failed(&error))?;
    }
    passes::run_all(&mut loaded);
    let options = lower::Options { gpu: Some(wanted.profile), ..lower::Options::new(&MACHINES[0]) };
    let lowered = pipeline::lower(&loaded, &support::stem(path), options).map_err(|error| failed(&error))?;
    Ok(lowered.program.device.into_iter().flat_map(|device| device.kernels.clone()).collect())
}

const COLUMNS: [&str; 8] = [
    "SPIR-V, KB",
    "instructions",
    "most in a kernel",
    "registers of a lane, median and most",
    "spilled",
    "shared bytes, most",
    "loads from memory",
    "cycles",
];

/// The driver's statistics of one kernel; 0 for a missing number.
struct Row {
    bytes: usize,
    instructions: u64,
    registers: u64,
    spilled: u64,
    shared: u64,
    loads: u64,
    cycles: u64,
}

impl Row {
    fn of(kernel: &DeviceKernel, gpu: &Gpu, device: &Device) -> Result<Self, String> {
        let words = module(kernel, gpu).map_err(|error| error.to_string())?;
        let statistics = device.statistics(&words, kernel.binding_count()).unwrap_or_else(|| Ok(vec![]))?;
        let sum = |names: &[&str]| statistics.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value).sum();
        Ok(Self {
            bytes: 4 * words.len(),
            instructions: sum(&["Instructions"]),
            registers: sum(&["VGPRs"]),
            spilled: sum(&["Spilled SGPRs", "Spilled VGPRs"]),
            shared: sum(&["LDS size"]),
            loads: sum(&["VMEM Clause"]),
            cycles: sum(&["Inverse Throughput"]),
        })
    }
}

/// Prints the line of some kernels.
fn line(name: &str, rows: &[Row]) {
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let most = |of: fn(&Row) -> u64| rows.iter().map(of).max().unwrap_or(0);
    let mut registers: Vec<u64> = rows.iter().map(|row| row.registers).collect();
    registers.sort_unstable();
    let median = registers.get(registers.len() / 2).copied().unwrap_or(0);
    println!(
        "| {name} | {} | {} | {} | {} | {median}, {} | {} | {} | {} | {} |",
        rows.len(),
        rows.iter().map(|row| row.bytes).sum::<usize>().div_ceil(1000),
        sum(|row| row.instructions),
        most(|row| row.instructions),
        most(|row| row.registers),
        sum(|row| row.spilled),
        most(|row| row.shared),
        sum(|row| row.loads),
        sum(|row| row.cycles),
    );
}
