//! The operators of these graphs by their names.

use super::super::effects;
use super::super::ops::{self, Translate};
use super::{elementwise, images, products, tokens, training};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The translation of a call.
#[derive(Clone, Copy)]
pub(super) struct Operator {
    /// The function that translates it.
    pub(super) translate: Translate,
    /// The arguments that the program's operator takes; `None` for all.
    pub(super) picked: Option<&'static [usize]>,
    /// `true` if the result is one list of tensors of any length; otherwise each member of a list is a result.
    pub(super) gives_list: bool,
    /// The arguments that are written in part.
    pub(super) caches: &'static [usize],
}

/// The operator of a name.
pub(super) fn find(name: &str) -> Option<Operator> {
    TABLE.get(name).copied()
}

/// The names of all operators, in order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

static TABLE: LazyLock<BTreeMap<&'static str, Operator>> = LazyLock::new(|| {
    let of_programs = |name: &str, picked| {
        ops::find(name).map(|translate| Operator { translate, picked, gives_list: false, caches: effects::caches(name) })
    };
    let mut table = BTreeMap::new();
    table.extend(SAME.iter().filter_map(|&(name, of)| Some((name, of_programs(of, None)?))));
    table.extend(PICKED.iter().filter_map(|&(name, of, picked)| Some((name, of_programs(of, Some(picked))?))));
    let own = OWN.iter().flat_map(|family| family.iter());
    table.extend(own.map(|&(name, translate)| (name, Operator { translate, picked: None, gives_list: false, caches: &[] })));
    for name in LISTS {
        if let Some(operator) = table.get_mut(name) {
            operator.gives_list = true;
        }
    }
    table
});

/// The families that only these graphs have.
const OWN: &[&[(&str, Translate)]] =
    &[elementwise::OPERATORS, images::OPERATORS, products::OPERATORS, tokens::OPERATORS, training::OPERATORS];

/// Operators that give a list of tensors.
const LISTS: &[&str] = &["aten.split_with_sizes_copy.default"];

