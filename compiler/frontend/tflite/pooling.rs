//! AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D.

use super::activation::Activation;
use super::convolution::{Spatial, missing_options};
use super::operator::{Lowered, Operand, Operator, invalid};
use super::run_time_windows;
use crate::diagnostic::Diagnostic;
use crate::ir::{Comparison, ElementType, Extent, Reduction, Scalar, ScalarOp, Value, WindowGeometry};
use crate::operators::terms::Terms;
use crate::schema::tflite::Padding;
use ElementType::{F32, I8, I16, I32, U8};

/// Borders with more positions than this are no real model's.
const MAX_POSITIONS: u64 = 1 << 24;

struct Pool {
    input: Operand,
    size: Vec<i64>,
    geometry: WindowGeometry,
    /// Whether windows may reach beyond the image.
    padded: bool,
    activation: Activation,
}

fn pool(operator: &mut Operator<'_, '_, '_>) -> Result<Pool, Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_pool2d_options().ok_or_else(missing_options)?;
    let input = operator.any_input(0)?;
    if input.rank() != 4 {
        return Err(invalid(314, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    let size = [options.filter_height(), options.filter_width()];
    let window = size.map(|n| u64::try_from(n).unwrap_or(0));
    operator.require_known(&input, 3)?;
    let spatial = Spatial { padding: options.padding(), strides: [options.stride_h(), options.stride_w()], dilation: [1, 1] };
    let geometry = run_time_windows::geometry(operator, &spatial, &input, window)?;
    let is_padded = geometry.padding_low.iter().chain(&geometry.padding_high).any(|&n| n != 0);
    let padded = is_padded || !geometry.positions.is_empty() && options.padding() != Padding::VALID;
    let activation = Activation::from_code(options.fused_activation_function())?;
    Ok(Pool { input, size: size.map(i64::from).to_vec(), geometry, padded, activation })
}

/// MAX_POOL_2D: padding takes no part.
pub(super) fn max_pool_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let pool = pool(operator)?;
    let output = operator.output(0)?;
    let types = [pool.input.element(), output.element];
    if !matches!(types, [F32, F32] | [I8, I8] | [U8, U8] | [I16, I16]) {
        return Err(operator.type_error(&types));
    }
    let mut result = operator.builder().window(pool.input.value, Reduction::Max, pool.size, pool.geometry)?;
    if pool.activation != Activation::NONE {
        let mut terms = Terms::new(&[output.element]);
        let x = if output.element == F32 {
            let x = terms.input(0);
            pool.activation.clamp_float(&mut terms, x)?
        } else {
            let bounds = pool.activation.integer_bounds(output.element, operator.affine(&output)?)?;
            let x = terms.input_as(0, I32);
            let x = terms.clamp_i32(x, bounds)?;
            terms.convert(x, output.element)
        };
        result = operator.map(&[result], terms.finish(x))?;
    }
    operator.bind(0, result)
}

/// AVERAGE_POOL_2D: the mean of the elements inside the image; integers round half away from zero.
pub(super) fn average_pool_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let pool = pool(operator)?;
    let output = operator.output(0)?;
    let types = [pool.input.element(), output.element];
    let integer = match types {
        [F32, F32] => false,
        [I8, I8] | [U8, U8] | [I16, I16] => true,
        _ => return Err(operator.type_error(&types)),
    };
    let accumulator = if integer { I32 } else { F32 };
    let wide = widen(operator, pool.input.value, accumulator)?;
    let sums = operator.builder().window(wide, Reduction::Sum, pool.size.clone(), pool.geometry.clone())?;
    let counts = Counts::new(operator, &pool, sums, accumulator)?;
    let mut operands = vec![sums];
    if let Counts::Each(counts) = counts {
        operands.push(counts);
    }
    let mut terms = Terms::new(&vec![accumulator; operands.len()]);
    let sum = terms.input(0);
    let count = match counts {
        Counts::All(count) if integer => terms.i32(count),
        Counts::All(count) => terms.f32(count as f32),
        Counts::Each(_) => terms.input(1),
    };
    let x = if integer {
        let (zero, two) = (terms.i32(0), terms.i32(2));
        let half = terms.div(count, two)?;
        let (above, below) = (terms.add(sum, half)?, terms.sub(sum, half)?);
        let positive = terms.compare(Comparison::Greater, sum, zero)?;
        let nudged = terms.select(positive, above, below)?;
        let mean = terms.div(nudged, count)?;
        // The mean is within the type; a scale says only where an activation cuts it.
        let mut mean = mean;
        if pool.activation != Activation::NONE {
            let bounds = pool.activation.integer_bounds(output.element, operator.affine(&output)?)?;
            mean = terms.clamp_i32(mean, bounds)?;
        }
        terms.convert(mean, output.element)
    } else {
        let mean = terms.div(sum, count)?;
        pool.activation.clamp_float(&mut terms, mean)?
    };
    let result = operator.map(&operands, terms.finish(x))?;
    operator.bind(0, result)
}

/// L2_POOL_2D: the root of the mean of the squares inside the image.
pub(super) fn l2_pool_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let pool = pool(operator)?;
    let types = [pool.input.element(), operator.output(0)?.element];
    if types != [F32, F32] {
        return Err(operator.type_error(&types));
    }
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = operator.map(&[pool.input.value], terms.finish(square))?;
    let sums = operator.builder().window(squares, Reduction::Sum, pool.size.clone(), pool.geometry.clone())?;
    let counts = match Counts::new(operator, &pool, sums, F32)? {
        Counts::All(count) => operator.constant_f32(&[], &[count as f32])?,
        Counts::Each(counts) => counts,
    };
    let mut terms = Terms::new(&[F32, F32]);
    let (sum, count) = (terms.input(0), terms.input(1));
    let mean = terms.div(sum, count)?;
    let root = terms.op(ScalarOp::Sqrt, &[mean])?;
    let x = pool.activation.clamp_float(&mut terms, root)?;
    let result = operator.map(&[sums, counts], terms.finish(x))?;
    operator.bind(0, result)
}

