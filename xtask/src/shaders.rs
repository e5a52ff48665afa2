//! `cargo xtask shaders`: what a driver makes of the kernels that models give to a GPU, as the table of `docs/gpu.md` has it.
//!
//! Mesa's RADV compiles for a device that is not there, so no GPU is needed. The program that asks the driver is `benches/shaders.rs`.

use crate::Outcome;
use crate::process::{self, cargo};
use std::path::{Path, PathBuf};

/// Where drivers say that they are installed.
const DRIVERS: &str = "/usr/share/vulkan/icd.d";

/// The device that RADV compiles for.
const FAMILY: &str = "navi21";

/// The file that says where RADV is.
fn driver() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = Path::new(DRIVERS).read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("radeon_icd")));
    found.sort();
    found.into_iter().next()
}

/// Runs the program with the arguments that it documents: models, `--vk-profile P`, `--all`, `--each`. Says so and does nothing where the driver is missing.
///
/// # Errors
/// When it does not build, or a model cannot be compiled.
pub fn run(arguments: &[String]) -> Outcome {
    let Some(driver) = driver() else {
        println!("shaders: skipped, Mesa's RADV is not installed (`cargo xtask setup`)");
        return Ok(());
    };
    let mut command = cargo();
    // Nothing is timed, so that nothing needs to be optimised.
    command.args(["bench", "--profile", "dev", "--bench", "shaders", "--"]);
    for argument in arguments {
        // Cargo runs the program in a folder of its own choice.
        let path = std::fs::canonicalize(argument).unwrap_or_else(|_| argument.into());
        command.arg(path);
    }
    command.env("VK_DRIVER_FILES", driver).env("RADV_FORCE_FAMILY", FAMILY).env("MESA_SHADER_CACHE_DISABLE", "true");
    process::run(&mut command)
}
