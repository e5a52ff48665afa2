//! The text form of modules, driven by the operator table. A printed module parses to the same module. Unused values and instructions are left out,
//! and the others are numbered anew in order of definition.
//!
//! ```text
//! const0: i8[2] = [1, -1]
//! func @main(v0: f32[4, 2] "x", v1: effect) {
//!   v2: f32[2, 4] = transpose v0 { permutation = [1, 0] }
//!   v3: f32[2, 4] = map v2 {
//!     expression = (f32) {
//!       n0: f32 = input 0
//!       n1: f32 = mul n0, n0
//!       return n1
//!     }
//!   }
//!   return v3, v1
//! }
//! method "main" = @main {
//!   input "x"
//!   output "y"
//! }
//! ```
//!
//! A `;` starts a comment. Values of a function are numbered in order of definition. A result's type may be left out if the operator's rule gives it.
//! A function that the operator names must then stand above.

mod lexer;
mod number;
mod parse;
mod parse_body;
mod print;

pub use modelc_cursor::ParseError;
pub use parse::{parse_module, parse_tensor};
pub use print::{Constants, print_function, print_module, print_tensor};
