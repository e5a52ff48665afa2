//! Types, comments and string literals of C.

use crate::ir::ElementType;

/// Returns the type of C for elements of a type.
pub(super) fn c_type(element: ElementType) -> &'static str {
    match element {
        ElementType::Bool | ElementType::I2 | ElementType::I4 | ElementType::U4 | ElementType::U8 => "uint8_t",
        ElementType::I8 => "int8_t",
        ElementType::I16 => "int16_t",
        ElementType::I32 => "int32_t",
        ElementType::I64 => "int64_t",
        ElementType::U16 | ElementType::F16 | ElementType::Bf16 => "uint16_t",
        ElementType::U32 => "uint32_t",
        ElementType::U64 => "uint64_t",
        ElementType::F32 | ElementType::C64 => "float",
        ElementType::F64 | ElementType::C128 => "double",
    }
}

/// Escapes text for a comment: printable, on one line, without comment marks.
pub(super) fn comment(text: &str) -> String {
    let printable = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    let line: String = text.chars().map(printable).collect();
    line.replace("*/", "* /").replace("/*", "/ *").replace('\\', "/").replace("??", "? ?")
}

/// Formats a string literal. Octal escapes end after three digits, so they never include the next character.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => literal.extend(['\\', byte as char]),
            b' '..=b'~' => literal.push(byte as char),
            _ => literal.push_str(&format!("\\{byte:03o}")),
        }
    }
    literal.push('"');
    literal
}
