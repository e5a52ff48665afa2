//! Tests of Thumb-2 code.

pub(super) mod decoder;
mod encodings;
mod loops;
mod vectors;

/// The architecture of vectors and low-overhead loops, by its name in decoders.
const ARCHITECTURE: &str = "armv8.1-m.main";
