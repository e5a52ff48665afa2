//! TFLite files through the front end.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use modelc_fuzz::{TFLITE, check, mutate_file};

fuzz_target!(|data: &[u8]| check::read(data));
fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { mutate_file(&TFLITE, data, size, most, seed) });
