//! Turns `schemas/*.fbs` into readers, which `compiler/schema.rs` includes, and finds the commit for `modelc --version --verbose`.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::var("OUT_DIR")?;
    println!("cargo::rerun-if-changed=schemas");
    for entry in fs::read_dir("schemas")? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "fbs") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default();
        match modelc_schema::compile_file(&path) {
            Ok(output) => fs::write(Path::new(&out).join(stem).with_extension("rs"), output.rust)?,
            Err(error) => println!("cargo::error={error}"),
        }
    }
    println!("cargo::rerun-if-env-changed=MODELC_COMMIT");
    if let Some(commit) = env::var("MODELC_COMMIT").ok().or_else(packaged_commit).or_else(checked_out_commit) {
        println!("cargo::rustc-env=MODELC_COMMIT={commit}");
    }
    Ok(())
}

/// Returns the commit that `cargo package` recorded.
fn packaged_commit() -> Option<String> {
    let record = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = record.split_once("\"sha1\": \"")?;
    rest.split('"').next().map(str::to_owned)
}

/// Returns the commit of this checkout. Only optimized builds use it, because each new commit then rebuilds the compiler.
fn checked_out_commit() -> Option<String> {
    if env::var("PROFILE").ok()? != "release" || !Path::new(".git").exists() {
        return None;
    }
    for path in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", path])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
