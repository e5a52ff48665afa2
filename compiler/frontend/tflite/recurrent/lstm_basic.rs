//! The basic LSTM cell: one matrix for input and output state side by side, with gates in the order input, cell, forget, output. It gives its
//! output and its cell state, and shows the joined input and the sums of the gates.
//!
//! On integers, activations are bytes around 128 in 128ths, and the cell state has 4 integer bits and 11 fraction bits.

use super::super::arithmetic::exponent;
use super::super::operator::{Lowered, Operand, Operator, invalid, unsupported};
use super::fixed;
use super::lstm::Settings;
use super::lstm_float::{clip, map, sum};
use super::{columns, expect_shape};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Node, ScalarOp, Value};
use crate::operators::quantization::Multiplier;
use crate::operators::quantization::multiplier;
use crate::operators::terms::{Term, Terms};
use ElementType::{F32, I16, I32, U8};

const RANGE_16: (i32, i32) = (-32768, 32767);
/// The exponent of the cell state's scale.
const STATE_EXPONENT: i32 = -11;

/// The operands of a cell, their shapes checked.
struct Basic {
    input: Operand,
    hidden: Operand,
    weights: Operand,
    bias: Operand,
    before: Operand,
    /// Cells, which are as many as outputs.
    width: u64,
}

impl Basic {
    fn read(operator: &mut Operator<'_, '_, '_>) -> Result<Self, Diagnostic> {
        let [input, hidden, weights, bias, before] = [0, 1, 2, 3, 4].map(|index| operator.input(index));
        let (input, hidden, weights, bias, before) = (input?, hidden?, weights?, bias?, before?);
        let ([batch, depth], [_, width]) = (matrix_shape(&input)?, matrix_shape(&hidden)?);
        let rows = width.checked_mul(4).ok_or_else(|| invalid(codes::TOO_MANY_ELEMENTS, "the weights have too many rows"))?;
        expect_shape(&hidden, &[batch, width])?;
        expect_shape(&before, &[batch, width])?;
        expect_shape(&weights, &[rows, depth.saturating_add(width)])?;
        expect_shape(&bias, &[rows])?;
        Ok(Self { input, hidden, weights, bias, before, width })
    }

    /// Input and output state side by side.
    fn joined(&self, operator: &mut Operator<'_, '_, '_>) -> Result<Value, Diagnostic> {
        Ok(operator.builder().concat(&[self.input.value, self.hidden.value], 1)?)
    }

    /// The sums of each gate.
    fn gates(&self, operator: &mut Operator<'_, '_, '_>, sums: Value) -> Result<[Value; 4], Diagnostic> {
        let mut gate = |number: u64| columns(operator.graph(), sums, number * self.width, self.width);
        Ok([gate(0)?, gate(1)?, gate(2)?, gate(3)?])
    }
}

fn matrix_shape(operand: &Operand) -> Result<[u64; 2], Diagnostic> {
    let error = || invalid(codes::RANK, "the operand must be a matrix").about_tensor(&operand.info.name);
    <[u64; 2]>::try_from(operand.shape.clone()).map_err(|_| error().expected("rank 2", format!("{:?}", operand.shape)))
}

/// LSTM of the basic kernel.
pub(super) fn basic(operator: &mut Operator<'_, '_, '_>, settings: Settings) -> Lowered {
    let basic = Basic::read(operator)?;
    let elements = [&basic.input, &basic.hidden, &basic.weights, &basic.bias, &basic.before].map(Operand::element);
    let results = match elements {
        [F32, F32, F32, F32, F32] => float(operator, &basic, settings)?,
        [U8, U8, U8, I32, I16] => integer(operator, &basic)?,
        _ => return Err(operator.type_error(&elements)),
    };
    for (index, value) in results.into_iter().enumerate() {
        operator.bind(index, value)?;
    }
    Ok(())
}

