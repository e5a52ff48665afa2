//! How much memory this process may still have, and whether something fits there.
//!
//! Allocators end the process where there is no memory, so sizes that a model or an option names are compared with this before.

use crate::diagnostic::{Diagnostic, codes};

/// Left for what is small beside the tensors: code, tables, the allocator's own. Sizes below it are not looked at.
const SPARE: u64 = 64 << 20;

/// Checks that memory of a size can be used now, all of it.
///
/// # Errors
/// MC0711 where the system has less.
pub fn check_used(bytes: u64) -> Result<(), Diagnostic> {
    if bytes <= SPARE { Ok(()) } else { check(bytes, [available(), address_space(), group()]) }
}

/// Checks that memory of a size can be reserved, of which only a part may be used.
///
/// # Errors
/// As [`check_used`]; what other processes use counts as there.
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

/// The memory that the system can give without ending processes.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kilobytes(&text, "MemAvailable:")?.saturating_add(kilobytes(&text, "SwapFree:").unwrap_or(0)))
}

/// All that the system has.
fn installed() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kilobytes(&text, "MemTotal:")?.saturating_add(kilobytes(&text, "SwapTotal:").unwrap_or(0)))
}

/// The rest of the limit of this process's address space, where it has one (`ulimit -v`).
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(limit.saturating_sub(kilobytes(&status, "VmSize:").unwrap_or(0)))
}

/// The limit of the control group that this process is in, as containers have it.
fn group() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// A row `NAME   12 kB`, in bytes.
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
