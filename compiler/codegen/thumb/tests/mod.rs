//! Tests of Thumb-2 code.

mod decoder;
mod encodings;
mod loops;
