//! REDUCE_WINDOW and STABLEHLO_REDUCE_WINDOW: any reduction over a sliding window of any rank.
//!
//! The reductions are associative, so that a window of several dimensions is one along each of them after the other. The reference
//! begins with the first value; here it is combined with the result of each window in the end.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operand, Operator};
use super::padding::{padded, spread};
use super::regions::computation;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Extent, NanRule, Reduction, Scalar, ScalarOp, Value};
use crate::operators::terms::{Term, Terms};
use crate::operators::windows::{self, Padding};
use crate::schema::tflite::ReduceWindowFunction as Function;
use ElementType::{Bool, I32};

/// The window along each dimension.
struct Windows {
    size: Vec<i64>,
    strides: Vec<i64>,
    dilation: Vec<i64>,
}

impl Windows {
    fn check(&self, rank: usize) -> Lowered {
        let lists = [&self.size, &self.strides, &self.dilation];
        let sound = |list: &&Vec<i64>| list.len() == rank && list.iter().all(|n| (1..1 << 31).contains(n));
        if lists.iter().all(sound) {
            return Ok(());
        }
        let expected = format!("{rank} numbers above 0 each");
        Err(invalid(codes::OPTION_RANGE, "the windows do not fit the input").expected(expected, format!("{lists:?}")))
    }

    /// The reductions along every dimension.
    fn reduce(
        &self,
        operator: &mut Operator<'_, '_, '_>,
        mut value: Value,
        shape: &[Extent],
        reduction: Reduction,
    ) -> Result<Value, Diagnostic> {
        let mut shape = shape.to_vec();
        for d in 0..shape.len() {
            let (size, stride) = (self.size[d] as u64, self.strides[d] as u64);
            let reach = (size - 1).saturating_mul(self.dilation[d] as u64).saturating_add(1);
            let most = operator.graph().bound(shape[d]);
            if most < reach {
                let message = format!("the window does not fit dimension {d}");
                return Err(invalid(codes::OPTION_RANGE, message).expected(format!("at least {reach} elements"), most.to_string()));
            }
            if (size, stride) != (1, 1) {
                let g = operator.graph();
                let around = [g.product(&shape[..d])?, g.product(&shape[d + 1..])?];
                let windows = windows::Windows {
                    size: vec![size],
                    strides: vec![self.strides[d]],
                    dilation: vec![self.dilation[d]],
                    padding: Padding::Valid,
                };
                let geometry = windows.geometry(g, &shape[d..=d])?;
                value = g.reshape(value, &[around[0], shape[d], around[1]])?;
                value = g.builder.window(value, reduction, vec![self.size[d]], geometry)?;
                shape[d] = g.extents(value)[1];
                value = g.reshape(value, &shape)?;
            }
        }
        Ok(value)
    }
}

/// A reduction, the same operation on two elements, and the type in which both compute. Narrow integers are widened and wrap at the end. Tests for
/// zero work on truth values.
fn reduction(function: Function, element: ElementType) -> Option<(Reduction, ScalarOp, ElementType)> {
    let number = element.is_float() || element.is_integer();
    let wide = if element.is_integer() && element.bits() < 32 { I32 } else { element };
    Some(match function {
        Function::ADD if number => (Reduction::Sum, ScalarOp::Add, wide),
        Function::MUL if number => (Reduction::Product, ScalarOp::Mul, wide),
        Function::MINIMUM if number => (Reduction::Min, ScalarOp::Min(NanRule::First), element),
        Function::MAXIMUM if number => (Reduction::Max, ScalarOp::Max(NanRule::First), element),
        Function::ANY if number || element == Bool => (Reduction::Any, ScalarOp::Or, Bool),
        Function::ALL if number || element == Bool => (Reduction::All, ScalarOp::And, Bool),
        Function::ADD | Function::MAXIMUM if element == Bool => (Reduction::Any, ScalarOp::Or, Bool),
        Function::MUL | Function::MINIMUM if element == Bool => (Reduction::All, ScalarOp::And, Bool),
        _ => return None,
    })
}

