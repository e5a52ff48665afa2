//! Complex numbers of real ones.

use super::{Error, Graph};
use crate::ir::{ElementType, Extent, Scalar, Value};

/// Whether elements are complex numbers.
pub fn is_complex(element: ElementType) -> bool {
    matches!(element, ElementType::C64 | ElementType::C128)
}

/// Pairs of floats, in the last dimension, as complex numbers.
///
/// # Errors
/// When elements are no binary32 or binary64, or the last dimension is not 2.
pub fn from_pairs(g: &mut Graph<'_>, pairs: Value) -> Result<Value, Error> {
    let complex = if g.element(pairs) == ElementType::F64 { ElementType::C128 } else { ElementType::C64 };
    g.bitcast(pairs, complex)
}

/// Real numbers as complex ones of a type.
///
/// # Errors
/// When elements cannot be converted.
pub fn from_real(g: &mut Graph<'_>, value: Value, element: ElementType) -> Result<Value, Error> {
    let value = g.convert(value, element.part())?;
    let mut shape = g.extents(value);
    let mut high = vec![0; shape.len()];
    shape.push(Extent::Static(1));
    high.push(1);
    let column = g.reshape(value, &shape)?;
    let zero = Scalar::float(element.part(), 0.0);
    let pairs = g.pad(column, &vec![0; high.len()], &high, zero)?;
    from_pairs(g, pairs)
}
