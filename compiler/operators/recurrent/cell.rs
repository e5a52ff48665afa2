//! The parts of LSTM cells, and the layout of their operands.

use crate::ir::{Extent, Node, ScalarOp, Value};
use crate::operators::activation::Activation;
use crate::operators::quantization::Affine;
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};

/// The quantization of an integer cell's input, output and states in its file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scales {
    /// The quantization of the input.
    pub input: Affine,
    /// The quantization of the cell's output.
    pub output: Affine,
    /// The scale of the cell state, whose zero point is 0.
    pub cell: f32,
    /// The scale of the result, in which bounds of the projection are given.
    pub result: f32,
}

/// Weights, and their scales if they are integers: one for all, or one each row.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The tensor.
    pub value: Value,
    /// The scales of integers; empty for floats.
    pub scales: Vec<f32>,
    /// The zero point of integers that have one.
    pub zero_point: i32,
}

impl Weights {
    /// The one scale of integers.
    pub(super) fn scale(&self) -> f32 {
        self.scales.first().copied().unwrap_or(1.0)
    }
}

/// One gate: `W x + R h + P ∘ c`, normalized, plus bias.
#[derive(Clone, Debug)]
pub struct Gate {
    /// W, `[cells, inputs]`.
    pub input_weights: Weights,
    /// W of the auxiliary input.
    pub auxiliary_weights: Option<Weights>,
    /// R, `[cells, outputs]`.
    pub recurrent_weights: Weights,
    /// P, `[cells]`: the peephole.
    pub peephole: Option<Weights>,
    /// `[cells]`
    pub bias: Value,
    /// Coefficients of layer normalization, `[cells]`.
    pub norm: Option<Weights>,
}

/// An LSTM cell. Without an input gate it is one minus the forget gate. All gates have layer normalization, or none has.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The gate for the proposed state. `None` stands for 1 minus the forget gate.
    pub input_gate: Option<Gate>,
    /// The gate for the previous state.
    pub forget_gate: Gate,
    /// The proposed new state.
    pub cell_gate: Gate,
    /// The gate for the output.
    pub output_gate: Gate,
    /// `[outputs, cells]`, with a bias of `[outputs]`.
    pub projection: Option<(Weights, Option<Value>)>,
    /// Width of the cell state.
    pub cells: u64,
    /// Activation and bounds.
    pub settings: Settings,
}

/// The settings of an LSTM cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The activation of the proposed state, and of the output.
    pub activation: CellActivation,
    /// Bound of the cell state; 0 for none.
    pub cell_clip: f32,
    /// Bound of the projection; 0 for none.
    pub projection_clip: f32,
    /// `true` if rows quantized at run time have an offset.
    pub asymmetric: bool,
}

impl Cell {
    /// The gates that are there: input, forget, cell, output.
    pub(super) fn gates(&self) -> Vec<&Gate> {
        self.input_gate.iter().chain([&self.forget_gate, &self.cell_gate, &self.output_gate]).collect()
    }

    /// The biases of all gates, `[gates × cells]`.
    pub(super) fn stacked_bias(&self, g: &mut Graph<'_>) -> Result<Value, Error> {
        let biases: Vec<Value> = self.gates().iter().map(|gate| gate.bias).collect();
        stacked(g, &biases)
    }

    /// The biases that the sums of products begin with: with layer normalization there are none, for it adds them afterwards.
    pub(super) fn bias_of_products(&self, g: &mut Graph<'_>) -> Result<Option<Value>, Error> {
        if self.output_gate.norm.is_some() { Ok(None) } else { self.stacked_bias(g).map(Some) }
    }
}

/// The activation of a cell: a clamp or a hyperbolic tangent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CellActivation {
    /// A clamp.
    Clamp(Activation),
    /// The hyperbolic tangent.
    Tanh,
}

impl CellActivation {
    /// The activation of a float.
    ///
    /// # Errors
    /// Never of a float.
    pub fn apply(self, terms: &mut Terms, x: Node) -> Term {
        match self {
            Self::Clamp(activation) => activation.clamp_float(terms, x),
            Self::Tanh => terms.op(ScalarOp::Tanh, &[x]),
        }
    }
}

/// Tensors joined along their first dimension; the bytes of constants are joined here.
pub(super) fn stacked(g: &mut Graph<'_>, values: &[Value]) -> Result<Value, Error> {
    let bytes: Option<Vec<&[u8]>> = values.iter().map(|&value| g.known(value)).collect();
    match (bytes, values) {
        (Some(bytes), &[first, ..]) if g.element(first).bits() >= 8 => {
            let (bytes, element, mut shape) = (bytes.concat(), g.element(first), g.shape(first)?);
            shape[0] = 0;
            for &value in values {
                shape[0] += g.shape(value)?.first().copied().unwrap_or(0);
            }
            g.constant(element, &shape, bytes)
        }
        _ => Ok(g.builder.concat(values, 0)?),
    }
}

/// Elements `start..start + size` along the last of two dimensions.
pub(super) fn columns(g: &mut Graph<'_>, value: Value, start: u64, size: u64) -> Result<Value, Error> {
    let last = g.rank(value).saturating_sub(1);
    g.slice_along(value, last, Extent::Static(start), Extent::Static(size))
}

/// `[A, B, …]` and `[B, A, …]`: between the orders of batches and steps.
///
/// # Errors
/// When there are no two dimensions.
pub fn swapped(g: &mut Graph<'_>, value: Value) -> Result<Value, Error> {
    let shape = g.builder.tensor(value).shape.clone();
    let mut permutation: Vec<usize> = (0..shape.len()).collect();
    if shape.len() < 2 {
        return Err(Error::NoMatrix { rank: shape.len() });
    }
    permutation.swap(0, 1);
    if shape[..2].contains(&Extent::Static(1)) {
        let mut swapped = shape;
        swapped.swap(0, 1);
        return Ok(g.builder.reshape(value, swapped)?);
    }
    Ok(g.builder.transpose(value, permutation)?)
}
