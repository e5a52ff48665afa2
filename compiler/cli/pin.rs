//! `--pin`: the processors that a measurement runs on.

use super::output::usage;
use crate::diagnostic::Diagnostic;

/// `0,1`
pub fn list(processors: &[usize]) -> String {
    processors.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Keeps this thread, and those that it starts from now on, on some processors.
///
/// # Errors
/// When there is no such processor, or the system cannot.
#[cfg(target_os = "linux")]
pub fn pin(processors: &[usize]) -> Result<(), Diagnostic> {
    let mut set = rustix::thread::CpuSet::new();
    if let Some(none) = processors.iter().find(|&&number| number >= rustix::thread::CpuSet::MAX_CPU) {
        return Err(usage(format!("--pin {none}: there is no such processor")));
    }
    processors.iter().for_each(|&number| set.set(number));
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
        usage(format!("--pin {}: {error}", list(processors))).help("`nproc` says how many processors there are, numbered from 0")
    })
}

/// Keeps this thread on some processors, where the system can.
///
/// # Errors
/// Always: it cannot.
#[cfg(not(target_os = "linux"))]
pub fn pin(_processors: &[usize]) -> Result<(), Diagnostic> {
    Err(usage("--pin: this system does not let a program choose its processors"))
}
