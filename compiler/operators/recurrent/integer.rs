//! LSTM cells of integers: int8 activations and weights, a 16-bit cell state, gates in 16-bit fixed point. Every rounding is the
//! reference's.
//!
//! Each gate's products are brought to 16 bits one after the other, input first, and added with saturation.

use super::cell::{Cell, Gate, Scales, Weights, columns, stacked};
use super::fixed;
use super::sequence::{LoopPlace, Step, Stepped, sequence};
use crate::ir::{Comparison, ElementType, Interval, Node, Reduction, ScalarOp, Value, ZeroPoints};
use crate::operators::fixed::inverse_root;
use crate::operators::quantization::{Affine, Multiplier, multiplier};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{I8, I16, I32, I64};

/// Layer normalization of a gate.
struct Norm {
    coefficients: Value,
    bias: Value,
    scale: Multiplier,
    /// The minimum of the variance.
    guard: i32,
}

/// The parts of a gate that are its own.
struct GateParts {
    start: u64,
    peephole: Option<(Value, Multiplier)>,
    norm: Option<Norm>,
}

/// Weights, and the factors that bring their products to the scale of the gates, one for each row.
struct Products {
    weights: Value,
    zero_point: i64,
    mantissas: Value,
    shifts: Value,
}

struct Projection {
    weights: Value,
    bias: Option<Value>,
    factor: Multiplier,
    zero_point: i32,
    clip: i32,
}

/// A cell ready to run.
struct IntegerCell<'c> {
    cell: &'c Cell,
    input: Products,
    /// The addend of the input's products; `None` if it is added after normalization.
    bias: Option<Value>,
    recurrent: Products,
    input_gate: Option<GateParts>,
    forget_gate: GateParts,
    cell_gate: GateParts,
    output_gate: GateParts,
    /// The scale of the cell state is 2 to this power.
    cell_exponent: i32,
    cell_clip: i32,
    hidden: Multiplier,
    /// The zero point of the cell's output before projection.
    hidden_zero_point: i32,
    projection: Option<Projection>,
}

/// The scales of intermediate values, to which results are rounded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InnerScales {
    /// The scales of the gates' sums: input, forget, cell, output.
    pub gates: [f32; 4],
    /// The quantization of the cell's output before projection.
    pub hidden: Affine,
}

/// Runs a cell of int8 over `rows [steps, batch, inputs]` with a cell state of 16 bits. Returns the outputs and the new states.
///
/// # Errors
/// When operands do not fit each other, or scales are out of range.
pub fn integer_lstm(
    (g, names): LoopPlace<'_, '_>,
    cell: &Cell,
    rows: Value,
    states: [Value; 2],
    scales: &Scales,
    inner: &InnerScales,
) -> Stepped {
    let weights: Vec<&Weights> = cell.gates().iter().map(|gate| &gate.input_weights).collect();
    let products = Products::new(g, cell, &weights, scales.input, inner)?;
    let ready = IntegerCell::new(g, cell, products, scales, inner)?;
    sequence((g, names), &[rows], &states, false, |step, inputs, states| ready.step(step, inputs[0], states))
}

/// The numbers of the gates that are there, in the order of the file.
fn gate_numbers(cell: &Cell) -> Vec<usize> {
    (if cell.input_gate.is_some() { 0..4 } else { 1..4 }).collect()
}

impl Products {
    fn new(g: &mut Graph<'_>, cell: &Cell, weights: &[&Weights], factor: Affine, inner: &InnerScales) -> Result<Self, Error> {
        let (mut mantissas, mut shifts) = (Vec::new(), Vec::new());
        for (weights, number) in weights.iter().zip(gate_numbers(cell)) {
            let scale = weights.scale() * factor.scale / inner.gates[number];
            let multiplier = multiplier(f64::from(scale))?;
            mantissas.extend(std::iter::repeat_n(multiplier.mantissa, cell.cells as usize));
            shifts.extend(std::iter::repeat_n(multiplier.shift, cell.cells as usize));
        }
        let count = mantissas.len() as u64;
        Ok(Self {
            weights: stacked(g, &weights.iter().map(|weights| weights.value).collect::<Vec<_>>())?,
            zero_point: i64::from(factor.zero_point),
            mantissas: g.constant_i32(&[count], &mantissas)?,
            shifts: g.constant_i32(&[count], &shifts)?,
        })
    }
}

