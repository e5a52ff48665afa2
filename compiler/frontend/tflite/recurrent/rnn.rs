//! Basic recurrent cells: `h ← activation(W x + R h + bias)`.

use super::super::error::{invalid, missing_options, unsupported};
use super::super::operator::{Lowered, Operand, Operator};
use super::common::{Part, activation, build, expect_alike, expect_element, expect_shape, swapped, weights};
use super::sequence::{bind_directions, same_sequence};
use super::states::Batch;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType::F32, Extent, Value};
use crate::operators::recurrent::{self, CellActivation, Rnn, Weights};

/// The options of an operator.
#[derive(Clone, Copy)]
struct Settings {
    activation: CellActivation,
    asymmetric: bool,
}

/// The numbers of a cell's operands; recurrent weights, bias and state follow the weights.
struct Places {
    weights: usize,
    auxiliary_weights: Option<usize>,
}

/// The weights of an input of `rows [steps, batch, inputs]`.
fn input_weights(operator: &mut Operator<'_, '_, '_>, place: usize, units: u64, rows: Value) -> Result<Weights, Diagnostic> {
    let (matrix, depth) = (operator.input(place)?, operator.graph().bounds(rows)[2]);
    expect_shape(&matrix, &[units, depth])?;
    expect_alike(operator, &[&matrix])?;
    weights(operator, &matrix, Part::Matrix, false)
}

/// One cell over a sequence, time first.
fn run(
    operator: &mut Operator<'_, '_, '_>,
    places: &Places,
    batch: &Batch,
    rows: Value,
    auxiliary: Option<Value>,
    settings: Settings,
    backward: bool,
) -> Result<Value, Diagnostic> {
    let recurrent = operator.input(places.weights + 1)?;
    let units = recurrent.shape.first().copied().unwrap_or(0);
    expect_shape(&recurrent, &[units, units])?;
    let bias = operator.input(places.weights + 2)?;
    expect_shape(&bias, &[units])?;
    expect_element(&bias, F32)?;
    let before = batch.load(operator, places.weights + 3, units)?;
    expect_element(&before.operand, F32)?;
    let mut inputs = vec![rows];
    let mut matrices = vec![input_weights(operator, places.weights, units, rows)?];
    if let (Some(place), Some(auxiliary)) = (places.auxiliary_weights, auxiliary) {
        inputs.push(auxiliary);
        matrices.push(input_weights(operator, place, units, auxiliary)?);
    }
    expect_alike(operator, &[&recurrent])?;
    let cell = Rnn {
        input_weights: matrices,
        recurrent_weights: weights(operator, &recurrent, Part::Matrix, false)?,
        bias: bias.value,
        activation: settings.activation,
        asymmetric: settings.asymmetric,
    };
    let (output, states) = build(operator, |place| recurrent::rnn(place, &cell, &inputs, before.operand.value, backward))?;
    batch.store(operator, places.weights + 3, &before, states[0])?;
    Ok(output)
}

/// The input, which must be floats of this many dimensions; all but the last may be known only when the model runs.
fn float_input(operator: &mut Operator<'_, '_, '_>, index: usize, rank: usize) -> Result<Operand, Diagnostic> {
    let input = operator.any_input(index)?;
    if input.element() != F32 {
        return Err(operator.type_error(&[input.element()]));
    }
    if input.rank() != rank {
        let error = invalid(codes::RANK, format!("the input must have {rank} dimensions")).about_tensor(&input.info.name);
        return Err(error.expected(format!("rank {rank}"), format!("{:?}", input.shape)));
    }
    operator.require_known(&input, rank - 1)?;
    Ok(input)
}

const SINGLE: Places = Places { weights: 1, auxiliary_weights: None };

/// RNN: one step.
pub(in super::super) fn rnn(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(5..=5, 1..=1)?;
    let options = operator.record.builtin_options_as_rnn_options().ok_or_else(missing_options)?;
    let settings =
        Settings { activation: activation(options.fused_activation_function())?, asymmetric: options.asymmetric_quantize_inputs() };
    let input = float_input(operator, 0, 2)?;
    let batch = Batch::of(operator, &input, 0)?;
    let rows = operator.reshape_to(input.value, &[&[Extent::Static(1)], &input.extents[..]].concat())?;
    let output = run(operator, &SINGLE, &batch, rows, None, settings, false)?;
    let shape = operator.extents_of(output);
    let output = operator.reshape_to(output, &shape[1..])?;
    operator.bind(0, output)
}

/// UNIDIRECTIONAL_SEQUENCE_RNN
pub(in super::super) fn unidirectional_sequence_rnn(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(5..=5, 1..=1)?;
    let options = operator.record.builtin_options_as_sequence_rnn_options().ok_or_else(missing_options)?;
    let settings =
        Settings { activation: activation(options.fused_activation_function())?, asymmetric: options.asymmetric_quantize_inputs() };
    let input = float_input(operator, 0, 3)?;
    let batch = Batch::of(operator, &input, usize::from(options.time_major()))?;
    let rows = if options.time_major() { input.value } else { swapped(operator.graph(), input.value)? };
    let output = run(operator, &SINGLE, &batch, rows, None, settings, false)?;
    let output = if options.time_major() { output } else { swapped(operator.graph(), output)? };
    operator.bind(0, output)
}

/// BIDIRECTIONAL_SEQUENCE_RNN: two cells, one from the last step to the first. With auxiliary weights the second input goes to both
/// cells; without, it is the backward cell's own input.
pub(in super::super) fn bidirectional_sequence_rnn(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(12..=12, 1..=2)?;
    let options = operator.record.builtin_options_as_bidirectional_sequence_rnn_options().ok_or_else(missing_options)?;
    let settings =
        Settings { activation: activation(options.fused_activation_function())?, asymmetric: options.asymmetric_quantize_inputs() };
    let time_major = options.time_major();
    let mut input = float_input(operator, 0, 3)?;
    let mut second_input = if operator.inputs.get(9).is_some_and(Option::is_some) { Some(float_input(operator, 9, 3)?) } else { None };
    second_input.iter_mut().try_for_each(|second| same_sequence(operator, second, &mut input))?;
    let batch = Batch::of(operator, &input, usize::from(time_major))?;
    let mut rows = |input: &Operand| if time_major { Ok(input.value) } else { swapped(operator.graph(), input.value) };
    let first = rows(&input)?;
    let second = second_input.as_ref().map(rows).transpose()?;
    let cross_linked = operator.inputs.get(10).is_some_and(Option::is_some);
    if cross_linked && second.is_none() {
        return Err(unsupported("auxiliary weights without an auxiliary input are not supported"));
    }
    let auxiliary = second.filter(|_| cross_linked);
    let backward_rows = second.filter(|_| !cross_linked).unwrap_or(first);
    let place = |weights: usize, auxiliary: usize| Places { weights, auxiliary_weights: cross_linked.then_some(auxiliary) };
    let forward = run(operator, &place(1, 10), &batch, first, auxiliary, settings, false)?;
    let backward = run(operator, &place(5, 11), &batch, backward_rows, auxiliary, settings, true)?;
    bind_directions(operator, [forward, backward], time_major, options.merge_outputs())
}
