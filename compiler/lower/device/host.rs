//! The rest for the host of a program that runs with a device only. Steps that a region stands for never run on it: they go, with the kernels that
//! nothing else calls and the scratch memory that nothing else touches.

use super::close_up::CloseUp;
use crate::kernel::Kernel;
use crate::lower::lowered::Peak;
use crate::lower::stages::written::LoweredMethod;
use crate::program::{Device, Method, Step, Visit, calls, change_calls, walk};

/// Leaves out what the host never does of the methods of a program. `kernels` are those of each CPU.
pub(in crate::lower) fn lighten(device: &mut Device, kernels: &mut [Vec<Kernel>], methods: &mut [LoweredMethod]) {
    let mut lists: Vec<&mut [Method]> = Vec::new();
    for (number, LoweredMethod { levels, plan, live, peak, .. }) in methods.iter_mut().enumerate() {
        let levels = &mut levels[..kernels.len()];
        let Some(first) = levels.first() else { continue };
        let runs = runs_on_host(&first.steps);
        for call in device.host_calls.iter_mut().filter(|call| call.method == number) {
            call.call = runs[..call.call].iter().filter(|runs| **runs).count();
        }
        retain(live, &runs);
        for level in levels.iter_mut() {
            retain(&mut level.memory_map.calls, &runs);
            drop_substitutes(&mut level.steps);
        }
        let close_up = CloseUp::new(levels, kernels, &device.regions);
        close_up.methods(levels, &mut device.regions);
        let bytes = close_up.bytes;
        (plan.arena_bytes, plan.lower_bound) = (bytes, plan.lower_bound.min(bytes));
        live.iter_mut().for_each(|ranges| *ranges = ranges.iter().flat_map(|range| close_up.ranges(range)).collect());
        // The plan says when most is live on both sides together.
        *peak = Peak { bytes, tensors: vec![] };
        lists.push(levels);
    }
    for (level, kernels) in kernels.iter_mut().enumerate() {
        drop_uncalled(kernels, lists.iter_mut().map(|levels| &mut levels[level].steps));
    }
}

/// For each call whether the host ever does it.
fn runs_on_host(steps: &[Step]) -> Vec<bool> {
    let (mut open, mut runs) = (Vec::new(), Vec::new());
    for visit in walk(steps) {
        match visit {
            Visit::Call(_) => runs.push(!open.contains(&true)),
            Visit::Region(_) => open.push(true),
            Visit::If(_) | Visit::While | Visit::Together(_) | Visit::Streams(_) => open.push(false),
            Visit::End => drop(open.pop()),
            Visit::External(_) | Visit::Else | Visit::Do(_) => {}
        }
    }
    runs
}

/// Keeps what is said of the calls that are.
fn retain<T>(list: &mut Vec<T>, are: &[bool]) {
    let mut are = are.iter();
    list.retain(|_| are.next() != Some(&false));
}

/// Regions have no steps beside them.
fn drop_substitutes(steps: &mut [Step]) {
    for step in steps {
        match step {
            Step::Region { otherwise, .. } => otherwise.clear(),
            Step::If { then: first, otherwise: second, .. } | Step::While { head: first, body: second, .. } => {
                drop_substitutes(first);
                drop_substitutes(second);
            }
            Step::Call(_) | Step::External(_) | Step::Together(_) | Step::Streams(_) => {}
        }
    }
}

/// Leaves out the kernels that no step calls.
fn drop_uncalled<'a>(kernels: &mut Vec<Kernel>, methods: impl Iterator<Item = &'a mut Vec<Step>>) {
    let mut methods: Vec<&mut Vec<Step>> = methods.collect();
    let mut is_called = vec![false; kernels.len()];
    methods.iter().flat_map(|steps| calls(steps)).for_each(|call| is_called[call.kernel] = true);
    let places: Vec<usize> = is_called.iter().scan(0, |next, called| Some(std::mem::replace(next, *next + usize::from(*called)))).collect();
    methods.iter_mut().for_each(|steps| change_calls(steps, &mut |call| call.kernel = places[call.kernel]));
    retain(kernels, &is_called);
}
