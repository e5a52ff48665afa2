//! Custom operators that models in the wild have.

use super::registry::Lower;
use super::{convolution, detection, unpooling};

/// Every custom operator that is compiled, in the order of their names.
pub(super) const SUPPORTED: &[(&str, Lower)] = &[
    ("Convolution2DTransposeBias", convolution::transpose_bias),
    ("MaxPoolingWithArgmax2D", unpooling::max_pool_with_positions),
    ("MaxUnpooling2D", unpooling::max_unpool),
    ("TFLite_Detection_PostProcess", detection::post_process),
];
