//! Damaged model files and texts, for tests and fuzzing: they keep enough of their structure to get far.
//!
//! Everything is a function of a sequence of numbers that the caller has: `random(n)` gives one below `n`, which is never 0.

mod flatbuffer;
mod text;

pub use flatbuffer::FlatBuffer;
pub use text::damage_text;
