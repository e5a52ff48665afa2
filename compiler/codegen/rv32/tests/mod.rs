//! Tests of code for 32-bit RISC-V.

mod decoder;
mod encodings;
mod pieces;