/// Input number `index` in the type of a reduction.
fn input_as(terms: &mut Terms, index: usize, ty: ElementType) -> Term {
    let x = terms.input(index);
    if ty != Bool || terms.ty(x) == Bool {
        return Ok(terms.convert(x, ty));
    }
    let zero = terms.constant(Scalar::int(terms.ty(x), 0));
    terms.compare(Comparison::NotEqual, x, zero)
}

/// Reduces the windows over a tensor, and combines the results with the first value.
fn reduced(
    operator: &mut Operator<'_, '_, '_>,
    input: &Operand,
    first: &Operand,
    windows: &Windows,
    function: Function,
) -> Result<Value, Diagnostic> {
    let element = input.element();
    let (word, op, ty) = reduction(function, element).ok_or_else(|| operator.type_error(&[element]))?;
    windows.check(input.rank())?;
    let mut value = input.value;
    if ty != element {
        let mut terms = Terms::new(&[element]);
        let x = input_as(&mut terms, 0, ty)?;
        value = operator.map(&[value], terms.finish(x))?;
    }
    let value = windows.reduce(operator, value, &input.extents, word)?;
    let first = operator.reshape(first.value, &[])?;
    let mut terms = Terms::new(&[ty, element]);
    let (x, first_term) = (terms.input(0), input_as(&mut terms, 1, ty)?);
    let combined = terms.op(op, &[first_term, x])?;
    let combined = terms.convert(combined, element);
    operator.map(&[value, first], terms.finish(combined))
}

/// The tensor and the number that every reduction begins with.
fn input_and_first(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Operand), Diagnostic> {
    let (input, first) = (operator.any_input(0)?, operator.input(1)?);
    if first.element() != input.element() || first.elements() != 1 {
        return Err(operator.type_error(&[input.element(), first.element()]));
    }
    Ok((input, first))
}

/// REDUCE_WINDOW
pub(super) fn reduce_window(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(5..=5, 1..=1)?;
    let options = operator.record.builtin_options_2_as_reduce_window_options().ok_or_else(missing_options)?;
    let (input, first) = input_and_first(operator)?;
    let mut lists = Vec::new();
    for (index, what) in [(2, "window sizes"), (3, "strides"), (4, "dilations")] {
        let operand = operator.input(index)?;
        lists.push(operator.integers(&operand, what)?);
    }
    let [size, strides, dilation] = [0, 1, 2].map(|i| std::mem::take(&mut lists[i]));
    let value = reduced(operator, &input, &first, &Windows { size, strides, dilation }, options.reduce_function())?;
    operator.bind(0, value)
}

/// STABLEHLO_REDUCE_WINDOW: the same over a tensor with the first value between its elements and around them.
pub(super) fn stablehlo_reduce_window(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_2_as_stablehlo_reduce_window_options().ok_or_else(missing_options)?;
    let (input, first) = input_and_first(operator)?;
    let function = computation(operator, options.body_subgraph_index())?;
    let function = function.ok_or_else(|| unsupported("a reduction that computes nothing is not supported"))?;
    let rank = input.rank();
    // A missing list means 1, or no padding.
    let list = |list: Option<flatbuffers::Vector<'_, i64>>, default: i64, count: usize| -> Vec<i64> {
        list.map_or(vec![default; count], |list| list.into_iter().collect())
    };
    let windows = Windows {
        size: list(options.window_dimensions(), 1, rank),
        strides: list(options.window_strides(), 1, rank),
        dilation: list(options.window_dilations(), 1, rank),
    };
    let (between, amounts) = (list(options.base_dilations(), 1, rank), list(options.padding(), 0, 2 * rank));
    if amounts.len() != 2 * rank || amounts.iter().any(|n| n.unsigned_abs() > 1 << 31) {
        return Err(invalid(codes::OPTION_RANGE, "the paddings do not fit the input")
            .expected(format!("{} numbers", 2 * rank), format!("{amounts:?}")));
    }
    let input = spread(operator, &input, &between, &first)?;
    let (low, high) = (amounts.iter().step_by(2).copied().collect(), amounts.iter().skip(1).step_by(2).copied().collect());
    let value = padded(operator, &input, &first, low, high)?;
    let input = operator.operand(value, input.info.clone());
    let value = reduced(operator, &input, &first, &windows, function)?;
    operator.bind(0, value)
}
