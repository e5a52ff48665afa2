//! Operators of decoders: norms, rotated keys, attention, tables of integers, and scales found at run time.

use super::scales::{First, Form as Stored, nibbles};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::memory::Definition;
use crate::frontend::executorch::ops::{Call, Translate};
use crate::frontend::executorch::program::{EValue, Form, Instruction};
use crate::frontend::executorch::registers::Register;
use crate::ir::{ElementType, Extent, Interval, Node, Scalar, ScalarOp, Value};
use crate::operators::attention::{Attention, attention};
use crate::operators::embedding::{Scales, floats_of_rows, integers_of_bytes};
use crate::operators::quantize::{self, Parameter, Rounding, Scale};
use crate::operators::reduction::{self, Axes};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, extents};
use ElementType::F32;
use std::rc::Rc;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("et_vk.rms_norm.default", rms_norm),
    ("et_vk.apply_rotary_emb.default", rotated_pairs),
    ("et_vk.apply_rotary_emb_hf.default", rotated_halves),
    ("et_vk.apply_rotary_emb_interleaved.default", rotated_interleaved),
    ("et_vk.sdpa.default", dot_product_attention),
    ("et_vk.embedding_q4gsw.default", embedding),
    ("et_vk.select_as_symint.default", selected_integer),
    ("torchao.choose_qparams_affine.default", choose_parameters),
    (QUANTIZE, quantize_blocks),
    ("torchao.dequantize_affine.default", dequantize_blocks),
];

/// (x, weight, eps): x ÷ √(mean of x² + eps) · weight, over the last dimension.
fn rms_norm(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, weight, epsilon) = (c.tensor(0)?, c.tensor(1)?, c.double(2)?);
    let (x, weight) = (c.cast(x, F32)?, c.cast(weight, F32)?);
    let axis = c.rank(x).checked_sub(1).ok_or_else(|| Fault::invalid("a scalar has no rows"))?;
    let squares = c.graph().compute::<Error>(&[x], |terms, x| Ok(terms.mul(x[0], x[0])?))?;
    let mean = reduction::mean(c.graph(), squares, &[axis], Axes::Kept)?;
    let y = c.graph().compute::<Error>(&[x, mean, weight], |terms, x| {
        let epsilon = terms.constant(Scalar::float(F32, epsilon));
        let mean = terms.add(x[1], epsilon)?;
        let inverse = terms.op(ScalarOp::Rsqrt, &[mean])?;
        let normalized = terms.mul(x[0], inverse)?;
        Ok(terms.mul(normalized, x[2])?)
    })?;
    c.finish(y)
}

/// (a + bi)(cos + i·sin): the real part, and the imaginary one.
fn rotated(terms: &mut Terms, [a, b, cosine, sine]: [Node; 4], is_real: bool) -> Term {
    let (first, second) = if is_real { (cosine, sine) } else { (sine, cosine) };
    let (first, second) = (terms.mul(a, first)?, terms.mul(b, second)?);
    if is_real { terms.sub(first, second) } else { terms.add(first, second) }
}

/// Pairs along the last dimension turned by angles whose cosines and sines broadcast to one of each pair.
fn turned_pairs(c: &mut Call<'_, '_, '_>, x: Value, [cosine, sine]: [Value; 2]) -> Result<Value, Fault> {
    c.settle(x, c.rank(x).checked_sub(1))?;
    let shape = c.extents(x);
    let depth = shape.last().and_then(|extent| extent.as_static()).filter(|depth| depth.is_multiple_of(2));
    let depth = depth.ok_or_else(|| Fault::invalid("the last dimension does not divide into pairs"))?;
    let mut split = shape.clone();
    split.pop();
    split.extend(extents(&[depth / 2, 2]));
    let last = split.len() - 1;
    let x = c.cast(x, F32)?;
    let pairs = c.reshape_to(x, &split)?;
    let mut parts = Vec::new();
    for place in 0..2 {
        let part = c.graph().slice_along(pairs, last, Extent::Static(place), Extent::Static(1))?;
        parts.push(c.reshape_to(part, &split[..last])?);
    }
    let mut results = Vec::new();
    split[last] = Extent::Static(1);
    for is_real in [true, false] {
        let operands = [parts[0], parts[1], cosine, sine];
        let turned = c.graph().compute::<Error>(&operands, |terms, x| Ok(rotated(terms, [x[0], x[1], x[2], x[3]], is_real)?))?;
        results.push(c.reshape_to(turned, &split)?);
    }
    let joined = c.graph().concat(&results, last)?;
    c.reshape_to(joined, &shape)
}

