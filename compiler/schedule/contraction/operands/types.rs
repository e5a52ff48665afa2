//! The table of element types of contractions: how elements are stored, read and multiplied. A new type of operands is a row here.
//! [`super::form`] has the forms of products, and [`super::storage`] the forms of panels.

use crate::ir::ElementType;
use crate::kernel::Lane;
use crate::schedule::elementwise::lanes::memory_lane;

/// Kind of numbers that products multiply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factor {
    /// Binary32. Narrower floats are widened.
    Float,
    /// Integers of at most 16 bits, zero point subtracted.
    Integer,
}

impl Factor {
    /// Returns the types of sums.
    pub const fn sums(self) -> &'static [ElementType] {
        match self {
            Self::Float => &[ElementType::F32],
            Self::Integer => &[ElementType::I32, ElementType::I64],
        }
    }
}

/// Representation of constant weights in a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constants {
    /// Binary32, as the file has it.
    Floats,
    /// Numbers that become binary32 as they are read.
    Narrow,
    /// Integers of at most a byte.
    Integers,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    element: ElementType,
    /// `true` if kernels read tensors of the type in the order of memory: left operands, and both operands of products of tensors.
    pub is_read: bool,
    /// `true` if tensors of the type fill panels.
    pub fills_panels: bool,
    /// Representation of constant weights; `None` if the type has none.
    pub constants: Option<Constants>,
}

const fn floats(element: ElementType, constants: Constants) -> Operand {
    Operand { element, is_read: true, fills_panels: true, constants: Some(constants) }
}

const fn bytes(element: ElementType) -> Operand {
    Operand { element, is_read: true, fills_panels: true, constants: Some(Constants::Integers) }
}

const fn packed(element: ElementType) -> Operand {
    Operand { is_read: false, fills_panels: false, ..bytes(element) }
}

/// All types that contractions multiply.
const OPERANDS: [Operand; 9] = [
    floats(ElementType::F32, Constants::Floats),
    floats(ElementType::F16, Constants::Narrow),
    floats(ElementType::Bf16, Constants::Narrow),
    bytes(ElementType::I8),
    bytes(ElementType::U8),
    Operand { fills_panels: false, constants: None, ..bytes(ElementType::I16) },
    packed(ElementType::I4),
    packed(ElementType::U4),
    packed(ElementType::I2),
];

impl Operand {
    /// Returns the row of a type; `None` if contractions do not multiply it.
    pub fn of(element: ElementType) -> Option<&'static Self> {
        OPERANDS.iter().find(|row| row.element == element)
    }

    /// Returns the lane of an element in memory. Packed elements share it.
    pub fn stored(&self) -> Lane {
        memory_lane(self.element).unwrap_or(Lane::I8)
    }

    /// Returns the kind of numbers that products multiply.
    pub fn factor(&self) -> Factor {
        if self.element.is_float() { Factor::Float } else { Factor::Integer }
    }

    /// Tests whether kernels read tensors of the type, and add products of them in sums of another type.
    pub fn is_summed_in(&self, sum: ElementType) -> bool {
        self.is_read && self.factor().sums().contains(&sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_in_memory_hold_whole_elements() {
        for row in &OPERANDS {
            let (lane, element) = (8 * row.stored().bytes(), row.element.bits());
            assert!(if row.element.is_packed() { lane == 8 } else { lane == element }, "{}", row.element);
            assert_eq!(row.factor() == Factor::Float, row.element.is_float(), "{}", row.element);
            assert_eq!(Operand::of(row.element).map(Operand::stored), Some(row.stored()), "{} has one row", row.element);
        }
    }
}
