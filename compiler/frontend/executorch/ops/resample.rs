//! Images under another size.

use super::super::fault::Fault;
use super::Translate;
use super::call::{Call, compute_type};
use super::index::pick_known;
use crate::ir::{ElementType, Scalar, ScalarOp, Value};
use crate::operators::Error;

pub(super) const OPERATORS: &[(&str, Translate)] =
    &[("aten::upsample_nearest2d.vec_out", nearest), ("aten::upsample_bilinear2d.vec_out", bilinear)];

/// The longest side of a result; its sources are computed one by one.
const MAX_SIDE: u64 = 1 << 20;

/// Input and output sides, and the scale factors that the call names. `argument` is the list of factors.
struct Sides {
    input: [u64; 2],
    output: [u64; 2],
    factors: Option<Vec<f64>>,
}

fn sides(c: &Call<'_, '_, '_>, x: Value, argument: usize) -> Result<Sides, Fault> {
    let (shape, target) = (c.shape(x)?, c.out_form(c.out())?.known().ok_or(Error::DynamicExtent)?.shape);
    let (&[n, channels, height, width], &[m, kept, rows, columns]) = (&shape[..], &target[..]) else {
        return Err(Fault::invalid("needs an image").expected("4 dimensions", shape.len().to_string()));
    };
    if (n, channels) != (m, kept) || height == 0 || width == 0 || rows > MAX_SIDE || columns > MAX_SIDE {
        return Err(Fault::invalid("the result does not fit the image").expected(format!("{shape:?}"), format!("{target:?}")));
    }
    Ok(Sides { input: [height, width], output: [rows, columns], factors: c.optional_doubles(argument)? })
}

impl Sides {
    /// Input elements an output element, in single precision as PyTorch computes it.
    fn step(&self, d: usize) -> f32 {
        match self.factors.as_ref().and_then(|factors| factors.get(d)) {
            Some(&factor) if factor > 0.0 => (1.0 / factor) as f32,
            _ => self.input[d] as f32 / self.output[d] as f32,
        }
    }
}

/// Output element i is input element ⌊i × step⌋.
fn nearest(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let mut x = c.tensor(0)?;
    let sides = sides(c, x, 2)?;
    for d in 0..2 {
        let last = sides.input[d] as i64 - 1;
        let indices: Vec<i64> = (0..sides.output[d]).map(|i| ((i as f32 * sides.step(d)).floor() as i64).clamp(0, last)).collect();
        x = pick_known(c, x, &indices, &[sides.output[d]], d + 2)?;
    }
    c.finish(x)
}

/// Between two input elements in proportion to the distance, first along rows, then along columns. Corners are aligned, or
/// centres: then the source of i is (i + ½) × step − ½, at least 0.
fn bilinear(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let (aligned, sides) = (c.flag(2)?, sides(c, x, 3)?);
    let ty = compute_type(c.element(x));
    if !ty.is_float() {
        return Err(Fault::unsupported(format!("interpolation of {ty} is not supported")));
    }
    let mut x = c.cast(x, ty)?;
    for d in 0..2 {
        let last = sides.input[d] as i64 - 1;
        let corners = if sides.output[d] > 1 { last as f32 / (sides.output[d] - 1) as f32 } else { 0.0 };
        let source = |i: u64| if aligned { i as f32 * corners } else { ((i as f32 + 0.5) * sides.step(d) - 0.5).max(0.0) };
        let low: Vec<i64> = (0..sides.output[d]).map(|i| (source(i) as i64).clamp(0, last)).collect();
        let high: Vec<i64> = low.iter().map(|&n| (n + 1).min(last)).collect();
        let weights: Vec<f32> = low.iter().enumerate().map(|(i, &n)| (source(i as u64) - n as f32).clamp(0.0, 1.0)).collect();
        x = between(c, x, [&low, &high], &weights, d + 2, ty)?;
    }
    c.finish(x)
}

/// low × (1 − weight) + high × weight along an axis.
fn between(
    c: &mut Call<'_, '_, '_>,
    x: Value,
    indices: [&[i64]; 2],
    weights: &[f32],
    axis: usize,
    ty: ElementType,
) -> Result<Value, Fault> {
    let count = [weights.len() as u64];
    let (low, high) = (pick_known(c, x, indices[0], &count, axis)?, pick_known(c, x, indices[1], &count, axis)?);
    let mut shape = [1; 4];
    shape[axis] = count[0];
    let numbers: Vec<Scalar> = weights.iter().map(|&w| Scalar::float(ty, f64::from(w))).collect();
    let weights = c.graph().numbers(ty, &shape, &numbers)?;
    c.map(&[low, high, weights], |b, n| {
        let one = b.constant(Scalar::float(ty, 1.0));
        let rest = b.op(ScalarOp::Sub, &[one, n[2]])?;
        let (left, right) = (b.op(ScalarOp::Mul, &[n[0], rest])?, b.op(ScalarOp::Mul, &[n[1], n[2]])?);
        Ok(b.op(ScalarOp::Add, &[left, right])?)
    })
}
