//! Images under another size.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{ElementType, Extent, ScalarOp, Value};
use crate::operators::antialias::{self, Filter};
use crate::operators::grid_sample::{self, Interpolation, Outside, Sampling};
use crate::operators::promotion::{Number, Operand, compute_type, float_type};
use crate::operators::resize::{self, Along, Between, Step};

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::upsample_nearest2d.vec_out", nearest),
    ("aten::upsample_bilinear2d.vec_out", bilinear),
    ("aten::_upsample_bilinear2d_aa.out", |c| antialiased(c, Filter::Triangle)),
    ("aten::_upsample_bicubic2d_aa.out", |c| antialiased(c, Filter::Cubic)),
    ("aten::grid_sampler_2d.out", grid_sample),
];

/// The longest side of an image or a result.
const MAX_SIDE: u64 = 1 << 20;

/// Rows and columns with the step that the call names or that follows from the extents. Argument 1 is the list of sizes, and `argument` is the list
/// of scale factors.
fn sides(c: &mut Call<'_, '_, '_>, x: Value, argument: usize) -> Result<[(Along, Step); 2], Fault> {
    let shape = c.extents(x);
    if shape.len() != 4 {
        return Err(Fault::invalid("needs an image").expected("4 dimensions", shape.len().to_string()));
    }
    let sizes = if c.is_none(1)? { vec![] } else { c.wholes(1)? };
    let factors = c.optional_doubles(argument)?.unwrap_or_default();
    let mut sides = Vec::new();
    for d in 0..2 {
        let (from, factor) = (shape[d + 2], factors.get(d).copied().filter(|&factor| factor > 0.0));
        let to = match (sizes.get(d), factor) {
            (Some(&size), _) => c.extent(size)?,
            (None, Some(factor)) => times(c, from, factor)?,
            (None, None) => return Err(Fault::invalid("neither the size of the result is given nor a factor")),
        };
        check_side(c, from, to)?;
        // Input elements an output element, in single precision as PyTorch computes it.
        let step = factor.map_or(Step::Ratio, |factor| Step::Number((1.0 / factor) as f32));
        sides.push((Along { dimension: d + 2, from, to }, step));
    }
    Ok([sides[0], sides[1]])
}

/// An extent times a factor, rounded down.
fn times(c: &mut Call<'_, '_, '_>, extent: Extent, factor: f64) -> Result<Extent, Fault> {
    if let Extent::Static(n) = extent {
        return Ok(Extent::Static((n as f64 * factor) as u64));
    }
    let operands = [Operand::Tensor(c.graph().extent_tensor(extent, ElementType::I64)?), Operand::Number(Number::Double(factor))];
    let product = c.map_operands(&operands, ElementType::F64, |b, n| {
        let product = b.op(ScalarOp::Mul, n)?;
        Ok(b.convert(product, ElementType::I64))
    })?;
    let index = c.loaded(product)?;
    c.extent(Whole::Index(index))
}

/// Output element i is input element ⌊i × step⌋.
fn nearest(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let sides = sides(c, x, 2)?;
    let y = resize::stepped(c.graph(), x, &sides)?;
    c.finish(y)
}

/// Bilinear interpolation, first along rows, then along columns. Bytes of images are converted to floats and back.
fn bilinear(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let x = c.tensor(0)?;
    let (aligned, mut sides) = (c.flag(2)?, sides(c, x, 3)?);
    let ty = float_type(c.element(x));
    if aligned {
        sides = sides.map(|(along, _)| (along, Step::Corners));
    }
    // Within rows first, as the runtime does: where sums are rounded to bytes afterwards, the last bit counts.
    sides.reverse();
    let x = c.cast(x, ty)?;
    let y = resize::separable(c.graph(), x, &sides, Between::Shares)?;
    c.finish(y)
}

/// Floats to compute with, half precision in single.
fn floats(c: &mut Call<'_, '_, '_>, index: usize) -> Result<Value, Fault> {
    let x = c.tensor(index)?;
    let ty = compute_type(c.element(x));
    if !ty.is_float() {
        return Err(Fault::unsupported(format!("interpolation of {ty} is not supported")));
    }
    c.cast(x, ty)
}

/// (self, output_size, align_corners, scales_h, scales_w): means weighted by a filter.
fn antialiased(c: &mut Call<'_, '_, '_>, filter: Filter) -> Result<(), Fault> {
    let (x, sizes, aligned) = (floats(c, 0)?, c.wholes(1)?, c.flag(2)?);
    let factors = [c.optional_number(3)?, c.optional_number(4)?].map(|factor| factor.map(|n| n.as_f64()).filter(|&n| n > 0.0));
    let shape = c.extents(x);
    if shape.len() != 4 || sizes.len() != 2 {
        return Err(Fault::invalid("needs an image and two sizes").expected("4 dimensions", shape.len().to_string()));
    }
    let mut sides = Vec::new();
    for (d, size) in sizes.into_iter().enumerate() {
        let to = c.extent(size)?;
        check_side(c, shape[d + 2], to)?;
        sides.push(antialias::Along { dimension: d + 2, to, step: factors[d].map(|factor| 1.0 / factor) });
    }
    // Columns first, as the kernel sums them.
    sides.reverse();
    let y = antialias::resized(c.graph(), x, &sides, filter, aligned)?;
    c.finish(y)
}

/// Checks that the sides of an image and of the result are in range.
fn check_side(c: &mut Call<'_, '_, '_>, from: Extent, to: Extent) -> Result<(), Fault> {
    let (image, result) = (c.graph().bound(from), c.graph().bound(to));
    if image == 0 || image.max(result) > MAX_SIDE {
        let fault = Fault::invalid("a side of an image is out of range");
        return Err(fault.expected(format!("1 to {MAX_SIDE}"), format!("{image} to {result}")));
    }
    Ok(())
}

/// (input, grid, interpolation_mode, padding_mode, align_corners). In half precision the kernel computes neighbours in proportion to the distance in
/// single precision. It rounds each step of the other modes to the tensors' type.
fn grid_sample(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let unknown = |what: &str, n: i64| Fault::invalid(format!("unknown {what}")).expected("0 to 2", n.to_string());
    let interpolation = match c.int(2)? {
        0 => Interpolation::Bilinear,
        1 => Interpolation::Nearest,
        2 => Interpolation::Bicubic,
        other => return Err(unknown("interpolation mode", other)),
    };
    let outside = match c.int(3)? {
        0 => Outside::Zeros,
        1 => Outside::Border,
        2 => Outside::Reflection,
        other => return Err(unknown("padding mode", other)),
    };
    let sampling = Sampling { interpolation, outside, aligned: c.flag(4)? };
    let image = if interpolation == Interpolation::Bilinear { floats(c, 0)? } else { c.tensor(0)? };
    let grid = c.tensor(1)?;
    let grid = c.cast(grid, c.element(image))?;
    let y = grid_sample::sampled(c.graph(), image, grid, sampling)?;
    c.finish(y)
}
