//! The operators of these graphs by their names.

use super::{elementwise, images, products, tokens, training};
use crate::frontend::executorch::effects;
use crate::frontend::executorch::ops::{self, Translate};
use std::borrow::Cow;
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
    let of_programs = |name: &'static str, picked| {
        let of = in_programs(name);
        let translate = ops::find(&of)?;
        Some((name, Operator { translate, picked, gives_list: false, caches: effects::caches(&of) }))
    };
    let mut table = BTreeMap::new();
    table.extend(SAME.iter().filter_map(|name| of_programs(name, None)));
    table.extend(PICKED.iter().filter_map(|&(name, picked)| of_programs(name, Some(picked))));
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

/// Operators that take the arguments of the program's operator.
#[rustfmt::skip]
const SAME: &[&str] = &[
    "add",
    "aten._log_softmax.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten._softmax.default",
    "aten.abs.default",
    "aten.add.Tensor",
    "aten.addmm.default",
    "aten.alias_copy.default",
    "aten.amax.default",
    "aten.amin.default",
    "aten.argmax.default",
    "aten.argmin.default",
    "aten.avg_pool2d.default",
    "aten.bitwise_and.Tensor",
    "aten.bitwise_not.default",
    "aten.bitwise_or.Tensor",
    "aten.bmm.default",
    "aten.cat.default",
    "aten.clamp.default",
    "aten.clone.default",
    "aten.constant_pad_nd.default",
    "aten.convolution.default",
    "aten.copy.default",
    "aten.cos.default",
    "aten.div.Tensor",
    "aten.div.Tensor_mode",
    "aten.embedding.default",
    "aten.eq.Scalar",
    "aten.eq.Tensor",
    "aten.exp.default",
    "aten.expand_copy.default",
    "aten.flip.default",
    "aten.gather.default",
    "aten.ge.Scalar",
    "aten.ge.Tensor",
    "aten.gelu.default",
    "aten.grid_sampler_2d.default",
    "aten.gt.Scalar",
    "aten.gt.Tensor",
    "aten.hardtanh.default",
    "aten.index.Tensor",
    "aten.index_select.default",
    "aten.le.Scalar",
    "aten.le.Tensor",
    "aten.leaky_relu.default",
    "aten.linear.default",
    "aten.log10.default",
    "aten.logical_and.default",
    "aten.logical_not.default",
    "aten.logical_or.default",
    "aten.lt.Scalar",
    "aten.lt.Tensor",
    "aten.max_pool2d_with_indices.default",
    "aten.mean.dim",
    "aten.minimum.default",
    "aten.mm.default",
    "aten.mul.Tensor",
    "aten.native_group_norm.default",
    "aten.native_layer_norm.default",
    "aten.ne.Scalar",
    "aten.neg.default",
    "aten.permute.default",
    "aten.permute_copy.default",
    "aten.pixel_shuffle.default",
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.relu.default",
    "aten.repeat.default",
    "aten.round.default",
    "aten.rsqrt.default",
    "aten.select.int",
    "aten.select_copy.int",
    "aten.sigmoid.default",
    "aten.sin.default",
    "aten.slice.Tensor",
    "aten.slice_copy.Tensor",
    "aten.split_with_sizes_copy.default",
    "aten.sqrt.default",
    "aten.squeeze_copy.dims",
    "aten.sub.Tensor",
    "aten.sum.dim_IntList",
    "aten.t_copy.default",
    "aten.tan.default",
    "aten.tanh.default",
    "aten.unfold_copy.default",
    "aten.unsqueeze_copy.default",
    "aten.upsample_bilinear2d.vec",
    "aten.upsample_nearest2d.vec",
    "aten.var.dim",
    "aten.view_copy.default",
    "aten.where.self",
    "dim_order_ops._clone_dim_order.default",
    "eq",
    "et_vk.conv1d_dw.default",
    "et_vk.conv1d_pw.default",
    "et_vk.conv2d_gemm.default",
    "floordiv",
    "ge",
    "gt",
    "le",
    "llama.custom_sdpa.default",
    "custom_sdpa.default",
    "llama.sdpa_with_kv_cache.default",
    "sdpa_with_kv_cache.default",
    "llama.update_cache.default",
    "update_cache.default",
    "lt",
    "mul",
    "quantized_decomposed.choose_qparams.tensor",
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
    "quantized_decomposed.dequantize_per_channel.default",
    "quantized_decomposed.dequantize_per_tensor.default",
    "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_token.default",
    "quantized_decomposed.embedding_4bit.dtype",
    "quantized_decomposed.quantize_per_channel.default",
    "quantized_decomposed.quantize_per_tensor.default",
    "quantized_decomposed.quantize_per_tensor.tensor",
    "quantized_decomposed.quantize_per_token.default",
    "sub",
    "sym_size.int",
];

