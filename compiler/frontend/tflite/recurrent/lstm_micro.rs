//! LSTM cells of integers as TFLite for microcontrollers computes them: activations of 8 or 16 bits, int8 weights, a 16-bit cell state,
//! gate functions from the table of the 16-bit LOGISTIC and TANH. No other runtime takes 16-bit activations; files with 8-bit ones that
//! have no inner scales are its own too.
//!
//! Each gate is two FULLY_CONNECTED operators, input and state, whose 16-bit results are added with saturation.

use super::super::arithmetic::exponent;
use super::super::operator::{Affine, Operand, Operator, invalid, unsupported};
use super::super::sigmoid16::{self, Steps};
use super::lstm::Cell;
use super::sequence::{Step, Stepped, sequence};
use super::{CellActivation, columns, expect_element, stacked};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Constant, ElementType, Node, Value};
use crate::operators::Graph;
use crate::operators::contraction::scale_wide;
use crate::operators::quantization::multiplier;
use crate::operators::quantization::{Multiplier, integer_range};
use crate::operators::terms::{Term, Terms};
use ElementType::{I8, I16, I32, I64};

/// The scale of sums of gates: three integer bits.
const GATE_SCALE: f32 = 1.0 / 4096.0;
/// The scale of what the gate functions give: no integer bit.
const FUNCTION_SCALE: f64 = 1.0 / 32768.0;
/// The exponents of scales of the cell state: what is beyond does not fit the arithmetic of the hyperbolic tangent.
const CELL_EXPONENTS: std::ops::RangeInclusive<i32> = -27..=0;

/// 16-bit integers.
const RANGE_16: (i32, i32) = (-32768, 32767);

/// The weights of all gates, and what brings their products to the scale of gates: a factor for each gate.
struct Products {
    weights: Value,
    zero_points: (i64, i64),
    mantissas: Value,
    shifts: Value,
}

/// A cell ready to run.
struct MicroCell {
    input: Products,
    /// Added to the input's products.
    bias: Value,
    recurrent: Products,
    accumulator: ElementType,
    table: Constant,
    cells: u64,
    /// The scale of the cell state is 2 to this power.
    cell_exponent: i32,
    /// The bound of the cell state, if there is one.
    cell_clip: Option<i32>,
    /// What brings forget gate × state and input gate × candidate to the scale of the state.
    kept: Multiplier,
    new: Multiplier,
    /// What brings output gate × tangent to the scale of the output.
    hidden: Multiplier,
    output: Affine,
    element: ElementType,
    /// The numbers of the output's type.
    range: (i32, i32),
}

/// Whether an integer cell is one of this runtime: by its type, or since it does not say which inner scales it has.
pub(super) fn is_meant(operator: &Operator<'_, '_, '_>, input: &Operand) -> Result<bool, Diagnostic> {
    Ok(input.element() == I16 || operator.lowering.indices(operator.record.intermediates())?.is_empty())
}

/// Runs a cell over `rows [steps, batch, inputs]`; gives the outputs and the new states.
pub(super) fn run(
    operator: &mut Operator<'_, '_, '_>,
    cell: &Cell,
    input: &Operand,
    rows: Value,
    [output_state, cell_state]: [&Operand; 2],
    states: &[Value],
) -> Stepped {
    let has_more = cell.projection.is_some() || cell.gates().iter().any(|gate| gate.peephole.is_some() || gate.norm.is_some());
    if has_more || cell.input_gate.is_none() {
        let message =
            "an integer cell of this kind with projection, peepholes or layer normalization, or without input gate, is not supported";
        return Err(unsupported(message).expected("the four gates alone", "a variant"));
    }
    if !matches!(cell.settings.activation, CellActivation::Tanh) {
        return Err(unsupported("an integer cell with another activation than TANH is not supported"));
    }
    expect_element(output_state, input.element())?;
    expect_element(cell_state, I16)?;
    let accumulator = if input.element() == I16 { I64 } else { I32 };
    let weights: Vec<&Operand> = cell.gates().iter().map(|gate| &gate.input_weights).collect();
    let products = Products::new(operator, cell.cells, &weights, input)?;
    let ready = MicroCell::new(operator, cell, products, [output_state, cell_state], accumulator)?;
    sequence(operator, &[rows], states, false, |step, inputs, states| ready.step(step, inputs[0], states))
}