/// (xq, xk, cosines, sines): `[B, S, H, D]` with `[S, D ÷ 2]` or `[S, H, D ÷ 2]`.
fn rotated_pairs(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut angles = Vec::new();
    for argument in [2, 3] {
        let angle = c.tensor(argument)?;
        let angle = c.cast(angle, F32)?;
        let mut shape = c.extents(angle);
        if shape.len() == 2 {
            shape.insert(1, Extent::Static(1));
        }
        angles.push(c.reshape_to(angle, &shape)?);
    }
    for (argument, result) in [(0, 4), (1, 5)] {
        let x = c.tensor(argument)?;
        let y = turned_pairs(c, x, [angles[0], angles[1]])?;
        c.define(result, y)?;
    }
    Ok(())
}

/// (x, angles): `[B, N, C]`, angles as pairs of a cosine and a sine, of any shape with N · C numbers.
fn rotated_interleaved(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, angles) = (c.tensor(0)?, c.tensor(1)?);
    c.settle(x, [2])?;
    let shape = c.extents(x);
    let &[_, count, depth] = &shape[..] else {
        return Err(Fault::invalid("needs a batch of rows").expected("3 dimensions", shape.len().to_string()));
    };
    let half = c.graph().floor_div(depth, Extent::Static(2))?;
    let angles = c.cast(angles, F32)?;
    let angles = c.reshape_to(angles, &[count, half, Extent::Static(2)])?;
    let mut parts = Vec::new();
    for place in 0..2 {
        let part = c.graph().slice_along(angles, 2, Extent::Static(place), Extent::Static(1))?;
        parts.push(c.reshape_to(part, &[count, half])?);
    }
    let y = turned_pairs(c, x, [parts[0], parts[1]])?;
    c.finish(y)
}

/// (xq, xk, cosines, sines, start): `[B, S, H, D]` with rows of `[positions, R]` from the start on. The first R of D are turned: x·cos + (−b, a)·sin,
/// where a is the first half of them and b the second.
fn rotated_halves(c: &mut Call<'_, '_, '_>) -> Outcome {
    let start = c.whole(4)?;
    let start = c.index(start)?;
    let start = c.graph().function().resolved(Extent::Value(start));
    for (argument, result) in [(0, 5), (1, 6)] {
        let x = c.tensor(argument)?;
        let x = c.cast(x, F32)?;
        c.settle(x, [3])?;
        let shape = c.extents(x);
        let &[_, count, _, Extent::Static(depth)] = &shape[..] else {
            return Err(Fault::invalid("needs batch, positions, heads and depth"));
        };
        let mut angles = Vec::new();
        for table in [2, 3] {
            let table = c.tensor(table)?;
            c.settle(table, [1])?;
            let rows = c.graph().slice_along(table, 0, start, count)?;
            let rows = c.cast(rows, F32)?;
            let mut wide = c.extents(rows);
            wide.insert(1, Extent::Static(1));
            angles.push(c.reshape_to(rows, &wide)?);
        }
        let width = c.extents(angles[0]).last().and_then(|extent| extent.as_static()).filter(|width| width % 2 == 0 && *width <= depth);
        let width = width.ok_or_else(|| Fault::invalid("the angles do not fit the depth"))?;
        let part = |c: &mut Call<'_, '_, '_>, from: u64, size: u64| c.graph().slice_along(x, 3, Extent::Static(from), Extent::Static(size));
        let (all, a, b, rest) =
            (part(c, 0, width)?, part(c, 0, width / 2)?, part(c, width / 2, width / 2)?, part(c, width, depth - width)?);
        let minus = c.graph().compute::<Error>(&[b], |terms, x| Ok(terms.op(ScalarOp::Neg, &[x[0]])?))?;
        let other = c.graph().concat(&[minus, a], 3)?;
        let turned = c.graph().compute::<Error>(&[all, angles[0], other, angles[1]], |terms, x| {
            let (first, second) = (terms.mul(x[0], x[1])?, terms.mul(x[2], x[3])?);
            Ok(terms.add(first, second)?)
        })?;
        let y = if width == depth { turned } else { c.graph().concat(&[turned, rest], 3)? };
        c.define(result, y)?;
    }
    Ok(())
}