/// A tensor converted to another element type.
pub(super) fn widen(operator: &mut Operator<'_, '_, '_>, value: Value, element: ElementType) -> Result<Value, Diagnostic> {
    let from = operator.builder().tensor(value).element;
    if from == element {
        return Ok(value);
    }
    let mut terms = Terms::new(&[from]);
    let x = terms.input_as(0, element);
    operator.map(&[value], terms.finish(x))
}

/// The number of elements under each window.
#[derive(Clone, Copy)]
enum Counts {
    /// The same under all.
    All(i32),
    /// A tensor that broadcasts to the sums.
    Each(Value),
}

impl Counts {
    /// Of the windows of `sums`; a tensor is of type `element`, i32 or f32.
    fn new(operator: &mut Operator<'_, '_, '_>, pool: &Pool, sums: Value, element: ElementType) -> Result<Self, Diagnostic> {
        let whole = pool.size[0].checked_mul(pool.size[1]).and_then(|n| i32::try_from(n).ok());
        let extents = operator.extents_of(sums);
        let counts = match (extents[1].as_static(), extents[2].as_static(), whole) {
            (_, _, Some(whole)) if !pool.padded => return Ok(Self::All(whole)),
            (Some(rows), Some(columns), _) if pool.geometry.positions.is_empty() => counts(pool, [rows, columns])?,
            _ => return Ok(Self::Each(run_time_counts(operator, pool, element)?)),
        };
        if let [only] = counts[..] {
            return Ok(Self::All(only));
        }
        let shape: Vec<u64> = [Extent::Static(1), extents[1], extents[2], Extent::Static(1)].iter().filter_map(|e| e.as_static()).collect();
        let counts_f32: Vec<f32> = counts.iter().map(|&n| n as f32).collect();
        Ok(Self::Each(if element == F32 { operator.constant_f32(&shape, &counts_f32)? } else { operator.constant_i32(&shape, &counts)? }))
    }
}

/// The counts of an image whose size is known when the model runs: those along its rows times those along its columns, each the sum of
/// ones under windows of one dimension.
fn run_time_counts(operator: &mut Operator<'_, '_, '_>, pool: &Pool, element: ElementType) -> Result<Value, Diagnostic> {
    let one = operator.constant(element, &[], if element == F32 { Scalar::float(F32, 1.0) } else { Scalar::int(element, 1) }.to_bytes())?;
    let mut along = Vec::new();
    for d in 0..2 {
        let only = |list: &[i64]| list.get(d).copied().into_iter().collect::<Vec<i64>>();
        let of_extent = |list: &[Extent]| list.get(d).copied().into_iter().collect::<Vec<Extent>>();
        let geometry = WindowGeometry {
            strides: only(&pool.geometry.strides),
            dilation: only(&pool.geometry.dilation),
            padding_low: only(&pool.geometry.padding_low),
            padding_high: only(&pool.geometry.padding_high),
            positions: of_extent(&pool.geometry.positions),
            shift: of_extent(&pool.geometry.shift),
        };
        let ones = operator.broadcast_to(one, &[Extent::Static(1), pool.input.extents[d + 1], Extent::Static(1)])?;
        let counts = operator.builder().window(ones, Reduction::Sum, only(&pool.size), geometry)?;
        let mut shape = vec![Extent::Static(1); 4];
        shape[d + 1] = operator.extents_of(counts)[1];
        along.push(operator.reshape_to(counts, &shape)?);
    }
    let mut terms = Terms::new(&[element, element]);
    let (rows, columns) = (terms.input(0), terms.input(1));
    let product = terms.mul(rows, columns)?;
    operator.map(&along, terms.finish(product))
}

/// The number of elements under each window, row by row; one number when all are equal.
fn counts(pool: &Pool, positions: [u64; 2]) -> Result<Vec<i32>, Diagnostic> {
    if positions[0].saturating_mul(positions[1]) > MAX_POSITIONS {
        return Err(
            invalid(312, "the padded pool has too many windows").expected(format!("at most {MAX_POSITIONS}"), format!("{positions:?}"))
        );
    }
    let inside = |d: usize, position: u64| {
        let start = position as i64 * pool.geometry.strides[d] - pool.geometry.padding_low[d];
        (start + pool.size[d]).min(pool.input.shape[d + 1] as i64) - start.max(0)
    };
    let rows: Vec<i64> = (0..positions[0]).map(|y| inside(0, y)).collect();
    let columns: Vec<i64> = (0..positions[1]).map(|x| inside(1, x)).collect();
    let mut counts = Vec::new();
    for row in rows {
        for column in &columns {
            let count = i32::try_from(row.saturating_mul(*column)).ok().filter(|&n| n > 0);
            counts.push(count.ok_or_else(|| invalid(312, "a window of the pool lies outside the image"))?);
        }
    }
    if counts.windows(2).all(|pair| pair[0] == pair[1]) {
        counts.truncate(1);
    }
    Ok(counts)
}
