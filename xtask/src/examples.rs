//! `cargo xtask examples`: builds and runs every program in `examples/`, as its README describes.

use crate::process::{cargo, root, run, run_then_print, target};
use crate::{Outcome, setup};
use std::path::Path;
use std::process::Command;

/// One example: its name on the command line, and a function that builds and runs it in a given folder.
struct Example {
    name: &'static str,
    run: fn(modelc: &Path, build: &Path) -> Outcome,
}

const EXAMPLES: &[Example] = &[
    Example { name: "c", run: |modelc, build| make("c", &[], modelc, build) },
    Example { name: "decoder", run: |modelc, build| make("decoder", &[], modelc, build) },
    Example { name: "cmake", run: cmake },
    Example { name: "cargo", run: cargo_package },
    Example { name: "baremetal-aarch64", run: |modelc, build| make("baremetal", &["MACHINE=aarch64"], modelc, build) },
    Example { name: "baremetal-riscv64", run: |modelc, build| make("baremetal", &["MACHINE=riscv64"], modelc, build) },
    Example { name: "baremetal-rv32imc", run: |modelc, build| make("baremetal", &["MACHINE=rv32imc"], modelc, build) },
    Example { name: "baremetal-rv32imac", run: |modelc, build| make("baremetal", &["MACHINE=rv32imac"], modelc, build) },
    Example { name: "baremetal-rv32imafc", run: |modelc, build| make("baremetal", &["MACHINE=rv32imafc"], modelc, build) },
    Example { name: "baremetal-cortex-m0", run: |modelc, build| make("baremetal", &["MACHINE=cortex-m0"], modelc, build) },
    Example { name: "baremetal-cortex-m3", run: |modelc, build| make("baremetal", &["MACHINE=cortex-m3"], modelc, build) },
    Example { name: "baremetal-cortex-m4f", run: |modelc, build| make("baremetal", &["MACHINE=cortex-m4f"], modelc, build) },
    Example { name: "baremetal-cortex-m7", run: |modelc, build| make("baremetal", &["MACHINE=cortex-m7"], modelc, build) },
    Example { name: "baremetal-cortex-m33", run: |modelc, build| make("baremetal", &["MACHINE=cortex-m33"], modelc, build) },
    Example { name: "baremetal-cortex-m55", run: |modelc, build| make("baremetal", &["MACHINE=cortex-m55"], modelc, build) },
    Example { name: "firmware-two-cores", run: |modelc, build| make("firmware", &["EXAMPLE=two-cores"], modelc, build) },
    Example { name: "firmware-wake-word", run: |modelc, build| make("firmware", &["EXAMPLE=wake-word"], modelc, build) },
    Example { name: "firmware-vectors", run: |modelc, build| make("firmware", &["EXAMPLE=vectors"], modelc, build) },
    Example { name: "firmware-pico2", run: |modelc, build| make("firmware", &["EXAMPLE=pico2"], modelc, build) },
    Example { name: "firmware-pico2-riscv", run: |modelc, build| make("firmware", &["EXAMPLE=pico2-riscv"], modelc, build) },
    Example { name: "baremetal-rv64gcv", run: |modelc, build| make("baremetal", &["MACHINE=riscv64", "LEVEL=rv64gcv"], modelc, build) },
];

/// Returns the names that [`run_named`] and [`run_with`] accept.
pub fn names() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|example| example.name)
}

/// Builds the compiler, then builds and runs the named examples; all of them if none is named.
///
/// # Errors
/// A message if a tool is missing, if a name is unknown, if the compiler does not build, or if an example fails.
pub fn run_named(wanted: &[String]) -> Outcome {
    if let Some(unknown) = wanted.iter().find(|name| !names().any(|known| known == name.as_str())) {
        return Err(format!("no example `{unknown}`; there are {}", names().collect::<Vec<_>>().join(", ")));
    }
    run(cargo().args(["build", "--release", "--bin", "modelc"]))?;
    let modelc = target().join("release").join("modelc");
    for name in names().filter(|name| wanted.is_empty() || wanted.iter().any(|other| other == name)) {
        run_with(&modelc, &target().join("examples"), name)?;
    }
    Ok(())
}

/// Builds and runs one example with the compiler `modelc`, from scratch, in the folder `name` under `builds`.
///
/// # Errors
/// A message if a tool is missing, or if there is no such example. Also if it does not build, run and give the right answers.
pub fn run_with(modelc: &Path, builds: &Path, name: &str) -> Outcome {
    let missing = setup::missing();
    if !missing.is_empty() {
        return Err(format!("missing: {}; run `cargo xtask setup`", missing.join(", ")));
    }
    let example = EXAMPLES.iter().find(|example| example.name == name);
    let example = example.ok_or_else(|| format!("no example `{name}`"))?;
    println!("example {name}");
    let build = builds.join(name);
    match std::fs::remove_dir_all(&build) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("cannot empty {}: {error}", build.display()));
        }
        _ => {}
    }
    (example.run)(modelc, &build)
}

/// Runs an example whose Makefile has the target `run`.
fn make(folder: &str, variables: &[&str], modelc: &Path, build: &Path) -> Outcome {
    let mut command = Command::new("make");
    command.arg("--directory").arg(root().join("examples").join(folder)).arg("run");
    command.arg(format!("MODELC={}", modelc.display())).arg(format!("BUILD={}", build.display()));
    // Flags and job server of a parent make must not apply.
    run_then_print(command.args(variables).env_remove("MAKEFLAGS").env_remove("MFLAGS"))
}

/// Configures, builds and tests with CMake, as its users do.
fn cmake(modelc: &Path, build: &Path) -> Outcome {
    let source = root().join("examples/cmake");
    let package = format!("-Dmodelc_DIR={}", root().join("cmake").display());
    let compiler = format!("-DMODELC_EXECUTABLE={}", modelc.display());
    run_then_print(Command::new("cmake").arg("-S").arg(source).arg("-B").arg(build).args([package, compiler]))?;
    run_then_print(Command::new("cmake").arg("--build").arg(build))?;
    run_then_print(Command::new("ctest").arg("--test-dir").arg(build).arg("--output-on-failure"))
}

/// Runs a package whose build script runs the compiler.
fn cargo_package(modelc: &Path, build: &Path) -> Outcome {
    let manifest = root().join("examples/cargo/Cargo.toml");
    // The target folder of the calling build must not apply.
    let mut command = cargo();
    command.args(["run", "--locked", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(build);
    run_then_print(command.env("MODELC", modelc).env_remove("CARGO_TARGET_DIR"))
}