/// A number clamped to 16 bits.
fn clamp_16(terms: &mut Terms, x: Node) -> Term {
    terms.clamp_i32(x, Interval::new(-32768, 32767))
}

/// The exponent of the scale of a cell state.
fn exponent_of_two(scale: f32) -> Result<i32, Error> {
    let exponent = libm::roundf(libm::log2f(scale));
    let is_power = libm::fabsf(libm::log2f(scale) - exponent) < 1e-3;
    if !is_power || !(-15.0..=-9.0).contains(&exponent) {
        return Err(Error::CellScale { scale, least: -15, most: -9 });
    }
    Ok(exponent as i32)
}

impl<'c> IntegerCell<'c> {
    fn new(g: &mut Graph<'_>, cell: &'c Cell, input: Products, scales: &Scales, inner: &InnerScales) -> Result<Self, Error> {
        let bias = cell.bias_of_products(g)?;
        let weights: Vec<&Weights> = cell.gates().iter().map(|gate| &gate.recurrent_weights).collect();
        let recurrent = Products::new(g, cell, &weights, scales.output, inner)?;
        let cell_exponent = exponent_of_two(scales.cell)?;
        let mut start = 0;
        let mut parts = |gate: &Gate, number: usize| {
            let parts = GateParts { start, peephole: peephole(gate, cell_exponent, inner.gates[number])?, norm: norm(gate)? };
            start += cell.cells;
            Ok::<GateParts, Error>(parts)
        };
        let input_gate = cell.input_gate.as_ref().map(|gate| parts(gate, 0)).transpose()?;
        let (forget_gate, cell_gate) = (parts(&cell.forget_gate, 1)?, parts(&cell.cell_gate, 2)?);
        let output_gate = parts(&cell.output_gate, 3)?;
        let hidden = (2f64.powi(-15) / f64::from(inner.hidden.scale) * 2f64.powi(-15)) as f32;
        let projection = cell.projection.as_ref().map(|(weights, bias)| projection(cell, weights, *bias, scales, inner)).transpose()?;
        let clip = cell.settings.cell_clip / scales.cell;
        Ok(Self {
            cell,
            input,
            bias,
            recurrent,
            input_gate,
            forget_gate,
            cell_gate,
            output_gate,
            cell_exponent,
            cell_clip: clip.clamp(0.0, 32767.0) as i32,
            hidden: multiplier(f64::from(hidden))?,
            // The reference negates the projection's operand, which matters where it saturates.
            hidden_zero_point: if projection.is_some() { -inner.hidden.zero_point } else { inner.hidden.zero_point },
            projection,
        })
    }

    /// One step: `inputs` and the states are `[batch, …]`.
    fn step(&self, step: &mut Step<'_, '_>, inputs: Value, states: &[Value]) -> Stepped {
        let (hidden, before) = (states[0], states[1]);
        let inputs = self.input_products(step, inputs)?;
        let sums = self.recurrent_products(step, inputs, hidden)?;
        let forget = self.gate(step, &self.forget_gate, sums, before)?;
        let candidate = self.gate(step, &self.cell_gate, sums, before)?;
        let mut operands = vec![forget, candidate, before];
        if let Some(gate) = &self.input_gate {
            operands.push(self.gate(step, gate, sums, before)?);
        }
        let after = self.new_cell(step.graph, &operands)?;
        let output = self.gate(step, &self.output_gate, sums, after)?;
        let output = self.new_hidden(step.graph, output, after)?;
        let output = match &self.projection {
            Some(projection) => self.projected(step, projection, output)?,
            None => output,
        };
        Ok((output, vec![output, after]))
    }

