//! TFLite Micro's signal operators, which compute features of audio samples, one frame a call.
//!
//! They are custom operators whose options are FlexBuffers. Results equal the runtime's portable kernels bit for bit: integers are fixed point, and
//! wrap, saturate and round like them. The runtime's kernels leave some outputs unwritten (a frame that is not yet full, energies outside the range).
//! Here these outputs are zeros.

mod auto_scale;
mod common;
mod delay;
mod energy;
mod filter_bank;
mod fourier;
mod framer;
mod logarithm;
mod overlap_add;
mod pcan;
mod settings;
mod spectral_subtraction;
mod square_root;
mod stacker;
mod window;

pub(super) use auto_scale::auto_scale;
pub(super) use delay::delay;
pub(super) use energy::energy;
pub(super) use filter_bank::filter_bank;
pub(super) use fourier::{inverse_real_fourier, real_fourier};
pub(super) use framer::framer;
pub(super) use logarithm::filter_bank_log;
pub(super) use overlap_add::overlap_add;
pub(super) use pcan::pcan;
pub(super) use spectral_subtraction::spectral_subtraction;
pub(super) use square_root::filter_bank_square_root;
pub(super) use stacker::stacker;
pub(super) use window::window;
