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
    for level in ["rv32imc", "rv32imac", "rv32imafc"] {
        example(&format!("baremetal-{level}"));
    }
}

#[test]
fn bare_metal_on_cortex_m() {
    for core in ["m0", "m3", "m4f", "m7", "m33", "m55"] {
        example(&format!("baremetal-cortex-{core}"));
    }
}

#[test]
fn firmware_on_two_cores() {
    example("firmware-two-cores");
}

#[test]
fn firmware_with_vectors_and_interrupts() {
    example("firmware-vectors");
}

#[test]
fn a_wake_word_in_8_kb_of_ram() {
    example("firmware-wake-word");
}

/// Two words of a block of UF2, which are little-endian.
fn words(block: &[u8], offset: usize) -> [u32; 2] {
    let word = |offset: usize| u32::from_le_bytes(block[offset..offset + 4].try_into().expect("four bytes"));
    [word(offset), word(offset + 4)]
}

/// Makes an image for a core of Pico 2, and checks its UF2 file.
fn check_pico_2(example_name: &str, family: u32) {
    example(example_name);
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(example_name);
    let [file, image] = ["program.uf2", "program.bin"].map(|name| std::fs::read(build.join(name)).expect("it is made"));
    let blocks: Vec<&[u8]> = file.chunks(512).collect();
    let mut contents = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        assert_eq!((block.len(), words(block, 0)), (512, [0x0a32_4655, 0x9e5d_5157]));
        // Flags: the last word names the family of chips.
        assert_eq!(words(block, 8), [0x2000, 0x1000_0000 + 256 * number as u32]);
        assert_eq!(words(block, 16), [256, number as u32]);
        assert_eq!(words(block, 24), [blocks.len() as u32, family]);
        assert_eq!(block[508..], 0x0ab1_6f30u32.to_le_bytes());
        contents.extend_from_slice(&block[32..288]);
    }
    assert!(contents.starts_with(&image) && contents.len() < image.len() + 256);
}

#[test]
fn images_for_both_kinds_of_cores_of_a_pico_2() {
    check_pico_2("firmware-pico2", 0xe48b_ff59);
    check_pico_2("firmware-pico2-riscv", 0xe48b_ff5a);
}

#[test]
fn every_example_has_a_test() {
    let names: Vec<_> = xtask::examples::names().collect();
    let cores = ["m0", "m3", "m4f", "m7", "m33", "m55"].map(|core| format!("cortex-{core}"));
    let others = ["aarch64", "riscv64", "rv32imc", "rv32imac", "rv32imafc"].map(String::from);
    let boards: Vec<String> = others.iter().chain(&cores).map(|board| format!("baremetal-{board}")).collect();
    let others =
        ["firmware-two-cores", "firmware-wake-word", "firmware-vectors", "firmware-pico2", "firmware-pico2-riscv", "baremetal-rv64gcv"]
            .map(String::from);
    assert_eq!(names, [&["c", "decoder", "cmake", "cargo"].map(String::from)[..], &boards, &others].concat());
}
