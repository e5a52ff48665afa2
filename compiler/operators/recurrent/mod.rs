//! Recurrent layers: LSTM and RNN cells over sequences, SVDF, and linear attention.
//!
//! Inputs have time first, `[steps, batch, depth]`. States are `[batch, width]`, operands and results. The order of operations follows the reference
//! kernels, since it decides how sums round.

mod basic;
mod cell;
mod delta_rule;
mod fixed;
mod float;
mod integer;
mod matrix;
mod micro;
mod rnn;
mod sequence;
mod svdf;
#[cfg(test)]
mod tests;

pub use basic::{Basic, float_basic, integer_basic};
pub use cell::{Cell, CellActivation, Gate, Scales, Settings, Weights, swapped};
pub use delta_rule::{DeltaRule, delta_rule};
pub use float::float_lstm;
pub use integer::{InnerScales, integer_lstm};
pub use micro::micro_lstm;
pub use rnn::{Rnn, rnn};
pub use sequence::LoopPlace;
pub use svdf::{Memory, Svdf};
