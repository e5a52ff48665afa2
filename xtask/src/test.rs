//! `cargo xtask test`: set-up, every test, and one line that sums them up.

use crate::process::{cargo, shown};
use crate::{Outcome, setup};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// Tests counted over all test programs of the workspace.
#[derive(Default, Debug, PartialEq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Totals {
    /// Adds the counts of a line `test result: ok. 3 passed; 0 failed; 1 ignored; …`; ignores any other line.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else {
            return;
        };
        for part in counts.split([';', '.']) {
            let mut words = part.split_whitespace();
            let Some(count) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
                continue;
            };
            match words.next() {
                Some("passed") => self.passed += count,
                Some("failed") => self.failed += count,
                Some("ignored") => self.ignored += count,
                _ => {}
            }
        }
    }
}

/// Runs `cargo test --release --workspace` with `arguments`, all test programs even after a failure. Ends with the line
/// `N passed, N failed, N skipped`.
///
/// # Errors
/// A message if the setup fails, if cargo cannot be run, or if a test fails.
pub fn run(arguments: &[String]) -> Outcome {
    setup::run()?;
    let mut command = cargo();
    command.args(["test", "--release", "--workspace", "--no-fail-fast"]).args(arguments).stdout(Stdio::piped());
    println!("$ {}", shown(&command));
    let mut child = command.spawn().map_err(|error| format!("cannot run cargo: {error}"))?;
    let mut totals = Totals::default();
    if let Some(output) = child.stdout.take() {
        pass_on(output, &mut totals).map_err(|error| format!("lost the output of cargo test: {error}"))?;
    }
    let status = child.wait().map_err(|error| format!("lost cargo test: {error}"))?;
    println!("\n{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.ignored);
    if status.success() { Ok(()) } else { Err(format!("cargo test ended with {status}")) }
}

/// Prints and counts every line as it arrives.
fn pass_on(output: impl std::io::Read, totals: &mut Totals) -> std::io::Result<()> {
    let mut reader = BufReader::new(output);
    let mut here = std::io::stdout();
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        here.write_all(&line)?;
        totals.add(&String::from_utf8_lossy(&line));
        line.clear();
    }
    here.flush()
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn sums_result_lines_only() {
        let mut totals = Totals::default();
        totals.add("running 4 tests");
        totals.add("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s\n");
        totals.add("test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s\n");
        totals.add("99 passed; 99 failed");
        assert_eq!(totals, Totals { passed: 13, failed: 2, ignored: 1 });
    }
}
