//! Reduction of the host's part of a program that always runs with a device. The steps that a region replaces never run on the host. They are removed,
//! with the kernels that only they call and the scratch memory that only they use.

use super::close_up::CloseUp;
use crate::kernel::Kernel;
use crate::lower::lowered::Peak;
use crate::lower::stages::written::LoweredMethod;
use crate::program::{Device, Method, Step, calls, calls_of_sides, change_calls, change_steps};

/// Removes the steps, kernels and scratch memory that the host never uses. `kernels` are the kernels of each CPU level.
pub(in crate::lower) fn lighten(device: &mut Device, kernels: &mut [Vec<Kernel>], methods: &mut [LoweredMethod]) {
    let mut lists: Vec<&mut [Method]> = Vec::new();
    for (number, LoweredMethod { levels, plan, live, peak, .. }) in methods.iter_mut().enumerate() {
        let levels = &mut levels[..kernels.len()];
        let Some(first) = levels.first() else { continue };
        let runs: Vec<bool> = calls_of_sides(&first.steps).into_iter().map(|(_, is_in_region)| !is_in_region).collect();
        for call in device.host_calls.iter_mut().filter(|call| call.method == number) {
            call.call = runs[..call.call].iter().filter(|runs| **runs).count();
        }
        retain(live, &runs);
        for level in levels.iter_mut() {
            retain(&mut level.memory_map.calls, &runs);
            change_steps(&mut level.steps, &mut |step| {
                if let Step::Region { otherwise, .. } = step {
                    otherwise.clear();
                }
            });
        }
        let close_up = CloseUp::new(levels, kernels, &device.regions);
        close_up.methods(levels, &mut device.regions);
        let bytes = close_up.bytes;
        (plan.arena_bytes, plan.lower_bound) = (bytes, plan.lower_bound.min(bytes));
        live.iter_mut().for_each(|ranges| *ranges = ranges.iter().flat_map(|range| close_up.ranges(range)).collect());
        // The plan's peak is that of both sides together, so the host's peak is not known.
        *peak = Peak { bytes, tensors: vec![] };
        lists.push(levels);
    }
    for (level, kernels) in kernels.iter_mut().enumerate() {
        drop_uncalled(kernels, lists.iter_mut().map(|levels| &mut levels[level].steps));
    }
}

/// Keeps the entries of a list whose flag in `are` is not `false`.
fn retain<T>(list: &mut Vec<T>, are: &[bool]) {
    let mut are = are.iter();
    list.retain(|_| are.next() != Some(&false));
}

/// Removes the kernels that no step calls, and renumbers the calls.
fn drop_uncalled<'a>(kernels: &mut Vec<Kernel>, methods: impl Iterator<Item = &'a mut Vec<Step>>) {
    let mut methods: Vec<&mut Vec<Step>> = methods.collect();
    let mut is_called = vec![false; kernels.len()];
    methods.iter().flat_map(|steps| calls(steps)).for_each(|call| is_called[call.kernel] = true);
    let places: Vec<usize> = is_called.iter().scan(0, |next, called| Some(std::mem::replace(next, *next + usize::from(*called)))).collect();
    methods.iter_mut().for_each(|steps| change_calls(steps, &mut |call| call.kernel = places[call.kernel]));
    retain(kernels, &is_called);
}
