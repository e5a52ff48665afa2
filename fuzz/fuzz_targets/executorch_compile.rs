//! ExecuTorch programs to kernels, and now and then to machine code.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use modelc_fuzz::{EXECUTORCH, check, mutate_file};

fuzz_target!(|data: &[u8]| check::lower(data));
fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| { mutate_file(&EXECUTORCH, data, size, most, seed) });
