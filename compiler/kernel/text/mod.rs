//! The text of kernels, for people and for tests: [`Kernel`] prints itself, and [`parse_kernel`] reads it back.
//!
//! ```text
//! kernel @relu(x: input f32[10] align 4, y: output f32[10] align 64) {
//!   for each %2 in 0..8 step 4 {
//!     %3: f32x4 = load x[%2]
//!     %5: f32x4 = float_max_first %3, 0.0
//!     store y[%2], %5
//!   }
//!   %7: f32x4 = load x[8] active 2     ; the rest of a line after a semicolon is a comment
//!   %9: f32x4 = float_max_first %7, 0.0
//!   store y[8], %9 active 2
//! }
//! ```
//!
//! Values keep their numbers. Constants are written at their uses, and have no line of their own. If the type of a constant does not follow from the
//! rest of the line, it is written, too: `horizontal_add 1.0: f32x4`. A float has the fewest digits that give the same float.
//! An element is written `buffer[index + offset]`, with a constant index added to the offset.
//!
//! The grid of a kernel comes after its parameters, and the last parameter is the position: `(…, %0: i64) grid 1000 workgroup 64 {`.
//!
//! A [streamed](super::BufferData::streamed) buffer has a word after its alignment: `x: input f32[1000] align 4 streamed`.
//!
//! Rounds that are independent, and ranges of rounds with buffers of their own:
//!
//! ```text
//! for each %2 in 0..8 step 4 {
//! for each %2 in 0..8 step 1 private row {
//! divide 0..10 as (%1, %2) private ring, panel {
//! ```
//!
//! Buffers of one name are told apart by a number: `x`, `x.2`.
//!
//! So the text does not have the number and the places of instructions that define constants. Otherwise a kernel is equal to its parsed text: their
//! [`canonical`] forms are equal.

mod canonical;
mod lexer;
mod names;
mod parse;
mod parse_instruction;
mod print;

#[cfg(test)]
mod tests;

pub use canonical::canonical;
pub use modelc_cursor::ParseError;
pub use names::name;
pub use parse::{parse_kernel, parse_kernels};
pub(super) use print::statement_line;
