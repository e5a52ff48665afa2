//! The text of kernels, for people and for tests: [`Kernel`] prints itself, and [`parse_kernel`] reads it back.
//!
//! ```text
//! kernel @relu(x: input f32[10] align 4, y: output f32[10] align 64) {
//!   for %2 in 0..8 step 4 {
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
//! Values keep their numbers. Constants stand where they are used and have no line of their own. Where the type of a constant does not
//! follow from the rest of its line it is written too: `horizontal_add 1.0: f32x4`. A float shows the fewest digits that give it back.
//! An element is written `buffer[index + offset]`, with a constant index added to the offset.
//!
//! A kernel with a grid says so after its parameters, of which the last is the position: `(…, %0: i64) grid 1000 workgroup 64 {`.
//!
//! Rounds that are independent, and ranges of rounds with buffers of their own:
//!
//! ```text
//! for each %2 in 0..8 step 4 {
//! divide 0..10 as (%1, %2) private ring, panel {
//! ```
//!
//! Buffers of one name are told apart by a number: `x`, `x.2`.
//!
//! So the text does not say how many instructions define a constant, or where. A kernel and what its text is parsed to are equal in
//! everything else: their [`canonical`] forms are equal.

mod canonical;
mod lexer;
mod names;
mod parse;
mod parse_instruction;
mod print;

#[cfg(test)]
mod tests;

pub use crate::cursor::ParseError;
pub use canonical::canonical;
pub use parse::{parse_kernel, parse_kernels};
pub(super) use print::statement_line;
