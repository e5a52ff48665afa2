//! Recurrent operators: their operands, and the cells of the operator library that they use.

mod common;
mod lstm;
mod lstm_basic;
mod rnn;
mod sequence;
mod states;
mod svdf;

pub(super) use lstm::{bidirectional_sequence_lstm, lstm, unidirectional_sequence_lstm};
pub(super) use rnn::{bidirectional_sequence_rnn, rnn, unidirectional_sequence_rnn};
pub(super) use svdf::svdf;