/// (q, k, v, mask, scale): `[B, H, S, D]`.
fn dot_product_attention(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut operands = [c.tensor(0)?, c.tensor(1)?, c.tensor(2)?];
    for operand in &mut operands {
        *operand = c.cast(*operand, F32)?;
    }
    let mask = c.optional_tensor(3)?.map(|mask| c.cast(mask, F32)).transpose()?;
    c.settle(operands[0], [1, 3])?;
    let depth = c.extents(operands[0]).last().and_then(|extent| extent.as_static());
    let depth = depth.ok_or_else(|| Fault::unsupported("the depth of attention is not known"))?;
    let scale = c.optional_number(4)?.map_or(1.0 / (depth as f64).sqrt(), |scale| scale.as_f64());
    let y = attention(c.graph(), operands, &Attention { scale, mask, causal_from: None })?;
    c.finish(y)
}

/// (weights, scales, group size, indices, is a linear layer's): rows of a table of four bits, which alone are brought to floats.
fn embedding(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (weights, scales, indices, order) = (c.tensor(0)?, c.tensor(1)?, c.tensor(3)?, if c.flag(4)? { First::Low } else { First::High });
    let table = c.shape(weights)?;
    let size = u64::try_from(c.int(2)?).ok().filter(|&size| size > 0);
    let (&[rows, bytes], Some(size)) = (&table[..], size) else { return Err(Fault::invalid("the table is not a matrix with groups")) };
    let columns = c.out_form(c.out())?.shape.last().and_then(|extent| extent.as_static()).unwrap_or(bytes * 2);
    if !columns.is_multiple_of(size) {
        return Err(Fault::invalid("groups do not divide the rows of the table"));
    }
    let table = nibbles(c, weights, columns, order, Stored::Table)?;
    let picked = c.graph().gather(table, indices, 0)?;
    let picked = integers_of_bytes(c.graph(), picked, 4)?;
    let scales = Scales { scales, zero_points: None, rows, groups: columns / size };
    let y = floats_of_rows(c.graph(), picked, indices, columns, &scales, F32)?;
    c.finish(y)
}

/// (x, dim, index): the one integer there, as a number.
fn selected_integer(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, index) = (c.tensor(0)?, c.int(2)?);
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = shape.get(axis).copied().filter(|_| shape.iter().product::<u64>() == shape[axis]);
    let extent = extent.ok_or_else(|| Fault::unsupported("an integer of several is taken for a number"))?;
    let place = if index < 0 { index.saturating_add(extent.min(i64::MAX as u64) as i64) } else { index };
    let place = u64::try_from(place).ok().filter(|&place| place < extent);
    let place =
        place.ok_or_else(|| Fault::invalid("an index is out of range").expected(format!("less than {extent}"), index.to_string()))?;
    let one = c.graph().slice_along(x, axis, Extent::Static(place), Extent::Static(1))?;
    let value = c.reshape(one, &[])?;
    let form = Form::row_major(c.element(value), Vec::new());
    let definition = Definition { depth: c.translator.outer.len(), value, form, bytes: 8 };
    let register = c.register(c.out())?;
    c.translator.environment.registers[register] = Register::Loaded(Rc::new(definition));
    Ok(())
}

/// The blocks of a tensor, as two shapes. The first splits each dimension into blocks and their elements. The second has a single element for each
/// block.
fn blocks(c: &mut Call<'_, '_, '_>, x: Value, argument: usize) -> Result<[Vec<Extent>; 2], Fault> {
    let (shape, sizes) = (c.extents(x), c.ints(argument)?);
    let (mut split, mut ones) = (Vec::new(), Vec::new());
    if sizes.len() != shape.len() {
        return Err(Fault::invalid("the number of dimensions of a block does not match its tensor")
            .expected(shape.len().to_string(), sizes.len().to_string()));
    }
    for (&extent, &size) in shape.iter().zip(&sizes) {
        let count = match (extent, u64::try_from(size).ok().filter(|&size| size > 0)) {
            (extent, Some(1)) => extent,
            (Extent::Static(n), Some(size)) if n.is_multiple_of(size) => Extent::Static(n / size),
            _ => {
                return Err(
                    Fault::unsupported("blocks do not divide their tensor").expected(format!("a divisor of {extent}"), size.to_string())
                );
            }
        };
        split.extend([count, Extent::Static(size.unsigned_abs())]);
        ones.extend([count, Extent::Static(1)]);
    }
    Ok([split, ones])
}

/// The least and the greatest integer: two arguments, or the element type's range if they are None.
fn bounds(c: &Call<'_, '_, '_>, [low, high]: [usize; 2], element: ElementType) -> Result<Interval, Fault> {
    let of_type = element.integer_range().and_then(|(low, high)| Some(Interval::new(i64::try_from(low).ok()?, i64::try_from(high).ok()?)));
    match (c.optional_int(low)?, c.optional_int(high)?, of_type) {
        (Some(low), Some(high), _) => Ok(Interval::new(low, high)),
        (low, high, Some(of_type)) => Ok(Interval::new(low.unwrap_or(of_type.low), high.unwrap_or(of_type.high))),
        _ => Err(Fault::unsupported("the range of integers is not known").expected("integers", element.to_string())),
    }
}

