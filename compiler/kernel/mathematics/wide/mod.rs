//! Functions of binary64 lanes. Numbers as the sum of two floats are in `pair.rs`.

mod angle;
mod erf;
mod exp;
mod log;
mod pair;
mod pow;
mod remainder;
mod split;
mod tanh;
mod turns;

#[cfg(test)]
mod tests;

pub use angle::{cos, sin};
pub use erf::{erf, erfc};
pub use exp::exp;
pub use log::log;
pub use pow::pow;
pub use remainder::remainder;
pub use tanh::tanh;
