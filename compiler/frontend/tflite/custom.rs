//! Custom operators that models in the wild have.

use super::operator::Lower;
use super::{convolution, detection, signal, unpooling};

/// Every custom operator that is compiled, in the order of their names.
pub(super) const SUPPORTED: &[(&str, Lower)] = &[
    ("Convolution2DTransposeBias", convolution::transpose_bias),
    ("MaxPoolingWithArgmax2D", unpooling::max_pool_with_positions),
    ("MaxUnpooling2D", unpooling::max_unpool),
    ("SignalDelay", signal::delay),
    ("SignalEnergy", signal::energy),
    ("SignalFftAutoScale", signal::auto_scale),
    ("SignalFilterBank", signal::filter_bank),
    ("SignalFilterBankLog", signal::filter_bank_log),
    ("SignalFilterBankSpectralSubtraction", signal::spectral_subtraction),
    ("SignalFilterBankSquareRoot", signal::filter_bank_square_root),
    ("SignalFramer", signal::framer),
    ("SignalIrfft", signal::inverse_real_fourier),
    ("SignalOverlapAdd", signal::overlap_add),
    ("SignalPCAN", signal::pcan),
    ("SignalRfft", signal::real_fourier),
    ("SignalStacker", signal::stacker),
    ("SignalWindow", signal::window),
    ("TFLite_Detection_PostProcess", detection::post_process),
];
