//! Damaged TFLite files: whatever the bytes, the answer is a module that verifies or an error, never a panic or a hang.

mod support;

use modelc::diagnostic::Kind;
use modelc::frontend::{LoadOptions, load};
use std::path::PathBuf;
use std::sync::Arc;

/// Files above this size take too long to damage thousands of times.
const MAX_FILE: u64 = 24 << 10;

/// A sequence of numbers that is the same in every run (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

/// How often each kind of damage is done; `MODELC_HOSTILE_ROUNDS` multiplies it.
fn rounds(count: usize) -> usize {
    let factor = std::env::var("MODELC_HOSTILE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    count * factor
}

fn check(bytes: Vec<u8>) {
    match load(Arc::new(bytes), "damaged.tflite", &LoadOptions::default()) {
        Ok(module) => {
            let verified = modelc::ir::verify::verify(&module);
            assert!(verified.is_ok(), "a damaged file gives unsound code: {:?}", verified.err());
        }
        Err(diagnostics) => {
            assert!(!diagnostics.0.is_empty());
            assert!(diagnostics.0.iter().all(|d| d.kind != Kind::Bug), "{diagnostics}");
        }
    }
}

/// Small models: every seventh single-operator case, and the smallest real ones.
fn files() -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for (folder, step) in [("tflite_ops", 7), ("tflite", 1)] {
        let Some(folder) = support::corpus(folder) else { continue };
        let entries = std::fs::read_dir(folder).expect("the folder can be read");
        let mut models: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|e| e == "tflite")).collect();
        models.sort();
        paths.extend(models.into_iter().step_by(step));
    }
    paths.retain(|path| path.metadata().is_ok_and(|data| data.len() <= MAX_FILE));
    paths.iter().map(|path| std::fs::read(path).expect("the model can be read")).collect()
}

#[test]
fn truncated_files_are_errors() {
    for bytes in files().into_iter().step_by(20) {
        for length in (0..bytes.len()).step_by(bytes.len() / 200 + 1) {
            check(bytes[..length].to_vec());
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for bytes in files() {
        for _ in 0..rounds(60) {
            let mut damaged = bytes.clone();
            for _ in 0..=numbers.next(3) {
                let position = numbers.next(damaged.len());
                damaged[position] ^= 1 << numbers.next(8);
            }
            check(damaged);
        }
    }
}

#[test]
fn words_set_to_extreme_numbers_never_panic() {
    const WORDS: [u32; 12] = [0, 1, 2, 3, 7, 127, 255, 0x7FFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x7FC0_0000];
    let mut numbers = Numbers(0xD1B5_4A32_D192_ED03);
    for bytes in files() {
        for _ in 0..rounds(150) {
            let mut damaged = bytes.clone();
            let position = numbers.next(damaged.len() / 4) * 4;
            let word = WORDS[numbers.next(WORDS.len())];
            damaged[position..position + 4].copy_from_slice(&word.to_le_bytes());
            check(damaged);
        }
    }
}
