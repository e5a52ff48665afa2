//! `--pin`: the processors of a measurement.

use super::output::usage;
use crate::diagnostic::Diagnostic;

/// Formats `0,1`.
pub fn list(processors: &[usize]) -> String {
    processors.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Binds this thread, and the threads that it starts later, to some processors.
///
/// # Errors
/// A diagnostic if a processor does not exist, or if the system refuses.
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

/// Binds this thread to some processors, on systems that can.
///
/// # Errors
/// Always an error on this system.
#[cfg(not(target_os = "linux"))]
pub fn pin(_processors: &[usize]) -> Result<(), Diagnostic> {
    Err(usage("--pin: this system does not let a program choose its processors"))
}
