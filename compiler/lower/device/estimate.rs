//! How long a call takes on either side. `auto` opens a device only where it is estimated to be faster than the CPU that would do the same.
//!
//! The time is that of products at a rate, of bytes at a rate, and of dispatches at a price each. The constants are fitted to the table of one
//! device beside one CPU in `docs/gpu.md`: the estimate is right about which side is faster in ten of its eleven rows.

use crate::kernel::{Kernel, Lane};
use crate::machine::{DotProduct, Gpu, Machine, Unit};
use crate::program::{Call, Device, DeviceRegion, Estimate, Method, Step, calls};

/// Nanoseconds of a dispatch: the device starts it, and waits for what it wrote.
const DISPATCH: u64 = 6_000;
/// Nanoseconds of a region: submission, and waiting for its end.
const SUBMISSION: u64 = 10_000;
/// Bytes that cross between host and device in a nanosecond.
const CROSSING: u64 = 10;
/// Bytes that a kernel without products reads and writes in a nanosecond, on a CPU's first-level and second-level caches.
const COPIED: u64 = 20;

/// The kind of numbers that a product multiplies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Factor {
    Floats,
    Integers,
}

/// Products that a device takes in a nanosecond. Of bytes it takes few: shifts bring them out of words, and layers of few pixels have few positions.
fn device_rate(gpu: &Gpu, factor: Factor) -> u64 {
    match factor {
        Factor::Floats => 85,
        Factor::Integers if gpu.byte_dots => 6,
        Factor::Integers => 4,
    }
}

/// Products that a CPU takes in a nanosecond: four of each lane of floats with fused products, which is two thirds of what it can at 3 GHz, and three
/// or six of each lane of bytes.
fn host_rate(machine: &Machine, factor: Factor) -> u64 {
    let floats = u64::from(machine.vector_bits) / 32;
    let products = match (factor, machine.dot) {
        (Factor::Floats, _) => {
            if machine.fma {
                4 * floats
            } else {
                2 * floats
            }
        }
        (Factor::Integers, DotProduct::Signed16) => 3 * floats,
        (Factor::Integers, DotProduct::UnsignedSigned8 | DotProduct::Signed8) => 6 * floats,
    };
    products.max(1)
}

/// The times of the calls that a program's regions stand for. `levels` are the CPUs, each with its methods and kernels.
pub(in crate::lower) fn estimate<'a>(
    device: &Device,
    levels: impl Iterator<Item = (&'a Machine, Vec<&'a Method>, &'a [Kernel])>,
) -> Option<Estimate> {
    let Unit::Gpu(gpu) = device.machine.unit else { return None };
    let mut device_ns = dispatches(device);
    let mut host_ns = Vec::new();
    for (number, (machine, methods, kernels)) in levels.enumerate() {
        let moved: Vec<&Call> = methods.iter().flat_map(|method| substitutes(&method.steps)).flat_map(calls).collect();
        let products = |rate: &dyn Fn(Factor) -> u64, call: &&Call| call.origin.multiply_accumulates / rate(factor(&kernels[call.kernel]));
        let on_host = |call: &&Call| products(&|factor| host_rate(machine, factor), call).max(call.origin.bytes / COPIED);
        host_ns.push(sum(moved.iter().map(on_host)));
        if number == 0 {
            device_ns = device_ns.saturating_add(sum(moved.iter().map(|call| products(&|factor| device_rate(&gpu, factor), call))));
        }
    }
    Some(Estimate { host_ns, device_ns })
}

fn sum(list: impl Iterator<Item = u64>) -> u64 {
    list.fold(0, u64::saturating_add)
}

/// The price of dispatches, submissions and what crosses.
fn dispatches(device: &Device) -> u64 {
    let region = |region: &DeviceRegion| {
        let crossing = (region.bytes_in() + region.bytes_out()) / CROSSING;
        SUBMISSION + region.dispatches().count() as u64 * DISPATCH + crossing
    };
    sum(device.regions_of_calls().iter().map(region))
}

/// The kind of numbers that a kernel multiplies: bytes, if it reads these first.
fn factor(kernel: &Kernel) -> Factor {
    match kernel.pointer_params().next() {
        Some((_, data)) if data.lane == Lane::I8 => Factor::Integers,
        _ => Factor::Floats,
    }
}

/// The steps that regions stand for.
fn substitutes(steps: &[Step]) -> Vec<&[Step]> {
    let mut found = vec![];
    for step in steps {
        match step {
            Step::Region { otherwise, .. } => found.push(&otherwise[..]),
            Step::If { then: a, otherwise: b, .. } | Step::While { head: a, body: b, .. } => {
                found.extend(substitutes(a));
                found.extend(substitutes(b));
            }
            _ => {}
        }
    }
    found
}
