//! Python environments with pinned packages, in `target/peers`.

use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the interpreter of an environment with these packages, which is made once. With `alone`, dependencies are left out: a peer that C++
/// calls does not need them.
///
/// # Errors
/// A message if Python or a package cannot be installed.
pub fn python(folder: &Path, packages: &[&str], alone: bool) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let stamp = folder.join("packages");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    process::run(Command::new(&python).args(install).args(alone.then_some("--no-deps")).args(packages))?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(python)
}