/// Names in graphs, and names in programs with the same arguments. Graphs have the names of functions. Programs have the names of kernels that write
/// to given results.
#[rustfmt::skip]
const SAME: &[(&str, &str)] = &[
    ("add", "executorch_prim::add.Scalar"),
    ("aten._log_softmax.default", "aten::_log_softmax.out"),
    ("aten._native_batch_norm_legit_no_training.default", "aten::_native_batch_norm_legit_no_training.out"),
    ("aten._softmax.default", "aten::_softmax.out"),
    ("aten.abs.default", "aten::abs.out"),
    ("aten.add.Tensor", "aten::add.out"),
    ("aten.addmm.default", "aten::addmm.out"),
    ("aten.alias_copy.default", "aten::alias_copy.out"),
    ("aten.amax.default", "aten::amax.out"),
    ("aten.amin.default", "aten::amin.out"),
    ("aten.argmax.default", "aten::argmax.out"),
    ("aten.argmin.default", "aten::argmin.out"),
    ("aten.avg_pool2d.default", "aten::avg_pool2d.out"),
    ("aten.bitwise_and.Tensor", "aten::bitwise_and.Tensor_out"),
    ("aten.bitwise_not.default", "aten::bitwise_not.out"),
    ("aten.bitwise_or.Tensor", "aten::bitwise_or.Tensor_out"),
    ("aten.bmm.default", "aten::bmm.out"),
    ("aten.cat.default", "aten::cat.out"),
    ("aten.clamp.default", "aten::clamp.out"),
    ("aten.clone.default", "aten::clone.out"),
    ("aten.constant_pad_nd.default", "aten::constant_pad_nd.out"),
    ("aten.convolution.default", "aten::convolution.out"),
    ("aten.copy.default", "aten::copy.out"),
    ("aten.cos.default", "aten::cos.out"),
    ("aten.div.Tensor", "aten::div.out"),
    ("aten.div.Tensor_mode", "aten::div.out_mode"),
    ("aten.embedding.default", "aten::embedding.out"),
    ("aten.eq.Scalar", "aten::eq.Scalar_out"),
    ("aten.eq.Tensor", "aten::eq.Tensor_out"),
    ("aten.exp.default", "aten::exp.out"),
    ("aten.expand_copy.default", "aten::expand_copy.out"),
    ("aten.flip.default", "aten::flip.out"),
    ("aten.gather.default", "aten::gather.out"),
    ("aten.ge.Scalar", "aten::ge.Scalar_out"),
    ("aten.ge.Tensor", "aten::ge.Tensor_out"),
    ("aten.gelu.default", "aten::gelu.out"),
    ("aten.grid_sampler_2d.default", "aten::grid_sampler_2d.out"),
    ("aten.gt.Scalar", "aten::gt.Scalar_out"),
    ("aten.gt.Tensor", "aten::gt.Tensor_out"),
    ("aten.hardtanh.default", "aten::hardtanh.out"),
    ("aten.index.Tensor", "aten::index.Tensor_out"),
    ("aten.index_select.default", "aten::index_select.out"),
    ("aten.le.Scalar", "aten::le.Scalar_out"),
    ("aten.le.Tensor", "aten::le.Tensor_out"),
    ("aten.leaky_relu.default", "aten::leaky_relu.out"),
    ("aten.linear.default", "aten::linear.out"),
    ("aten.log10.default", "aten::log10.out"),
    ("aten.logical_and.default", "aten::logical_and.out"),
    ("aten.logical_not.default", "aten::logical_not.out"),
    ("aten.logical_or.default", "aten::logical_or.out"),
    ("aten.lt.Scalar", "aten::lt.Scalar_out"),
    ("aten.lt.Tensor", "aten::lt.Tensor_out"),
    ("aten.max_pool2d_with_indices.default", "aten::max_pool2d_with_indices.out"),
    ("aten.mean.dim", "aten::mean.out"),
    ("aten.minimum.default", "aten::minimum.out"),
    ("aten.mm.default", "aten::mm.out"),
    ("aten.mul.Tensor", "aten::mul.out"),
    ("aten.native_group_norm.default", "aten::native_group_norm.out"),
    ("aten.native_layer_norm.default", "aten::native_layer_norm.out"),
    ("aten.ne.Scalar", "aten::ne.Scalar_out"),
    ("aten.neg.default", "aten::neg.out"),
    ("aten.permute.default", "aten::permute_copy.out"),
    ("aten.permute_copy.default", "aten::permute_copy.out"),
    ("aten.pixel_shuffle.default", "aten::pixel_shuffle.out"),
    ("aten.pow.Tensor_Scalar", "aten::pow.Tensor_Scalar_out"),
    ("aten.pow.Tensor_Tensor", "aten::pow.Tensor_Tensor_out"),
    ("aten.relu.default", "aten::relu.out"),
    ("aten.repeat.default", "aten::repeat.out"),
    ("aten.round.default", "aten::round.out"),
    ("aten.rsqrt.default", "aten::rsqrt.out"),
    ("aten.select.int", "aten::select_copy.int_out"),
    ("aten.select_copy.int", "aten::select_copy.int_out"),
    ("aten.sigmoid.default", "aten::sigmoid.out"),
    ("aten.sin.default", "aten::sin.out"),
    ("aten.slice.Tensor", "aten::slice_copy.Tensor_out"),
    ("aten.slice_copy.Tensor", "aten::slice_copy.Tensor_out"),
    ("aten.split_with_sizes_copy.default", "aten::split_with_sizes_copy.out"),
    ("aten.sqrt.default", "aten::sqrt.out"),
    ("aten.squeeze_copy.dims", "aten::squeeze_copy.dims_out"),
    ("aten.sub.Tensor", "aten::sub.out"),
    ("aten.sum.dim_IntList", "aten::sum.IntList_out"),
    ("aten.t_copy.default", "aten::t_copy.out"),
    ("aten.tan.default", "aten::tan.out"),
    ("aten.tanh.default", "aten::tanh.out"),
    ("aten.unfold_copy.default", "aten::unfold_copy.out"),
    ("aten.unsqueeze_copy.default", "aten::unsqueeze_copy.out"),
    ("aten.upsample_bilinear2d.vec", "aten::upsample_bilinear2d.vec_out"),
    ("aten.upsample_nearest2d.vec", "aten::upsample_nearest2d.vec_out"),
    ("aten.var.dim", "aten::var.out"),
    ("aten.view_copy.default", "aten::view_copy.out"),
    ("aten.where.self", "aten::where.self_out"),
    ("dim_order_ops._clone_dim_order.default", "dim_order_ops::_clone_dim_order.out"),
    ("eq", "executorch_prim::eq.Scalar"),
    ("et_vk.conv1d_dw.default", "aten::convolution.out"),
    ("et_vk.conv1d_pw.default", "aten::convolution.out"),
    ("et_vk.conv2d_gemm.default", "aten::convolution.out"),
    ("floordiv", "executorch_prim::floordiv.Scalar"),
    ("ge", "executorch_prim::ge.Scalar"),
    ("gt", "executorch_prim::gt.Scalar"),
    ("le", "executorch_prim::le.Scalar"),
    ("llama.custom_sdpa.default", "llama::custom_sdpa.out"),
    ("custom_sdpa.default", "llama::custom_sdpa.out"),
    ("llama.sdpa_with_kv_cache.default", "llama::sdpa_with_kv_cache.out"),
    ("sdpa_with_kv_cache.default", "llama::sdpa_with_kv_cache.out"),
    ("llama.update_cache.default", "llama::update_cache.out"),
    ("update_cache.default", "llama::update_cache.out"),
    ("lt", "executorch_prim::lt.Scalar"),
    ("mul", "executorch_prim::mul.Scalar"),
    ("quantized_decomposed.choose_qparams.tensor", "quantized_decomposed::choose_qparams.Tensor_out"),
    ("quantized_decomposed.choose_qparams_per_token_asymmetric.default", "quantized_decomposed::choose_qparams_per_token_asymmetric.out"),
    ("quantized_decomposed.dequantize_per_channel.default", "quantized_decomposed::dequantize_per_channel.out"),
    ("quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed::dequantize_per_tensor.out"),
    ("quantized_decomposed.dequantize_per_tensor.tensor", "quantized_decomposed::dequantize_per_tensor.Tensor_out"),
    ("quantized_decomposed.dequantize_per_token.default", "quantized_decomposed::dequantize_per_token.out"),
    ("quantized_decomposed.embedding_4bit.dtype", "quantized_decomposed::embedding_4bit.dtype_out"),
    ("quantized_decomposed.quantize_per_channel.default", "quantized_decomposed::quantize_per_channel.out"),
    ("quantized_decomposed.quantize_per_tensor.default", "quantized_decomposed::quantize_per_tensor.out"),
    ("quantized_decomposed.quantize_per_tensor.tensor", "quantized_decomposed::quantize_per_tensor.Tensor_out"),
    ("quantized_decomposed.quantize_per_token.default", "quantized_decomposed::quantize_per_token.out"),
    ("sub", "executorch_prim::sub.Scalar"),
    ("sym_size.int", "aten::sym_size.int"),
];

/// Names in graphs and in programs, where only some arguments are the kernel's. The others are element types, layouts and devices, which follow from
/// the result.
#[rustfmt::skip]
const PICKED: &[(&str, &str, &[usize])] = &[
    ("aten._to_copy.default", "aten::_to_copy.out", &[0, 5, 6]),
    ("aten.arange.start_step", "aten::arange.start_out", &[0, 1, 2]),
    ("aten.full.default", "aten::full.out", &[0, 1]),
    ("aten.full_like.default", "aten::full_like.out", &[0, 1, 6]),
    ("aten.ones.default", "aten::ones.out", &[0]),
    ("aten.scalar_tensor.default", "aten::scalar_tensor.out", &[0]),
    ("aten.zeros.default", "aten::zeros.out", &[0]),
    ("dim_order_ops._to_dim_order_copy.default", "dim_order_ops::_to_dim_order_copy.out", &[0, 5, 6]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once_and_is_an_operator() {
        let own: usize = OWN.iter().map(|family| family.len()).sum();
        assert_eq!(TABLE.len(), SAME.len() + PICKED.len() + own);
        assert!(LISTS.iter().all(|name| find(name).is_some_and(|operator| operator.gives_list)));
    }
}
