//! Functions for the root table and the file identifier.

use super::push;
use crate::names;

/// Writes the functions that open and finish a buffer whose root is table `root`.
pub(super) fn root(text: &mut String, root: &str, identifier: Option<&str>) {
    let snake = names::snake_case(root);
    let upper = names::upper_snake_case(root);
    let root = names::identifier(root);
    if let Some(identifier) = identifier {
        push(
            text,
            0,
            &format!(
                "
/// The four characters at byte 4 of a file.
pub const {upper}_IDENTIFIER: &str = {identifier:?};

/// Tests whether `buffer` has the identifier.
#[inline]
pub fn {snake}_buffer_has_identifier(buffer: &[u8]) -> bool {{
    buffer.get(4..8) == ::core::option::Option::Some({upper}_IDENTIFIER.as_bytes())
}}"
            ),
        );
    }
    let written = match identifier {
        Some(_) => format!("::core::option::Option::Some({upper}_IDENTIFIER)"),
        None => "::core::option::Option::None".to_string(),
    };
    push(
        text,
        0,
        &format!(
            "
/// Verifies all of `buffer` and returns its root. The identifier is not looked at.
///
/// # Errors
/// The first thing found wrong. Alignment is no condition: readers copy numbers from wherever they lie.
pub fn root_as_{snake}_with_opts<'a>(
    options: &::flatbuffers::VerifierOptions,
    buffer: &'a [u8],
) -> ::core::result::Result<{root}<'a>, ::flatbuffers::InvalidFlatbuffer> {{
    ::flatbuffers::root_with_opts::<{root}<'a>>(options, buffer)
}}

/// The root of `buffer`, with nothing verified.
///
/// # Safety
/// `root_as_{snake}_with_opts` accepts `buffer`.
#[inline]
pub unsafe fn root_as_{snake}_unchecked(buffer: &[u8]) -> {root}<'_> {{
    unsafe {{ ::flatbuffers::root_unchecked::<{root}<'_>>(buffer) }}
}}

/// Ends a buffer with `root` as its root, and the identifier if the schema has one.
#[inline]
pub fn finish_{snake}_buffer<'a>(
    builder: &mut ::flatbuffers::FlatBufferBuilder<'a>,
    root: ::flatbuffers::WIPOffset<{root}<'a>>,
) {{
    builder.finish(root, {written});
}}"
        ),
    );
}
