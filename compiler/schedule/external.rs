//! Custom operators: nothing is scheduled; the driver hands the tensors to a function of the application.

use crate::ir::{Attribute, Constant, InstData};

/// What an `external` instruction says.
#[derive(Clone, Copy, Debug)]
pub struct External<'a> {
    /// The function's name.
    pub symbol: &'a str,
    /// Bytes that only the function understands.
    pub options: Constant,
    /// A scale for each operand and result, 0 where there is none.
    pub scales: Constant,
    /// A zero point for each.
    pub zero_points: Constant,
}

impl<'a> External<'a> {
    /// Reads an `external` instruction; `None` for any other.
    pub fn of(data: &'a InstData) -> Option<Self> {
        match data.attributes.as_slice() {
            [Attribute::Text(symbol), Attribute::Constant(options), Attribute::Constant(scales), Attribute::Constant(zero_points), _] => {
                Some(Self { symbol, options: *options, scales: *scales, zero_points: *zero_points })
            }
            _ => None,
        }
    }
}
