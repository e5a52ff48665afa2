//! The basic LSTM cell: one matrix for input and output state side by side, with gates in the order input, cell, forget, output. It gives its
//! output and its cell state, and shows the joined input and the sums of the gates.
//!
//! On integers, activations are bytes around 128 in 128ths, and the cell state has 4 integer bits and 11 fraction bits.

use super::cell::columns;
use super::fixed;
use super::float::{clip, map, sum};
use crate::ir::{ElementType, Interval, Node, ScalarOp, Value, ZeroPoints};
use crate::operators::quantization::{Multiplier, multiplier};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F32, I16, I32, U8};

const RANGE_16: Interval<i32> = Interval::new(-32768, 32767);
/// The operands of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Basic {
    /// `[batch, inputs]`
    pub input: Value,
    /// The previous output, `[batch, cells]`.
    pub hidden: Value,
    /// `[4 × cells, inputs + cells]`
    pub weights: Value,
    /// `[4 × cells]`
    pub bias: Value,
    /// The previous cell state, `[batch, cells]`.
    pub before: Value,
    /// The number of cells, which is also the number of outputs.
    pub cells: u64,
}

impl Basic {
    /// Concatenates input and output state.
    fn joined(&self, g: &mut Graph<'_>) -> Result<Value, Error> {
        Ok(g.builder.concat(&[self.input, self.hidden], 1)?)
    }

    /// The sums of each gate.
    fn gates(&self, g: &mut Graph<'_>, sums: Value) -> Result<[Value; 4], Error> {
        let mut gate = |number: u64| columns(g, sums, number * self.cells, self.cells);
        Ok([gate(0)?, gate(1)?, gate(2)?, gate(3)?])
    }
}

/// A cell of floats: its output, its state, the joined input, the sums of the gates. The state stays within ± `cell_clip`, if that is above 0.
///
/// # Errors
/// When operands do not fit each other.
pub fn float_basic(g: &mut Graph<'_>, basic: &Basic, cell_clip: f32) -> Result<[Value; 4], Error> {
    let joined = basic.joined(g)?;
    let product = g.builder.matmul(joined, basic.weights, ZeroPoints::NONE, F32)?;
    let sums = sum(g, &[product, basic.bias])?;
    let [input, candidate, forget, output] = basic.gates(g, sums)?;
    let after = map(g, &[input, candidate, forget, basic.before], |terms, x| {
        let (input, forget) = (terms.op(ScalarOp::Logistic, &[x[0]])?, terms.op(ScalarOp::Logistic, &[x[2]])?);
        let candidate = terms.op(ScalarOp::Tanh, &[x[1]])?;
        let (new, kept) = (terms.mul(input, candidate)?, terms.mul(forget, x[3])?);
        let after = terms.add(new, kept)?;
        clip(terms, after, cell_clip)
    })?;
    let output = map(g, &[output, after], |terms, x| {
        let (gate, shown) = (terms.op(ScalarOp::Logistic, &[x[0]])?, terms.op(ScalarOp::Tanh, &[x[1]])?);
        terms.mul(gate, shown)
    })?;
    Ok([output, after, joined, sums])
}

/// The cell on bytes with zero point 128 and a 16-bit state with scale 2⁻¹¹. `bias_scale` is the scale of the sums, and gates have 3 integer bits.
///
/// # Errors
/// When operands do not fit each other, or the scale is out of range.
pub fn integer_basic(g: &mut Graph<'_>, basic: &Basic, bias_scale: f32, weights_zero_point: i32) -> Result<[Value; 4], Error> {
    let factor = multiplier(4096.0 * f64::from(bias_scale))?;
    let joined = basic.joined(g)?;
    let product = g.builder.matmul(joined, basic.weights, ZeroPoints { left: 128, right: weights_zero_point.into() }, I32)?;
    let mut terms = Terms::new(&[I32, I32]);
    let (product_term, bias) = (terms.input(0), terms.input(1));
    let sum = terms.add(product_term, bias)?;
    let sum = scaled(&mut terms, sum, factor)?;
    let sum = terms.clamp_i32(sum, RANGE_16)?;
    let sum = terms.convert(sum, I16);
    let sums = g.map(&[product, basic.bias], terms.finish(sum))?;
    let [input, candidate, forget, output] = basic.gates(g, sums)?;
    let mut terms = Terms::new(&[I16, I16, I16, I16]);
    let after = next_state(&mut terms)?;
    let after = terms.convert(after, I16);
    let after = g.map(&[input, candidate, forget, basic.before], terms.finish(after))?;
    let mut terms = Terms::new(&[I16, I16]);
    let shown = shown(&mut terms)?;
    let shown = terms.convert(shown, U8);
    let shown = g.map(&[output, after], terms.finish(shown))?;
    Ok([shown, after, joined, sums])
}

/// A sum times a factor. It is rounded twice, the second time with halves towards +∞, as the library does it that the runtime multiplies with here.
fn scaled(terms: &mut Terms, mut sum: Node, factor: Multiplier) -> Term {
    if factor.shift > 0 {
        let left = terms.i32(factor.shift);
        sum = terms.op(ScalarOp::ShiftLeft, &[sum, left])?;
    }
    let mantissa = terms.i32(factor.mantissa);
    let product = terms.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[sum, mantissa])?;
    if factor.shift >= 0 {
        return Ok(product);
    }
    let (right, before, one) = (terms.i32(-factor.shift), terms.i32(-factor.shift - 1), terms.i32(1));
    let whole = terms.op(ScalarOp::ShiftRight, &[product, right])?;
    let last = terms.op(ScalarOp::ShiftRight, &[product, before])?;
    let half = terms.op(ScalarOp::And, &[last, one])?;
    terms.add(whole, half)
}

/// The new state from the sums of the gates input, cell and forget, inputs 0 to 2, and the previous state, input 3.
fn next_state(terms: &mut Terms) -> Term {
    let [input, candidate, forget, before] = [0, 1, 2, 3].map(|index| terms.input_as(index, I32));
    let (input, forget) = (fixed::logistic(terms, input)?, fixed::logistic(terms, forget)?);
    let candidate = fixed::tanh(terms, candidate, 3)?;
    let (new, kept) = (fixed::multiply(terms, input, candidate)?, fixed::multiply(terms, forget, before)?);
    // The product has no integer bits, the state has 4.
    let four = terms.i32(4);
    let new = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[new, four])?;
    let after = terms.add(new, kept)?;
    terms.clamp_i32(after, RANGE_16)
}

/// The output from the sum of the output gate, input 0, and the new state, input 1. Only 3 integer bits of the state are used.
fn shown(terms: &mut Terms) -> Term {
    let [output, after] = [0, 1].map(|index| terms.input_as(index, I32));
    let one = terms.i32(1);
    let doubled = terms.op(ScalarOp::ShiftLeft, &[after, one])?;
    let state = terms.clamp_i32(doubled, RANGE_16)?;
    let (output, state) = (fixed::logistic(terms, output)?, fixed::tanh(terms, state, 3)?);
    let product = fixed::multiply(terms, output, state)?;
    as_byte(terms, product)
}

/// Converts a number without integer bits to a byte with zero point 128.
fn as_byte(terms: &mut Terms, x: Node) -> Term {
    let (eight, centre) = (terms.i32(8), terms.i32(128));
    let x = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[x, eight])?;
    let x = terms.clamp_i32(x, Interval::new(-128, 127))?;
    terms.add(x, centre)
}