    /// The input's products of all gates in 16 bits, with the bias.
    fn input_products(&self, step: &mut Step<'_, '_>, inputs: Value) -> Result<Value, Error> {
        let Products { weights, zero_point, mantissas, shifts } = &self.input;
        let (weights, mantissas, shifts) = (step.value(*weights)?, step.value(*mantissas)?, step.value(*shifts)?);
        let sums = step.graph.builder.matmul(inputs, weights, ZeroPoints::of_left(*zero_point), I32)?;
        let mut operands = vec![sums, mantissas, shifts];
        if let Some(bias) = self.bias {
            operands.push(step.value(bias)?);
        }
        let mut terms = Terms::new(&vec![I32; operands.len()]);
        let (mut sum, mantissa, shift) = (terms.input(0), terms.input(1), terms.input(2));
        if operands.len() == 4 {
            let bias = terms.input(3);
            sum = terms.add(sum, bias)?;
        }
        let x = terms.requantize(sum, mantissa, shift)?;
        let x = clamp_16(&mut terms, x)?;
        let x = terms.convert(x, I16);
        step.graph.map(&operands, terms.finish(x))
    }

    /// The sums of all gates, i16.
    fn recurrent_products(&self, step: &mut Step<'_, '_>, inputs: Value, hidden: Value) -> Result<Value, Error> {
        let Products { weights, zero_point, mantissas, shifts } = &self.recurrent;
        let (weights, mantissas, shifts) = (step.value(*weights)?, step.value(*mantissas)?, step.value(*shifts)?);
        let sums = step.graph.builder.matmul(hidden, weights, ZeroPoints::of_left(*zero_point), I32)?;
        let mut terms = Terms::new(&[I32, I32, I32, I16]);
        let (sum, mantissa, shift) = (terms.input(0), terms.input(1), terms.input(2));
        let x = terms.requantize(sum, mantissa, shift)?;
        let input = terms.input_as(3, I32);
        let x = terms.add(x, input)?;
        let x = clamp_16(&mut terms, x)?;
        let x = terms.convert(x, I16);
        step.graph.map(&[sums, mantissas, shifts, inputs], terms.finish(x))
    }

    /// A gate's sum before its function, i16.
    fn gate(&self, step: &mut Step<'_, '_>, gate: &GateParts, sums: Value, cell_state: Value) -> Result<Value, Error> {
        let mut value = columns(step.graph, sums, gate.start, self.cell.cells)?;
        if let Some((weights, factor)) = &gate.peephole {
            let weights = step.value(*weights)?;
            let mut terms = Terms::new(&[I16, I16, I16]);
            let (x, weight, state) = (terms.input_as(0, I32), terms.input_as(1, I32), terms.input_as(2, I32));
            let product = terms.mul(weight, state)?;
            let product = terms.requantize_by(product, *factor)?;
            let x = terms.add(product, x)?;
            let x = clamp_16(&mut terms, x)?;
            let x = terms.convert(x, I16);
            value = step.graph.map(&[value, weights, cell_state], terms.finish(x))?;
        }
        match &gate.norm {
            Some(norm) => norm.apply(step, value, self.cell.cells),
            None => Ok(value),
        }
    }

    /// The new cell state from forget gate, candidate, old state and, if there is one, input gate: all i16.
    fn new_cell(&self, g: &mut Graph<'_>, operands: &[Value]) -> Result<Value, Error> {
        let mut terms = Terms::new(&vec![I16; operands.len()]);
        let (forget, candidate, before) = (terms.input_as(0, I32), terms.input_as(1, I32), terms.input_as(2, I32));
        let forget = fixed::logistic(&mut terms, forget)?;
        let candidate = fixed::tanh(&mut terms, candidate, 3)?;
        let input = if operands.len() == 4 {
            let input = terms.input_as(3, I32);
            fixed::logistic(&mut terms, input)?
        } else {
            let one = terms.i32(32767);
            terms.sub(one, forget)?
        };
        let kept = scaled_product(&mut terms, forget, before, 15)?;
        let new = scaled_product(&mut terms, input, candidate, 30 + self.cell_exponent)?;
        let sum = terms.add(kept, new)?;
        let mut after = clamp_16(&mut terms, sum)?;
        if self.cell_clip > 0 {
            after = terms.clamp_i32(after, Interval::new(-self.cell_clip, self.cell_clip))?;
        }
        let after = terms.convert(after, I16);
        g.map(operands, terms.finish(after))
    }

