//! Damaged TFLite files: for any bytes, the result is a module that verifies or an error, never a panic or an endless loop.

#[allow(dead_code, reason = "the fuzz targets use the rest")]
#[path = "../fuzz/src/check.rs"]
mod check;
mod support;

use modelc::ir::random::Random;
use modelc_damage::FlatBuffer;
use std::path::{Path, PathBuf};

/// Size limit of files; larger ones take too long to damage thousands of times.
const MAX_FILE: u64 = 24 << 10;

/// Returns the number of rounds of each kind of damage; `MODELC_HOSTILE_ROUNDS` multiplies it.
fn rounds(count: usize) -> usize {
    let factor = std::env::var("MODELC_HOSTILE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    count * factor
}

/// Returns small models: this repository's, and from the corpus every seventh single-operator case and the smallest real models.
fn files() -> Vec<Vec<u8>> {
    let mut paths = support::models_in(&support::own("tests/models"), "tflite");
    for (folder, step) in [("tflite_ops", 7), ("tflite", 1)] {
        paths.extend(support::models(folder, "tflite").into_iter().step_by(step));
    }
    paths.retain(|path| path.metadata().is_ok_and(|data| data.len() <= MAX_FILE));
    paths.iter().map(|path| std::fs::read(path).expect("the model can be read")).collect()
}

/// Files that once crashed the compiler.
#[test]
fn what_was_found_stays_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    assert!(!paths.is_empty());
    for path in paths {
        println!("{}", path.display());
        let bytes = std::fs::read(&path).expect("the file can be read");
        if path.extension().is_some_and(|extension| extension == "mt") {
            check::text(&bytes);
        } else {
            check::compile(&bytes);
        }
    }
}

/// A convolution whose dilation puts windows and padding billions of elements outside the image.
#[test]
fn windows_larger_than_any_memory_are_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/windows_far_beyond_the_input.tflite");
    assert!(!check::compile(&std::fs::read(path).expect("the file can be read")));
}

#[test]
fn truncated_files_are_errors() {
    for bytes in files().into_iter().step_by(20) {
        for length in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            check::read(&bytes[..length]);
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut numbers = Random::new(0x9E37_79B9_7F4A_7C15);
    for bytes in files() {
        for _ in 0..rounds(60) {
            let mut damaged = bytes.clone();
            for _ in 0..=numbers.below(3) {
                let position = numbers.below(damaged.len());
                damaged[position] ^= 1 << numbers.below(8);
            }
            check::read(&damaged);
        }
    }
}

/// Values are changed by the schema, so that the file stays a valid model with another meaning. Compiling takes far longer than reading, so one
/// file in ten is compiled.
#[test]
fn damaged_values_never_panic() {
    let schema = FlatBuffer::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/tflite.fbs")).expect("the schema is sound");
    let mut numbers = Random::new(0x0123_4567_89AB_CDEF);
    let (mut tried, mut compiled) = (0, 0);
    for bytes in files() {
        for round in 0..rounds(60) {
            let mut damaged = bytes.clone();
            schema.damage(&mut damaged, &mut |bound| numbers.below(bound));
            if round % 10 == 0 {
                tried += 1;
                compiled += usize::from(check::compile(&damaged));
            } else {
                check::read(&damaged);
            }
        }
    }
    println!("{compiled} of {tried} damaged models still compile");
    assert!(compiled >= tried / 10, "damage that leaves nothing to compile tests the reader alone: {compiled} of {tried}");
}

#[test]
fn words_set_to_extreme_numbers_never_panic() {
    const WORDS: [u32; 12] = [0, 1, 2, 3, 7, 127, 255, 0x7FFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x7FC0_0000];
    let mut numbers = Random::new(0xD1B5_4A32_D192_ED03);
    for bytes in files() {
        for _ in 0..rounds(150) {
            let mut damaged = bytes.clone();
            let position = numbers.below(damaged.len() / 4) * 4;
            let word = WORDS[numbers.below(WORDS.len())];
            damaged[position..position + 4].copy_from_slice(&word.to_le_bytes());
            check::read(&damaged);
        }
    }
}
