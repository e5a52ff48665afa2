//! `modelc_tensor`, an argument of a custom operator.

use super::layout::Member::{Single, Word};
use super::table::{Row, Struct};

/// Members of `modelc_tensor`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tensor {
    /// Address of the elements.
    Data,
    /// Bytes of the elements.
    Bytes,
    /// Address of the extents.
    Shape,
    /// Number of extents.
    Rank,
    /// Number of the element type.
    Type,
    /// Scale of quantized elements.
    Scale,
    /// Zero point of quantized elements.
    ZeroPoint,
}

/// `modelc_tensor` of ABI 1.
pub static TENSOR: Struct<Tensor> = Struct {
    name: "modelc_tensor",
    rows: &[
        Row::new(Word, &[Tensor::Data]).c("void *data").comment("of inputs to be read only").rust(&["pub data: *mut core::ffi::c_void,"]),
        Row::new(Word, &[Tensor::Bytes]).c("size_t bytes").rust(&["pub bytes: usize,"]),
        Row::new(Word, &[Tensor::Shape])
            .c("const size_t *shape")
            .comment("rank extents; NULL for rank 0")
            .rust(&["pub shape: *const usize,"]),
        Row::new(Single, &[Tensor::Rank, Tensor::Type])
            .c("uint32_t rank, type")
            .comment("MODELC_F32 ...")
            .rust(&["pub rank: u32,", "pub element: u32,"]),
        Row::new(Single, &[Tensor::Scale])
            .c("float scale")
            .comment("real = scale * (integer - zero_point); 0 if it has not one scale for all elements")
            .rust(&["pub scale: f32,"]),
        Row::new(Single, &[Tensor::ZeroPoint]).c("int32_t zero_point").rust(&["pub zero_point: i32,"]),
    ],
};
