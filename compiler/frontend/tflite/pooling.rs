//! AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D.

use super::error::{invalid, missing_options};
use super::operator::{Lowered, Operand, Operator};
use super::options::{activation, padding};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Interval, Search, Summation};
use crate::operators::activation::Activation;
use crate::operators::pooling::{self, Counts, Divisor, Means, Quotient};
use crate::operators::terms::Terms;
use crate::operators::windows::Windows;
use ElementType::{F32, I8, I16, I32, U8};

struct Pool {
    input: Operand,
    windows: Windows,
    activation: Activation,
}

fn pool(operator: &mut Operator<'_, '_, '_>) -> Result<Pool, Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_pool2d_options().ok_or_else(missing_options)?;
    let input = operator.any_input(0)?;
    if input.rank() != 4 {
        return Err(invalid(codes::RANK, "the input must have four dimensions")
            .about_tensor(&input.info.name)
            .expected("rank 4", format!("{:?}", input.shape)));
    }
    operator.require_known(&input, 3)?;
    let windows = Windows {
        size: [options.filter_height(), options.filter_width()].map(|n| u64::try_from(n).unwrap_or(0)).to_vec(),
        strides: [options.stride_h(), options.stride_w()].map(i64::from).to_vec(),
        dilation: vec![1; 2],
        padding: padding(options.padding())?,
    };
    Ok(Pool { input, windows, activation: activation(options.fused_activation_function())? })
}

impl Pool {
    /// The bounds of the activation on the result's scale, if there is one.
    fn integer_bounds(&self, operator: &Operator<'_, '_, '_>) -> Result<Option<Interval<i32>>, Diagnostic> {
        let output = operator.output(0)?;
        if self.activation == Activation::NONE {
            return Ok(None);
        }
        Ok(Some(self.activation.integer_bounds(output.element, operator.affine(&output)?)?))
    }
}

/// MAX_POOL_2D: padding takes no part.
pub(super) fn max_pool_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let pool = pool(operator)?;
    let output = operator.output(0)?;
    let types = [pool.input.element(), output.element];
    if !matches!(types, [F32, F32] | [I8, I8] | [U8, U8] | [I16, I16]) {
        return Err(operator.type_error(&types));
    }
    let mut result = pooling::max(operator.graph(), pool.input.value, &pool.windows, Search::Max)?;
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
    let result = operator.output(0)?.element;
    let types = [pool.input.element(), result];
    let (accumulator, quotient) = match types {
        [F32, F32] => (F32, Quotient::Float(pool.activation)),
        [I8, I8] | [U8, U8] | [I16, I16] => (I32, Quotient::Integer(pool.integer_bounds(operator)?)),
        _ => return Err(operator.type_error(&types)),
    };
    let means = Means { accumulator, summation: Summation::Rows, divisor: Divisor::Inside, counts: Counts::Table, quotient, result };
    let result = pooling::average(operator.graph(), pool.input.value, &pool.windows, &means)?;
    operator.bind(0, result)
}

/// L2_POOL_2D: the root of the mean of the squares inside the image.
pub(super) fn l2_pool_2d(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let pool = pool(operator)?;
    let types = [pool.input.element(), operator.output(0)?.element];
    if types != [F32, F32] {
        return Err(operator.type_error(&types));
    }
    let result = pooling::root_mean_square(operator.graph(), pool.input.value, &pool.windows, pool.activation)?;
    operator.bind(0, result)
}
