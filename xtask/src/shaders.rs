//! `cargo xtask shaders`: statistics of a driver about the GPU kernels of models, as in the table of `docs/gpu.md`.
//!
//! Mesa's RADV can compile for a device that is not present, so no GPU is needed. `benches/shaders.rs` queries the driver.

use crate::Outcome;
use crate::process::{self, cargo};
use std::path::{Path, PathBuf};

/// Folder in which drivers are registered.
const DRIVERS: &str = "/usr/share/vulkan/icd.d";

/// Device for which RADV compiles.
const FAMILY: &str = "navi21";

/// Returns the file that registers RADV.
fn driver() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = Path::new(DRIVERS).read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("radeon_icd")));
    found.sort();
    found.into_iter().next()
}

/// Runs the program with its documented arguments: models, `--vk-profile P`, `--all`, `--each`. Skips it with a message if the driver is
/// missing.
///
/// # Errors
/// A message if the program does not build, or if a model cannot be compiled.
pub fn run(arguments: &[String]) -> Outcome {
    let Some(driver) = driver() else {
        println!("shaders: skipped, Mesa's RADV is not installed (`cargo xtask setup`)");
        return Ok(());
    };
    let mut command = cargo();
    // The program measures no time, so it needs no optimization.
    command.args(["bench", "--profile", "dev", "--bench", "shaders", "--"]);
    for argument in arguments {
        // Cargo runs the program in another folder.
        let path = std::fs::canonicalize(argument).unwrap_or_else(|_| argument.into());
        command.arg(path);
    }
    command.env("VK_DRIVER_FILES", driver).env("RADV_FORCE_FAMILY", FAMILY).env("MESA_SHADER_CACHE_DISABLE", "true");
    process::run(&mut command)
}
