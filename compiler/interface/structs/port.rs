//! `modelc_port`, a row of the header's table of inputs and outputs.

use super::layout::Member::{Byte, Half, Single, Word};
use super::table::{Row, Struct};

/// Members of `modelc_port`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortMember {
    /// Name of the method.
    Method,
    /// Name of the port.
    Name,
    /// 1 for an output.
    IsOutput,
    /// 1 for a port that is passed by value.
    IsValue,
    /// Number among the inputs or the outputs.
    Index,
    /// Number of the element type.
    Type,
    /// Number of extents.
    Rank,
    /// Address of the extents.
    Shape,
    /// Bytes at the bounds.
    Bytes,
    /// Scale of quantized elements.
    Scale,
    /// Zero point of quantized elements.
    ZeroPoint,
}

/// `modelc_port` of ABI 1.
pub static PORT: Struct<PortMember> = Struct {
    name: "modelc_port",
    rows: &[
        Row::new(Word, &[PortMember::Method, PortMember::Name]).c("const char *method, *name").comment("as in the model's file"),
        Row::new(Byte, &[PortMember::IsOutput, PortMember::IsValue])
            .c("uint8_t is_output, is_value")
            .comment("is_value: passed by value, not in a buffer"),
        Row::new(Half, &[PortMember::Index]).c("uint16_t index").comment("in0, out0"),
        Row::new(Single, &[PortMember::Type, PortMember::Rank])
            .c("uint32_t type, rank")
            .comment("MODELC_F32 ..., 0 for a type without a number; the number of extents"),
        Row::new(Word, &[PortMember::Shape]).c("const size_t *shape").comment("extents, or their bounds; NULL for rank 0"),
        Row::new(Word, &[PortMember::Bytes]).c("size_t bytes").comment("at the bounds"),
        Row::new(Single, &[PortMember::Scale])
            .c("float scale")
            .comment("real = scale * (integer - zero_point); 0 if it has not one scale for all elements"),
        Row::new(Single, &[PortMember::ZeroPoint]).c("int32_t zero_point"),
    ],
};
