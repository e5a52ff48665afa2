//! `cargo xtask replay`: a compiler has no differences from itself, and a kernel with different bytes is named.

use std::path::{Path, PathBuf};
use xtask::replay::compare::{self, Comparison};
use xtask::replay::compile::{Compiler, targets};
use xtask::replay::{between, matrix};

fn modelc() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_modelc"))
}

fn digits() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/digits/digits_int8.tflite")
}

#[test]
fn a_compiler_differs_from_itself_in_nothing() {
    let all = matrix::configurations(&targets(modelc()).expect("the targets are listed"), None);
    let comparison = between([modelc(), modelc()], &[digits()], &all, Some(8)).expect("all compile");
    assert_eq!(comparison.differences(), 0, "{}", comparison.text());
    assert_eq!(comparison.rows.len(), 8);
}

#[test]
fn a_kernel_whose_tiles_differ_is_named() {
    let all = matrix::configurations(
        &targets(modelc()).expect("the targets are listed"),
        Some("--target x86_64-unknown-linux-gnu --cpu x86-64-v3 --threads 1"),
    );
    let with = |text: &str| all.iter().find(|one| one.text().ends_with(text)).expect("such a configuration is there");
    let compiler = Compiler::new(modelc()).expect("the compiler is there");
    let [fast, small] = ["--optimize speed --gpu off", "--optimize size --gpu off"]
        .map(|options| compiler.compile(&digits(), with(options)).expect("it runs"));
    let row = compare::row(&digits(), with("speed --gpu off"), &fast, &small).expect("both are objects");
    assert!(row.differences.iter().any(|name| name.contains("_conv_")), "{:?}", row.differences);
    let text = Comparison { rows: vec![row] }.text();
    assert!(
        text.contains("digits_int8.tflite --target x86_64-unknown-linux-gnu")
            && text.contains(" → ")
            && text.ends_with("0 refused, 1 differ\n"),
        "{text}"
    );
}
