//! Running other programs.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Characters of what a program said that are shown: some name every tensor.
const LONGEST_REASON: usize = 160;

/// The folder of the workspace: the parent of this package's own.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    target_of(std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from))
}

/// A relative folder is one of the workspace: Cargo is started there.
fn target_of(given: Option<PathBuf>) -> PathBuf {
    root().join(given.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| "target".into()))
}

/// Cargo itself: the one that started us where one did.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command to its end, printing it first. An exit status other than 0 is an error that shows the command.
pub fn run(command: &mut Command) -> Outcome {
    let line = shown(command);
    println!("$ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("cannot run `{line}`: {error}")),
    }
}

/// The same for a short command, its output printed when it has ended, through `print!`: a test that calls this shows it
/// only on failure.
pub fn run_then_print(command: &mut Command) -> Outcome {
    let line = shown(command);
    println!("$ {line}");
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run `{line}`: {error}"))?;
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(format!("`{line}` ended with {}", output.status)) }
}

/// What a command writes.
///
/// # Errors
/// The line of what it said that tells why it failed.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run `{}`: {error}", shown(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A traceback of Python and a log of ExecuTorch end with what went wrong; our diagnostics begin with it.
    let line = if said.starts_with("error") { said.lines().next() } else { said.lines().last() };
    let line: String = line.unwrap_or("it failed without a word").chars().take(LONGEST_REASON).collect();
    Err(line)
}

/// A command as one line, for a person to read.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Where a program is found on `PATH`.
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
