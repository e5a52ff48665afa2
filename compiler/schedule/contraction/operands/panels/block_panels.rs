//! Constants of two or four bits, packed in the order in which [`crate::schedule::contraction::blocks`] multiplies them.
//!
//! A strip is `[k ÷ PG][lanes][G]` bytes with P elements each. A byte holds an element of k in its low bits, and above it the element G places
//! further on. So one load gives the weights of P products, which take G elements each ([`Encoding::group`]). Scales are `[blocks][lanes]`, in
//! 16 bits if all of them are bfloat16.

use super::strips::Strips;
use crate::ir::{Data, ElementType};
use crate::kernel::Lane;
use crate::machine::{DotProduct, Machine};
use crate::schedule::contraction::operands::weights::Source;

/// The representation of an integer by its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encoding {
    /// Unsigned: the integer plus half of the range, which is 8 or 2.
    Unsigned,
    /// Two's complement. Products take the weight in the highest bits of a byte, so scales are smaller: a sixteenth, or a 64th.
    Signed,
    /// Two's complement, for products of floats.
    Floats,
}

impl Encoding {
    /// Returns the encoding for rows of bytes that all CPU levels use which read the same panels.
    pub fn for_levels(levels: &[&Machine]) -> Self {
        if levels.iter().any(|level| level.dot == DotProduct::Signed8) { Self::Signed } else { Self::Unsigned }
    }

    /// Returns the number of consecutive elements of k in a lane of a product: four bytes, or one float.
    pub fn group(self) -> u64 {
        if self == Self::Floats { 1 } else { 4 }
    }

    /// Converts stored bits to this encoding. Excess code and two's complement differ only in the highest bit.
    fn recoded(self, stored: u8, excess: bool, bits: u32) -> u8 {
        let differs = excess != (self == Self::Unsigned);
        (stored ^ if differs { 1 << (bits - 1) } else { 0 }) & ((1 << bits) - 1)
    }
}

/// The type in which scales are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Binary32.
    Single,
    /// bfloat16.
    Brain,
}

impl Scale {
    /// Returns the lane type in memory.
    pub fn lane(self) -> Lane {
        if self == Self::Brain { Lane::I16 } else { Lane::F32 }
    }

    /// Returns one of the scales as binary32 bits.
    fn bits(self, bytes: &[u8], number: usize) -> u32 {
        match self {
            Self::Single => bytes.as_chunks().0.get(number).map_or(0, |&four| u32::from_le_bytes(four)),
            Self::Brain => bytes.as_chunks().0.get(number).map_or(0, |&two| u32::from(u16::from_le_bytes(two)) << 16),
        }
    }

    /// Returns the element type.
    pub fn element(self) -> ElementType {
        if self == Self::Brain { ElementType::Bf16 } else { ElementType::F32 }
    }
}

/// The right operand of products in blocks, as the model holds it.
#[derive(Clone, Copy)]
pub struct Panels<'a> {
    /// Weights, `[units, depth]`.
    pub weights: &'a Data,
    /// Type of the weights: i4 or i2.
    pub element: ElementType,
    /// `true` if the weights are in excess code.
    pub excess: bool,
    /// Scales, `[units, blocks]`.
    pub scales: &'a Data,
    /// Type of the scales.
    pub stored: Scale,
    /// Number of output channels.
    pub units: u64,
    /// Number of elements of k.
    pub depth: u64,
    /// Number of blocks along k.
    pub blocks: u64,
    /// Encoding of the packed weights.
    pub encoding: Encoding,
}

/// Both constants in packed form, as kernels read them.
#[derive(Clone)]
pub struct Packed {
    /// Packed weights.
    pub weights: Data,
    /// Packed scales.
    pub scales: Data,
    /// Type of the packed scales.
    pub scale: Scale,
}

/// Identity of packed constants: equal keys give equal bytes.
pub type Key = (Source, Source, Encoding, (ElementType, bool));

