//! Pooling of bytes.

use super::numbers::{multiplier, output, small};
use super::products::{finish_image, image};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::call::Call;
use crate::frontend::executorch::ops::pool::windows;
use crate::ir::{ElementType, Search, Summation};
use crate::operators::activation::Activation;
use crate::operators::pooling::{self, Counts, Divisor, Means, Quotient};
use crate::operators::quantization::Multiplier;
use crate::operators::quantize::nearest_step;

type Outcome = Result<(), Fault>;

/// (input, size, stride, padding, partial, zero point, multiplier, shift, scratch). Means of dequantized bytes, in binary32, halves to even.
pub(super) fn means(c: &mut Call<'_, '_, '_>, last: bool) -> Outcome {
    let input = image(c, last)?;
    let windows = windows(c, vec![1; 2], c.flag(4)?)?;
    let (zero_point, Multiplier { mantissa, shift }) = (small(c, 5)?, multiplier(c, 6)?);
    let scale = libm::ldexp(f64::from(mantissa), shift - 31) as f32;
    let output = super::numbers::any_byte(zero_point)?;
    let floats = c.graph().compute::<Fault>(&[input], |terms, x| {
        let (x, zero_point, scale) = (terms.convert(x[0], ElementType::F32), terms.f32(zero_point as f32), terms.f32(scale));
        let x = terms.sub(x, zero_point)?;
        Ok(terms.mul(x, scale)?)
    })?;
    let means = Means {
        accumulator: ElementType::F32,
        summation: Summation::Rows,
        divisor: Divisor::Inside,
        counts: Counts::Sides,
        quotient: Quotient::Float(Activation::NONE),
        result: ElementType::F32,
    };
    let y = pooling::average(c.graph(), floats, &windows, &means)?;
    let y = c.graph().compute::<Fault>(&[y], |terms, y| {
        let scale = terms.f32(scale);
        let y = terms.div(y[0], scale)?;
        let y = nearest_step(terms, y, output.zero_point, output.bounds)?;
        Ok(terms.convert(y, ElementType::I8))
    })?;
    finish_image(c, y, last)
}

/// (input, size, stride, padding, dilation, partial, input zero point, output zero point, least, most).
pub(super) fn largest(c: &mut Call<'_, '_, '_>, last: bool) -> Outcome {
    let input = image(c, last)?;
    if c.per_dimension(4, 2)? != [1, 1] || c.flag(5)? || c.int(6)? != c.int(7)? {
        return Err(Fault::unsupported("the largest elements of windows with gaps or of partial ones, or with zero points that differ"));
    }
    let (windows, output) = (windows(c, vec![1; 2], false)?, output(c, [7, 8, 9])?);
    let y = pooling::max(c.graph(), input, &windows, Search::Max)?;
    let y = c.graph().compute::<Fault>(&[y], |terms, y| {
        let y = terms.convert(y[0], ElementType::I32);
        let y = terms.clamp_i32(y, output.bounds)?;
        Ok(terms.convert(y, ElementType::I8))
    })?;
    finish_image(c, y, last)
}
