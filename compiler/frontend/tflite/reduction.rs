//! MEAN, SUM, REDUCE_MAX and their like, ARG_MAX and ARG_MIN.

use super::operator::{Affine, Lowered, Operand, Operator, invalid, unsupported};
use super::pooling::widen;
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Reduction as Reduce, Scalar, Search, Value};
use crate::operators::quantization::{Multiplier, integer_range};
use crate::operators::terms::Terms;
use ElementType::{Bool, F32, I8, I16, I32, I64, U8};

/// A reduction as the file has it.
pub(super) struct Reduction {
    /// What is reduced.
    pub input: Operand,
    /// Along which dimensions, ascending.
    pub axes: Vec<usize>,
    /// Elements that each result combines, or their bound.
    pub count: u64,
    /// The extents whose product that number is.
    reduced: Vec<Extent>,
    /// The result's shape.
    shape: Vec<Extent>,
}

fn reduction(operator: &mut Operator<'_, '_, '_>) -> Result<Reduction, Diagnostic> {
    operator.arity(2..=2, 1..=1)?;
    let keep = operator.record.builtin_options_as_reducer_options().is_some_and(|o| o.keep_dims());
    let (input, list) = (operator.any_input(0)?, operator.input(1)?);
    let mut reduced = vec![false; input.rank()];
    for axis in operator.integers(&list, "axes")? {
        // A scalar is its own sum, whatever the axis.
        if input.rank() > 0 {
            reduced[operator.axis(axis, input.rank())?] = true;
        }
    }
    let axes: Vec<usize> = (0..input.rank()).filter(|&d| reduced[d]).collect();
    let count = axes.iter().map(|&d| input.shape[d]).product();
    let extent = |d: usize| if reduced[d] { keep.then_some(Extent::Static(1)) } else { Some(input.extents[d]) };
    let shape = (0..input.rank()).filter_map(extent).collect();
    let reduced = axes.iter().map(|&d| input.extents[d]).collect();
    Ok(Reduction { input, axes, count, reduced, shape })
}

/// SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL. Quantized extremes are those of the integers, on one scale;
/// truth values count as 0 and 1.
pub(super) fn reduce(operator: &mut Operator<'_, '_, '_>, kind: Reduce) -> Lowered {
    let reduction = reduction(operator)?;
    let output = operator.output(0)?;
    let element = reduction.input.element();
    let allowed = match kind {
        Reduce::Any | Reduce::All => element == Bool,
        _ => matches!(element, F32 | I8 | U8 | I16 | I32 | I64 | Bool),
    };
    if !allowed {
        return Err(operator.type_error(&[element]));
    }
    let quantized = reduction.input.info.quantization.is_some() && output.quantization.is_some() && matches!(element, I8 | U8 | I16);
    let value = if quantized {
        let (from, to) = (operator.affine(&reduction.input.info)?, operator.affine(&output)?);
        match kind {
            Reduce::Sum => {
                known_count(&reduction)?;
                rescaled_sum(operator, &reduction, (from, to))?
            }
            Reduce::Product => {
                known_count(&reduction)?;
                super::quantized_product::reduce(operator, &reduction, (from, to))?
            }
            _ if from == to => reduced(operator, &reduction, reduction.input.value, kind)?,
            _ => {
                let message = "the output's scale or zero point differs from the input's";
                return Err(invalid(304, message).about_tensor(&output.name).expected(format!("{from:?}"), format!("{to:?}")));
            }
        }
    } else {
        let kind = match (element, kind) {
            (Bool, Reduce::Max | Reduce::Sum) => Reduce::Any,
            (Bool, Reduce::Min | Reduce::Product) => Reduce::All,
            _ => kind,
        };
        reduced(operator, &reduction, reduction.input.value, kind)?
    };
    let value = operator.reshape_to(value, &reduction.shape)?;
    operator.bind(0, value)
}

/// A sum on another scale, in fixed point. (The reference takes signed integers for unsigned ones here; this is what is meant.)
fn rescaled_sum(operator: &mut Operator<'_, '_, '_>, reduction: &Reduction, (from, to): (Affine, Affine)) -> Result<Value, Diagnostic> {
    let element = reduction.input.element();
    let wide = widen(operator, reduction.input.value, I32)?;
    let sums = reduced(operator, reduction, wide, Reduce::Sum)?;
    let factor = super::requantize::multiplier(f64::from(from.scale) / f64::from(to.scale))?;
    rescaled(operator, sums, (i64::from(from.zero_point) * reduction.count as i64) as i32, factor, (to, element))
}

fn reduced(operator: &mut Operator<'_, '_, '_>, reduction: &Reduction, value: Value, kind: Reduce) -> Result<Value, Diagnostic> {
    if reduction.axes.is_empty() {
        return Ok(value);
    }
    let element = operator.builder().tensor(value).element;
    if matches!(kind, Reduce::Sum | Reduce::Product) && matches!(element, I8 | U8 | I16) {
        // What wraps at the end is what had wrapped on the way.
        let wide = widen(operator, value, I32)?;
        let wide = operator.builder().reduce(wide, kind, reduction.axes.clone())?;
        return widen(operator, wide, element);
    }
    Ok(operator.builder().reduce(value, kind, reduction.axes.clone())?)
}

