//! Memory that this process can still allocate, and checks of sizes against it.
//!
//! Allocators abort the process if there is no memory. So sizes from a model or an option are checked first.

use crate::diagnostic::{Diagnostic, codes};

/// Reserve for everything small: code, tables, the allocator's data. Smaller sizes are not checked.
const SPARE: u64 = 64 << 20;

/// Checks that memory of a size can be allocated and used as a whole.
///
/// # Errors
/// MC0711 if the system has less.
pub fn check_used(bytes: u64) -> Result<(), Diagnostic> {
    if bytes <= SPARE { Ok(()) } else { check(bytes, [available(), address_space(), group()]) }
}

/// Checks that memory of a size can be reserved, even if only a part is used.
///
/// # Errors
/// The errors of [`check_used`]. Memory of other processes counts as available.
pub fn check_reserved(bytes: u64) -> Result<(), Diagnostic> {
    if bytes <= SPARE { Ok(()) } else { check(bytes, [installed(), address_space(), group()]) }
}

fn check<const N: usize>(bytes: u64, limits: [Option<u64>; N]) -> Result<(), Diagnostic> {
    let Some(room) = limits.into_iter().flatten().min() else { return Ok(()) };
    if bytes.saturating_add(SPARE) <= room {
        return Ok(());
    }
    let error = Diagnostic::new(codes::NO_MEMORY, "there is not enough memory to run the model");
    Err(error.expected(format!("at most {} bytes", room.saturating_sub(SPARE)), format!("{bytes} bytes")))
}

/// Returns the memory that the system can provide without killing processes.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kilobytes(&text, "MemAvailable:")?.saturating_add(kilobytes(&text, "SwapFree:").unwrap_or(0)))
}

/// Returns the total memory of the system, with swap.
fn installed() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kilobytes(&text, "MemTotal:")?.saturating_add(kilobytes(&text, "SwapTotal:").unwrap_or(0)))
}

/// Returns the rest of this process's limit of address space, if there is one (`ulimit -v`).
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(limit.saturating_sub(kilobytes(&status, "VmSize:").unwrap_or(0)))
}

/// Returns the limit of this process's control group, which containers set.
fn group() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// Parses a row `NAME   12 kB` into bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_counts() {
        let code = |bytes, limits: [Option<u64>; 2]| check(bytes, limits).map_err(|error| error.code);
        assert_eq!(code(1 << 30, [None, Some(2 << 30)]), Ok(()));
        assert_eq!(code(1 << 30, [Some(4 << 30), Some(1 << 30)]), Err(codes::NO_MEMORY));
        assert_eq!(code(u64::MAX, [None, None]), Ok(()));
        assert!(check_used(100).is_ok() && check_reserved(SPARE).is_ok());
    }

    #[test]
    fn rows_of_the_system_are_read() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:    1000 kB\n";
        assert_eq!((kilobytes(text, "MemAvailable:"), kilobytes(text, "SwapFree:")), (Some(1_024_000), None));
    }
}
