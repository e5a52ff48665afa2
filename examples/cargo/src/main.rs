//! Reads twenty handwritten digits with the model that the build script compiled. Fails if one is read wrongly.

use modelc_runtime::{Config, check};
use std::ffi::{c_int, c_void};
use std::process::ExitCode;

/// Sizes and scales of the model.
mod digits {
    include!(concat!(env!("OUT_DIR"), "/digits.rs"));
}

/// `digits_forward_inputs`.
#[repr(C)]
struct Inputs {
    in0: *const i8,
}

/// `digits_forward_outputs`.
#[repr(C)]
struct Outputs {
    out0: *mut i8,
}

unsafe extern "C" {
    fn digits_init(arena: *mut c_void, bytes: usize, config: *const Config) -> c_int;
    fn digits_forward(arena: *mut c_void, inputs: *const Inputs, outputs: *mut Outputs) -> c_int;
}

/// All memory that the model works in, aligned as its header asks.
#[repr(C, align(64))]
struct Arena([u8; digits::ARENA_BYTES]);

/// The numbers of a C array: those between the braces after its name.
fn numbers(name: &str) -> Vec<u8> {
    let header = include_str!("../../digits/images.h");
    let start = header.find(&format!(" {name}[")).expect("the images are there");
    let array = &header[start..];
    let body = &array[array.find('{').expect("an array has braces")..array.find(';').expect("and an end")];
    body.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn main() -> ExitCode {
    let mut arena = Box::new(Arena([0; digits::ARENA_BYTES]));
    let arena = std::ptr::from_mut(&mut *arena).cast::<c_void>();
    // SAFETY: the arena is as large and as aligned as the model asks, and lives until the end.
    let status = unsafe { digits_init(arena, digits::ARENA_BYTES, &Config::default()) };
    check(status).expect("the arena and this computer suit the model");

    let (labels, images) = (numbers("image_labels"), numbers("images"));
    let mut mistakes = 0;
    for (label, image) in labels.iter().zip(images.chunks_exact(64)) {
        let quantize = |pixel: &u8| {
            let whole = (f32::from(*pixel) / 16.0 / digits::SCALE).round() as i32 + digits::ZERO_POINT;
            whole.clamp(-128, 127) as i8
        };
        let pixels: Vec<i8> = image.iter().map(quantize).collect();
        let mut answer = [0i8; 10];
        let (inputs, mut outputs) = (Inputs { in0: pixels.as_ptr() }, Outputs { out0: answer.as_mut_ptr() });
        // SAFETY: the arena was initialised, and the buffers have the 64 and 10 bytes that the model reads and writes.
        check(unsafe { digits_forward(arena, &inputs, &mut outputs) }).expect("the call is sound");
        let digit = (0..answer.len()).rev().max_by_key(|&digit| answer[digit]).expect("there are ten");
        let right = digit == usize::from(*label);
        println!("a {label}, read as {digit}{}", if right { "" } else { ": WRONG" });
        mistakes += usize::from(!right);
    }
    println!("{} of {} right; arena {} bytes", labels.len() - mistakes, labels.len(), digits::ARENA_BYTES);
    if mistakes == 0 && labels.len() == 20 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
