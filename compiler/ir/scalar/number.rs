//! Typed numbers.

use crate::types::ElementType;

/// A typed number, held by its bits so that NaN payloads and −0 survive and equality is exact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Scalar {
    element: ElementType,
    bits: u64,
}

impl Scalar {
    /// A number from its bits (low bits first; excess bits are cut). No type without arithmetic has scalars of its own: of `c128` only
    /// the real part is held.
    pub fn from_bits(element: ElementType, bits: u64) -> Self {
        let width = element.bits();
        let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        Self { element, bits: bits & mask }
    }

    /// A number from its little-endian bytes. Types wider than 64 bits give only the first eight.
    pub fn from_bytes(element: ElementType, bytes: &[u8]) -> Self {
        Self::from_bits(element, bytes.iter().take(8).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
    }

    /// An integer (or truth value); wraps to the type's width. Float types take the nearest float.
    pub fn int(element: ElementType, value: i64) -> Self {
        if element.is_float() { Self::float(element, value as f64) } else { Self::from_bits(element, value as u64) }
    }

    /// A float, rounded to the type; integer types take the truncated value.
    pub fn float(element: ElementType, value: f64) -> Self {
        let bits = match element {
            ElementType::F32 => u64::from((value as f32).to_bits()),
            ElementType::F64 => value.to_bits(),
            ElementType::F16 => u64::from(half::f16::from_f64(value).to_bits()),
            ElementType::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
            _ => value as i64 as u64,
        };
        Self::from_bits(element, bits)
    }

    /// An f32.
    pub fn f32(value: f32) -> Self {
        Self::from_bits(ElementType::F32, u64::from(value.to_bits()))
    }

    /// An i32.
    pub fn i32(value: i32) -> Self {
        Self::int(ElementType::I32, i64::from(value))
    }

    /// A truth value.
    pub fn bool(value: bool) -> Self {
        Self::from_bits(ElementType::Bool, u64::from(value))
    }

    /// Its type.
    pub fn element(self) -> ElementType {
        self.element
    }

    /// Its bits, zero-extended.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value of an integer or truth value, sign-extended if signed (u64 above `i64::MAX` wraps). Floats truncate.
    pub fn as_i64(self) -> i64 {
        if self.element.is_float() {
            return self.as_f64() as i64;
        }
        if self.element.is_signed_integer() {
            let shift = 64 - self.element.bits();
            return ((self.bits << shift) as i64) >> shift;
        }
        self.bits as i64
    }

    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self.element {
            ElementType::F32 => f64::from(f32::from_bits(self.bits as u32)),
            ElementType::F64 => f64::from_bits(self.bits),
            ElementType::F16 => half::f16::from_bits(self.bits as u16).to_f64(),
            ElementType::Bf16 => half::bf16::from_bits(self.bits as u16).to_f64(),
            ElementType::U64 => self.bits as f64,
            _ => self.as_i64() as f64,
        }
    }

    /// Its bytes in little-endian order (a 4-bit number takes one byte).
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.bits.to_le_bytes().to_vec();
        bytes.resize(self.element.bits().div_ceil(8) as usize, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_come_back_from_their_bytes() {
        for scalar in [Scalar::int(ElementType::I8, -3), Scalar::int(ElementType::I64, i64::MIN + 5), Scalar::f32(-2.5)] {
            assert_eq!(Scalar::from_bytes(scalar.element(), &scalar.to_bytes()), scalar);
        }
    }

    #[test]
    fn scalars_keep_sign_and_bits() {
        assert_eq!(Scalar::int(ElementType::I8, -128).as_i64(), -128);
        assert_eq!(Scalar::int(ElementType::U8, 255).as_i64(), 255);
        assert_eq!(Scalar::f32(-0.0).bits(), 0x8000_0000);
        assert_eq!(Scalar::int(ElementType::I32, -2).to_bytes(), [254, 255, 255, 255]);
    }
}
