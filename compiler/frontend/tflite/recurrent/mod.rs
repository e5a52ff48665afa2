//! Recurrent operators: LSTM and RNN cells over sequences, and SVDF.

mod fixed;
mod lstm;
mod lstm_basic;
mod lstm_float;
mod lstm_integer;
mod lstm_micro;
mod matrix;
mod rnn;
mod sequence;
mod svdf;

pub(super) use lstm::{bidirectional_sequence_lstm, lstm, unidirectional_sequence_lstm};
pub(super) use rnn::{bidirectional_sequence_rnn, rnn, unidirectional_sequence_rnn};
pub(super) use svdf::svdf;

use super::operator::{Operand, Operator, invalid, unsupported};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Node, ScalarOp, Value};
use crate::operators::Graph;
use crate::operators::activation::Activation;
use crate::operators::terms::{Term, Terms};
use crate::schema::tflite::ActivationFunctionType as Code;

/// The error for an operand of another shape than the others ask for.
fn expect_shape(operand: &Operand, shape: &[u64]) -> Result<(), Diagnostic> {
    if operand.shape == shape {
        return Ok(());
    }
    let error = invalid(codes::SHAPES_DIFFER, "the operand's shape does not fit the others").about_tensor(&operand.info.name);
    Err(error.expected(format!("{shape:?}"), format!("{:?}", operand.shape)))
}

/// The activation of a cell: a clamp or a hyperbolic tangent.
#[derive(Clone, Copy)]
enum CellActivation {
    Clamp(Activation),
    Tanh,
}

impl CellActivation {
    fn from_code(code: Code) -> Result<Self, Diagnostic> {
        if code == Code::TANH { Ok(Self::Tanh) } else { super::options::activation(code).map(Self::Clamp) }
    }

    fn apply(self, terms: &mut Terms, x: Node) -> Term {
        match self {
            Self::Clamp(activation) => activation.clamp_float(terms, x),
            Self::Tanh => terms.op(ScalarOp::Tanh, &[x]),
        }
    }
}

/// Tensors joined along their first dimension; the bytes of constants are joined here.
fn stacked(operator: &mut Operator<'_, '_, '_>, operands: &[&Operand]) -> Result<Value, Diagnostic> {
    let first = operands.first().ok_or_else(|| unsupported("a cell without gates is not supported"))?;
    let bytes: Option<Vec<&[u8]>> = operands.iter().map(|operand| operator.constant_bytes(operand)).collect();
    match bytes {
        Some(bytes) if first.element().bits() >= 8 => {
            let mut shape = first.shape.clone();
            shape[0] = operands.iter().map(|operand| operand.shape[0]).sum();
            let bytes = bytes.concat();
            operator.constant(first.element(), &shape, bytes)
        }
        _ => {
            let values: Vec<Value> = operands.iter().map(|operand| operand.value).collect();
            Ok(operator.builder().concat(&values, 0)?)
        }
    }
}

/// Elements `start..start + size` along the last of two dimensions.
fn columns(g: &mut Graph<'_>, value: Value, start: u64, size: u64) -> Result<Value, Diagnostic> {
    let shape = g.builder.tensor(value).static_shape().unwrap_or_default();
    if shape.last() == Some(&size) {
        return Ok(value);
    }
    let mut extents = super::operator::extents(&shape);
    let mut starts = super::operator::extents(&vec![0; shape.len()]);
    let last = shape.len() - 1;
    extents[last] = Extent::Static(size);
    starts[last] = Extent::Static(start);
    Ok(g.builder.slice(value, starts, extents, vec![1; shape.len()])?)
}

/// `[A, B, …]` and `[B, A, …]`: between the orders of batches and steps.
fn swapped(g: &mut Graph<'_>, value: Value) -> Result<Value, Diagnostic> {
    let shape = g.builder.tensor(value).shape.clone();
    let mut permutation: Vec<usize> = (0..shape.len()).collect();
    permutation.swap(0, 1);
    if shape[..2].contains(&Extent::Static(1)) {
        let mut swapped = shape;
        swapped.swap(0, 1);
        return Ok(g.builder.reshape(value, swapped)?);
    }
    Ok(g.builder.transpose(value, permutation)?)
}

/// The error for an operand that is no floating-point tensor where the others are.
fn expect_element(operand: &Operand, element: ElementType) -> Result<(), Diagnostic> {
    if operand.element() == element {
        return Ok(());
    }
    let error = unsupported("the operand has a type that is not supported beside the others").about_tensor(&operand.info.name);
    Err(error.expected(element.name(), operand.element().name()))
}
