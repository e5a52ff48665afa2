//! The compiler to compare with.

use crate::process::{self, cargo, root, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The line of a commit's message that claims unchanged objects.
pub const CLAIM: &str = "Objects: unchanged";

/// Returns a program, or builds the program of a revision in `target/replay`.
///
/// # Errors
/// A message if there is no such program and no such revision, or if the revision does not build.
pub fn compiler(name: &str) -> Result<PathBuf, String> {
    let program = Path::new(name);
    if program.is_file() {
        return std::path::absolute(program).map_err(|error| format!("{name}: {error}"));
    }
    let commit = git(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])
        .map_err(|_| format!("`{name}` is neither a program nor a revision"))?;
    let folder = target().join("replay").join(&commit);
    let built = folder.join("target/release/modelc");
    if !built.is_file() {
        build(&commit, &folder)?;
    }
    Ok(built)
}

/// Builds a commit in a separate clone. Its optimization takes most of the time and does not affect the generated code, so it is off.
fn build(commit: &str, folder: &Path) -> Result<(), String> {
    if !folder.join(".git").is_dir() {
        process::run(Command::new("git").args(["clone", "--quiet", "--shared", "--no-checkout"]).arg(root()).arg(folder))?;
    }
    process::run(Command::new("git").arg("-C").arg(folder).args(["checkout", "--quiet", "--detach", commit]))?;
    let mut command = cargo();
    command.args(["build", "--release", "--locked", "--bin", "modelc"]).current_dir(folder);
    process::run(command.env_remove("CARGO_TARGET_DIR").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"))
}

/// Returns the last commit that does not claim unchanged objects, if all later ones do; `None` if the last commit does not claim it.
///
/// # Errors
/// A message if there is no repository.
pub fn claimed() -> Result<Option<String>, String> {
    let log = git(&["log", "--max-count=200", "--format=%H%x00%B%x01"])?;
    Ok(base_of(&log))
}

/// Returns the commit of [`claimed`] from a log. Its entries end in 1, and each has a commit and its message, separated by 0.
fn base_of(log: &str) -> Option<String> {
    let mut entries = log.split('\u{1}').filter_map(|entry| entry.trim_start().split_once('\0'));
    let claims = |message: &str| message.lines().any(|line| line.trim() == CLAIM);
    let (_, last) = entries.next()?;
    if !claims(last) {
        return None;
    }
    entries.find(|(_, message)| !claims(message)).map(|(commit, _)| commit.to_owned())
}

/// Returns the output of git in the project's folder.
fn git(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(root()).args(arguments).output().map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::base_of;

    #[test]
    fn the_base_is_the_last_commit_that_claims_nothing() {
        let claim = "move files\n\nObjects: unchanged\n";
        assert_eq!(base_of(&format!("c\0{claim}\u{1}\nb\0{claim}\u{1}\na\0add tiles\n\u{1}\n")), Some("a".into()));
        assert_eq!(base_of(&format!("b\0add tiles\u{1}\na\0{claim}\u{1}")), None);
        assert_eq!(base_of(&format!("a\0{claim}\u{1}")), None);
        assert_eq!(base_of("b\0Objects: unchanged, but for one\u{1}a\0x\u{1}"), None);
    }
}
