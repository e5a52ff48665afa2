//! Basic recurrent cells: `h ← activation(W x + R h + bias)`.

use super::cell::{CellActivation, Weights};
use super::matrix::Matrix;
use super::sequence::{LoopPlace, Stepped, sequence};
use crate::ir::{ElementType::F32, Value};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};

/// A cell of floats; weights are of f32 or int8.
#[derive(Clone, Debug)]
pub struct Rnn {
    /// W of each input, `[units, inputs]`.
    pub input_weights: Vec<Weights>,
    /// R, `[units, units]`.
    pub recurrent_weights: Weights,
    /// `[units]`
    pub bias: Value,
    /// Activation.
    pub activation: CellActivation,
    /// `true` if rows quantized at run time have an offset.
    pub asymmetric: bool,
}

/// Runs a cell over `[steps, batch, inputs]`, from the last step to the first if `backward`. Returns the outputs and the new state.
///
/// # Errors
/// When operands do not fit each other.
pub fn rnn((g, names): LoopPlace<'_, '_>, cell: &Rnn, inputs: &[Value], state: Value, backward: bool) -> Stepped {
    let mut matrices = Vec::new();
    for weights in &cell.input_weights {
        matrices.push(Matrix::new(g, &[weights], cell.asymmetric)?);
    }
    let recurrent = Matrix::new(g, &[&cell.recurrent_weights], cell.asymmetric)?;
    sequence((g, names), inputs, &[state], backward, |step, inputs, states| {
        let mut sums = vec![step.value(cell.bias)?];
        for (matrix, &input) in matrices.iter().zip(inputs) {
            sums.push(matrix.in_step(step)?.product(step.graph, input)?);
        }
        sums.push(recurrent.in_step(step)?.product(step.graph, states[0])?);
        let output = activated(step.graph, &sums, cell.activation)?;
        Ok((output, vec![output]))
    })
}

/// The sum of tensors of f32, through an activation.
fn activated(g: &mut Graph<'_>, operands: &[Value], activation: CellActivation) -> Result<Value, Error> {
    let mut terms = Terms::new(&vec![F32; operands.len()]);
    let mut sum = terms.input(0);
    for index in 1..operands.len() {
        let next = terms.input(index);
        sum = terms.add(sum, next)?;
    }
    let result = activation.apply(&mut terms, sum)?;
    g.map(operands, terms.finish(result))
}