impl Panels<'_> {
    /// Returns the number of weights in a byte.
    pub fn per_byte(&self) -> u64 {
        self.element.per_byte()
    }

    /// Returns the excess of unsigned bits over the weight.
    pub fn excess_of_bits(&self) -> i64 {
        1 << (self.element.bits() - 1)
    }

    /// Returns the number of elements in a block.
    pub fn size(&self) -> u64 {
        self.depth / self.blocks
    }

    /// Returns the key of the packed constants.
    pub fn key(&self) -> Key {
        (Source::of(self.weights, None), Source::of(self.scales, None), self.encoding, (self.element, self.excess))
    }

    /// Packs the constants as kernels read them.
    pub fn pack(&self, strips: &Strips) -> Packed {
        let (scales, scale) = self.packed_scales(strips);
        let weights = self.packed_weights(strips);
        self.weights.release();
        self.scales.release();
        Packed { weights: weights.into(), scales: scales.into(), scale }
    }

    fn packed_weights(&self, strips: &Strips) -> Vec<u8> {
        let (bits, per_byte) = (self.element.bits(), self.per_byte() as usize);
        let (bytes, row) = (self.weights.bytes(), self.depth as usize / per_byte);
        let nothing = self.encoding.recoded(0, false, bits);
        // Weights are read as stored: the first element of a byte is in its low bits.
        let weight = |unit: u64, k: usize| match bytes.get(unit as usize * row..).filter(|_| unit < self.units) {
            Some(stored) => self.encoding.recoded(stored[k / per_byte] >> (k % per_byte * bits as usize), self.excess, bits),
            None => nothing,
        };
        let mut packed = Vec::with_capacity(strips.total() as usize * row);
        let (mut first, group) = (0, self.encoding.group() as usize);
        for lanes in strips.all() {
            for k in (0..self.depth as usize).step_by(per_byte * group) {
                let byte = |unit, k| (0..per_byte).rev().fold(0, |byte, place| byte << bits | weight(unit, k + place * group));
                let of_unit = |unit: u64| (k..k + group).map(move |k| byte(unit, k));
                packed.extend((first..first + lanes).flat_map(of_unit));
            }
            first += lanes;
        }
        packed
    }

    fn packed_scales(&self, strips: &Strips) -> (Vec<u8>, Scale) {
        let bytes = self.scales.bytes();
        let factor = if self.encoding == Encoding::Signed { f32::from(1u8 << self.element.bits()) / 256.0 } else { 1.0 };
        let scale = |unit: u64, block: u64| {
            let bits = if unit < self.units { self.stored.bits(bytes, (unit * self.blocks + block) as usize) } else { 0 };
            f32::from_bits(bits) * factor
        };
        let mut list = Vec::with_capacity((strips.total() * self.blocks) as usize);
        let mut first = 0;
        for lanes in strips.all() {
            for block in 0..self.blocks {
                list.extend((first..first + lanes).map(|unit| scale(unit, block)));
            }
            first += lanes;
        }
        if list.iter().all(|scale| scale.to_bits() & 0xffff == 0) {
            return (list.iter().flat_map(|scale| ((scale.to_bits() >> 16) as u16).to_le_bytes()).collect(), Scale::Brain);
        }
        (list.iter().flat_map(|scale| scale.to_le_bytes()).collect(), Scale::Single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_has_two_elements_four_apart() {
        // Two units have one block of eight: 1 2 3 4 5 6 7 -8, and zeros.
        let weights: Data = vec![0x21, 0x43, 0x65, 0x87, 0, 0, 0, 0].into();
        let scales: Data = [0.5f32, 0.1].iter().flat_map(|scale| scale.to_le_bytes()).collect::<Vec<u8>>().into();
        let panels = |encoding| {
            let (excess, stored) = (false, Scale::Single);
            Panels { weights: &weights, element: ElementType::I4, excess, scales: &scales, stored, units: 2, depth: 8, blocks: 1, encoding }
        };
        let strips = Strips::new(2, 16);
        assert_eq!(panels(Encoding::Signed).packed_weights(&strips), [0x51, 0x62, 0x73, 0x84, 0, 0, 0, 0]);
        assert_eq!(panels(Encoding::Unsigned).packed_weights(&strips), [0xd9, 0xea, 0xfb, 0x0c, 0x88, 0x88, 0x88, 0x88]);
        assert_eq!(panels(Encoding::Floats).packed_weights(&strips), [0x21, 0, 0x43, 0, 0x65, 0, 0x87, 0], "neighbours, unit beside unit");
        let (bytes, scale) = panels(Encoding::Signed).packed_scales(&strips);
        assert_eq!((bytes.len(), scale, &bytes[..4]), (8, Scale::Single, &(0.5f32 / 16.0).to_le_bytes()[..]));
    }

    #[test]
    fn a_byte_has_four_elements_of_two_bits() {
        // One unit has one block of sixteen: 0 1 -2 -1, four times.
        let weights: Data = vec![0b11_10_01_00; 4].into();
        let scales: Data = 1f32.to_le_bytes().to_vec().into();
        let of = |encoding| {
            let (element, stored) = (ElementType::I2, Scale::Single);
            Panels { weights: &weights, element, excess: false, scales: &scales, stored, units: 1, depth: 16, blocks: 1, encoding }
        };
        let strips = Strips::new(1, 16);
        assert_eq!(of(Encoding::Signed).packed_weights(&strips)[..4], [0, 0b01_01_01_01, 0b10_10_10_10, 0xff]);
        assert_eq!(of(Encoding::Unsigned).packed_weights(&strips), [0xaa, 0xff, 0, 0x55, 0xaa, 0xaa, 0xaa, 0xaa]);
        assert_eq!(of(Encoding::Floats).packed_weights(&strips), [0xe4, 0, 0xe4, 0, 0xe4, 0, 0xe4, 0]);
        assert_eq!(of(Encoding::Signed).packed_scales(&strips), (vec![0x80, 0x3c, 0, 0], Scale::Brain), "a 64th");
    }

    #[test]
    fn scales_of_16_bits_stay_so() {
        let (weights, scales): (Data, Data) = (vec![0; 4].into(), 0.75f32.to_le_bytes().to_vec().into());
        let panels = |stored, scales| Panels {
            weights: &weights,
            element: ElementType::I4,
            excess: true,
            scales,
            stored,
            units: 1,
            depth: 8,
            blocks: 1,
            encoding: Encoding::Unsigned,
        };
        let packed = panels(Scale::Single, &scales).packed_scales(&Strips::new(1, 16));
        assert_eq!(packed, (vec![0x40, 0x3f, 0, 0], Scale::Brain));
        assert_eq!(panels(Scale::Brain, &vec![0x40, 0x3f].into()).packed_scales(&Strips::new(1, 16)), packed);
    }

    #[test]
    fn excess_code_differs_in_the_highest_bit() {
        let weights: Data = vec![0xa9, 0xcb, 0xed, 0x0f].into();
        let scales: Data = 1f32.to_le_bytes().to_vec().into();
        let of = |encoding| {
            let (excess, stored) = (true, Scale::Single);
            Panels { weights: &weights, element: ElementType::I4, excess, scales: &scales, stored, units: 1, depth: 8, blocks: 1, encoding }
        };
        let strips = Strips::new(1, 16);
        // The weights are 1 2 3 4 5 6 7 -8, and those of a unit that does not exist.
        assert_eq!(of(Encoding::Signed).packed_weights(&strips)[..4], [0x51, 0x62, 0x73, 0x84]);
        assert_eq!(of(Encoding::Unsigned).packed_weights(&strips), [0xd9, 0xea, 0xfb, 0x0c, 0x88, 0x88, 0x88, 0x88]);
    }
}
