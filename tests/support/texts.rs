//! Modules that tests hold as text, with constants that are computed.
//!
//! `const0: i8[64, 9] = numbers 1` has pseudo-random elements, another number gives others. With `numbers 1 of 4` one of about four elements is not
//! zero, and the constant is stored as a sparse one.

use modelc::ir::text::{ParseError, parse_module};
use modelc::ir::{Data, ElementType, Module};

/// Line after a module: what is expected of it stands below.
pub const SEPARATOR: &str = ";! ---\n";

/// Hashes a number.
pub fn number(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

/// Returns the bytes of pseudo-random elements. Floats are -2 to 1.984, in steps of 1/64. Longer integers are bytes that repeat.
pub fn elements(element: ElementType, count: u64, salt: u64) -> Vec<u8> {
    (0..count).flat_map(|i| encoded(element, number(i + (salt << 20)) as i8)).collect()
}

fn encoded(element: ElementType, number: i8) -> Vec<u8> {
    match element {
        ElementType::F32 => (f32::from(number) / 64.0).to_le_bytes().to_vec(),
        ElementType::F16 => half::f16::from_f32(f32::from(number) / 64.0).to_le_bytes().to_vec(),
        _ => vec![number as u8; (element.bits() / 8) as usize],
    }
}

/// Reads a module. Constants of which only some elements are not zero are sparse, as in a file that stores them so.
///
/// # Errors
/// If the text is no module.
pub fn module(text: &str) -> Result<Module, ParseError> {
    let written_out: String = text.lines().map(|line| constant(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
    let mut module = parse_module(&written_out)?;
    let are_sparse =
        text.lines().filter(|line| line.starts_with("const")).map(|line| line.contains(" = numbers ") && line.contains(" of "));
    for (constant, is_sparse) in module.constants.values_mut().zip(are_sparse) {
        if is_sparse {
            constant.data = Data::sparse(constant.data.bytes().to_vec());
        }
    }
    Ok(module)
}

/// Returns the line of a computed constant.
fn constant(line: &str) -> Option<String> {
    let (declared, numbers) = line.split_once(" = numbers ")?;
    let (_, ty) = declared.split_once(": ")?;
    let (element, shape) = ty.strip_suffix(']')?.split_once('[')?;
    let element = [ElementType::I8, ElementType::U8, ElementType::F32, ElementType::F16].into_iter().find(|e| e.to_string() == element)?;
    let count = shape.split(", ").map(|extent| extent.parse::<u64>().ok()).product::<Option<u64>>()?;
    let (salt, kept) = numbers.split_once(" of ").unwrap_or((numbers, "1"));
    let (salt, kept) = (salt.parse().ok()?, kept.parse().ok()?);
    let bytes = elements(element, count, salt);
    let size = (element.bits() / 8) as usize;
    let is_kept = |i: usize| number(i as u64).is_multiple_of(kept);
    let hex = bytes.iter().enumerate().map(|(i, byte)| format!("{:02x}", if is_kept(i / size) { *byte } else { 0 }));
    Some(format!("{declared} = hex \"{}\"", hex.collect::<String>()))
}
