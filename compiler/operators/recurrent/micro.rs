//! LSTM cells of integers as TFLite for microcontrollers computes them: activations of 8 or 16 bits, int8 weights, a 16-bit cell state. Gate
//! functions use the table of the 16-bit LOGISTIC and TANH. No other runtime takes 16-bit activations; files with 8-bit ones that have no inner
//! scales are its own too.
//!
//! Each gate is two FULLY_CONNECTED operators, input and state, whose 16-bit results are added with saturation.

use super::cell::{Cell, Scales, Weights, columns, stacked};
use super::sequence::{LoopPlace, Step, Stepped, sequence};
use crate::ir::{Constant, ElementType, Interval, Node, Value, ZeroPoints};
use crate::operators::contraction::scale_wide;
use crate::operators::quantization::{Affine, Multiplier, exponent, integer_range, multiplier};
use crate::operators::sigmoid16::{self, Steps};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{I16, I32, I64};

/// The scale of sums of gates: three integer bits.
const GATE_SCALE: f32 = 1.0 / 4096.0;
/// The scale of the gate functions' results: no integer bit.
const FUNCTION_SCALE: f64 = 1.0 / 32768.0;
/// The exponents of the scale of a cell state. Others do not fit the arithmetic of the hyperbolic tangent.
const CELL_EXPONENTS: std::ops::RangeInclusive<i32> = -27..=0;

/// 16-bit integers.
const RANGE_16: Interval<i32> = Interval::new(-32768, 32767);

/// The weights of all gates, and the factors that bring their products to the scale of the gates, one for each gate.
struct Products {
    weights: Value,
    zero_points: ZeroPoints,
    mantissas: Value,
    shifts: Value,
}

/// A cell ready to run.
struct MicroCell {
    input: Products,
    /// The addend of the input's products.
    bias: Value,
    recurrent: Products,
    accumulator: ElementType,
    table: Constant,
    cells: u64,
    /// The scale of the cell state is 2 to this power.
    cell_exponent: i32,
    /// The bound of the cell state, if there is one.
    cell_clip: Option<i32>,
    /// The factors that bring forget gate × state, and input gate × candidate, to the scale of the state.
    kept: Multiplier,
    new: Multiplier,
    /// The factor that brings output gate × tangent to the scale of the output.
    hidden: Multiplier,
    output: Affine,
    element: ElementType,
    /// The range of the output's type.
    range: Interval<i32>,
}

/// Runs a cell over `rows [steps, batch, inputs]` of 8 or 16 bits with a cell state of 16. Returns the outputs and the new states. There must be an
/// input gate, and no peepholes, layer normalization or projection. The activation is the hyperbolic tangent.
///
/// # Errors
/// When operands do not fit each other, or scales are out of range.
pub fn micro_lstm((g, names): LoopPlace<'_, '_>, cell: &Cell, rows: Value, states: [Value; 2], scales: &Scales) -> Stepped {
    let element = g.element(rows);
    let weights: Vec<&Weights> = cell.gates().iter().map(|gate| &gate.input_weights).collect();
    let products = Products::new(g, cell.cells, &weights, scales.input)?;
    let ready = MicroCell::new(g, cell, products, scales, element)?;
    sequence((g, names), &[rows], &states, false, |step, inputs, states| ready.step(step, inputs[0], states))
}

impl Products {
    fn new(g: &mut Graph<'_>, cells: u64, weights: &[&Weights], factor: Affine) -> Result<Self, Error> {
        let (mut mantissas, mut shifts) = (Vec::new(), Vec::new());
        let zero_point = weights.first().map_or(0, |weights| weights.zero_point);
        for weights in weights {
            if weights.zero_point != zero_point {
                return Err(Error::GateZeroPoints);
            }
            let scale = f64::from(factor.scale * weights.scale()) / f64::from(GATE_SCALE);
            let multiplier = multiplier(scale)?;
            if multiplier.shift > 14 {
                return Err(Error::GateScale { scale });
            }
            mantissas.extend(std::iter::repeat_n(multiplier.mantissa, cells as usize));
            shifts.extend(std::iter::repeat_n(multiplier.shift, cells as usize));
        }
        let count = mantissas.len() as u64;
        Ok(Self {
            weights: stacked(g, &weights.iter().map(|weights| weights.value).collect::<Vec<_>>())?,
            zero_points: ZeroPoints { left: factor.zero_point.into(), right: zero_point.into() },
            mantissas: g.constant_i32(&[count], &mantissas)?,
            shifts: g.constant_i32(&[count], &shifts)?,
        })
    }
}

/// A sum of products at the scale of gates, i32: 64-bit sums are rounded once and 32-bit ones twice, as FULLY_CONNECTED does it there.
fn at_gate_scale(terms: &mut Terms, sum: Node, mantissa: Node, shift: Node) -> Term {
    let x = if terms.ty(sum) == I64 { scale_wide(terms, sum, mantissa, shift) } else { terms.requantize(sum, mantissa, shift) }?;
    terms.clamp_i32(x, RANGE_16)
}