impl Products {
    fn new(operator: &mut Operator<'_, '_, '_>, cells: u64, weights: &[&Operand], factor: &Operand) -> Result<Self, Diagnostic> {
        let affine = operator.affine(&factor.info)?;
        let (mut mantissas, mut shifts, mut weights_zero_point) = (Vec::new(), Vec::new(), None);
        for weights in weights {
            expect_element(weights, I8)?;
            let own = operator.affine(&weights.info)?;
            if *weights_zero_point.get_or_insert(own.zero_point) != own.zero_point {
                return Err(
                    unsupported("gates whose weights have different zero points are not supported").about_tensor(&weights.info.name)
                );
            }
            let factor = multiplier(f64::from(affine.scale * own.scale) / f64::from(GATE_SCALE))?;
            if factor.shift > 14 {
                return Err(invalid(codes::SCALE, "the scales are too large for a gate").about_tensor(&weights.info.name));
            }
            mantissas.extend(std::iter::repeat_n(factor.mantissa, cells as usize));
            shifts.extend(std::iter::repeat_n(factor.shift, cells as usize));
        }
        let count = mantissas.len() as u64;
        Ok(Self {
            weights: stacked(operator, weights)?,
            zero_points: (i64::from(affine.zero_point), i64::from(weights_zero_point.unwrap_or(0))),
            mantissas: operator.constant_i32(&[count], &mantissas)?,
            shifts: operator.constant_i32(&[count], &shifts)?,
        })
    }
}

/// A sum of products at the scale of gates, i32: 64-bit sums are rounded once and 32-bit ones twice, as FULLY_CONNECTED does it there.
fn at_gate_scale(terms: &mut Terms, sum: Node, mantissa: Node, shift: Node) -> Term {
    let x = if terms.ty(sum) == I64 { scale_wide(terms, sum, mantissa, shift) } else { terms.requantize(sum, mantissa, shift) }?;
    terms.clamp_i32(x, RANGE_16)
}

impl MicroCell {
    fn new(
        operator: &mut Operator<'_, '_, '_>,
        cell: &Cell,
        input: Products,
        [output_state, cell_state]: [&Operand; 2],
        accumulator: ElementType,
    ) -> Result<Self, Diagnostic> {
        let bias = cell.stacked_bias(operator, accumulator)?;
        let weights: Vec<&Operand> = cell.gates().iter().map(|gate| &gate.recurrent_weights).collect();
        let recurrent = Products::new(operator, cell.cells, &weights, output_state)?;
        let (cell_scale, output) = (operator.affine(&cell_state.info)?.scale, operator.affine(&output_state.info)?);
        let cell_exponent = exponent(cell_scale).filter(|exponent| CELL_EXPONENTS.contains(exponent)).ok_or_else(|| {
            let error = invalid(codes::SCALE, "the scale of the cell state must be a power of two").about_tensor(&cell_state.info.name);
            error.expected(format!("2^{} to 2^{}", CELL_EXPONENTS.start(), CELL_EXPONENTS.end()), cell_scale.to_string())
        })?;
        let clip = f64::from(cell.settings.cell_clip) / f64::from(cell_scale);
        let (function_scale, cell_scale) = (FUNCTION_SCALE, f64::from(cell_scale));
        Ok(Self {
            input,
            bias,
            recurrent,
            accumulator,
            table: sigmoid16::table(operator),
            cells: cell.cells,
            cell_exponent,
            cell_clip: (cell.settings.cell_clip > 0.0).then(|| clip.min(32767.0) as i32),
            kept: multiplier(function_scale * cell_scale / cell_scale)?,
            new: multiplier(function_scale * function_scale / cell_scale)?,
            hidden: multiplier(function_scale * function_scale / f64::from(output.scale))?,
            output,
            element: output_state.element(),
            range: integer_range(output_state.element()).ok_or_else(|| operator.type_error(&[output_state.element()]))?,
        })
    }

    /// One step: `inputs` and the states are `[batch, …]`.
    fn step(&self, step: &mut Step<'_, '_>, inputs: Value, states: &[Value]) -> Stepped {
        let (hidden, before) = (states[0], states[1]);
        let inputs = self.input_products(step, inputs)?;
        let sums = self.sums(step, inputs, hidden)?;
        let g = &mut *step.graph;
        let mut gates = Vec::new();
        for gate in 0..4 {
            gates.push(columns(g, sums, gate * self.cells, self.cells)?);
        }
        let after = self.new_cell(g, &[gates[0], gates[1], gates[2], before])?;
        let output = self.new_hidden(g, gates[3], after)?;
        Ok((output, vec![output, after]))
    }