    /// The cell's output, i8: the output gate times the tangent of the state.
    fn new_hidden(&self, g: &mut Graph<'_>, gate: Value, state: Value) -> Result<Value, Error> {
        let mut terms = Terms::new(&[I16, I16]);
        let (gate_term, state_term) = (terms.input_as(0, I32), terms.input_as(1, I32));
        let gate_term = fixed::logistic(&mut terms, gate_term)?;
        let shown = fixed::tanh(&mut terms, state_term, 15 + self.cell_exponent)?;
        let product = terms.mul(gate_term, shown)?;
        let product = terms.requantize_by(product, self.hidden)?;
        let zero_point = terms.i32(self.hidden_zero_point);
        let x = terms.add(product, zero_point)?;
        let x = terms.clamp_i32(x, Interval::new(-128, 127))?;
        let x = terms.convert(x, I8);
        g.map(&[gate, state], terms.finish(x))
    }

    fn projected(&self, step: &mut Step<'_, '_>, projection: &Projection, hidden: Value) -> Result<Value, Error> {
        let weights = step.value(projection.weights)?;
        let sums = step.graph.builder.matmul(hidden, weights, ZeroPoints::of_left(i64::from(self.hidden_zero_point)), I32)?;
        let mut operands = vec![sums];
        if let Some(bias) = projection.bias {
            operands.push(step.value(bias)?);
        }
        let mut terms = Terms::new(&vec![I32; operands.len()]);
        let mut sum = terms.input(0);
        if operands.len() == 2 {
            let bias = terms.input(1);
            sum = terms.add(sum, bias)?;
        }
        let x = terms.requantize_by(sum, projection.factor)?;
        let zero_point = terms.i32(projection.zero_point);
        let x = terms.add(x, zero_point)?;
        let mut x = terms.clamp_i32(x, Interval::new(-128, 127))?;
        if projection.clip > 0 {
            x = terms.clamp_i32(x, Interval::new(-projection.clip, projection.clip))?;
        }
        let x = terms.convert(x, I8);
        step.graph.map(&operands, terms.finish(x))
    }
}

/// `a × b ÷ 2^exponent` to nearest, in 16 bits.
fn scaled_product(terms: &mut Terms, a: Node, b: Node, exponent: i32) -> Term {
    let product = terms.mul(a, b)?;
    let exponent = terms.i32(exponent);
    let quotient = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[product, exponent])?;
    let narrow = terms.convert(quotient, I16);
    Ok(terms.convert(narrow, I32))
}

fn peephole(gate: &Gate, cell_exponent: i32, gate_scale: f32) -> Result<Option<(Value, Multiplier)>, Error> {
    let Some(weights) = &gate.peephole else { return Ok(None) };
    let real = (2f64.powi(cell_exponent) * f64::from(weights.scale()) / f64::from(gate_scale)) as f32;
    Ok(Some((weights.value, multiplier(f64::from(real))?)))
}

fn norm(gate: &Gate) -> Result<Option<Norm>, Error> {
    let Some(coefficients) = &gate.norm else { return Ok(None) };
    let scale = coefficients.scale();
    let factor = multiplier(f64::from(scale))?;
    // The result has twelve fraction bits more.
    let scale_to_gate = Multiplier { shift: factor.shift + 12, ..factor };
    if scale_to_gate.shift > 30 {
        return Err(Error::NormScale { scale });
    }
    Ok(Some(Norm { coefficients: coefficients.value, bias: gate.bias, scale: scale_to_gate, guard: ((10000.0 * scale) as i32).max(1) }))
}

fn projection(cell: &Cell, weights: &Weights, bias: Option<Value>, scales: &Scales, inner: &InnerScales) -> Result<Projection, Error> {
    let real = weights.scale() * inner.hidden.scale / scales.output.scale;
    let clip = cell.settings.projection_clip / scales.result;
    Ok(Projection {
        weights: weights.value,
        bias,
        factor: multiplier(f64::from(real))?,
        zero_point: scales.output.zero_point,
        clip: clip.clamp(0.0, 127.0) as i32,
    })
}

