//! Execution of other programs.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Limit of shown characters of a program's message; some messages name every tensor.
const LONGEST_REASON: usize = 160;

/// Returns the folder of the workspace: the parent of this package's folder.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Returns Cargo's target folder.
pub fn target() -> PathBuf {
    target_of(std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from))
}

/// Makes a target folder absolute. Relative ones count from the workspace, because Cargo runs there.
fn target_of(given: Option<PathBuf>) -> PathBuf {
    root().join(given.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| "target".into()))
}

/// Returns Cargo: the program that started us, if one did.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Prints a command and runs it to its end. An exit status other than 0 is an error that shows the command.
pub fn run(command: &mut Command) -> Outcome {
    let line = shown(command);
    println!("$ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("cannot run `{line}`: {error}")),
    }
}

/// Runs a short command and prints its output at the end, through `print!`. So a test that calls this shows it only on failure.
pub fn run_then_print(command: &mut Command) -> Outcome {
    let line = shown(command);
    println!("$ {line}");
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run `{line}`: {error}"))?;
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(format!("`{line}` ended with {}", output.status)) }
}

/// Returns the output of a command.
///
/// # Errors
/// The line of the command's message that tells the reason of a failure.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run `{}`: {error}", shown(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Tracebacks of Python and logs of ExecuTorch end with the reason; our diagnostics begin with it.
    let line = if said.starts_with("error") { said.lines().next() } else { said.lines().last() };
    let line: String = line.unwrap_or("it failed without a word").chars().take(LONGEST_REASON).collect();
    Err(line)
}

/// Formats a command as one line.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Returns the path of a program on `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_cargo_s() {
        assert_eq!(target_of(None), root().join("target"));
        assert_eq!(target_of(Some("elsewhere".into())), root().join("elsewhere"));
        assert_eq!(target_of(Some("/elsewhere".into())), PathBuf::from("/elsewhere"));
    }
}
