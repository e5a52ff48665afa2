//! `cargo xtask fuzz`: builds and runs the fuzz targets in `fuzz/`, with a stable toolchain and without cargo-fuzz.

use crate::Outcome;
use crate::process::{self, cargo, root};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiler flags that cargo-fuzz uses, without a sanitizer: safe Rust does not need one, and sanitizers require a nightly toolchain.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Limits of one execution; an input that exceeds them is a finding. The machine may run other programs at the same time.
const MOST_SECONDS: u32 = 20;
const MOST_MEGABYTES: u32 = 1024;

/// One fuzz target, with the folders of recorded models and the file extension of its first inputs.
struct Target {
    name: &'static str,
    seeds: &'static [&'static str],
    extension: &'static str,
    /// Largest file to start from and to make. Nearly every recorded operator is smaller, and time grows with size.
    most_bytes: u64,
}

const TFLITE: &[&str] = &["tflite", "tflite_ops"];
const EXECUTORCH: &[&str] = &["executorch", "executorch_ops"];
const TARGETS: &[Target] = &[
    Target { name: "tflite_reader", seeds: TFLITE, extension: "tflite", most_bytes: 8 << 10 },
    Target { name: "executorch_reader", seeds: EXECUTORCH, extension: "pte", most_bytes: 8 << 10 },
    Target { name: "tflite_compile", seeds: TFLITE, extension: "tflite", most_bytes: 4 << 10 },
    Target { name: "executorch_compile", seeds: EXECUTORCH, extension: "pte", most_bytes: 8 << 10 },
    Target { name: "ir_text", seeds: &[], extension: "mt", most_bytes: 8 << 10 },
];

/// Builds the targets, gathers first inputs, and runs each target. Findings are left in `fuzz/artifacts/TARGET`.
///
/// # Errors
/// A message if an argument is not understood, if the targets do not build, or if one of them finds something.
fn run_targets(targets: &[&str], runs: u64) -> Outcome {
    let folder = root().join("fuzz");
    let host = host()?;
    let manifest = folder.join("Cargo.toml");
    let mut build = cargo();
    build.args(["build", "--release", "--target", &host, "--manifest-path"]).arg(&manifest);
    process::run(build.env("RUSTFLAGS", COVERAGE).env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    for target in TARGETS.iter().filter(|target| targets.is_empty() || targets.contains(&target.name)) {
        let (corpus, artifacts) = (folder.join("corpus").join(target.name), folder.join("artifacts").join(target.name));
        for path in [&corpus, &artifacts] {
            std::fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        }
        let count = seed(target, &corpus)?;
        println!("{}: {count} first inputs", target.name);
        let mut command = Command::new(folder.join("target").join(&host).join("release").join(target.name));
        command.arg(&corpus).arg(format!("-runs={runs}")).arg(format!("-max_len={}", target.most_bytes));
        command.arg(format!("-timeout={MOST_SECONDS}")).arg(format!("-rss_limit_mb={MOST_MEGABYTES}"));
        // No other process adds to the folder while it runs.
        command.arg(format!("-artifact_prefix={}/", artifacts.display())).args(["-print_final_stats=1", "-reload=0"]);
        process::run(&mut command)?;
    }
    Ok(())
}

/// Runs the targets of the command line: names, and `--runs N`.
///
/// # Errors
/// A message if an argument is not understood, if the targets do not build, or if one of them finds something.
pub fn run(arguments: &[String]) -> Outcome {
    let mut targets = Vec::new();
    let mut runs = 1_000_000;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--runs" {
            let number = arguments.next().and_then(|number| number.parse().ok());
            runs = number.ok_or("--runs wants a number")?;
        } else if TARGETS.iter().any(|target| target.name == argument) {
            targets.push(argument.as_str());
        } else {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            return Err(format!("no fuzz target `{argument}`; there are {}", names.join(", ")));
        }
    }
    run_targets(&targets, runs)
}

/// Returns rustc's default triple. If cargo gets it by name, the flags do not apply to build scripts.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("cannot run rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "rustc does not say what it compiles for".into())
}

/// Copies small models, or the modules of the text tests, to a target's corpus. Returns their number.
fn seed(target: &Target, corpus: &Path) -> Result<usize, String> {
    let models = std::env::var_os("MODELC_CORPUS").map_or_else(|| root().join("../shared/models"), PathBuf::from);
    let folders: Vec<PathBuf> = match target.seeds {
        [] => vec![root().join("tests/files")],
        names => names.iter().map(|name| models.join(name)).chain([root().join("examples/digits")]).collect(),
    };
    let mut count = 0;
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let wanted = path.extension().is_some_and(|extension| extension == target.extension);
            if !wanted || path.metadata().map_or(0, |data| data.len()) > target.most_bytes {
                continue;
            }
            let failed = |error: std::io::Error| format!("cannot copy {}: {error}", path.display());
            let mut bytes = std::fs::read(&path).map_err(failed)?;
            if target.extension == "mt" {
                // The expected output of a text test follows its module.
                let end = bytes.windows(6).position(|window| window == b";! ---").unwrap_or(bytes.len());
                bytes.truncate(end);
            }
            std::fs::write(corpus.join(path.file_name().unwrap_or_default()), bytes).map_err(failed)?;
            count += 1;
        }
    }
    Ok(count)
}