impl MicroCell {
    fn new(g: &mut Graph<'_>, cell: &Cell, input: Products, scales: &Scales, element: ElementType) -> Result<Self, Error> {
        let bias = cell.stacked_bias(g)?;
        let weights: Vec<&Weights> = cell.gates().iter().map(|gate| &gate.recurrent_weights).collect();
        let recurrent = Products::new(g, cell.cells, &weights, scales.output)?;
        let (least, most) = (*CELL_EXPONENTS.start(), *CELL_EXPONENTS.end());
        let cell_exponent = exponent(scales.cell).filter(|exponent| CELL_EXPONENTS.contains(exponent));
        let cell_exponent = cell_exponent.ok_or(Error::CellScale { scale: scales.cell, least, most })?;
        let clip = f64::from(cell.settings.cell_clip) / f64::from(scales.cell);
        let (function_scale, cell_scale) = (FUNCTION_SCALE, f64::from(scales.cell));
        Ok(Self {
            input,
            bias,
            recurrent,
            accumulator: if element == I16 { I64 } else { I32 },
            table: sigmoid16::table(g),
            cells: cell.cells,
            cell_exponent,
            cell_clip: (cell.settings.cell_clip > 0.0).then(|| clip.min(32767.0) as i32),
            kept: multiplier(function_scale * cell_scale / cell_scale)?,
            new: multiplier(function_scale * function_scale / cell_scale)?,
            hidden: multiplier(function_scale * function_scale / f64::from(scales.output.scale))?,
            output: scales.output,
            element,
            range: integer_range(element).ok_or(Error::NotQuantized { element })?,
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
    fn input_products(&self, step: &mut Step<'_, '_>, inputs: Value) -> Result<Value, Error> {
        let Products { weights, zero_points, mantissas, shifts } = &self.input;
        let [weights, mantissas, shifts, bias] = [*weights, *mantissas, *shifts, self.bias].map(|value| step.value(value));
        let sums = step.graph.builder.matmul(inputs, weights?, *zero_points, self.accumulator)?;
        let mut terms = Terms::new(&[self.accumulator, I32, I32, self.accumulator]);
        let [sum, mantissa, shift, bias_term] = [0, 1, 2, 3].map(|index| terms.input(index));
        let sum = terms.add(sum, bias_term)?;
        let x = at_gate_scale(&mut terms, sum, mantissa, shift)?;
        let x = terms.convert(x, I16);
        step.graph.map(&[sums, mantissas?, shifts?, bias?], terms.finish(x))
    }

    /// The sums of all gates, i16.
    fn sums(&self, step: &mut Step<'_, '_>, inputs: Value, hidden: Value) -> Result<Value, Error> {
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
        step.graph.map(&[sums, mantissas, shifts, inputs], terms.finish(x))
    }

    /// σ of a gate's sum.
    fn open(&self, terms: &mut Terms, gate: usize) -> Term {
        let x = terms.input(gate);
        sigmoid16::logistic_of(terms, self.table, Steps::of_power(-12), x)
    }

    /// The new cell state from the sums of input gate, forget gate and candidate, and the old state: all i16.
    fn new_cell(&self, g: &mut Graph<'_>, operands: &[Value; 4]) -> Result<Value, Error> {
        let mut terms = Terms::new(&[I16; 4]);
        let (input, forget) = (self.open(&mut terms, 0)?, self.open(&mut terms, 1)?);
        let candidate = terms.input(2);
        let candidate = sigmoid16::tanh_of(&mut terms, self.table, Steps::of_power(-12), candidate)?;
        let before = terms.input_as(3, I32);
        let kept = scaled_product(&mut terms, forget, before, self.kept, 0, RANGE_16)?;
        let new = scaled_product(&mut terms, input, candidate, self.new, 0, RANGE_16)?;
        let sum = terms.add(kept, new)?;
        let bound = self.cell_clip.map_or(RANGE_16, |clip| Interval::new(-clip, clip));
        let after = terms.clamp_i32(sum, bound)?;
        let after = terms.convert(after, I16);
        g.map(operands, terms.finish(after))
    }

    /// The cell's output: the output gate times the tangent of the state.
    fn new_hidden(&self, g: &mut Graph<'_>, gate: Value, state: Value) -> Result<Value, Error> {
        let mut terms = Terms::new(&[I16, I16]);
        let gate_term = self.open(&mut terms, 0)?;
        let state_term = terms.input(1);
        let shown = sigmoid16::tanh_of(&mut terms, self.table, Steps::of_power(self.cell_exponent), state_term)?;
        let x = scaled_product(&mut terms, shown, gate_term, self.hidden, self.output.zero_point, self.range)?;
        let x = terms.convert(x, self.element);
        g.map(&[gate, state], terms.finish(x))
    }
}

/// `a × b × factor` plus a zero point, i32 within bounds.
fn scaled_product(terms: &mut Terms, a: Node, b: Node, factor: Multiplier, zero_point: i32, bounds: Interval<i32>) -> Term {
    let product = terms.mul(a, b)?;
    let x = terms.requantize_by(product, factor)?;
    let zero_point = terms.i32(zero_point);
    let x = terms.add(x, zero_point)?;
    terms.clamp_i32(x, bounds)
}
