//! Conversion of literals to values of a scalar type.

use crate::model::Scalar;
use crate::syntax::Literal;

/// Returns the integer of `literal`, within the range of `scalar`; an error message otherwise.
pub(crate) fn integer(literal: &Literal, scalar: Scalar) -> Result<i128, String> {
    let name = scalar.rust();
    let written = as_written(literal);
    let (low, high) = scalar.range().ok_or_else(|| format!("expected a {name}, found `{written}`"))?;
    let hexadecimal = literal.text.strip_prefix("0x").or_else(|| literal.text.strip_prefix("0X"));
    let magnitude = match hexadecimal {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => literal.text.parse::<i128>(),
    };
    let magnitude = magnitude.map_err(|_| format!("expected an integer, found `{written}`"))?;
    let value = if literal.negative { -magnitude } else { magnitude };
    if !(low..=high).contains(&value) {
        return Err(format!("{value} does not fit {name}: expected {low} to {high}"));
    }
    Ok(value)
}

/// Returns the default value `literal` for a field of type `scalar`, as Rust; an error message otherwise.
pub(crate) fn scalar_default(literal: &Literal, scalar: Scalar) -> Result<String, String> {
    let word = literal.text.as_str();
    match scalar {
        Scalar::Bool => match (word, literal.negative) {
            ("true" | "1", false) => Ok("true".to_string()),
            ("false" | "0", false) => Ok("false".to_string()),
            _ => Err(format!("expected `true` or `false`, found `{}`", as_written(literal))),
        },
        Scalar::F32 | Scalar::F64 => float_default(literal, scalar),
        _ => Ok(integer(literal, scalar)?.to_string()),
    }
}

fn float_default(literal: &Literal, scalar: Scalar) -> Result<String, String> {
    let value: f64 = literal.text.parse().map_err(|_| format!("expected a number, found `{}`", as_written(literal)))?;
    let value = if literal.negative { -value } else { value };
    let name = scalar.rust();
    if value.is_nan() {
        return Ok(format!("{name}::NAN"));
    }
    if value.is_infinite() {
        let sign = if value > 0.0 { "" } else { "NEG_" };
        return Ok(format!("{name}::{sign}INFINITY"));
    }
    if scalar == Scalar::F32 {
        let single = value as f32;
        if single.is_infinite() {
            return Err(format!("`{}` does not fit f32", as_written(literal)));
        }
        return Ok(format!("{single:?}"));
    }
    Ok(format!("{value:?}"))
}

/// Returns the default of a field without an explicit one, as Rust.
pub(crate) fn zero(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "false",
        Scalar::F32 | Scalar::F64 => "0.0",
        _ => "0",
    }
}

fn as_written(literal: &Literal) -> String {
    format!("{}{}", if literal.negative { "-" } else { "" }, literal.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Position;

    fn literal(text: &str) -> Literal {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        Literal { negative, text: text.to_string(), position: Position::START }
    }

    #[test]
    fn integers_stay_in_range() {
        assert_eq!(integer(&literal("-128"), Scalar::I8), Ok(-128));
        assert_eq!(integer(&literal("0xff"), Scalar::U8), Ok(255));
        assert_eq!(integer(&literal("18446744073709551615"), Scalar::U64), Ok(u64::MAX.into()));
        assert_eq!(integer(&literal("-129"), Scalar::I8).unwrap_err(), "-129 does not fit i8: expected -128 to 127");
        assert_eq!(integer(&literal("4x16"), Scalar::I8).unwrap_err(), "expected an integer, found `4x16`");
    }

    #[test]
    fn defaults_are_rust_of_their_type() {
        let default = |text, scalar| scalar_default(&literal(text), scalar);
        assert_eq!(default("true", Scalar::Bool).unwrap(), "true");
        assert_eq!(default("-1", Scalar::I32).unwrap(), "-1");
        assert_eq!(default("1", Scalar::F32).unwrap(), "1.0");
        assert_eq!(default("-inf", Scalar::F32).unwrap(), "f32::NEG_INFINITY");
        assert_eq!(default("nan", Scalar::F64).unwrap(), "f64::NAN");
        assert_eq!(default("1e-3", Scalar::F64).unwrap(), "0.001");
        assert_eq!(default("yes", Scalar::Bool).unwrap_err(), "expected `true` or `false`, found `yes`");
        assert_eq!(default("1e39", Scalar::F32).unwrap_err(), "`1e39` does not fit f32");
        assert_eq!(default("x", Scalar::F32).unwrap_err(), "expected a number, found `x`");
    }
}
