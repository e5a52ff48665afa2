//! What a GPU does of a program: regions that stand for runs of calls, on memory that mirrors the host's.
//!
//! The device's machine is one more level while a method is lowered: same groups, same calls, same addresses. So the plan of the host is the plan of
//! the device's area, and a call can run on either side. Calls of groups that are for the device become dispatches if their kernels can
//! (`dispatches.rs`); runs of them become regions (`regions.rs`).

mod dispatches;
mod joined;
mod mirror;
mod ranges;
mod regions;

use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::program::{Blob, Device, Method, Step};
use dispatches::Dispatches;
use mirror::Mirror;
pub(super) use regions::Cut;
use regions::{Cutter, Sides};
use std::ops::Range;

/// A method as the levels of CPUs and the device's machine do it.
pub(super) struct Both<'a> {
    /// As the device's machine does it.
    pub device: &'a Method,
    /// As the first level of the CPU does it.
    pub host: &'a Method,
    /// For each call whether it is for the device.
    pub marks: &'a [bool],
    /// For each call the bytes of scratch memory that are live after it.
    pub live: &'a [Vec<Range<u64>>],
}

/// The device of a program, and the runs of steps of each method that its regions take the place of; none where it does nothing.
pub(super) fn device(
    machine: &'static Machine,
    (device_kernels, host_kernels): (&[Kernel], &[Kernel]),
    constants: &[Blob],
    variable_bytes: u64,
    methods: &[Both<'_>],
) -> Option<(Device, Vec<Vec<Cut>>)> {
    let list: Vec<&Method> = methods.iter().map(|both| both.device).collect();
    let mirror = Mirror::new(&list, device_kernels, variable_bytes);
    let mut dispatches = Dispatches::new(machine, &mirror, constants)?;
    let (mut regions, mut cuts) = (Vec::new(), Vec::new());
    for Both { device, host, marks, live } in methods {
        let sides = Sides { device: &device.steps, device_kernels, host: &host.steps, host_kernels, marks, live };
        let (of_method, cuts_of_method) = Cutter::new(sides, &mirror, &mut dispatches).cut(regions.len());
        regions.extend(of_method);
        cuts.push(cuts_of_method);
    }
    let Dispatches { kernels, placed, constant_bytes, .. } = dispatches;
    let end = |region: &crate::program::DeviceRegion| {
        let crossings = region.enter.iter().chain(&region.leave);
        crossings.map(|crossing| crossing.staging + crossing.bytes.next_multiple_of(4)).max().unwrap_or(0)
    };
    let staging_bytes = regions.iter().map(end).max()?.next_multiple_of(64);
    let device = Device {
        machine,
        kernels,
        constants: placed,
        constant_bytes,
        area_bytes: mirror.bytes,
        staging_bytes: staging_bytes.max(64),
        regions,
    };
    Some((device, cuts))
}

/// Puts regions in the place of the runs of a method's steps.
pub(super) fn apply(cuts: &[Cut], steps: &mut Vec<Step>) {
    // From the end, so that the numbers of steps before stay what they are.
    for cut in cuts.iter().rev() {
        let mut list = &mut *steps;
        for &(number, second) in &cut.path {
            list = match &mut list[number] {
                Step::If { then: a, otherwise: b, .. } | Step::While { head: a, body: b, .. } => {
                    if second {
                        b
                    } else {
                        a
                    }
                }
                _ => unreachable!("the path of a cut leads through branches and loops"),
            };
        }
        let otherwise = list.drain(cut.steps.clone()).collect();
        list.insert(cut.steps.start, Step::Region { region: cut.region, otherwise });
    }
}
