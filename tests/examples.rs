//! The programs in `examples/`, built and run as `cargo xtask examples` does, with the compiler under test.

use std::path::Path;

/// Runs an example; a failure shows its output. A missing tool is a failure, too, and its message tells how to install it.
fn example(name: &str) {
    let modelc = Path::new(env!("CARGO_BIN_EXE_modelc"));
    let builds = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples");
    if let Err(message) = xtask::examples::run_with(modelc, &builds, name) {
        panic!("{message}");
    }
}

#[test]
fn a_c_program() {
    example("c");
}

#[test]
fn a_decoder() {
    example("decoder");
}

#[test]
fn a_cmake_project() {
    example("cmake");
}

#[test]
fn a_cargo_package() {
    example("cargo");
}

#[test]
fn bare_metal_on_aarch64() {
    example("baremetal-aarch64");
}

#[test]
fn bare_metal_on_riscv64() {
    example("baremetal-riscv64");
}

#[test]
fn bare_metal_on_riscv64_with_vectors() {
    example("baremetal-rv64gcv");
}

#[test]
fn bare_metal_on_32_bit_riscv() {
    for level in ["rv32imc", "rv32imafc"] {
        example(&format!("baremetal-{level}"));
    }
}

#[test]
fn bare_metal_on_cortex_m() {
    for core in ["m3", "m4f", "m7", "m33"] {
        example(&format!("baremetal-cortex-{core}"));
    }
}

#[test]
fn every_example_has_a_test() {
    let names: Vec<_> = xtask::examples::names().collect();
    let boards = ["aarch64", "riscv64", "rv32imc", "rv32imafc", "cortex-m3", "cortex-m4f", "cortex-m7", "cortex-m33", "rv64gcv"]
        .map(|board| format!("baremetal-{board}"));
    assert_eq!(names, [&["c", "decoder", "cmake", "cargo"].map(String::from)[..], &boards].concat());
}
