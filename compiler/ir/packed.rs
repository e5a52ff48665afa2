//! Packed integers, several of which share a byte. The first lies in the low bits.

use super::types::ElementType;

/// Element `index` of packed integers, extended by its sign.
pub fn element_at(element: ElementType, bytes: &[u8], index: usize) -> i8 {
    let (bits, per_byte) = (element.bits(), element.per_byte() as usize);
    let above = bytes[index / per_byte] << (8 - bits as usize * (index % per_byte + 1));
    if element.is_signed_integer() { above as i8 >> (8 - bits) } else { (above >> (8 - bits)) as i8 }
}

/// The first `count` packed integers, one a byte, extended by their sign.
pub fn unpack(element: ElementType, bytes: &[u8], count: usize) -> Vec<u8> {
    (0..count).map(|index| element_at(element, bytes, index) as u8).collect()
}

/// The low bits of bytes, packed; the last byte is filled with zeros.
pub fn pack(element: ElementType, bytes: &[u8]) -> Vec<u8> {
    let bits = element.bits();
    let join = |group: &[u8]| group.iter().rev().fold(0u8, |joined, &byte| joined << bits | byte & ((1 << bits) - 1));
    bytes.chunks(element.per_byte() as usize).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{I2, I4, U4};

    #[test]
    fn the_first_element_lies_in_the_low_bits() {
        assert_eq!(unpack(I4, &[0x2f, 0x08], 3), [0xff, 2, 0xf8]);
        assert_eq!(unpack(U4, &[0x2f, 0x08], 3), [15, 2, 8]);
        assert_eq!(unpack(I2, &[0b11_10_01_00, 0b10], 5), [0, 1, 0xfe, 0xff, 0xfe]);
    }

    #[test]
    fn packing_is_the_inverse() {
        for element in [I2, I4, U4] {
            let bytes: Vec<u8> = (0..=255).collect();
            let count = bytes.len() * element.per_byte() as usize;
            assert_eq!(pack(element, &unpack(element, &bytes, count)), bytes);
        }
        assert_eq!(pack(I2, &[0xff, 0, 1]), [0b01_00_11]);
    }
}
