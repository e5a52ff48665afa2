//! Operators that programs have no kernels for, element by element.

use super::scales::{INT8, affine};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::{Call, Translate};
use crate::ir::{Comparison, ElementType, Extent, NanRule, Node, Scalar, ScalarOp, Value};
use crate::operators::Error;
use crate::operators::blocks::pixel_shuffle;
use crate::operators::quantize::{self, Rounding};
use crate::operators::terms::{Term, Terms};
use ElementType::{F32, I8};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("et_vk.prepack.default", same),
    ("aten.hardswish.default", |c| real(c, hard_swish)),
    ("aten.hardsigmoid.default", |c| real(c, hard_sigmoid)),
    ("aten.relu6.default", |c| real(c, |terms, x| limited(terms, x, 0.0, 6.0))),
    ("aten.hardshrink.default", hard_shrink),
    ("aten.ones_like.default", |c| filled(c, 1)),
    ("aten.zeros_like.default", |c| filled(c, 0)),
    ("aten.repeat_interleave.self_int", repeat_interleave),
    ("et_vk.q8ta_add.default", quantized_sum),
    ("et_vk.q8ta_relu.default", quantized_relu),
    ("et_vk.q8ta_pixel_shuffle.default", quantized_pixel_shuffle),
];

/// A constant as the device wants it: the same numbers.
fn same(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    c.finish(x)
}

/// A function of real numbers, in single precision.
fn real(c: &mut Call<'_, '_, '_>, build: impl FnOnce(&mut Terms, Node) -> Term) -> Outcome {
    let x = c.tensor(0)?;
    let y = c.graph().compute::<Error>(&[x], |terms, x| {
        let x = terms.convert(x[0], F32);
        Ok(build(terms, x)?)
    })?;
    c.finish(y)
}

fn limited(terms: &mut Terms, x: Node, low: f32, high: f32) -> Term {
    let (low, high) = (terms.f32(low), terms.f32(high));
    let x = terms.op(ScalarOp::Max(NanRule::Propagate), &[x, low])?;
    terms.op(ScalarOp::Min(NanRule::Propagate), &[x, high])
}

/// min(max(x + 3, 0), 6) ÷ 6
fn hard_sigmoid(terms: &mut Terms, x: Node) -> Term {
    let (three, six) = (terms.f32(3.0), terms.f32(6.0));
    let moved = terms.add(x, three)?;
    let share = limited(terms, moved, 0.0, 6.0)?;
    terms.div(share, six)
}

/// x · min(max(x + 3, 0), 6) ÷ 6
fn hard_swish(terms: &mut Terms, x: Node) -> Term {
    let (three, six) = (terms.f32(3.0), terms.f32(6.0));
    let moved = terms.add(x, three)?;
    let share = limited(terms, moved, 0.0, 6.0)?;
    let product = terms.mul(x, share)?;
    terms.div(product, six)
}

/// (self, lambda): x, or 0 between −lambda and lambda. A NaN stays.
fn hard_shrink(c: &mut Call<'_, '_, '_>) -> Outcome {
    let lambda = c.double(1)?;
    real(c, |terms, x| {
        let (zero, lambda) = (terms.f32(0.0), terms.constant(Scalar::float(F32, lambda)));
        let size = terms.op(ScalarOp::Abs, &[x])?;
        let is_small = terms.compare(Comparison::LessEqual, size, lambda)?;
        terms.select(is_small, zero, x)
    })
}

fn filled(c: &mut Call<'_, '_, '_>, number: i64) -> Outcome {
    let (shape, element) = (c.shape_of(0)?, c.out_form(c.out())?.element);
    let number = if element == ElementType::Bool { Scalar::bool(number != 0) } else { Scalar::int(element, number) };
    let one = c.graph().scalar(number)?;
    let y = c.graph().broadcast(one, &shape)?;
    c.finish(y)
}

/// (self, repeats, dim, output_size): each slice that many times in a row.
fn repeat_interleave(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, repeats) = (c.tensor(0)?, c.whole(1)?);
    let repeats = c.extent(repeats)?;
    if c.is_none(2)? {
        return Err(Fault::unsupported("repetition of a tensor without its dimensions is not supported"));
    }
    let mut shape = c.extents(x);
    let axis = c.axis(c.int(2)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no slices"))?;
    shape.insert(axis + 1, Extent::Static(1));
    let x = c.reshape_to(x, &shape)?;
    shape[axis + 1] = repeats;
    let x = c.graph().broadcast(x, &shape)?;
    shape.remove(axis + 1);
    shape[axis] = c.graph().mul(extent, repeats)?;
    let y = c.reshape_to(x, &shape)?;
    c.finish(y)
}

/// Integers of a scale as floats.
fn dequantized(c: &mut Call<'_, '_, '_>, x: usize, scale: usize) -> Result<Value, Fault> {
    let (x, scale) = (c.tensor(x)?, affine(c.double(scale)?, c.double(scale + 1)?));
    Ok(quantize::dequantize(c.graph(), x, &scale, Rounding::Even, F32)?)
}

/// (a, b, scale and zero point of a, of b, of the result, alpha): a + alpha·b.
fn quantized_sum(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (a, b, alpha) = (dequantized(c, 0, 2)?, dequantized(c, 1, 4)?, c.double(8)?);
    let sum = c.graph().compute::<Error>(&[a, b], |terms, x| {
        let alpha = terms.constant(Scalar::float(F32, alpha));
        let scaled = terms.mul(x[1], alpha)?;
        Ok(terms.add(x[0], scaled)?)
    })?;
    let scale = affine(c.double(6)?, c.double(7)?);
    let y = quantize::quantize(c.graph(), sum, &scale, INT8, Rounding::Even, I8)?;
    c.finish(y)
}

/// (x, scale and zero point of x, of the result)
fn quantized_relu(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = dequantized(c, 0, 1)?;
    let scale = affine(c.double(3)?, c.double(4)?);
    let positive = c.graph().compute::<Error>(&[x], |terms, x| {
        let zero = terms.f32(0.0);
        Ok(terms.max(x[0], zero)?)
    })?;
    let y = quantize::quantize(c.graph(), positive, &scale, INT8, Rounding::Even, I8)?;
    c.finish(y)
}

/// (x, scale and zero point of x, inverse scale and zero point of the result, factor)
fn quantized_pixel_shuffle(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = dequantized(c, 0, 1)?;
    let scale = affine(1.0 / c.double(3)?, c.double(4)?);
    let factor = u64::try_from(c.int(5)?).ok().filter(|r| (1..1 << 16).contains(r));
    let factor = factor.ok_or_else(|| Fault::invalid("the factor must be positive"))?;
    let turned = pixel_shuffle(c.graph(), x, factor)?;
    let y = quantize::quantize(c.graph(), turned, &scale, INT8, Rounding::Even, I8)?;
    c.finish(y)
}
