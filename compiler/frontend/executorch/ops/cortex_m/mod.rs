//! Operators of ExecuTorch's Cortex-M back end, for every target: integers with multipliers and shifts in CMSIS-NN's format. Results equal those of
//! the exporter's own kernels in Python, some of which compute in binary32. The scratch tensors that a file plans for CMSIS-NN are ignored.
//!
//! - `numbers.rs`: multipliers, offsets and bounds;
//! - `products.rs`: convolutions and products of matrices;
//! - `windows.rs`: pooling;
//! - `elements.rs`: the others.

mod elements;
mod numbers;
mod products;
mod windows;

use super::call::Translate;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("cortex_m::dequantize_per_tensor.out", |c| super::quantized::dequantize(c, None)),
    ("cortex_m::maximum.out", super::binary::maximum),
    ("cortex_m::minimum.out", super::binary::minimum),
    ("cortex_m::pad.out", elements::pad),
    ("cortex_m::quantize_per_tensor.out", |c| super::quantized::quantize(c, None, 3)),
    ("cortex_m::quantized_activation.out", elements::activation),
    ("cortex_m::quantized_add.out", elements::add),
    ("cortex_m::quantized_avg_pool2d.out", |c| windows::means(c, false)),
    ("cortex_m::quantized_avg_pool2d_nhwc.out", |c| windows::means(c, true)),
    ("cortex_m::quantized_batch_matmul.out", products::batch_matmul),
    ("cortex_m::quantized_conv2d.out", |c| products::convolution(c, false)),
    ("cortex_m::quantized_conv2d_nhwc.out", |c| products::convolution(c, true)),
    ("cortex_m::quantized_depthwise_conv2d.out", |c| products::depthwise(c, false)),
    ("cortex_m::quantized_depthwise_conv2d_nhwc.out", |c| products::depthwise(c, true)),
    ("cortex_m::quantized_div.out", elements::div),
    ("cortex_m::quantized_linear.out", products::linear),
    ("cortex_m::quantized_max_pool2d.out", |c| windows::largest(c, false)),
    ("cortex_m::quantized_max_pool2d_nhwc.out", |c| windows::largest(c, true)),
    ("cortex_m::quantized_mul.out", elements::mul),
    ("cortex_m::quantized_transpose_conv2d.out", |c| products::transposed(c, false)),
    ("cortex_m::quantized_transpose_conv2d_nhwc.out", |c| products::transposed(c, true)),
    ("cortex_m::softmax.out", elements::softmax),
    ("cortex_m::transpose.out", super::shape::permute),
];
