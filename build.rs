//! Turns `schemas/*.fbs` into readers, which `compiler/schema.rs` includes.

use std::error::Error;
use std::path::Path;
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
    Ok(())
}
