//! Constants of four bits in the order in which [`super::blocks`] multiplies them.
//!
//! A strip is `[k ÷ 8][lanes][4]` bytes: a byte has an element of k in its low four bits, and the one four after it in its high ones, so that one
//! load gives the weights of two products. Scales are `[blocks][lanes]`, in 16 bits where all of them are bfloat16.

use super::strips::Strips;
use super::weights::Source;
use crate::ir::{Data, ElementType};
use crate::kernel::Lane;
use crate::machine::{DotProduct, Machine};

/// How four bits stand for an integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Encoding {
    /// 8 more than it is.
    Unsigned,
    /// Two's complement; scales are a sixteenth, for products are of sixteen times the weight.
    Signed,
}

impl Encoding {
    /// What all levels that read the same panels take.
    pub fn for_levels(levels: &[&Machine]) -> Self {
        if levels.iter().any(|level| level.dot == DotProduct::Signed8) { Self::Signed } else { Self::Unsigned }
    }

    fn bits(self, stored: u8) -> u8 {
        match self {
            Self::Unsigned => (stored ^ 8) & 15,
            Self::Signed => stored & 15,
        }
    }
}

/// How scales are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Binary32.
    Single,
    /// bfloat16.
    Brain,
}

impl Scale {
    /// The lane type in memory.
    pub fn lane(self) -> Lane {
        if self == Self::Brain { Lane::I16 } else { Lane::F32 }
    }

    /// The element type.
    pub fn element(self) -> ElementType {
        if self == Self::Brain { ElementType::Bf16 } else { ElementType::F32 }
    }
}

/// The right operand of products in blocks.
#[derive(Clone, Copy)]
pub struct Panels<'a> {
    /// i4, `[units, depth]`.
    pub weights: &'a Data,
    /// f32, `[units, blocks]`.
    pub scales: &'a Data,
    /// Output channels.
    pub units: u64,
    /// Elements of k.
    pub depth: u64,
    /// Blocks of them.
    pub blocks: u64,
    /// How four bits are held.
    pub encoding: Encoding,
}

/// Both constants as kernels read them.
#[derive(Clone)]
pub struct Packed {
    /// Four-bit integers.
    pub weights: Data,
    /// Their scales.
    pub scales: Data,
    /// How these are held.
    pub scale: Scale,
}

/// What tells packed constants apart.
pub type Key = (Source, Source, Encoding);

impl Panels<'_> {
    /// Elements of a block.
    pub fn size(&self) -> u64 {
        self.depth / self.blocks
    }

    /// What tells their constants apart from others.
    pub fn key(&self) -> Key {
        (Source::of(self.weights, None), Source::of(self.scales, None), self.encoding)
    }

    /// The constants as kernels read them.
    pub fn pack(&self, strips: &Strips) -> Packed {
        let (scales, scale) = self.packed_scales(strips);
        let weights = self.packed_weights(strips);
        self.weights.release();
        Packed { weights: weights.into(), scales: scales.into(), scale }
    }

    fn packed_weights(&self, strips: &Strips) -> Vec<u8> {
        let (bytes, row) = (self.weights.bytes(), (self.depth / 2) as usize);
        let nothing = self.encoding.bits(0);
        // The element of a row as it is stored, two to a byte, the first one in the low bits.
        let nibble = |unit: u64, k: usize| match bytes.get(unit as usize * row..).filter(|_| unit < self.units) {
            Some(stored) => self.encoding.bits(stored[k / 2] >> (k % 2 * 4)),
            None => nothing,
        };
        let mut packed = Vec::with_capacity(strips.total() as usize * row);
        let mut first = 0;
        for lanes in strips.all() {
            for k in (0..self.depth as usize).step_by(8) {
                let of_unit = |unit: u64| (k..k + 4).map(move |k| nibble(unit, k) | nibble(unit, k + 4) << 4);
                packed.extend((first..first + lanes).flat_map(of_unit));
            }
            first += lanes;
        }
        packed
    }

    fn packed_scales(&self, strips: &Strips) -> (Vec<u8>, Scale) {
        let bytes = self.scales.bytes();
        let factor = if self.encoding == Encoding::Signed { 1.0 / 16.0 } else { 1.0 };
        let scale = |unit: u64, block: u64| {
            let at = ((unit * self.blocks + block) * 4) as usize;
            let stored = bytes.get(at..at + 4).filter(|_| unit < self.units).map_or([0; 4], |b| [b[0], b[1], b[2], b[3]]);
            f32::from_le_bytes(stored) * factor
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
        // Two units of one block of eight: 1 2 3 4 5 6 7 -8 and zeros.
        let weights: Data = vec![0x21, 0x43, 0x65, 0x87, 0, 0, 0, 0].into();
        let scales: Data = [0.5f32, 0.1].iter().flat_map(|scale| scale.to_le_bytes()).collect::<Vec<u8>>().into();
        let panels = |encoding| Panels { weights: &weights, scales: &scales, units: 2, depth: 8, blocks: 1, encoding };
        let strips = Strips::new(2, 16);
        assert_eq!(panels(Encoding::Signed).packed_weights(&strips), [0x51, 0x62, 0x73, 0x84, 0, 0, 0, 0]);
        assert_eq!(panels(Encoding::Unsigned).packed_weights(&strips), [0xd9, 0xea, 0xfb, 0x0c, 0x88, 0x88, 0x88, 0x88]);
        let (bytes, scale) = panels(Encoding::Signed).packed_scales(&strips);
        assert_eq!((bytes.len(), scale, &bytes[..4]), (8, Scale::Single, &(0.5f32 / 16.0).to_le_bytes()[..]));
    }

    #[test]
    fn scales_of_16_bits_stay_so() {
        let (weights, scales): (Data, Data) = (vec![0; 4].into(), 0.75f32.to_le_bytes().to_vec().into());
        let panels = Panels { weights: &weights, scales: &scales, units: 1, depth: 8, blocks: 1, encoding: Encoding::Unsigned };
        assert_eq!(panels.packed_scales(&Strips::new(1, 16)), (vec![0x40, 0x3f, 0, 0], Scale::Brain));
    }
}
