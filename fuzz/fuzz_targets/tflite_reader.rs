//! TFLite files through the front end.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use modelc_fuzz::{TFLITE, mutate_file, read};

fuzz_target!(|data: &[u8]| read(data));
fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { mutate_file(&TFLITE, data, size, most, seed) });
