//! Estimate of the time of calls on both sides. `auto` opens a device only if it is estimated to be faster than the CPU.
//!
//! The time follows from products and bytes at constant rates, and from a constant time for each dispatch. The constants are fitted to the tables of one
//! device and one CPU in `docs/gpu.md`.

use crate::kernel::{Kernel, Lane};
use crate::machine::{DotProduct, Gpu, Machine};
use crate::program::{Call, Device, DeviceRegion, Estimate, Method, calls_of_sides};

/// Nanoseconds of a dispatch: its start, and the wait for its writes.
const DISPATCH: u64 = 6_000;
/// Nanoseconds of a region: its submission, and the wait for its end.
const SUBMISSION: u64 = 10_000;
/// Bytes copied between host and device in a nanosecond.
const CROSSING: u64 = 10;
/// Bytes that a CPU kernel without products reads and writes in a nanosecond, in first-level and second-level caches.
const COPIED: u64 = 20;

/// Type of factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Factor {
    Floats,
    Integers,
}

/// Returns the products that a device computes in a nanosecond. Without dot products, shifts extract bytes from words.
fn device_rate(gpu: &Gpu, factor: Factor) -> u64 {
    match factor {
        Factor::Floats => 85,
        Factor::Integers if gpu.byte_dots => 400,
        Factor::Integers => 130,
    }
}

/// Returns the products that a CPU computes in a nanosecond. With fused products, this is four for each lane of floats: two thirds of the maximum at
/// 3 GHz. For bytes, it is three to twelve for each lane of 32 bits.
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
        (Factor::Integers, DotProduct::Signed8) => 6 * floats,
        (Factor::Integers, DotProduct::UnsignedSigned8) => 12 * floats,
    };
    products.max(1)
}

/// Estimates the times of the calls that regions replace, on the device and on each CPU. `levels` are the CPUs with their methods and kernels.
pub(in crate::lower) fn estimate<'a>(
    device: &Device,
    levels: impl Iterator<Item = (&'a Machine, Vec<&'a Method>, &'a [Kernel])>,
) -> Estimate {
    let mut device_ns = dispatches(device);
    let mut host_ns = Vec::new();
    for (number, (machine, methods, kernels)) in levels.enumerate() {
        let all = methods.iter().flat_map(|method| calls_of_sides(&method.steps));
        let moved: Vec<&Call> = all.filter_map(|(call, is_in_region)| is_in_region.then_some(call)).collect();
        let products = |rate: &dyn Fn(Factor) -> u64, call: &&Call| call.origin.multiply_accumulates / rate(factor(&kernels[call.kernel]));
        let on_host = |call: &&Call| products(&|factor| host_rate(machine, factor), call).max(call.origin.bytes / COPIED);
        host_ns.push(sum(moved.iter().map(on_host)));
        if number == 0 {
            device_ns = device_ns
                .saturating_add(sum(moved.iter().map(|call| products(&|factor| device_rate(&device.machine.limits, factor), call))));
        }
    }
    Estimate { host_ns, device_ns }
}

fn sum(list: impl Iterator<Item = u64>) -> u64 {
    list.fold(0, u64::saturating_add)
}

/// Estimates the time of all dispatches, submissions and copies.
fn dispatches(device: &Device) -> u64 {
    let region = |region: &DeviceRegion| {
        let crossing = (region.bytes_in() + region.bytes_out()) / CROSSING;
        SUBMISSION + region.dispatches().count() as u64 * DISPATCH + crossing
    };
    sum(device.regions_of_calls().iter().map(region))
}

/// Returns the type of a kernel's factors: integers if its first operand is bytes.
fn factor(kernel: &Kernel) -> Factor {
    match kernel.pointer_params().next() {
        Some((_, data)) if data.lane == Lane::I8 => Factor::Integers,
        _ => Factor::Floats,
    }
}
