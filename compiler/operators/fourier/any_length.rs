//! Fourier transforms of floats of any length, along the last dimension. Powers of two are operators of the tensor language; others are products with
//! a matrix of sines and cosines.

use crate::ir::{ElementType, Extent, Scalar, Value};
use crate::operators::{Error, Graph, along};
use std::f64::consts::TAU;

/// Matrices with more elements are no real model's.
const MOST_NUMBERS: u64 = 1 << 24;

/// Powers of two up to this length are products as well: a matrix this small is read faster than steps are taken.
const SHORT: u64 = 8;

/// Which way a transform goes; neither is divided by the length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Σ x\[j\] e^(−2πi jk ÷ n).
    Forward,
    /// Σ x\[k\] e^(2πi jk ÷ n).
    Backward,
}

/// The first ⌊n ÷ 2⌋ + 1 numbers of the spectrum of real numbers `[… n]`, as pairs `[… ⌊n ÷ 2⌋ + 1, 2]`.
///
/// # Errors
/// [`Error::DynamicExtent`] of the dimension, and where it is too large.
pub fn half_spectrum(g: &mut Graph<'_>, x: Value) -> Result<Value, Error> {
    let n = last(g, x, 1)?;
    if n.is_power_of_two() && n > SHORT {
        return Ok(g.builder.real_fourier(x)?);
    }
    let bins = n / 2 + 1;
    // Rows are numbers of the result, columns those of the input.
    let matrix = table(g.element(x), [2 * bins, n], |row, j| {
        let (sine, cosine) = turn(row / 2 * j, n);
        if row % 2 == 0 { cosine } else { -sine }
    })?;
    let axis = g.rank(x) - 1;
    let flat = along::weighted(g, x, axis, 2 * bins, &matrix)?;
    in_pairs(g, flat, bins)
}

/// The spectrum of complex numbers, pairs `[… n, 2]`.
///
/// # Errors
/// As [`half_spectrum`].
pub fn spectrum(g: &mut Graph<'_>, pairs: Value, direction: Direction) -> Result<Value, Error> {
    let n = last(g, pairs, 2)?;
    if n.is_power_of_two() && n > SHORT && direction == Direction::Forward {
        return Ok(g.builder.fourier(pairs)?);
    }
    let sign = if direction == Direction::Forward { -1.0 } else { 1.0 };
    let matrix = table(g.element(pairs), [2 * n, 2 * n], |row, column| {
        let (sine, cosine) = turn(row / 2 * (column / 2), n);
        // (a + bi)(c + si): real parts from real ones by c and from imaginary ones by −s.
        match (row % 2, column % 2) {
            (0, 1) => -sign * sine,
            (1, 0) => sign * sine,
            _ => cosine,
        }
    })?;
    let flat = flattened(g, pairs, 2 * n)?;
    let axis = g.rank(flat) - 1;
    let flat = along::weighted(g, flat, axis, 2 * n, &matrix)?;
    in_pairs(g, flat, n)
}

/// The `n` real numbers whose spectrum begins with the pairs `[… ⌊n ÷ 2⌋ + 1, 2]`: the rest of it are their conjugates.
///
/// # Errors
/// As [`half_spectrum`], and when there are fewer pairs.
pub fn real_numbers(g: &mut Graph<'_>, pairs: Value, n: u64) -> Result<Value, Error> {
    let (bins, found) = (n / 2 + 1, last(g, pairs, 2)?);
    if found < bins || n == 0 {
        return Err(Error::WindowMisfit { extent: found, size: bins });
    }
    let matrix = table(g.element(pairs), [n, 2 * found], |j, column| {
        let bin = column / 2;
        let (sine, cosine) = turn(j * bin, n);
        // Each but the first, and the one in the middle, stands for its conjugate too.
        let weight = match bin {
            _ if bin >= bins => 0.0,
            _ if bin == 0 || 2 * bin == n => 1.0,
            _ => 2.0,
        };
        weight * if column % 2 == 0 { cosine } else { -sine }
    })?;
    let flat = flattened(g, pairs, 2 * found)?;
    let axis = g.rank(flat) - 1;
    along::weighted(g, flat, axis, n, &matrix)
}

