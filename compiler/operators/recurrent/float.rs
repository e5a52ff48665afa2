//! LSTM cells of floats, with weights of f32 or int8.

use super::cell::{Cell, Gate, Settings, Weights, columns};
use super::matrix::Matrix;
use super::sequence::{LoopPlace, Step, Stepped, sequence};
use crate::ir::{ElementType, Node, Reduction, ScalarOp, Value};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F32, I8};

/// The parts of a gate that are its own, as values of the function around the loop.
#[derive(Clone, Copy)]
struct GateParts {
    /// The first of its cells among the cells of all gates.
    start: u64,
    peephole: Option<Value>,
    /// Coefficients and bias of layer normalization.
    norm: Option<(Value, Value)>,
}

/// The weights of the inputs, and the bias unless it is added after normalization.
struct InputProducts {
    weights: Matrix,
    auxiliary: Option<Matrix>,
    bias: Option<Value>,
}

/// A cell ready to run.
struct FloatCell<'c> {
    cell: &'c Cell,
    input: InputProducts,
    recurrent: Matrix,
    input_gate: Option<GateParts>,
    forget_gate: GateParts,
    cell_gate: GateParts,
    output_gate: GateParts,
    projection: Option<(Matrix, Option<Value>)>,
}

/// Runs a cell of floats over `rows [steps, batch, inputs]`, and over the auxiliary input if gates have weights for it. `backward` runs from the last
/// step to the first. Returns the outputs and the new states. If weights are int8, rows are quantized at run time.
///
/// # Errors
/// When operands do not fit each other.
pub fn float_lstm(
    (g, names): LoopPlace<'_, '_>,
    cell: &Cell,
    rows: Value,
    auxiliary: Option<Value>,
    states: [Value; 2],
    backward: bool,
) -> Stepped {
    let input = InputProducts::new(g, cell)?;
    let ready = FloatCell::new(g, cell, input)?;
    let inputs: Vec<Value> = [rows].into_iter().chain(auxiliary).collect();
    sequence((g, names), &inputs, &states, backward, |step, inputs, states| ready.step(step, inputs, states))
}

impl InputProducts {
    fn new(g: &mut Graph<'_>, cell: &Cell) -> Result<Self, Error> {
        let gates = cell.gates();
        let asymmetric = cell.settings.asymmetric;
        let weights: Vec<&Weights> = gates.iter().map(|gate| &gate.input_weights).collect();
        let weights = Matrix::new(g, &weights, asymmetric)?;
        let auxiliary: Option<Vec<&Weights>> = gates.iter().map(|gate| gate.auxiliary_weights.as_ref()).collect();
        let auxiliary = auxiliary.map(|weights| Matrix::new(g, &weights, asymmetric)).transpose()?;
        Ok(Self { weights, auxiliary, bias: cell.bias_of_products(g)? })
    }

    /// The sums of all gates over a step's inputs: the reference begins with the bias.
    fn sums(&self, step: &mut Step<'_, '_>, inputs: &[Value]) -> Result<Value, Error> {
        let mut sums = Vec::new();
        if let Some(bias) = self.bias {
            sums.push(step.value(bias)?);
        }
        for (weights, &input) in [&self.weights].into_iter().chain(&self.auxiliary).zip(inputs) {
            sums.push(weights.in_step(step)?.product(step.graph, input)?);
        }
        sum(step.graph, &sums)
    }
}

/// The sum of tensors, from the first on.
pub(super) fn sum(g: &mut Graph<'_>, values: &[Value]) -> Result<Value, Error> {
    if let [only] = values {
        return Ok(*only);
    }
    let mut terms = Terms::new(&vec![F32; values.len()]);
    let mut total = terms.input(0);
    for index in 1..values.len() {
        let next = terms.input(index);
        total = terms.add(total, next)?;
    }
    g.map(values, terms.finish(total))
}

/// One map over tensors of f32.
pub(super) fn map(g: &mut Graph<'_>, operands: &[Value], build: impl FnOnce(&mut Terms, &[Node]) -> Term) -> Result<Value, Error> {
    let mut terms = Terms::new(&vec![F32; operands.len()]);
    let inputs: Vec<Node> = (0..operands.len()).map(|index| terms.input(index)).collect();
    let result = build(&mut terms, &inputs)?;
    g.map(operands, terms.finish(result))
}

/// Clamps x to −bound and bound.
pub(super) fn clip(terms: &mut Terms, x: Node, bound: f32) -> Term {
    if bound <= 0.0 {
        return Ok(x);
    }
    let (low, high) = (terms.f32(-bound), terms.f32(bound));
    let x = terms.min(x, high)?;
    terms.max(x, low)
}

/// A peephole as floats: integers are multiplied by their scale.
fn peephole(g: &mut Graph<'_>, gate: &Gate) -> Result<Option<Value>, Error> {
    let Some(weights) = &gate.peephole else { return Ok(None) };
    if g.element(weights.value) != I8 {
        return Ok(Some(weights.value));
    }
    let mut terms = Terms::new(&[I8]);
    let (x, scale) = (terms.input_as(0, F32), terms.f32(weights.scale()));
    let x = terms.mul(scale, x)?;
    g.map(&[weights.value], terms.finish(x)).map(Some)
}