impl Norm {
    /// `(x − mean) ÷ deviation × coefficients + bias` over the cells, in fixed point with ten more fraction bits on the way.
    fn apply(&self, step: &mut Step<'_, '_>, value: Value, cells: u64) -> Result<Value, Error> {
        let (coefficients, bias) = (step.value(self.coefficients)?, step.value(self.bias)?);
        let g = &mut *step.graph;
        let mut terms = Terms::new(&[I16]);
        let x = terms.input_as(0, I64);
        let square = terms.mul(x, x)?;
        let wide = g.map_many(&[value], terms.finish_many(vec![x, square]))?;
        let (sum, squares) = (g.builder.reduce(wide[0], Reduction::Sum, vec![1])?, g.builder.reduce(wide[1], Reduction::Sum, vec![1])?);
        let (mut terms, count) = (Terms::new(&[I64, I64]), cells as i64);
        let (sum_term, squares_term) = (terms.input(0), terms.input(1));
        let (resolution, count_term) = (terms.i64(1 << 10), terms.i64(count));
        let mean = terms.mul(sum_term, resolution)?;
        let mean = terms.div(mean, count_term)?;
        let mean = terms.convert(mean, I32);
        let variance = self.variance(&mut terms, squares_term, mean, count)?;
        let (mantissa, shift) = inverse_root(&mut terms, variance)?;
        let parameters = g.map_many(&[sum, squares], terms.finish_many(vec![mean, mantissa, shift]))?;

        let mut terms = Terms::new(&[I16, I32, I32, I32, I16, I32]);
        let x = terms.input_as(0, I32);
        let [mean, mantissa, shift] = [1, 2, 3].map(|index| terms.input(index));
        let (coefficient, bias_term) = (terms.input_as(4, I32), terms.input(5));
        let resolution = terms.i32(1 << 10);
        let fine = terms.mul(x, resolution)?;
        let difference = terms.sub(fine, mean)?;
        let normal = terms.requantize(difference, mantissa, shift)?;
        let scaled = terms.mul(normal, coefficient)?;
        let sum = terms.add(scaled, bias_term)?;
        let x = thousandth(&mut terms, sum)?;
        let x = terms.requantize_by(x, self.scale)?;
        let x = clamp_16(&mut terms, x)?;
        let x = terms.convert(x, I16);
        let operands = [value, parameters[0], parameters[1], parameters[2], coefficients, bias];
        g.map(&operands, terms.finish(x))
    }

    /// The variance from the sum of squares and 1024 times the mean; the guard if it is below 1.
    fn variance(&self, terms: &mut Terms, squares: Node, mean: Node, count: i64) -> Term {
        let (share, unit) = (terms.i64((1 << 20) / count), terms.i64(1 << 20));
        let scaled = terms.mul(squares, share)?;
        let mean = terms.convert(mean, I64);
        let mean_square = terms.mul(mean, mean)?;
        let variance = terms.sub(scaled, mean_square)?;
        let variance = terms.div(variance, unit)?;
        let variance = terms.convert(variance, I32);
        let (one, guard) = (terms.i32(1), terms.i32(self.guard));
        let small = terms.compare(Comparison::Less, variance, one)?;
        terms.select(small, guard, variance)
    }
}

/// x ÷ 1024, halves away from zero.
fn thousandth(terms: &mut Terms, x: Node) -> Term {
    let x = terms.convert(x, I64);
    let (zero, half, minus_half, divisor) = (terms.i64(0), terms.i64(512), terms.i64(-512), terms.i64(1024));
    let is_positive = terms.compare(Comparison::Greater, x, zero)?;
    let nudge = terms.select(is_positive, half, minus_half)?;
    let x = terms.add(x, nudge)?;
    let x = terms.div(x, divisor)?;
    Ok(terms.convert(x, I32))
}
