//! MEAN, SUM, REDUCE_MAX and their like, ARG_MAX and ARG_MIN.

use super::error::{invalid, unsupported};
use super::operator::{Lowered, Operand, Operator};
use super::short_rows;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Reduction as Reduce, Scalar, Search, Value};
use crate::operators::reduction::{self, Axes, Rescaling};
use ElementType::{Bool, F32, I8, I16, I32, I64, U8};

/// A reduction with its arguments in the file.
struct Reduction {
    /// The operand.
    input: Operand,
    /// The dimensions, ascending.
    axes: Vec<usize>,
    /// The shape of the result along them.
    shape: Axes,
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
    let axes = (0..input.rank()).filter(|&d| reduced[d]).collect();
    Ok(Reduction { input, axes, shape: if keep { Axes::Kept } else { Axes::Dropped } })
}

impl Reduction {
    /// Elements that each result combines, or their bound.
    fn most(&self) -> u64 {
        self.axes.iter().map(|&d| self.input.shape[d]).product()
    }

    /// Operand and result on their scales.
    fn rescaling(&self, operator: &Operator<'_, '_, '_>) -> Result<Rescaling, Diagnostic> {
        let output = operator.output(0)?;
        Ok(Rescaling { from: operator.affine(&self.input.info)?, to: operator.affine(&output)?, element: output.element })
    }
}

/// SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL. Quantized extremes are the extremes of the integers, on one scale. Truth values
/// count as 0 and 1.
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
    let (input, axes) = (reduction.input.value, &reduction.axes[..]);
    let value = match kind {
        Reduce::Sum | Reduce::Product if quantized => {
            let rescaling = reduction.rescaling(operator)?;
            let combine = if kind == Reduce::Sum { reduction::quantized_sum } else { reduction::quantized_product };
            combine(operator.graph(), input, axes, &rescaling)?
        }
        _ => {
            if quantized {
                let Rescaling { from, to, .. } = reduction.rescaling(operator)?;
                if from != to {
                    let message = "the output's scale or zero point differs from the input's";
                    return Err(invalid(codes::SCALE, message).about_tensor(&output.name).expected(from.to_string(), to.to_string()));
                }
            }
            reduction::reduce(operator.graph(), input, kind, axes, Axes::Kept)?
        }
    };
    reduction.bind(operator, value)
}

impl Reduction {
    /// Binds a value whose axes have extent 1, or are not there.
    fn bind(&self, operator: &mut Operator<'_, '_, '_>, value: crate::ir::Value) -> Lowered {
        let value = match self.shape {
            Axes::Kept => value,
            Axes::Dropped => reduction::without(operator.graph(), value, &self.axes)?,
        };
        operator.bind(0, value)
    }
}

/// MEAN: floats and integers divide the sum; on quantized tensors the count goes into the multiplier.
pub(super) fn mean(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let reduction = reduction(operator)?;
    let output = operator.output(0)?;
    let types = [reduction.input.element(), output.element];
    let count = reduction.most();
    if count > 1 << 31 {
        return Err(unsupported("means of more than 2^31 elements are not supported"));
    }
    let (input, axes) = (reduction.input.value, &reduction.axes[..]);
    let value = match types {
        // Nothing divided by its number.
        [from, to] if count == 0 && from == to => {
            let nothing = operator.graph().scalar(Scalar::float(to, f64::NAN))?;
            let mut shape = reduction.input.extents.clone();
            axes.iter().for_each(|&axis| shape[axis] = Extent::Static(1));
            operator.broadcast_to(nothing, &shape)?
        }
        [F32, F32] => reduction::mean(operator.graph(), input, axes, Axes::Kept)?,
        [I32, I32] | [I64, I64] => reduction::integer_mean(operator.graph(), input, axes, Axes::Kept)?,
        [I8, I8] | [U8, U8] | [I16, I16] => {
            let rescaling = reduction.rescaling(operator)?;
            reduction::quantized_mean(operator.graph(), input, axes, &rescaling)?
        }
        _ => return Err(operator.type_error(&types)),
    };
    reduction.bind(operator, value)
}

/// ARG_MAX and ARG_MIN: the first position of the extreme element; NaN is left out.
pub(super) fn arg_extreme(operator: &mut Operator<'_, '_, '_>, search: Search) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list, output) = (operator.any_input(0)?, operator.input(1)?, operator.output(0)?);
    let axes = operator.integers(&list, "axes")?;
    let [axis] = axes[..] else { return Err(invalid(codes::AXIS, "there must be one axis").expected("1", axes.len().to_string())) };
    let axis = operator.axis(axis, input.rank())?;
    if !matches!(input.element(), F32 | I8 | U8 | I16 | I32 | I64 | Bool) || !matches!(output.element, I32 | I64) || input.shape[axis] == 0
    {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let is_short_row = input.element() == F32 && axis + 1 == input.rank() && short_rows::LENGTHS.contains(&input.shape[axis]);
    let value = if is_short_row && input.extents[axis].as_static().is_some() {
        short_rows::positions(operator, input.value, search, output.element)?
    } else {
        let occupied = occupied(operator, &input, axis)?;
        reduction::position(operator.graph(), occupied, search, axis, output.element)?
    };
    operator.bind(0, value)
}

/// An operand with at least one element along an axis. If that is not known, the call checks it, as LiteRT does.
fn occupied(operator: &mut Operator<'_, '_, '_>, input: &Operand, axis: usize) -> Result<Value, Diagnostic> {
    let mut shape = input.extents.clone();
    if operator.interval(shape[axis]).low > 0 {
        return Ok(input.value);
    }
    shape[axis] = operator.graph().max(shape[axis], Extent::Static(1))?;
    operator.reshape_to(input.value, &shape)
}
