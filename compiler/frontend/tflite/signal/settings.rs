//! The options of signal operators: integers and truth values by name.

use super::super::error::invalid;
use super::super::external;
use super::super::flexbuffer::Options;
use super::super::operator::Operator;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::ElementType;
use crate::schema::tflite::TensorType;
use std::ops::RangeInclusive;

/// The options of an operator, as bytes of the file.
pub(super) struct Settings(Vec<u8>);

impl Settings {
    /// Reads the settings of an operator.
    ///
    /// # Errors
    /// Options that are no map of numbers.
    pub fn read(operator: &Operator<'_, '_, '_>) -> Result<Self, Diagnostic> {
        let bytes = external::options(operator)?;
        match Options::read(&bytes) {
            Some(_) => Ok(Self(bytes)),
            None => Err(invalid(codes::OPTIONS_UNREADABLE, "the options of the operator cannot be read")
                .expected("a FlexBuffer that is a map", "other bytes")),
        }
    }

    fn number(&self, name: &str) -> Result<f64, Diagnostic> {
        let number = Options::read(&self.0).and_then(|options| options.number(name));
        number.ok_or_else(|| invalid(codes::OPTIONS_UNREADABLE, format!("the option `{name}` of the operator is missing")))
    }

    /// An integer in a range.
    ///
    /// # Errors
    /// A missing option, or one out of range.
    pub fn integer(&self, name: &str, range: RangeInclusive<i64>) -> Result<i64, Diagnostic> {
        let number = self.number(name)?;
        let integer = number as i64;
        if integer as f64 == number && range.contains(&integer) {
            return Ok(integer);
        }
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        Err(invalid(codes::OPTION_RANGE, format!("the option `{name}` of the operator is out of range"))
            .expected(expected, number.to_string()))
    }

    /// A truth value.
    ///
    /// # Errors
    /// A missing option.
    pub fn flag(&self, name: &str) -> Result<bool, Diagnostic> {
        Ok(self.number(name)? != 0.0)
    }

    /// Checks that the option `T`, an element type by its number in the schema, is that of the operands.
    ///
    /// # Errors
    /// A missing option, or another type.
    pub fn check_type(&self, element: ElementType) -> Result<(), Diagnostic> {
        let number = self.integer("T", 0..=i64::from(i32::MAX))?;
        let wanted = match element {
            ElementType::I16 => TensorType::INT16,
            ElementType::I32 => TensorType::INT32,
            _ => TensorType::FLOAT32,
        };
        if number == i64::from(wanted.0) {
            return Ok(());
        }
        Err(invalid(codes::ELEMENT_TYPE, "the option `T` of the operator is another type than its input's")
            .expected(wanted.0.to_string(), number.to_string()))
    }
}