impl<'c> FloatCell<'c> {
    fn new(g: &mut Graph<'_>, cell: &'c Cell, input: InputProducts) -> Result<Self, Error> {
        let asymmetric = cell.settings.asymmetric;
        let weights: Vec<&Weights> = cell.gates().iter().map(|gate| &gate.recurrent_weights).collect();
        let recurrent = Matrix::new(g, &weights, asymmetric)?;
        let mut start = 0;
        let mut parts = |gate: &Gate| -> Result<GateParts, Error> {
            let norm = gate.norm.as_ref().map(|norm| (norm.value, gate.bias));
            let parts = GateParts { start, peephole: peephole(g, gate)?, norm };
            start += cell.cells;
            Ok(parts)
        };
        let input_gate = cell.input_gate.as_ref().map(&mut parts).transpose()?;
        let (forget_gate, cell_gate, output_gate) = (parts(&cell.forget_gate)?, parts(&cell.cell_gate)?, parts(&cell.output_gate)?);
        let projection = match &cell.projection {
            Some((weights, bias)) => Some((Matrix::new(g, &[weights], asymmetric)?, *bias)),
            None => None,
        };
        Ok(Self { cell, input, recurrent, input_gate, forget_gate, cell_gate, output_gate, projection })
    }

    /// One step: `inputs` and the states are `[batch, …]`.
    fn step(&self, step: &mut Step<'_, '_>, inputs: &[Value], states: &[Value]) -> Stepped {
        let (hidden, before) = (states[0], states[1]);
        let Settings { activation, cell_clip, projection_clip, .. } = self.cell.settings;
        let recurrent = self.recurrent.in_step(step)?.product(step.graph, hidden)?;
        let input = self.input.sums(step, inputs)?;
        let sums = sum(step.graph, &[input, recurrent])?;
        let forget = self.gate(step, &self.forget_gate, sums, before)?;
        let candidate = self.gate(step, &self.cell_gate, sums, before)?;
        let mut operands = vec![forget, candidate, before];
        if let Some(gate) = &self.input_gate {
            operands.push(self.gate(step, gate, sums, before)?);
        }
        let after = map(step.graph, &operands, |terms, x| {
            let forget = terms.op(ScalarOp::Logistic, &[x[0]])?;
            let candidate = activation.apply(terms, x[1])?;
            let input = match x.get(3) {
                Some(&input) => terms.op(ScalarOp::Logistic, &[input])?,
                None => {
                    let one = terms.f32(1.0);
                    terms.sub(one, forget)?
                }
            };
            let kept = terms.mul(forget, x[2])?;
            let new = terms.mul(candidate, input)?;
            let after = terms.add(kept, new)?;
            clip(terms, after, cell_clip)
        })?;
        let output = self.gate(step, &self.output_gate, sums, after)?;
        let output = map(step.graph, &[output, after], |terms, x| {
            let gate = terms.op(ScalarOp::Logistic, &[x[0]])?;
            let shown = activation.apply(terms, x[1])?;
            terms.mul(gate, shown)
        })?;
        let output = match &self.projection {
            Some((weights, bias)) => {
                let product = weights.in_step(step)?.product(step.graph, output)?;
                let mut operands = vec![product];
                if let Some(bias) = bias {
                    operands.push(step.value(*bias)?);
                }
                map(step.graph, &operands, |terms, x| {
                    let sum = if let Some(&bias) = x.get(1) { terms.add(bias, x[0])? } else { x[0] };
                    clip(terms, sum, projection_clip)
                })?
            }
            None => output,
        };
        Ok((output, vec![output, after]))
    }

    /// A gate's sum before its activation.
    fn gate(&self, step: &mut Step<'_, '_>, gate: &GateParts, sums: Value, cell_state: Value) -> Result<Value, Error> {
        let mut value = columns(step.graph, sums, gate.start, self.cell.cells)?;
        if let Some(peephole) = gate.peephole {
            let peephole = step.value(peephole)?;
            value = map(step.graph, &[value, peephole, cell_state], |terms, x| {
                let product = terms.mul(x[1], x[2])?;
                terms.add(x[0], product)
            })?;
        }
        match gate.norm {
            Some((coefficients, bias)) => {
                let (coefficients, bias) = (step.value(coefficients)?, step.value(bias)?);
                normalized(step.graph, value, self.cell.cells, [coefficients, bias])
            }
            None => Ok(value),
        }
    }
}

/// Layer normalization over the cells: `(x − mean) ÷ √(variance + 10⁻⁸) × coefficients + bias`.
fn normalized(g: &mut Graph<'_>, value: Value, cells: u64, [coefficients, bias]: [Value; 2]) -> Result<Value, Error> {
    let count = cells as f32;
    let total = g.builder.reduce(value, Reduction::Sum, vec![1])?;
    let difference = map(g, &[value, total], |terms, x| {
        let count = terms.f32(count);
        let mean = terms.div(x[1], count)?;
        terms.sub(x[0], mean)
    })?;
    let squares = map(g, &[difference], |terms, x| terms.mul(x[0], x[0]))?;
    let squares = g.builder.reduce(squares, Reduction::Sum, vec![1])?;
    map(g, &[difference, squares, coefficients, bias], |terms, x| {
        let (count, guard, one) = (terms.f32(count), terms.f32(1e-8), terms.f32(1.0));
        let variance = terms.div(x[1], count)?;
        let variance = terms.add(variance, guard)?;
        let deviation = terms.op(ScalarOp::Sqrt, &[variance])?;
        let inverse = terms.div(one, deviation)?;
        let normal = terms.mul(x[0], inverse)?;
        let scaled = terms.mul(x[2], normal)?;
        terms.add(scaled, x[3])
    })
}
