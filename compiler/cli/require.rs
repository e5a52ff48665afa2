//! `--require arena<=64K,stack<=2K,flash<=300K`

use super::compile::exceeded;
use super::options::usage;
use super::output::grouped;
use crate::diagnostic::Diagnostic;
use crate::emit::ObjectFiles;
use crate::lower::Lowered;

/// Checks a model against limits.
///
/// # Errors
/// When a limit is malformed or not kept; the message names the tensors that are live at the peak.
pub fn check(limits: &str, files: &ObjectFiles, lowered: &Lowered) -> Result<(), Diagnostic> {
    for limit in limits.split(',') {
        let (what, bytes) =
            parse(limit).ok_or_else(|| usage(format!("--require {limit} is not understood")).expected("arena<=64K", limit))?;
        let record = &files.record;
        let needed = match what {
            "arena" => record.state_bytes + record.scratch_bytes,
            "stack" => record.stack_bytes,
            _ => files.report["memory"]["code_bytes"].as_u64().unwrap_or(0) + record.weights_bytes,
        };
        if needed > bytes {
            let mut error = exceeded(format!("the model needs more {what} than it may")).expected(
                format!("at most {} B", grouped(bytes)),
                format!("{} B, {} B too much", grouped(needed), grouped(needed - bytes)),
            );
            if what == "arena"
                && let Some(peak) = lowered.peaks.iter().max_by_key(|p| p.bytes)
            {
                error = error.help(format!("live at the peak: {}", peak.tensors.join(", ")));
            }
            return Err(error);
        }
    }
    Ok(())
}

fn parse(limit: &str) -> Option<(&str, u64)> {
    let (what, size) = limit.trim().split_once("<=")?;
    if !["arena", "stack", "flash"].contains(&what) {
        return None;
    }
    let (digits, unit) = match size.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => size.strip_suffix(['M', 'm']).map_or((size, 1), |digits| (digits, 1 << 20)),
    };
    Some((what, digits.parse::<u64>().ok()?.checked_mul(unit)?))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn limits_have_units_of_1024() {
        assert_eq!(parse("arena<=64K"), Some(("arena", 65536)));
        assert_eq!(parse("flash<=1M"), Some(("flash", 1 << 20)));
        assert_eq!(parse("stack<=2000"), Some(("stack", 2000)));
        assert_eq!(["arena=64K", "heap<=1", "arena<=x"].map(parse), [None; 3]);
    }
}