fn float(operator: &mut Operator<'_, '_, '_>, basic: &Basic, settings: Settings) -> Result<[Value; 4], Diagnostic> {
    let joined = basic.joined(operator)?;
    let g = operator.graph();
    let product = g.builder.matmul(joined, basic.weights.value, (0, 0), F32)?;
    let sums = sum(g, &[product, basic.bias.value])?;
    let [input, candidate, forget, output] = basic.gates(operator, sums)?;
    let g = operator.graph();
    let after = map(g, &[input, candidate, forget, basic.before.value], |terms, x| {
        let (input, forget) = (terms.op(ScalarOp::Logistic, &[x[0]])?, terms.op(ScalarOp::Logistic, &[x[2]])?);
        let candidate = terms.op(ScalarOp::Tanh, &[x[1]])?;
        let (new, kept) = (terms.mul(input, candidate)?, terms.mul(forget, x[3])?);
        let after = terms.add(new, kept)?;
        clip(terms, after, settings.cell_clip)
    })?;
    let output = map(g, &[output, after], |terms, x| {
        let (gate, shown) = (terms.op(ScalarOp::Logistic, &[x[0]])?, terms.op(ScalarOp::Tanh, &[x[1]])?);
        terms.mul(gate, shown)
    })?;
    Ok([output, after, joined, sums])
}

/// Activations are bytes around 128 whatever the file says; the scale of the bias is that of the sums, and gates have 3 integer bits.
fn integer(operator: &mut Operator<'_, '_, '_>, basic: &Basic) -> Result<[Value; 4], Diagnostic> {
    let state = operator.output(1)?;
    let found = exponent(operator.affine(&state)?.scale);
    if found != Some(STATE_EXPONENT) {
        let error = unsupported("a cell state of another scale is not supported").about_tensor(&state.name);
        return Err(error.expected("2^-11", found.map_or("no power of two".into(), |n| format!("2^{n}"))));
    }
    let zero_point = operator.affine(&basic.weights.info)?.zero_point;
    let factor = multiplier(4096.0 * f64::from(operator.affine(&basic.bias.info)?.scale))?;
    let joined = basic.joined(operator)?;
    let product = operator.builder().matmul(joined, basic.weights.value, (128, zero_point.into()), I32)?;
    let mut terms = Terms::new(&[I32, I32]);
    let (product_term, bias) = (terms.input(0), terms.input(1));
    let sum = terms.add(product_term, bias)?;
    let sum = scaled(&mut terms, sum, factor)?;
    let sum = terms.clamp_i32(sum, RANGE_16)?;
    let sum = terms.convert(sum, I16);
    let sums = operator.map(&[product, basic.bias.value], terms.finish(sum))?;
    let [input, candidate, forget, output] = basic.gates(operator, sums)?;
    let mut terms = Terms::new(&[I16, I16, I16, I16]);
    let after = next_state(&mut terms)?;
    let after = terms.convert(after, I16);
    let after = operator.map(&[input, candidate, forget, basic.before.value], terms.finish(after))?;
    let mut terms = Terms::new(&[I16, I16]);
    let shown = shown(&mut terms)?;
    let shown = terms.convert(shown, U8);
    let shown = operator.map(&[output, after], terms.finish(shown))?;
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

/// From the sums of the gates input, cell and forget, inputs 0 to 2, and the state before, input 3.
fn next_state(terms: &mut Terms) -> Term {
    let [input, candidate, forget, before] = [0, 1, 2, 3].map(|index| terms.input_as(index, I32));
    let (input, forget) = (fixed::logistic(terms, input)?, fixed::logistic(terms, forget)?);
    let candidate = fixed::tanh(terms, candidate, 3)?;
    let (new, kept) = (fixed::multiply(terms, input, candidate)?, fixed::multiply(terms, forget, before)?);
    // From no integer bits to 4.
    let four = terms.i32(4);
    let new = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[new, four])?;
    let after = terms.add(new, kept)?;
    terms.clamp_i32(after, RANGE_16)
}

/// From the sum of the output gate, input 0, and the new state, input 1, of which 3 integer bits are looked at.
fn shown(terms: &mut Terms) -> Term {
    let [output, after] = [0, 1].map(|index| terms.input_as(index, I32));
    let one = terms.i32(1);
    let doubled = terms.op(ScalarOp::ShiftLeft, &[after, one])?;
    let state = terms.clamp_i32(doubled, RANGE_16)?;
    let (output, state) = (fixed::logistic(terms, output)?, fixed::tanh(terms, state, 3)?);
    let product = fixed::multiply(terms, output, state)?;
    as_byte(terms, product)
}

/// A number without integer bits as a byte around 128.
fn as_byte(terms: &mut Terms, x: Node) -> Term {
    let (eight, centre) = (terms.i32(8), terms.i32(128));
    let x = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[x, eight])?;
    let x = terms.clamp_i32(x, (-128, 127))?;
    terms.add(x, centre)
}
