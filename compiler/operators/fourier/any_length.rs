//! Fourier transforms of floats of any length, along the last dimension. Powers of two in binary32 are operators of the tensor language. Others are
//! products with a matrix of sines and cosines. The program computes the matrix if the length is known only when it runs.

mod measured;

use crate::ir::{ElementType, Extent, Scalar, Value};
use crate::operators::{Error, Graph, along};
use std::f64::consts::TAU;

/// Matrices with more elements are no real model's.
const MOST_NUMBERS: u64 = 1 << 24;

/// Powers of two up to this length are products as well: a matrix this small is read faster than steps are taken.
const SHORT: u64 = 8;

/// The direction of a transform. Neither direction divides by the length.
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
/// The errors of a dimension that is too large, or has no elements.
pub fn half_spectrum(g: &mut Graph<'_>, x: Value) -> Result<Value, Error> {
    let (extent, element) = (last(g, x, 1)?, g.element(x));
    let half = g.floor_div(extent, Extent::Static(2))?;
    let bins = g.add(half, Extent::Static(1))?;
    let matrix = match (extent, bins) {
        (Extent::Static(n), _) if is_operator(n, element) => return Ok(g.builder.real_fourier(x)?),
        // Rows are numbers of the result, columns are numbers of the input.
        (Extent::Static(n), Extent::Static(bins)) => table(g, element, [2 * bins, n], |row, j| {
            let (sine, cosine) = turn(row / 2 * j, n);
            if row % 2 == 0 { cosine } else { -sine }
        })?,
        _ => {
            check_size([g.bound(bins).saturating_mul(2), g.bound(extent)])?;
            measured::half_spectrum(g, element, [bins, extent])?
        }
    };
    let axis = g.rank(x) - 1;
    let flat = along::weighted(g, x, axis, matrix)?;
    in_pairs(g, flat, bins)
}

/// The spectrum of complex numbers, pairs `[… n, 2]`.
///
/// # Errors
/// The errors of [`half_spectrum`].
pub fn spectrum(g: &mut Graph<'_>, pairs: Value, direction: Direction) -> Result<Value, Error> {
    let (extent, element) = (last(g, pairs, 2)?, g.element(pairs));
    let sign = if direction == Direction::Forward { -1.0 } else { 1.0 };
    let matrix = match extent {
        Extent::Static(n) if is_operator(n, element) && direction == Direction::Forward => return Ok(g.builder.fourier(pairs)?),
        Extent::Static(n) => table(g, element, [2 * n, 2 * n], |row, column| {
            let (sine, cosine) = turn(row / 2 * (column / 2), n);
            // (a + bi)(c + si): real parts from real ones by c and from imaginary ones by −s.
            match (row % 2, column % 2) {
                (0, 1) => -sign * sine,
                (1, 0) => sign * sine,
                _ => cosine,
            }
        })?,
        Extent::Value(_) => {
            let most = g.bound(extent).saturating_mul(2);
            check_size([most, most])?;
            measured::spectrum(g, element, extent, sign)?
        }
    };
    let flat = flattened(g, pairs, extent)?;
    let axis = g.rank(flat) - 1;
    let flat = along::weighted(g, flat, axis, matrix)?;
    in_pairs(g, flat, extent)
}

/// The `n` real numbers whose spectrum begins with the pairs `[… ⌊n ÷ 2⌋ + 1, 2]`. The rest of the spectrum is their conjugates.
///
/// # Errors
/// The errors of [`half_spectrum`], and fewer pairs in a static extent. Pairs missing from a run-time extent count as zeros.
pub fn real_numbers(g: &mut Graph<'_>, pairs: Value, n: Extent) -> Result<Value, Error> {
    let (found, element) = (last(g, pairs, 2)?, g.element(pairs));
    let matrix = match (n, found) {
        (Extent::Static(n), Extent::Static(found)) => {
            let bins = n / 2 + 1;
            if found < bins || n == 0 {
                return Err(Error::WindowMisfit { extent: found, size: bins });
            }
            table(g, element, [n, 2 * found], |j, column| {
                let bin = column / 2;
                let (sine, cosine) = turn(j * bin, n);
                // Each pair but the first and the middle one stands for its conjugate, too.
                let weight = match bin {
                    _ if bin >= bins => 0.0,
                    _ if bin == 0 || 2 * bin == n => 1.0,
                    _ => 2.0,
                };
                weight * if column % 2 == 0 { cosine } else { -sine }
            })?
        }
        _ => {
            check_size([g.bound(n), g.bound(found).saturating_mul(2)])?;
            measured::real_numbers(g, element, [n, found])?
        }
    };
    let flat = flattened(g, pairs, found)?;
    let axis = g.rank(flat) - 1;
    along::weighted(g, flat, axis, matrix)
}

