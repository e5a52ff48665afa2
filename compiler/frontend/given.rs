//! Users' settings of inputs: values, and sample arrays of a call.

use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::{ElementType, Scalar, Tensor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number as users write it, for [`Settings::value`](crate::Settings::value).
///
/// ```
/// assert_eq!(modelc::Number::from(true), modelc::Number::Integer(1));
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// A whole number; truth values are 0 and 1.
    Integer(i64),
    /// Any other.
    Float(f64),
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<i32> for Number {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Number {
    fn from(truth: bool) -> Self {
        Self::Integer(truth.into())
    }
}

impl Number {
    /// The number as an element; `None` when the type does not hold it.
    fn element(self, element: ElementType) -> Option<Scalar> {
        match self {
            Self::Integer(number) if element.is_float() => Some(Scalar::float(element, number as f64)),
            Self::Float(number) if element.is_float() => Some(Scalar::float(element, number)),
            Self::Integer(number) if element == ElementType::Bool => (0..=1).contains(&number).then(|| Scalar::int(element, number)),
            Self::Integer(number) => {
                let (low, high) = element.integer_range()?;
                (low..=high).contains(&i128::from(number)).then(|| Scalar::int(element, number))
            }
            Self::Float(_) => None,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
        }
    }
}

/// The arrays of one call that a module must be able to run.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The method that is called; the first when absent.
    pub method: Option<String>,
    /// Arrays by input number, in the shapes of the source.
    pub inputs: Vec<(usize, Tensor)>,
}

impl Sample {
    /// The array for an input.
    pub fn input(&self, number: usize) -> Option<&Tensor> {
        self.inputs.iter().find(|(input, _)| *input == number).map(|(_, array)| array)
    }
}

/// The beginning of the advice that names the option for an input's value.
const OPTION: &str = "`--value in";

/// The option that gives the value of an input.
pub fn value_option(input: usize) -> String {
    format!("{OPTION}{input}=...`")
}

/// Tests whether a model could not be read only because operators must know the values of inputs. A sample has them.
pub fn asks_for_values(errors: &Diagnostics) -> bool {
    errors.0.iter().all(|error| error.help.as_ref().is_some_and(|help| help.contains(OPTION)))
}

/// Numbers as the elements of a tensor, row by row.
///
/// # Errors
/// A usage diagnostic when the type does not hold one of them, or no number can be written as it.
pub fn elements(numbers: &[Number], element: ElementType) -> Result<Vec<u8>, Diagnostic> {
    if element.bits() < 8 || element.part() != element {
        return Err(Diagnostic::new(codes::VALUE_GIVEN, format!("a value of type {element} cannot be given")));
    }
    let mut bytes = Vec::with_capacity(numbers.len() * element.bits() as usize / 8);
    for number in numbers {
        let error = || Diagnostic::new(codes::VALUE_GIVEN, "a number does not fit the input").expected(element.name(), number.to_string());
        bytes.extend(number.element(element).ok_or_else(error)?.to_bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_must_fit_the_type() {
        let numbers = [Number::Integer(-1), Number::Integer(2)];
        assert_eq!(elements(&numbers, ElementType::I16).unwrap(), [255, 255, 2, 0]);
        assert_eq!(elements(&[Number::Float(0.5)], ElementType::F32).unwrap(), 0.5f32.to_le_bytes());
        assert_eq!(elements(&[Number::Integer(3)], ElementType::F64).unwrap(), 3f64.to_le_bytes());
        for (numbers, element) in
            [(&numbers[..], ElementType::U8), (&numbers[1..], ElementType::Bool), (&[Number::Float(0.5)], ElementType::I32)]
        {
            assert_eq!(elements(numbers, element).unwrap_err().code, codes::VALUE_GIVEN, "{element}");
        }
    }
}