/// The extent `back` dimensions from the end.
fn last(g: &Graph<'_>, x: Value, back: usize) -> Result<u64, Error> {
    let shape = g.extents(x);
    let axis = shape.len().checked_sub(back).ok_or(Error::NoImage { rank: shape.len() })?;
    shape[axis].as_static().filter(|&n| n > 0).ok_or(Error::DynamicExtent)
}

/// Sine and cosine of part `k ÷ n` of a turn, quarters of one exactly.
fn turn(k: u64, n: u64) -> (f64, f64) {
    let part = k % n;
    match 4 * part {
        0 => (0.0, 1.0),
        quarter if quarter == n => (1.0, 0.0),
        half if half == 2 * n => (0.0, -1.0),
        rest if rest == 3 * n => (-1.0, 0.0),
        _ => libm::sincos(TAU * part as f64 / n as f64),
    }
}

fn table(element: ElementType, [rows, columns]: [u64; 2], number: impl Fn(u64, u64) -> f64) -> Result<Vec<Scalar>, Error> {
    if rows.checked_mul(columns).is_none_or(|count| count > MOST_NUMBERS) {
        return Err(Error::TooManyWindows { most: MOST_NUMBERS });
    }
    Ok((0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| Scalar::float(element, number(row, column)))
        .collect())
}

/// Pairs in one dimension.
fn flattened(g: &mut Graph<'_>, pairs: Value, count: u64) -> Result<Value, Error> {
    let mut shape = g.extents(pairs);
    shape.truncate(shape.len() - 2);
    shape.push(Extent::Static(count));
    g.reshape(pairs, &shape)
}

fn in_pairs(g: &mut Graph<'_>, flat: Value, count: u64) -> Result<Value, Error> {
    let mut shape = g.extents(flat);
    shape.pop();
    shape.extend([Extent::Static(count), Extent::Static(2)]);
    g.reshape(flat, &shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run};

    fn close(found: &Floats, expected: &[f32]) {
        assert_eq!(found.numbers.len(), expected.len());
        for (found, expected) in found.numbers.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{found} is not {expected}");
        }
    }

    #[test]
    fn spectra_of_odd_and_even_lengths_are_those_written_out() {
        for n in [1u64, 3, 4, 6, 10, 16] {
            let x = Floats::varied(&[2, n]);
            let mut expected = Vec::new();
            for (row, k) in (0..2).flat_map(|row| (0..=n / 2).map(move |k| (row, k))) {
                let mut sum = (0.0, 0.0);
                for j in 0..n {
                    let (angle, x) = (TAU * (j * k) as f64 / n as f64, f64::from(x.numbers[(row * n + j) as usize]));
                    sum = (sum.0 + x * angle.cos(), sum.1 - x * angle.sin());
                }
                expected.extend([sum.0 as f32, sum.1 as f32]);
            }
            close(&run(&[&x], &|g, v| half_spectrum(g, v[0])), &expected);
        }
    }

    #[test]
    fn back_and_forth_is_the_length_times_the_numbers() {
        for n in [5u64, 6, 16] {
            let x = Floats::varied(&[1, n]);
            let expected: Vec<f32> = x.numbers.iter().map(|x| x * n as f32).collect();
            let found = run(&[&x], &|g, v| {
                let half = half_spectrum(g, v[0])?;
                real_numbers(g, half, n)
            });
            close(&found, &expected);
            let pairs = Floats::varied(&[1, n, 2]);
            let expected: Vec<f32> = pairs.numbers.iter().map(|x| x * n as f32).collect();
            let found = run(&[&pairs], &|g, v| {
                let there = spectrum(g, v[0], Direction::Forward)?;
                spectrum(g, there, Direction::Backward)
            });
            close(&found, &expected);
        }
    }
}
