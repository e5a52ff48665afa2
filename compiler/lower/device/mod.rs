//! The part of a program that runs on a GPU: regions that replace runs of calls, on memory that mirrors the host's.
//!
//! The device's machine is one more level while a method is lowered, with the same groups, calls and addresses. So the host's plan is also the plan of
//! the device's area, and a call can run on either side. Calls of groups for the device become dispatches if their kernels allow it (`dispatches.rs`).
//! Runs of such calls become regions (`regions.rs`).

mod close_up;
mod counts;
pub(super) mod dispatches;
pub(super) mod estimate;
mod flow;
mod hazards;
mod host;
mod joined;
mod mirror;
mod operands;
mod ranges;
mod regions;
mod residents;
mod slices;
mod words;

use super::stages::written::LoweredMethod;
use crate::kernel::Kernel;
use crate::machine::GpuMachine;
use crate::program::{Blob, Device, DeviceRegion, HostCall, HostReason, Method, Residents, Step, Variable};
use dispatches::Dispatches;
pub(super) use host::lighten;
use mirror::Mirror;
use ranges::Bytes;
use regions::{Both, Cut, Cutter, Decided};
use residents::Touched;

/// The kernels of the device, and of the first CPU.
#[derive(Clone, Copy)]
struct Kernels<'s> {
    device: &'s [Kernel],
    host: &'s [Kernel],
}

/// Returns the steps of a method for the device and for the first CPU, with the kernels of each. `marks` is `true` for each call for the device.
fn both<'s>(method: &'s LoweredMethod, kernels: Kernels<'s>, marks: &'s [bool]) -> Option<Both<'s>> {
    let (device, host) = (&method.levels.last()?.steps, &method.levels.first()?.steps);
    Some(Both { device, device_kernels: kernels.device, host, host_kernels: kernels.host, marks, live: &method.live })
}

/// Returns the method for each CPU.
fn hosts(method: &mut LoweredMethod) -> Option<&mut [Method]> {
    method.levels.split_last_mut().map(|(_, hosts)| hosts)
}

/// Parts of a program that its device is made from, without the methods.
pub(super) struct OfProgram<'a> {
    /// The device's machine.
    pub machine: &'static GpuMachine,
    /// The kernels of each level, the device's last.
    pub kernels: &'a [Vec<Kernel>],
    /// Constants.
    pub constants: &'a [Blob],
    /// The program's variables, and their bytes.
    pub variables: (&'a mut Vec<Variable>, &'a mut u64),
    /// `true` if variables that only the device uses live there.
    pub needs_device: bool,
}

/// Makes the device of a program. Regions replace runs of calls in the methods' steps for CPUs. Variables that live on the device are removed from the
/// program.
///
/// # Errors
/// The reasons why the device does no work, each once.
pub(super) fn device(program: OfProgram<'_>, methods: &mut [LoweredMethod]) -> Result<Device, Vec<HostReason>> {
    let mut host_calls = Vec::new();
    let placed = placed(program, methods, &mut host_calls);
    match placed {
        Some(device) => Ok(Device { host_calls, ..device }),
        None => {
            let mut reasons: Vec<HostReason> = Vec::new();
            for call in host_calls {
                if call.reason != HostReason::NotGiven && !reasons.contains(&call.reason) {
                    reasons.push(call.reason);
                }
            }
            Err(reasons)
        }
    }
}

/// Makes the device, except its `host_calls`. Calls that stay on the host are added to a list. `None` if the device does no work.
fn placed(program: OfProgram<'_>, methods: &mut [LoweredMethod], host_calls: &mut Vec<HostCall>) -> Option<Device> {
    let OfProgram { machine, kernels, constants, variables: (variables, variable_bytes), needs_device } = program;
    let (device_kernels, host_kernels) = (kernels.last()?, kernels.first()?);
    let list: Vec<&Method> = methods.iter().filter_map(|method| method.levels.last()).collect();
    let mirror = Mirror::new(&list, device_kernels, *variable_bytes);
    let of_levels = Kernels { device: device_kernels, host: host_kernels };
    let (mut tried, none) = (Dispatches::new(machine, &mirror, constants), Bytes::default());
    let decided: Option<Vec<Decided>> = (methods.iter())
        .map(|method| Some(Cutter::new(both(method, of_levels, &method.marks)?, (&mirror, &none), &mut tried).decide()))
        .collect();
    let (decided, mut dispatches) = (decided?, tried.again());
    let touched: Vec<Touched<'_>> = decided.iter().map(|decided| Touched { host: &decided.host, device: &decided.device }).collect();
    let lives_there = if needs_device { residents::choose(variables, &mirror, &touched) } else { vec![false; variables.len()] };
    let residents = residents::in_area(variables, &lives_there, &mirror);
    let bytes = residents.iter().map(|variable| variable.offset..variable.offset + variable.bytes).collect();
    let first_contents = if residents.is_empty() { None } else { Some(residents::first_contents(&residents, &mut dispatches)?) };
    let mut regions: Vec<DeviceRegion> = Vec::new();
    for (number, (method, decided)) in methods.iter_mut().zip(&decided).enumerate() {
        let stays = |(call, reason): (usize, &Option<HostReason>)| reason.map(|reason| HostCall { method: number, call, reason });
        host_calls.extend(decided.reasons.iter().enumerate().filter_map(stays));
        let done: Vec<bool> = decided.reasons.iter().map(Option::is_none).collect();
        let cutter = Cutter::new(both(method, of_levels, &done)?, (&mirror, &bytes), &mut dispatches);
        let (of_method, cuts) = cutter.cut(regions.len());
        regions.extend(of_method);
        hosts(method)?.iter_mut().for_each(|host| apply(&cuts, &mut host.steps));
    }
    let staging_bytes = regions.iter().map(staged).max()?.max(64).next_multiple_of(64);
    if !residents.is_empty() {
        let hosts = methods.iter_mut().filter_map(hosts).flatten();
        *variable_bytes = residents::move_out(variables, &lives_there, &mirror, hosts, &mut regions);
    }
    let residents = first_contents.map(|first_contents| {
        regions.push(first_contents);
        Residents { variables: residents, region: regions.len() - 1 }
    });
    let Dispatches { kernels, placed, constant_bytes, counts, .. } = dispatches;
    let area_bytes = counts.end();
    Some(Device {
        machine,
        kernels,
        constants: placed,
        constant_bytes,
        area_bytes,
        staging_bytes,
        regions,
        host_calls: vec![],
        residents,
        estimate: None,
    })
}

/// Returns the bytes of staging memory that a region needs.
fn staged(region: &DeviceRegion) -> u64 {
    let crossings = region.enter.iter().chain(&region.leave);
    crossings.map(|crossing| crossing.staging + crossing.bytes.next_multiple_of(4)).max().unwrap_or(0)
}

/// Replaces runs of a method's steps by regions.
fn apply(cuts: &[Cut], steps: &mut Vec<Step>) {
    // The last cut comes first, so that the positions of earlier steps stay valid.
    for cut in cuts.iter().rev() {
        let mut list = &mut *steps;
        for &(number, second) in &cut.path {
            let [first, last] = list[number].arms_mut().expect("the path of a cut leads through branches and loops");
            list = if second { last } else { first };
        }
        let otherwise = list.drain(cut.steps.clone()).collect();
        list.insert(cut.steps.start, Step::Region { region: cut.region, otherwise });
    }
}
