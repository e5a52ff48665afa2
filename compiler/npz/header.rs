//! The header of an `.npy` file: a Python dictionary with type, order and shape.

use super::invalid;
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType;
use std::io::Read;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy itself refuses longer headers.
const MAX_HEADER: usize = 10_000;
/// NumPy's limit.
const MAX_RANK: usize = 64;

/// What an array holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// Numbers, and whether their bytes come largest first.
    Number(ElementType, bool),
    /// Strings of so many characters.
    Text(u64),
    /// Anything else, as the file describes it.
    Other(String),
}

/// The header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// Type of the elements.
    pub ty: Type,
    /// Whether the first dimension varies fastest.
    pub fortran_order: bool,
    /// Shape; none for a number alone.
    pub shape: Vec<u64>,
}

/// NumPy's names of element types, little-endian.
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
    // These two have no name of their own.
    (ElementType::Bf16, "<u2"),
    (ElementType::I4, "|i1"),
];

/// NumPy's name of a type, or of the type that stands for it.
pub(super) fn description(element: ElementType) -> &'static str {
    TYPES.iter().find(|(e, _)| *e == element).map_or("?", |(_, name)| name)
}

fn type_of(description: &str) -> Type {
    let (order, kind) = description.split_at_checked(1).unwrap_or_default();
    if let Some(characters) = kind.strip_prefix('U').filter(|_| order == "<").and_then(|n| n.parse().ok()) {
        return Type::Text(characters);
    }
    let found = TYPES.iter().find(|(_, name)| &name[1..] == kind && matches!(order, "<" | ">" | "|" | "="));
    found.map_or_else(|| Type::Other(description.into()), |(element, _)| Type::Number(*element, order == ">"))
}

impl Header {
    /// Reads a header and leaves the reader at the data.
    pub fn read(reader: &mut dyn Read) -> Result<Self, Diagnostic> {
        let mut fixed = [0u8; 8];
        read_exact(reader, &mut fixed)?;
        if &fixed[..6] != MAGIC {
            return Err(invalid("the entry is no NumPy array").expected("\\x93NUMPY", fixed[..6].escape_ascii().to_string()));
        }
        let length = match fixed[6] {
            1 => {
                let mut length = [0u8; 2];
                read_exact(reader, &mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0u8; 4];
                read_exact(reader, &mut length)?;
                u32::from_le_bytes(length) as usize
            }
            other => return Err(invalid("unknown version of NumPy's format").expected("1 to 3", other.to_string())),
        };
        if length > MAX_HEADER {
            return Err(invalid("the array's header is too long").expected(format!("at most {MAX_HEADER} bytes"), length.to_string()));
        }
        let mut text = vec![0u8; length];
        read_exact(reader, &mut text)?;
        let text = String::from_utf8_lossy(&text);
        Self::parse(&text).ok_or_else(|| {
            invalid("the array's header is malformed").expected("descr, fortran_order and shape", text.trim_end().to_owned())
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            let start = text.find(&format!("'{key}'"))? + key.len() + 2;
            text[start..].trim_start().strip_prefix(':').map(str::trim_start)
        };
        let ty = match value("descr")?.strip_prefix('\'') {
            Some(rest) => type_of(rest.split_once('\'')?.0),
            // A list describes records.
            None => Type::Other("records".into()),
        };
        let order = value("fortran_order")?;
        let fortran_order = order.starts_with("True");
        if !fortran_order && !order.starts_with("False") {
            return None;
        }
        let list = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let shape: Vec<u64> = list.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect::<Option<_>>()?;
        (shape.len() <= MAX_RANK).then_some(Self { ty, fortran_order, shape })
    }
}

fn read_exact(reader: &mut dyn Read, bytes: &mut [u8]) -> Result<(), Diagnostic> {
    reader.read_exact(bytes).map_err(|error| invalid(format!("the array's header cannot be read: {error}")))
}

/// The bytes of a header for row-major data, padded so that the data starts at a multiple of 64.
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