    /// The input's products of all gates with the bias, i16.
    fn input_products(&self, step: &mut Step<'_, '_>, inputs: Value) -> Result<Value, Diagnostic> {
        let Products { weights, zero_points, mantissas, shifts } = &self.input;
        let [weights, mantissas, shifts, bias] = [*weights, *mantissas, *shifts, self.bias].map(|value| step.value(value));
        let sums = step.graph.builder.matmul(inputs, weights?, *zero_points, self.accumulator)?;
        let mut terms = Terms::new(&[self.accumulator, I32, I32, self.accumulator]);
        let [sum, mantissa, shift, bias_term] = [0, 1, 2, 3].map(|index| terms.input(index));
        let sum = terms.add(sum, bias_term)?;
        let x = at_gate_scale(&mut terms, sum, mantissa, shift)?;
        let x = terms.convert(x, I16);
        Ok(step.graph.map(&[sums, mantissas?, shifts?, bias?], terms.finish(x))?)
    }

    /// The sums of all gates, i16.
    fn sums(&self, step: &mut Step<'_, '_>, inputs: Value, hidden: Value) -> Result<Value, Diagnostic> {
        let Products { weights, zero_points, mantissas, shifts } = &self.recurrent;
        let (weights, mantissas, shifts) = (step.value(*weights)?, step.value(*mantissas)?, step.value(*shifts)?);
        let sums = step.graph.builder.matmul(hidden, weights, *zero_points, self.accumulator)?;
        let mut terms = Terms::new(&[self.accumulator, I32, I32, I16]);
        let (sum, mantissa, shift) = (terms.input(0), terms.input(1), terms.input(2));
        let x = at_gate_scale(&mut terms, sum, mantissa, shift)?;
        let input = terms.input_as(3, I32);
        let x = terms.add(x, input)?;
        let x = terms.clamp_i32(x, RANGE_16)?;
        let x = terms.convert(x, I16);
        Ok(step.graph.map(&[sums, mantissas, shifts, inputs], terms.finish(x))?)
    }

    /// σ of a gate's sum.
    fn open(&self, terms: &mut Terms, gate: usize) -> Term {
        let x = terms.input(gate);
        sigmoid16::logistic_of(terms, self.table, Steps::of_power(-12), x)
    }

    /// The new cell state from the sums of input gate, forget gate and candidate, and the old state: all i16.
    fn new_cell(&self, g: &mut Graph<'_>, operands: &[Value; 4]) -> Result<Value, Diagnostic> {
        let mut terms = Terms::new(&[I16; 4]);
        let (input, forget) = (self.open(&mut terms, 0)?, self.open(&mut terms, 1)?);
        let candidate = terms.input(2);
        let candidate = sigmoid16::tanh_of(&mut terms, self.table, Steps::of_power(-12), candidate)?;
        let before = terms.input_as(3, I32);
        let kept = scaled_product(&mut terms, forget, before, self.kept, 0, RANGE_16)?;
        let new = scaled_product(&mut terms, input, candidate, self.new, 0, RANGE_16)?;
        let sum = terms.add(kept, new)?;
        let bound = self.cell_clip.map_or(RANGE_16, |clip| (-clip, clip));
        let after = terms.clamp_i32(sum, bound)?;
        let after = terms.convert(after, I16);
        Ok(g.map(operands, terms.finish(after))?)
    }

    /// What the cell shows: the output gate times the tangent of the state.
    fn new_hidden(&self, g: &mut Graph<'_>, gate: Value, state: Value) -> Result<Value, Diagnostic> {
        let mut terms = Terms::new(&[I16, I16]);
        let gate_term = self.open(&mut terms, 0)?;
        let state_term = terms.input(1);
        let shown = sigmoid16::tanh_of(&mut terms, self.table, Steps::of_power(self.cell_exponent), state_term)?;
        let x = scaled_product(&mut terms, shown, gate_term, self.hidden, self.output.zero_point, self.range)?;
        let x = terms.convert(x, self.element);
        Ok(g.map(&[gate, state], terms.finish(x))?)
    }
}

/// `a × b × factor` plus a zero point, i32 within bounds.
fn scaled_product(terms: &mut Terms, a: Node, b: Node, factor: Multiplier, zero_point: i32, bounds: (i32, i32)) -> Term {
    let product = terms.mul(a, b)?;
    let x = terms.requantize_by(product, factor)?;
    let zero_point = terms.i32(zero_point);
    let x = terms.add(x, zero_point)?;
    terms.clamp_i32(x, bounds)
}
