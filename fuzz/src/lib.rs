//! Damage that fuzz targets do to their inputs, and the [`check`]s of the results.

pub mod check;

use modelc::ir::OPS;
use modelc::ir::random;
use modelc::ir::text::{Constants, print_module};
use modelc_damage::{FlatBuffer, damage_text};
use std::path::Path;
use std::sync::LazyLock;

/// Files of TFLite's schema.
pub static TFLITE: LazyLock<FlatBuffer> = LazyLock::new(|| schema("tflite"));
/// Files of ExecuTorch's schema.
pub static EXECUTORCH: LazyLock<FlatBuffer> = LazyLock::new(|| schema("program"));

fn schema(name: &str) -> FlatBuffer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    FlatBuffer::new(&folder.join(name).with_extension("fbs")).expect("the schema is sound")
}

/// Every second mutation is libFuzzer's own; the others follow the schema.
pub fn mutate_file(schema: &FlatBuffer, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    if seed.is_multiple_of(2) || size == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    let mut numbers = random::Random::new(seed.into());
    schema.damage(&mut data[..size], &mut |bound| numbers.below(bound));
    size
}

/// Every second mutation is libFuzzer's own; the others change words or operators, or now and then start from another random module.
pub fn mutate_text(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut numbers = random::Random::new(seed.into());
    let damaged = match std::str::from_utf8(&data[..size]) {
        _ if seed % 64 == 1 => print_module(&random::module(seed.into(), &random::Options::default()).0, Constants::Whole),
        Ok(text) if seed % 8 == 3 => exchange_operator(text, &mut numbers),
        Ok(text) if seed % 2 == 1 => damage_text(text, &mut |bound| numbers.below(bound)),
        _ => return libfuzzer_sys::fuzzer_mutate(data, size, most),
    };
    let length = damaged.len().min(most).min(data.len());
    data[..length].copy_from_slice(&damaged.as_bytes()[..length]);
    length
}

/// A text in which another operator stands in the place of one.
fn exchange_operator(text: &str, numbers: &mut random::Random) -> String {
    let mut words: Vec<&str> = text.split_inclusive(' ').collect();
    let is_operator = |word: &str| OPS.iter().any(|row| row.name == word.trim_end());
    let places: Vec<usize> = (0..words.len()).filter(|&at| is_operator(words[at])).collect();
    let other = format!("{} ", OPS[numbers.below(OPS.len())].name);
    if !places.is_empty() {
        words[places[numbers.below(places.len())]] = &other;
    }
    words.concat()
}
