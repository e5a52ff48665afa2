//! The operators of these graphs by their names.

use super::{elementwise, images, products, tokens, training};
use crate::frontend::executorch::effects;
use crate::frontend::executorch::ops::{self, Translate};
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
    TABLE.keys().map(String::as_str)
}

static TABLE: LazyLock<BTreeMap<String, Operator>> = LazyLock::new(|| {
    let of_programs = |name: String, of: &str| {
        let translate = ops::find(of)?;
        let picked = WITH_OPTIONS.iter().find(|(with_options, _)| *with_options == name).map(|(_, picked)| *picked);
        let gives_list = LISTS.contains(&&name[..]);
        Some((name, Operator { translate, picked, gives_list, caches: effects::caches(of) }))
    };
    let of_graphs =
        |&(name, translate): &(&str, Translate)| (name.to_owned(), Operator { translate, picked: None, gives_list: false, caches: &[] });
    let mut table = BTreeMap::new();
    table.extend(ops::operators().filter_map(|of| of_programs(in_graphs(of)?, of)));
    table.extend(ALIASES.iter().filter_map(|&(name, of)| of_programs(name.to_owned(), of)));
    table.extend(OWN.iter().flat_map(|family| family.iter()).map(of_graphs));
    table
});

/// Returns the name in graphs of an operator of programs. Programs have the names of kernels that write to given results, graphs have the names of
/// functions: `aten::neg.out` is `aten.neg.default`, and `aten::eq.Scalar_out` is `aten.eq.Scalar`. `None` for operators that graphs cannot have.
fn in_graphs(of: &str) -> Option<String> {
    if let Some((_, renamed)) = RENAMED.iter().find(|(irregular, _)| *irregular == of) {
        return Some((*renamed).to_owned());
    }
    let (library, kernel) = of.split_once("::")?;
    let (function, overload) = kernel.split_once('.')?;
    match library {
        "executorch_prim" => (overload == "Scalar").then(|| function.to_owned()),
        "aten" | "dim_order_ops" | "llama" | "quantized_decomposed" if !UNSUITABLE.contains(&of) => {
            let overload = if overload == "out" { "default" } else { overload.strip_suffix("_out")? };
            Some(format!("{library}.{function}.{overload}"))
        }
        _ => None,
    }
}

/// The families that only these graphs have.
const OWN: &[&[(&str, Translate)]] =
    &[elementwise::OPERATORS, images::OPERATORS, products::OPERATORS, tokens::OPERATORS, training::OPERATORS];

/// Operators that give a list of tensors.
const LISTS: &[&str] = &["aten.split_copy.Tensor", "aten.split_with_sizes_copy.default", "aten.unbind_copy.int"];

/// Functions that take an element type, a layout and a device, and the numbers of the arguments that the program's operator takes. The others follow
/// from the result.
#[rustfmt::skip]
const WITH_OPTIONS: &[(&str, &[usize])] = &[
    ("aten._to_copy.default", &[0, 5, 6]),
    ("aten.arange.default", &[0]),
    ("aten.arange.start_step", &[0, 1, 2]),
    ("aten.empty.memory_format", &[0, 5]),
    ("aten.empty_permuted.default", &[0, 1]),
    ("aten.full.default", &[0, 1]),
    ("aten.full_like.default", &[0, 1, 6]),
    ("aten.ones.default", &[0]),
    ("aten.scalar_tensor.default", &[0]),
    ("aten.zeros.default", &[0]),
    ("dim_order_ops._empty_dim_order.default", &[0, 5]),
    ("dim_order_ops._to_dim_order_copy.default", &[0, 5, 6]),
];

/// Operators of programs that graphs cannot have: of random numbers, which programs draw in order, and with results whose size depends on data.
const UNSUITABLE: &[&str] = &[
    "aten::masked_select.out",
    "aten::native_dropout.out",
    "aten::nonzero.out",
    "aten::rand.out",
    "aten::randn.out",
    "aten::repeat_interleave.Tensor_out",
];

/// Operators of programs whose names in graphs do not follow from [`in_graphs`]' rule.
#[rustfmt::skip]
const RENAMED: &[(&str, &str)] = &[
    ("aten::add.out", "aten.add.Tensor"),
    ("aten::all.all_out", "aten.all.default"),
    ("aten::all.out", "aten.all.dim"),
    ("aten::any.all_out", "aten.any.default"),
    ("aten::any.out", "aten.any.dim"),
    ("aten::arange.start_out", "aten.arange.start_step"),
    ("aten::copysign.out", "aten.copysign.Tensor"),
    ("aten::div.out", "aten.div.Tensor"),
    ("aten::div.out_mode", "aten.div.Tensor_mode"),
    ("aten::empty.out", "aten.empty.memory_format"),
    ("aten::max.unary_out", "aten.max.default"),
    ("aten::mean.dtype_out", "aten.mean.default"),
    ("aten::mean.out", "aten.mean.dim"),
    ("aten::min.unary_out", "aten.min.default"),
    ("aten::mul.out", "aten.mul.Tensor"),
    ("aten::prod.int_out", "aten.prod.dim_int"),
    ("aten::sub.out", "aten.sub.Tensor"),
    ("aten::sum.IntList_out", "aten.sum.dim_IntList"),
    ("aten::sym_size.int", "sym_size.int"),
    ("aten::var.out", "aten.var.dim"),
    ("quantized_decomposed::choose_qparams.Tensor_out", "quantized_decomposed.choose_qparams.tensor"),
    ("quantized_decomposed::dequantize_per_tensor.Tensor_out", "quantized_decomposed.dequantize_per_tensor.tensor"),
    ("quantized_decomposed::quantize_per_tensor.Tensor_out", "quantized_decomposed.quantize_per_tensor.tensor"),
];

/// Further names in graphs, each with the operator of programs.
#[rustfmt::skip]
const ALIASES: &[(&str, &str)] = &[
    ("aten.permute.default", "aten::permute_copy.out"),
    ("aten.select.int", "aten::select_copy.int_out"),
    ("aten.slice.Tensor", "aten::slice_copy.Tensor_out"),
    ("custom_sdpa.default", "llama::custom_sdpa.out"),
    ("et_vk.conv1d_dw.default", "aten::convolution.out"),
    ("et_vk.conv1d_pw.default", "aten::convolution.out"),
    ("et_vk.conv2d_gemm.default", "aten::convolution.out"),
    ("sdpa_with_kv_cache.default", "llama::sdpa_with_kv_cache.out"),
    ("update_cache.default", "llama::update_cache.out"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once() {
        let regular = ops::operators().filter_map(in_graphs).count();
        let own: usize = OWN.iter().map(|family| family.len()).sum();
        assert_eq!(TABLE.len(), regular + ALIASES.len() + own);
    }

    #[test]
    fn exceptions_are_operators() {
        assert!(LISTS.iter().all(|name| find(name).is_some_and(|operator| operator.gives_list)));
        assert!(WITH_OPTIONS.iter().all(|(name, picked)| find(name).is_some_and(|operator| operator.picked == Some(picked))));
        let exceptions = UNSUITABLE.iter().chain(RENAMED.iter().map(|(of, _)| of)).chain(ALIASES.iter().map(|(_, of)| of));
        assert_eq!(exceptions.filter(|of| ops::find(of).is_none()).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
