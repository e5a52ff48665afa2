//! The header of an `.npy` file: a Python dictionary with type, order and shape.

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType;
use std::io::Read;

/// The first bytes of an `.npy` file.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Limit of a header's bytes, as in NumPy.
const MAX_HEADER: usize = 10_000;
/// Limit of dimensions, as in NumPy.
const MAX_RANK: usize = 64;

/// Makes the error for a damaged file.
pub(super) fn invalid(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::DAMAGED_ARCHIVE, message)
}

/// Element type of an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// Numbers; `true` for big-endian bytes.
    Number(ElementType, bool),
    /// Strings.
    Text(Text),
    /// Another type, as the file describes it.
    Other(String),
}

/// Strings of a fixed number of characters, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Text {
    characters: u64,
    /// Bytes of a character: 4 for Unicode, 1 for bytes.
    width: usize,
    big_endian: bool,
}

impl Text {
    /// Returns the bytes of one string; saturates.
    pub fn bytes(self) -> u64 {
        self.characters.saturating_mul(self.width as u64)
    }

    /// Decodes a string.
    pub fn decode(self, bytes: &[u8]) -> String {
        let code = |character: &[u8]| {
            let digit = |code: u32, &byte: &u8| code << 8 | u32::from(byte);
            if self.big_endian { character.iter().fold(0, digit) } else { character.iter().rev().fold(0, digit) }
        };
        let codes = bytes.chunks_exact(self.width).map(code).take_while(|&code| code != 0);
        codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

/// The header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// Bytes of the header.
    pub bytes: u64,
    /// Type of the elements.
    pub ty: Type,
    /// `true` if the first dimension varies fastest.
    pub fortran_order: bool,
    /// Shape; empty for a scalar.
    pub shape: Vec<u64>,
}

/// NumPy's names of element types, in little-endian order.
const TYPES: &[(ElementType, &str)] = &[
    (ElementType::Bool, "|b1"),
    (ElementType::I8, "|i1"),
    (ElementType::I16, "<i2"),
    (ElementType::I32, "<i4"),
    (ElementType::I64, "<i8"),
    (ElementType::U8, "|u1"),
    (ElementType::U16, "<u2"),
    (ElementType::U32, "<u4"),
    (ElementType::U64, "<u8"),
    (ElementType::F16, "<f2"),
    (ElementType::F32, "<f4"),
    (ElementType::F64, "<f8"),
    (ElementType::C64, "<c8"),
    (ElementType::C128, "<c16"),
    // NumPy has no name for these types.
    (ElementType::Bf16, "<u2"),
    (ElementType::I2, "|i1"),
    (ElementType::I4, "|i1"),
    (ElementType::U4, "|u1"),
];

/// Returns NumPy's name of a type, or of its substitute.
pub(super) fn description(element: ElementType) -> &'static str {
    TYPES.iter().find(|(e, _)| *e == element).map_or("?", |(_, name)| name)
}

/// Returns NumPy's name of a type that models do not have: `datetime64[ns]` for `<M8[ns]`.
fn other_name(description: &str) -> String {
    let kind = description.trim_start_matches(['<', '>', '|', '=']);
    let unit = kind.get(2..).unwrap_or_default();
    match kind.as_bytes() {
        [b'O', ..] => "object".into(),
        [b'V', ..] => "void".into(),
        [b'M', b'8', ..] => format!("datetime64{unit}"),
        [b'm', b'8', ..] => format!("timedelta64{unit}"),
        b"f16" => "float128".into(),
        b"c32" => "complex256".into(),
        _ => description.into(),
    }
}

fn type_of(description: &str) -> Type {
    let other = || Type::Other(other_name(description));
    let (order, kind) = description.split_at_checked(1).unwrap_or_default();
    if !matches!(order, "<" | ">" | "|" | "=") {
        return other();
    }
    let big_endian = order == ">";
    let text = |letter, width| {
        let characters = kind.strip_prefix(letter)?.parse().ok()?;
        Some(Type::Text(Text { characters, width, big_endian }))
    };
    let number = || {
        let (element, _) = TYPES.iter().find(|(_, name)| &name[1..] == kind)?;
        Some(Type::Number(*element, big_endian))
    };
    text('U', 4).or_else(|| text('S', 1)).or_else(number).unwrap_or_else(other)
}

