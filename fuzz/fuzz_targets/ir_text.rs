//! Texts of the tensor language through parser, verifier, rewrites and interpreter.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use modelc_fuzz::{check, mutate_text};

fuzz_target!(|data: &[u8]| check::text(data));
fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { mutate_text(data, size, most, seed) });