/// The operator that brings floats to integers of scales that another one has found.
const QUANTIZE: &str = "torchao.quantize_affine.default";

/// The element type of the integers that scales in a register are for. Graphs have no element types of arguments, so it is the type of the tensor
/// that is quantized with these scales. Without such a tensor it is I8, as in the device's runtime.
fn quantized_with(c: &Call<'_, '_, '_>, scales: usize) -> ElementType {
    let plan = c.translator.plan;
    let made = plan.instructions.iter().find_map(|instruction| match instruction {
        Instruction::Kernel { operator, args } if plan.operators[*operator] == QUANTIZE && args.get(2) == Some(&scales) => args.last(),
        _ => None,
    });
    match made.map(|&register| &plan.values[register]) {
        Some(EValue::Tensor(meta)) => meta.form.element,
        _ => ElementType::I8,
    }
}

/// (input, how, block, dtype, low, high, eps, …, keepdim, scales, zero points). The scale and zero point of each block.
fn choose_parameters(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, eps) = (c.tensor(0)?, c.optional_number(6)?);
    let range = bounds(c, [4, 5], quantized_with(c, c.register(10)?))?;
    // `None` if zero is not in the middle; otherwise `true` if each side of it reaches its last integer.
    let to_ends = match c.text(1)?.as_deref() {
        Some("ASYMMETRIC") => None,
        Some("SYMMETRIC") => Some(false),
        Some("SYMMETRIC_NO_CLIPPING_ERR") => Some(true),
        other => return Err(Fault::unsupported("this choice of a scale is not supported").expected("ASYMMETRIC", other.unwrap_or("none"))),
    };
    let x = c.cast(x, F32)?;
    let [split, _] = blocks(c, x, 2)?;
    let x = c.reshape_to(x, &split)?;
    let axes: Vec<usize> = (0..split.len()).filter(|d| d % 2 == 1).collect();
    let least = eps.map_or(f64::from(f32::MIN_POSITIVE), |eps| eps.as_f64());
    let found = match to_ends {
        None => quantize::spanning(c.graph(), x, &axes, range, least)?,
        Some(to_ends) => quantize::centred(c.graph(), x, &axes, range, least, to_ends)?,
    };
    for (index, value) in [10, 11].into_iter().zip(found) {
        let rank = c.out_form(index)?.shape.len();
        let shape: Vec<Extent> = c.extents(value);
        // Without `keepdim` dimensions that are one block are gone.
        let kept: Vec<Extent> = if rank == shape.len() {
            shape
        } else {
            split.chunks(2).filter(|pair| pair[1] == Extent::Static(1) || pair[0] != Extent::Static(1)).map(|pair| pair[0]).collect()
        };
        let value = c.reshape_to(value, &kept)?;
        c.define(index, value)?;
    }
    Ok(())
}

/// The scale of blocks, arguments 2 and 3.
fn of_blocks(c: &mut Call<'_, '_, '_>, ones: &[Extent]) -> Result<Scale, Fault> {
    let scales = c.tensor(2)?;
    let zero_points = c.optional_tensor(3)?;
    let scale = Parameter::Tensor(c.reshape_to(scales, ones)?);
    let zero_point = match zero_points {
        Some(tensor) => Parameter::Tensor(c.reshape_to(tensor, ones)?),
        None => Parameter::Number(0.0),
    };
    Ok(Scale { scale, zero_point })
}

/// (input, block, scales, zero points, dtype, low, high)
fn quantize_blocks(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (shape, out) = (c.extents(x), c.out_form(c.out())?.element);
    let range = bounds(c, [5, 6], out)?;
    let [split, ones] = blocks(c, x, 1)?;
    let (x, scale) = (c.reshape_to(x, &split)?, of_blocks(c, &ones)?);
    let y = quantize::quantize(c.graph(), x, &scale, range, Rounding::Even, out)?;
    let y = c.reshape_to(y, &shape)?;
    c.finish(y)
}

/// (input, block, scales, zero points, dtype, low, high, output dtype)
fn dequantize_blocks(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let [split, ones] = blocks(c, x, 1)?;
    let (x, scale) = (c.reshape_to(x, &split)?, of_blocks(c, &ones)?);
    let y = quantize::dequantize(c.graph(), x, &scale, Rounding::Even, F32)?;
    let y = c.reshape_to(y, &shape)?;
    c.finish(y)
}
