//! Numbers of each element type as text, exactly.

use crate::packed;
use crate::scalar::Scalar;
use crate::types::ElementType;

/// Prints a number without its type. Floats take the fewest digits that read back as the same number. Numbers without such digits (NaN, infinities,
/// complex numbers) are printed as their bits.
pub(super) fn print(value: Scalar) -> String {
    let bits = || format!("0x{:x}", value.bits());
    match value.element() {
        ElementType::Bool if value.bits() <= 1 => (value.bits() == 1).to_string(),
        ElementType::Bool | ElementType::C64 | ElementType::C128 => bits(),
        ElementType::F64 if value.as_f64().is_finite() => format!("{:?}", value.as_f64()),
        e if e.is_float() && value.as_f64().is_finite() => format!("{:?}", value.as_f64() as f32),
        e if e.is_float() => bits(),
        ElementType::U64 => value.bits().to_string(),
        _ => value.as_i64().to_string(),
    }
}

/// Parses a number of a type. `None` if the text is none.
pub(super) fn parse(element: ElementType, text: &str) -> Option<Scalar> {
    if let Some(digits) = text.strip_prefix("0x") {
        let value = Scalar::from_bits(element, u64::from_str_radix(digits, 16).ok()?);
        return Some(value);
    }
    match element {
        ElementType::Bool => Some(Scalar::bool(text.parse().ok()?)),
        ElementType::C64 | ElementType::C128 => None,
        ElementType::F32 => Some(Scalar::f32(text.parse().ok()?)),
        e if e.is_float() => Some(Scalar::float(e, text.parse().ok()?)),
        e => {
            let value: i128 = text.parse().ok()?;
            let (low, high) = e.integer_range()?;
            (low..=high).contains(&value).then(|| Scalar::from_bits(e, value as u64))
        }
    }
}

/// Elements of a dense tensor's bytes; packed numbers are unpacked, up to the end of the last byte.
pub(super) fn scalars(element: ElementType, bytes: &[u8]) -> Vec<Scalar> {
    if element.is_packed() {
        let count = bytes.len() * element.per_byte() as usize;
        return packed::unpack(element, bytes, count).into_iter().map(|x| Scalar::from_bits(element, u64::from(x))).collect();
    }
    let width = element.bits() as usize / 8;
    let wide = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &b| bits << 8 | u64::from(b));
    bytes.chunks_exact(width).map(|chunk| Scalar::from_bits(element, wide(chunk))).collect()
}

/// The bytes of a dense tensor from its elements.
pub(super) fn bytes(element: ElementType, scalars: &[Scalar]) -> Vec<u8> {
    if element.is_packed() {
        return packed::pack(element, &scalars.iter().map(|s| s.bits() as u8).collect::<Vec<_>>());
    }
    scalars.iter().flat_map(|s| s.to_bytes()).collect()
}
