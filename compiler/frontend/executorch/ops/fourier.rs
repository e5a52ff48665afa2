//! Fourier transforms.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{ElementType, Extent, Scalar, ScalarOp, Value};
use crate::operators::complex::{from_pairs, from_real, pairs};
use crate::operators::fourier::any_length::{self, Direction};
use crate::operators::graph::movement::inverse;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::_fft_r2c.out", real_to_complex), ("aten::_fft_c2r.out", complex_to_real), ("aten::_fft_c2c.out", complex_to_complex)];

/// The dimensions that are transformed, argument 1: at least one.
fn dimensions(c: &Call<'_, '_, '_>, rank: usize) -> Result<(usize, Vec<usize>), Fault> {
    let axes: Result<Vec<usize>, Fault> = c.ints(1)?.into_iter().map(|axis| c.axis(axis, rank)).collect();
    let mut axes = axes?;
    match axes.pop() {
        Some(last) if rank > 0 => Ok((last, axes)),
        _ => Err(Fault::invalid("a Fourier transform needs a dimension")),
    }
}

/// Scales a result by argument 2: a transform of n numbers is divided by 1, √n or n.
fn scaled(c: &mut Call<'_, '_, '_>, x: Value, counts: &[Extent]) -> Result<Value, Fault> {
    let power = match c.int(2)? {
        0 => return Ok(x),
        1 => 0.5,
        2 => 1.0,
        other => return Err(Fault::invalid("unknown normalization").expected("0 to 2", other.to_string())),
    };
    let known: Option<f64> = counts.iter().map(|count| count.as_static().map(|n| n as f64)).product();
    if let Some(count) = known {
        let factor = 1.0 / if power == 1.0 { count } else { count.sqrt() };
        return c.map(&[x], |b, n| {
            let factor = b.constant(Scalar::float(b.ty(n[0]), factor));
            Ok(b.op(ScalarOp::Mul, &[n[0], factor])?)
        });
    }
    let count = c.graph().product(counts)?;
    let count = c.graph().extent_tensor(count, ElementType::I64)?;
    c.map(&[x, count], |b, n| {
        let (ty, one) = (b.ty(n[0]), b.constant(Scalar::float(ElementType::F64, 1.0)));
        let count = b.convert(n[1], ElementType::F64);
        let divisor = if power == 1.0 { count } else { b.op(ScalarOp::Sqrt, &[count])? };
        let factor = b.op(ScalarOp::Div, &[one, divisor])?;
        let factor = b.convert(factor, ty);
        Ok(b.op(ScalarOp::Mul, &[n[0], factor])?)
    })
}

/// Dimension `axis` moved to the end, before `kept` last ones, and the permutation back.
fn moved(c: &mut Call<'_, '_, '_>, x: Value, axis: usize, kept: usize) -> Result<(Value, Vec<usize>), Fault> {
    let rank = c.rank(x);
    let mut permutation: Vec<usize> = (0..rank - kept).filter(|&d| d != axis).collect();
    permutation.push(axis);
    permutation.extend(rank - kept..rank);
    Ok((c.transpose(x, &permutation)?, inverse(&permutation)))
}

/// Complex numbers, as pairs, transformed along some dimensions.
fn transformed(c: &mut Call<'_, '_, '_>, mut x: Value, axes: &[usize], direction: Direction) -> Result<Value, Fault> {
    for &axis in axes {
        let (line, back) = moved(c, x, axis, 1)?;
        let line = any_length::spectrum(c.graph(), line, direction)?;
        x = c.transpose(line, &back)?;
    }
    Ok(x)
}

/// The extents along which a transform sums.
fn counts(c: &Call<'_, '_, '_>, x: Value, axes: &[usize]) -> Vec<Extent> {
    let shape = c.extents(x);
    axes.iter().map(|&axis| shape[axis]).collect()
}

fn floats(c: &Call<'_, '_, '_>, x: Value) -> Outcome {
    match c.element(x).part() {
        ElementType::F32 | ElementType::F64 => Ok(()),
        other => Err(Fault::unsupported(format!("Fourier transforms of {other} are not supported"))),
    }
}

/// (self, dim, normalization, onesided).
fn real_to_complex(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    floats(c, x)?;
    let (last, others) = dimensions(c, c.rank(x))?;
    let counts = counts(c, x, &[&others[..], &[last]].concat());
    let y = if c.flag(3)? {
        let (line, _) = moved(c, x, last, 0)?;
        let half = any_length::half_spectrum(c.graph(), line)?;
        // The pairs' dimension stays where it is.
        let rank = c.rank(x);
        let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != last).collect();
        permutation.push(last);
        let mut back = inverse(&permutation);
        back.push(rank);
        let y = c.transpose(half, &back)?;
        transformed(c, y, &others, Direction::Forward)?
    } else {
        let complex = if c.element(x) == ElementType::F64 { ElementType::C128 } else { ElementType::C64 };
        let x = from_real(c.graph(), x, complex)?;
        let x = pairs(c.graph(), x)?;
        transformed(c, x, &[&others[..], &[last]].concat(), Direction::Forward)?
    };
    let y = scaled(c, y, &counts)?;
    let y = from_pairs(c.graph(), y)?;
    c.finish(y)
}

/// (self, dim, normalization, last_dim_size).
fn complex_to_real(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    floats(c, value)?;
    let (last, others) = dimensions(c, c.rank(value))?;
    let length = c.whole(3)?;
    let length = c.extent(length)?;
    if length == Extent::Static(0) {
        return Err(Fault::invalid("the length of a transform must be positive"));
    }
    let mut counts = counts(c, value, &others);
    counts.push(length);
    let x = pairs(c.graph(), value)?;
    let x = transformed(c, x, &others, Direction::Backward)?;
    let (line, back) = moved(c, x, last, 1)?;
    let line = any_length::real_numbers(c.graph(), line, length)?;
    let y = c.transpose(line, &back[..back.len() - 1])?;
    let y = scaled(c, y, &counts)?;
    c.finish(y)
}

/// (self, dim, normalization, forward).
fn complex_to_complex(c: &mut Call<'_, '_, '_>) -> Outcome {
    let value = c.tensor(0)?;
    floats(c, value)?;
    let (last, mut axes) = dimensions(c, c.rank(value))?;
    axes.push(last);
    let counts = counts(c, value, &axes);
    let direction = if c.flag(3)? { Direction::Forward } else { Direction::Backward };
    let x = pairs(c.graph(), value)?;
    let y = transformed(c, x, &axes, direction)?;
    let y = scaled(c, y, &counts)?;
    let y = from_pairs(c.graph(), y)?;
    c.finish(y)
}