/// Operators that take other arguments, and the numbers of those that the program's operator takes. The others are element types, layouts and devices,
/// which follow from the result.
#[rustfmt::skip]
const PICKED: &[(&str, &[usize])] = &[
    ("aten._to_copy.default", &[0, 5, 6]),
    ("aten.arange.start_step", &[0, 1, 2]),
    ("aten.full.default", &[0, 1]),
    ("aten.full_like.default", &[0, 1, 6]),
    ("aten.ones.default", &[0]),
    ("aten.scalar_tensor.default", &[0]),
    ("aten.zeros.default", &[0]),
    ("dim_order_ops._to_dim_order_copy.default", &[0, 5, 6]),
];

/// Names in programs that do not follow from the name in a graph, see [`in_programs`].
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("aten.add.Tensor", "aten::add.out"),
    ("aten.div.Tensor", "aten::div.out"),
    ("aten.div.Tensor_mode", "aten::div.out_mode"),
    ("aten.mean.dim", "aten::mean.out"),
    ("aten.mul.Tensor", "aten::mul.out"),
    ("aten.permute.default", "aten::permute_copy.out"),
    ("aten.select.int", "aten::select_copy.int_out"),
    ("aten.slice.Tensor", "aten::slice_copy.Tensor_out"),
    ("aten.sub.Tensor", "aten::sub.out"),
    ("aten.sum.dim_IntList", "aten::sum.IntList_out"),
    ("aten.var.dim", "aten::var.out"),
    ("et_vk.conv1d_dw.default", "aten::convolution.out"),
    ("et_vk.conv1d_pw.default", "aten::convolution.out"),
    ("et_vk.conv2d_gemm.default", "aten::convolution.out"),
    ("custom_sdpa.default", "llama::custom_sdpa.out"),
    ("sdpa_with_kv_cache.default", "llama::sdpa_with_kv_cache.out"),
    ("update_cache.default", "llama::update_cache.out"),
    ("quantized_decomposed.choose_qparams.tensor", "quantized_decomposed::choose_qparams.Tensor_out"),
    ("quantized_decomposed.dequantize_per_tensor.tensor", "quantized_decomposed::dequantize_per_tensor.Tensor_out"),
    ("quantized_decomposed.quantize_per_tensor.tensor", "quantized_decomposed::quantize_per_tensor.Tensor_out"),
    ("sym_size.int", "aten::sym_size.int"),
    ("aten.arange.start_step", "aten::arange.start_out"),
];

/// Returns an operator's name in programs. Graphs have the names of functions. Programs have the names of kernels that write to given results:
/// `aten.neg.default` is `aten::neg.out`, and `aten.eq.Scalar` is `aten::eq.Scalar_out`.
fn in_programs(name: &str) -> Cow<'_, str> {
    if let Some((_, of_programs)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == name) {
        return Cow::Borrowed(of_programs);
    }
    let mut words = name.split('.');
    match (words.next(), words.next(), words.next()) {
        (Some(library), Some(function), Some("default")) => format!("{library}::{function}.out").into(),
        (Some(library), Some(function), Some(overload)) => format!("{library}::{function}.{overload}_out").into(),
        _ => format!("executorch_prim::{name}.Scalar").into(),
    }
}

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
