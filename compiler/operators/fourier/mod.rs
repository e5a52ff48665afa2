//! Fourier transforms of real numbers, as kissfft takes them in fixed point and in binary32.
//!
//! Two neighbouring samples are one complex number. A transform of `2n` real numbers is thus one of `n` complex ones, whose result is taken apart
//! (`apart.rs`). The complex transform is one element-wise operation for each factor of its length (`stages.rs`). A [`Format`] defines the numbers
//! and their rounding.

pub mod any_length;
mod apart;
mod butterfly;
mod format;
mod stages;
#[cfg(test)]
mod tests;

pub use format::{Complex, Format};

use super::terms::Terms;
use super::{Error, Graph, extents};
use crate::ir::Value;
use apart::{Apart, combine, take_apart};
use stages::Transform;

/// The first half of the spectrum and the middle number of rows `[rows, 2 × half]`, as pairs: `[rows, 2 × (half + 1)]`.
///
/// # Errors
/// [`Error::Radix`], and [`Error::NotTransformed`] of other types.
pub fn real(g: &mut Graph<'_>, input: Value, [rows, half]: [u64; 2]) -> Result<Value, Error> {
    let format = Format::of(g.element(input)).ok_or(Error::NotTransformed { element: g.element(input) })?;
    let transform = Transform::new(format, half, rows, false)?;
    let numbers = format.split(g, input, [rows, half])?;
    let numbers = transform.apply(g, numbers)?;
    let spectrum = take_apart(g, &Apart::new(format, half, false), &numbers)?;
    let pairs = format.join(g, &spectrum, [half + 1, rows])?;
    g.reshape(pairs, &extents(&[rows, 2 * (half + 1)]))
}

/// The inverse transform: `[rows, 2 × half]`. Fixed point is divided by the length on the way, binary32 at the end.
///
/// # Errors
/// [`Error::Radix`], and [`Error::NotTransformed`] of other types.
pub fn inverse_real(g: &mut Graph<'_>, input: Value, [rows, half]: [u64; 2]) -> Result<Value, Error> {
    let format = Format::of(g.element(input)).ok_or(Error::NotTransformed { element: g.element(input) })?;
    let transform = Transform::new(format, half, rows, true)?;
    let spectrum = format.split(g, input, [rows, half + 1])?;
    let numbers = combine(g, &Apart::new(format, half, true), &spectrum)?;
    let numbers = transform.apply(g, numbers)?;
    let mut value = format.join(g, &numbers, [half, rows])?;
    if format == Format::Float {
        value = divided(g, value, 2 * half)?;
    }
    g.reshape(value, &extents(&[rows, 2 * half]))
}

/// Numbers of binary32 divided by a length.
fn divided(g: &mut Graph<'_>, value: Value, length: u64) -> Result<Value, Error> {
    let mut terms = Terms::new(&[Format::Float.element()]);
    let (x, length) = (terms.input(0), terms.f32(length as f32));
    let quotient = terms.div(x, length)?;
    g.map(&[value], terms.finish(quotient))
}