/// `(x − offset) × factor + zero point` of 32-bit integers, clamped to the element.
fn rescaled(
    operator: &mut Operator<'_, '_, '_>,
    value: Value,
    offset: i32,
    factor: Multiplier,
    (to, element): (Affine, ElementType),
) -> Result<Value, Diagnostic> {
    let bounds = integer_range(element).ok_or_else(|| unsupported("no such quantized type"))?;
    let mut terms = Terms::new(&[I32]);
    let (x, offset, zero_point) = (terms.input(0), terms.i32(offset), terms.i32(to.zero_point));
    let x = terms.sub(x, offset)?;
    let x = terms.requantize_by(x, factor)?;
    let x = terms.add(x, zero_point)?;
    let x = terms.clamp_i32(x, bounds)?;
    let x = terms.convert(x, element);
    operator.map(&[value], terms.finish(x))
}

/// MEAN: floats and integers divide the sum; on quantized tensors the count goes into the multiplier.
pub(super) fn mean(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let reduction = reduction(operator)?;
    let output = operator.output(0)?;
    let types = [reduction.input.element(), output.element];
    if reduction.count > 1 << 31 {
        return Err(unsupported("means of more than 2^31 elements are not supported"));
    }
    let value = match types {
        // Nothing divided by its number.
        [from, to] if reduction.count == 0 && from == to => {
            let nothing = Scalar::float(to, f64::NAN);
            let constant = operator.constant(to, &[], nothing.to_bytes())?;
            operator.broadcast_to(constant, &reduction.shape)?
        }
        [F32, F32] => {
            let sum = reduced(operator, &reduction, reduction.input.value, Reduce::Sum)?;
            let count = counted(operator, &reduction, F32)?;
            let mut terms = Terms::new(&[F32, F32][..1 + usize::from(count.is_some())]);
            let divisor = if count.is_some() { terms.input(1) } else { terms.f32(reduction.count as f32) };
            let sum_term = terms.input(0);
            let mean = terms.div(sum_term, divisor)?;
            let operands: Vec<Value> = [Some(sum), count].into_iter().flatten().collect();
            operator.map(&operands, terms.finish(mean))?
        }
        [I32, I32] | [I64, I64] => {
            known_count(&reduction)?;
            let wide = widen(operator, reduction.input.value, I64)?;
            let sum = reduced(operator, &reduction, wide, Reduce::Sum)?;
            let mut terms = Terms::new(&[I64]);
            let (sum_term, count) = (terms.input(0), terms.i64(reduction.count as i64));
            let mean = terms.div(sum_term, count)?;
            let mean = terms.convert(mean, output.element);
            operator.map(&[sum], terms.finish(mean))?
        }
        [I8, I8] | [U8, U8] | [I16, I16] => {
            known_count(&reduction)?;
            let (from, to) = (operator.affine(&reduction.input.info)?, operator.affine(&output)?);
            let wide = widen(operator, reduction.input.value, I32)?;
            let sum = reduced(operator, &reduction, wide, Reduce::Sum)?;
            quantized_mean(operator, sum, reduction.count, (from, to), output.element)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    let value = operator.reshape_to(value, &reduction.shape)?;
    operator.bind(0, value)
}

/// Refuses a number of elements that is known only when the model runs.
fn known_count(reduction: &Reduction) -> Lowered {
    if reduction.reduced.iter().all(|e| e.as_static().is_some()) { Ok(()) } else { Err(super::extents::dynamic()) }
}

/// The number of elements that each result combines, where it is known only when the model runs.
fn counted(operator: &mut Operator<'_, '_, '_>, reduction: &Reduction, element: ElementType) -> Result<Option<Value>, Diagnostic> {
    if known_count(reduction).is_ok() {
        return Ok(None);
    }
    let count = operator.graph().product(&reduction.reduced)?;
    let count = operator.graph().index(count)?;
    let count = operator.builder().index_tensor(count, I64)?;
    Ok(Some(widen(operator, count, element)?))
}

/// The multiplier takes 1 ÷ count in: its mantissa is shifted up as far as the count has bits, then divided.
fn quantized_mean(
    operator: &mut Operator<'_, '_, '_>,
    sum: Value,
    count: u64,
    (from, to): (Affine, Affine),
    element: ElementType,
) -> Result<Value, Diagnostic> {
    let ratio = super::requantize::multiplier(f64::from(from.scale) / f64::from(to.scale))?;
    let shift = (63 - count.leading_zeros() as i32).min(32).min(31 + ratio.shift).max(0);
    let mantissa = (i64::from(ratio.mantissa) << shift) / count as i64;
    let factor = Multiplier { mantissa: mantissa as i32, shift: ratio.shift - shift };
    rescaled(operator, sum, (i64::from(from.zero_point) * count as i64) as i32, factor, (to, element))
}

/// ARG_MAX and ARG_MIN: the first position of the extreme element.
pub(super) fn arg_extreme(operator: &mut Operator<'_, '_, '_>, search: Search) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list, output) = (operator.any_input(0)?, operator.input(1)?, operator.output(0)?);
    let axes = operator.integers(&list, "axes")?;
    let [axis] = axes[..] else { return Err(invalid(310, "there must be one axis").expected("1", axes.len().to_string())) };
    let axis = operator.axis(axis, input.rank())?;
    if !matches!(input.element(), F32 | I8 | U8 | I16 | I32 | I64 | Bool) || !matches!(output.element, I32 | I64) || input.shape[axis] == 0
    {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let value = operator.builder().arg_reduce(input.value, search, axis, output.element)?;
    let mut shape = input.extents.clone();
    shape.remove(axis);
    let value = operator.reshape_to(value, &shape)?;
    operator.bind(0, value)
}