/// Tests whether a transform of this length is an operator of the tensor language, which has kernels for binary32.
fn is_operator(n: u64, element: ElementType) -> bool {
    n.is_power_of_two() && n > SHORT && element == ElementType::F32
}

/// The extent `back` dimensions from the end.
fn last(g: &Graph<'_>, x: Value, back: usize) -> Result<Extent, Error> {
    let shape = g.extents(x);
    let axis = shape.len().checked_sub(back).ok_or(Error::NoImage { rank: shape.len() })?;
    if shape[axis] == Extent::Static(0) { Err(Error::WindowMisfit { extent: 0, size: 1 }) } else { Ok(shape[axis]) }
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

/// Checks the size of a matrix against the largest that real models have.
fn check_size([rows, columns]: [u64; 2]) -> Result<(), Error> {
    let fits = rows.checked_mul(columns).is_some_and(|count| count <= MOST_NUMBERS);
    if fits { Ok(()) } else { Err(Error::TooManyWindows { most: MOST_NUMBERS }) }
}

fn table(g: &mut Graph<'_>, element: ElementType, [rows, columns]: [u64; 2], number: impl Fn(u64, u64) -> f64) -> Result<Value, Error> {
    check_size([rows, columns])?;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let numbers: Vec<Scalar> = places.map(|(row, column)| Scalar::float(element, number(row, column))).collect();
    g.numbers(element, &[rows, columns], &numbers)
}

/// `count` pairs in one dimension.
fn flattened(g: &mut Graph<'_>, pairs: Value, count: Extent) -> Result<Value, Error> {
    let mut shape = g.extents(pairs);
    shape.truncate(shape.len() - 2);
    shape.push(g.mul(count, Extent::Static(2))?);
    g.reshape(pairs, &shape)
}

/// The last dimension as `count` pairs.
fn in_pairs(g: &mut Graph<'_>, flat: Value, count: Extent) -> Result<Value, Error> {
    let mut shape = g.extents(flat);
    shape.pop();
    shape.extend([count, Extent::Static(2)]);
    g.reshape(flat, &shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

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
            for open in [&[][..], &[[0, 1]], &[[0, 0], [0, 1]]] {
                close(&run_with(&[&x], open, &|g, v| half_spectrum(g, v[0])), &expected);
            }
        }
    }

    #[test]
    fn back_and_forth_is_the_length_times_the_numbers() {
        for n in [5u64, 6, 16] {
            let x = Floats::varied(&[1, n]);
            let expected: Vec<f32> = x.numbers.iter().map(|x| x * n as f32).collect();
            for open in [&[][..], &[[0, 1]]] {
                let found = run_with(&[&x], open, &|g, v| {
                    let (n, half) = (g.extents(v[0])[1], half_spectrum(g, v[0])?);
                    real_numbers(g, half, n)
                });
                close(&found, &expected);
            }
            let pairs = Floats::varied(&[1, n, 2]);
            let expected: Vec<f32> = pairs.numbers.iter().map(|x| x * n as f32).collect();
            for open in [&[][..], &[[0, 1]]] {
                let found = run_with(&[&pairs], open, &|g, v| {
                    let there = spectrum(g, v[0], Direction::Forward)?;
                    spectrum(g, there, Direction::Backward)
                });
                close(&found, &expected);
                let known = run(&[&pairs], &|g, v| spectrum(g, v[0], Direction::Forward));
                close(&run_with(&[&pairs], open, &|g, v| spectrum(g, v[0], Direction::Forward)), &known.numbers);
            }
        }
    }
}
