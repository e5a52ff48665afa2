//! Tests of Thumb-2 code.

pub(super) mod decoder;
mod encodings;
mod loops;
mod vectors;