impl Header {
    /// Reads a header; the data follows in the reader.
    pub fn read(reader: &mut dyn Read) -> Result<Self, Diagnostic> {
        let mut fixed = [0u8; 8];
        read_exact(reader, &mut fixed)?;
        if &fixed[..6] != MAGIC {
            return Err(invalid("the file is not a NumPy array").expected("\\x93NUMPY", fixed[..6].escape_ascii().to_string()));
        }
        let (length, field) = match fixed[6] {
            1 => {
                let mut length = [0u8; 2];
                read_exact(reader, &mut length)?;
                (usize::from(u16::from_le_bytes(length)), length.len())
            }
            2 | 3 => {
                let mut length = [0u8; 4];
                read_exact(reader, &mut length)?;
                (u32::from_le_bytes(length) as usize, length.len())
            }
            other => return Err(invalid("unknown version of NumPy's format").expected("1 to 3", other.to_string())),
        };
        if length > MAX_HEADER {
            return Err(invalid("the array's header is too long").expected(format!("at most {MAX_HEADER} bytes"), length.to_string()));
        }
        let mut text = vec![0u8; length];
        read_exact(reader, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        let bytes = (fixed.len() + field + length) as u64;
        Self::parse(&text, bytes).ok_or_else(|| {
            invalid("the array's header is malformed").expected("descr, fortran_order and shape", text.trim_end().to_owned())
        })
    }

    fn parse(text: &str, bytes: u64) -> Option<Self> {
        let (mut ty, mut fortran_order, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        while !rest.is_empty() {
            let (key, value) = item(rest).and_then(|(key, rest)| Some((quoted(key)?, rest.strip_prefix(':')?.trim_start())))?;
            let (value, after) = item(value)?;
            match key {
                // A list describes records.
                "descr" => ty = Some(quoted(value).map_or_else(|| Type::Other("records".into()), type_of)),
                "fortran_order" => fortran_order = Some(truth(value)?),
                "shape" => shape = Some(extents(value)?),
                _ => return None,
            }
            rest = match after.strip_prefix(',') {
                Some(rest) => rest.trim_start(),
                None if after.is_empty() => after,
                None => return None,
            };
        }
        Some(Self { bytes, ty: ty?, fortran_order: fortran_order?, shape: shape? })
    }
}

/// Splits a Python literal after its first item, at the `:` or `,`. Brackets and quoted texts stay whole.
fn item(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quote) = (0usize, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(end), _) if end == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ':' | ',') if depth == 0 => return Some((text[..at].trim(), &text[at..])),
            _ => {}
        }
    }
    (depth == 0 && quote.is_none()).then_some((text.trim(), ""))
}

fn quoted(item: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| item.strip_prefix(quote)?.strip_suffix(quote))
}

fn truth(item: &str) -> Option<bool> {
    match item {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

/// Parses a tuple of extents; Python 2 sometimes wrote an `L` after them.
fn extents(item: &str) -> Option<Vec<u64>> {
    let list = item.strip_prefix('(')?.strip_suffix(')')?.trim();
    let list = list.strip_suffix(',').unwrap_or(list);
    if list.is_empty() {
        return Some(vec![]);
    }
    let extent = |number: &str| number.trim().trim_end_matches('L').parse().ok();
    let extents: Vec<u64> = list.split(',').map(extent).collect::<Option<_>>()?;
    (extents.len() <= MAX_RANK).then_some(extents)
}

fn read_exact(reader: &mut dyn Read, bytes: &mut [u8]) -> Result<(), Diagnostic> {
    reader.read_exact(bytes).map_err(|error| invalid(format!("the array's header cannot be read: {error}")))
}

/// Returns the bytes of a header for row-major data, padded so that the data starts at a multiple of 64.
pub(super) fn write(description: &str, shape: &[u64]) -> Vec<u8> {
    let list: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut text = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({}{comma}), }}", list.join(", "));
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    // A header of MAX_RANK extents of 20 digits is far below 65,536 bytes.
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_are_read_as_python_reads_them() {
        let parse = |text| Header::parse(text, 0).map(|header| (header.ty, header.fortran_order, header.shape));
        let floats = Type::Number(ElementType::F32, false);
        assert_eq!(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4), }  \n"), Some((floats.clone(), false, vec![3, 4])));
        assert_eq!(parse(r#"{"shape":(5,),"descr":"<f4","fortran_order":True}"#), Some((floats, true, vec![5])));
        let records = parse("{'descr': [('shape', '<f4'), ('b', '<i2', (2,))], 'fortran_order': False, 'shape': (), }");
        assert_eq!(records, Some((Type::Other("records".into()), false, vec![])));
        let date = parse("{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }");
        assert_eq!(date, Some((Type::Other("datetime64[ns]".into()), false, vec![1])));
    }

    #[test]
    fn other_texts_are_malformed() {
        for text in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3) 'x'}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (3)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
        ] {
            assert_eq!(Header::parse(text, 0), None, "{text}");
        }
        let deep = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", "1, ".repeat(65));
        assert_eq!(Header::parse(&deep, 0), None);
    }

    #[test]
    fn strings_of_either_order_and_width_are_decoded() {
        let decode = |description, bytes: &[u8]| match type_of(description) {
            Type::Text(text) => text.decode(bytes),
            other => format!("{other:?}"),
        };
        assert_eq!(decode("<U2", &[b'a', 0, 0, 0, 0xE9, 0, 0, 0]), "aé");
        assert_eq!(decode(">U2", &[0, 0, 0, b'a', 0, 0, 0, 0]), "a");
        assert_eq!(decode("|S3", b"ab\0"), "ab");
        assert_eq!(decode("<U1", &[255; 4]), "\u{FFFD}");
        assert_eq!([type_of(""), type_of("é4"), type_of("<")].map(|ty| matches!(ty, Type::Other(_))), [true; 3]);
    }
}
