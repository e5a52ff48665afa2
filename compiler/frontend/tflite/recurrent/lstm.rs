//! LSTM operators: the positions of their operands, and the sequence around the cell.

use super::super::error::{invalid, missing_options, unsupported};
use super::super::operator::{Lowered, Operand, Operator};
use super::common::{Part, activation, build, expect_alike, expect_element, expect_shape, swapped, weights};
use super::lstm_basic;
use super::sequence::{bind_directions, same_sequence, sequence_input, wrong_rank};
use super::states::Batch;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::recurrent::{self, CellActivation, InnerScales, Scales, Settings};
use crate::schema::tflite::LSTMKernelType;
use ElementType::{F32, I8, I16, I32, I64};

/// One gate: `W x + R h + P ∘ c`, normalized, plus bias.
struct Gate {
    /// W, `[cells, inputs]`.
    input_weights: Operand,
    /// W of the auxiliary input.
    auxiliary_weights: Option<Operand>,
    /// R, `[cells, outputs]`.
    recurrent_weights: Operand,
    /// P, `[cells]`: the peephole.
    peephole: Option<Operand>,
    /// `[cells]`
    bias: Option<Operand>,
    /// Coefficients of layer normalization, `[cells]`.
    norm: Option<Operand>,
}

/// A cell. Without an input gate it is one minus the forget gate.
struct Cell {
    input_gate: Option<Gate>,
    forget_gate: Gate,
    cell_gate: Gate,
    output_gate: Gate,
    /// `[outputs, cells]`, with a bias of `[outputs]`.
    projection: Option<(Operand, Option<Operand>)>,
    cells: u64,
    outputs: u64,
    settings: Settings,
}

/// The numbers of a cell's first operands of each kind: gates are in the order input, forget, cell, output.
struct Places {
    input_weights: usize,
    auxiliary_weights: Option<usize>,
    recurrent_weights: usize,
    peepholes: usize,
    biases: usize,
    projection: usize,
    norms: Option<usize>,
    output_state: usize,
    cell_state: usize,
}

const FORWARD: Places = Places {
    input_weights: 1,
    auxiliary_weights: None,
    recurrent_weights: 5,
    peepholes: 9,
    biases: 12,
    projection: 16,
    norms: Some(20),
    output_state: 18,
    cell_state: 19,
};
const BIDIRECTIONAL: [Places; 2] = [
    Places { auxiliary_weights: Some(40), norms: None, output_state: 35, cell_state: 36, ..FORWARD },
    Places {
        input_weights: 18,
        auxiliary_weights: Some(44),
        recurrent_weights: 22,
        peepholes: 26,
        biases: 29,
        projection: 33,
        norms: None,
        output_state: 37,
        cell_state: 38,
    },
];

impl Cell {
    /// The gates in the order of the file that are there.
    fn gates(&self) -> Vec<&Gate> {
        self.input_gate.iter().chain([&self.forget_gate, &self.cell_gate, &self.output_gate]).collect()
    }

    fn read(operator: &mut Operator<'_, '_, '_>, places: &Places, inputs: u64, settings: Settings) -> Result<Self, Diagnostic> {
        for clip in [settings.cell_clip, settings.projection_clip] {
            if clip.is_nan() || clip < 0.0 {
                return Err(invalid(codes::OPTION_RANGE, "a clip value is not a positive number").expected("0 or more", clip.to_string()));
            }
        }
        let output_weights = operator.input(places.recurrent_weights + 3)?;
        let [cells, outputs] = output_weights.shape[..] else {
            let message = "recurrent weights that are not a matrix are not supported";
            return Err(unsupported(message).about_tensor(&output_weights.info.name));
        };
        if cells == 0 || outputs == 0 || inputs == 0 {
            let found = format!("{cells} cells, {inputs} inputs, {outputs} outputs");
            return Err(invalid(codes::SHAPES_DIFFER, "the cell is empty")
                .about_tensor(&output_weights.info.name)
                .expected("1 or more of each", found));
        }
        let mut gate = |index: usize| Self::read_gate(operator, places, index, [cells, inputs, outputs]);
        let (input_gate, forget, cell, output) = (gate(0)?, gate(1)?, gate(2)?, gate(3)?);
        let missing = || invalid(codes::OPERAND_COUNT, "the weights of a gate are missing");
        let (forget_gate, cell_gate) = (forget.ok_or_else(missing)?, cell.ok_or_else(missing)?);
        let output_gate = output.ok_or_else(missing)?;
        let projection = operator.optional_input(places.projection)?;
        let bias = operator.optional_input(places.projection + 1)?;
        let projection = match projection {
            Some(weights) => {
                expect_shape(&weights, &[outputs, cells])?;
                bias.iter().try_for_each(|bias| expect_shape(bias, &[outputs]))?;
                Some((weights, bias))
            }
            None if bias.is_some() || outputs != cells => {
                let message = "a cell without projection has as many outputs as cells";
                return Err(invalid(codes::SHAPES_DIFFER, message).expected(cells.to_string(), outputs.to_string()));
            }
            None => None,
        };
        let read = Self { input_gate, forget_gate, cell_gate, output_gate, projection, cells, outputs, settings };
        read.check_alike()?;
        Ok(read)
    }

    fn read_gate(
        operator: &mut Operator<'_, '_, '_>,
        places: &Places,
        index: usize,
        [cells, inputs, outputs]: [u64; 3],
    ) -> Result<Option<Gate>, Diagnostic> {
        let Some(input_weights) = operator.optional_input(places.input_weights + index)? else { return Ok(None) };
        expect_shape(&input_weights, &[cells, inputs])?;
        let recurrent_weights = operator.input(places.recurrent_weights + index)?;
        expect_shape(&recurrent_weights, &[cells, outputs])?;
        let mut vector = |place: Option<usize>| -> Result<Option<Operand>, Diagnostic> {
            let Some(place) = place else { return Ok(None) };
            let operand = operator.optional_input(place)?;
            operand.iter().try_for_each(|operand| expect_shape(operand, &[cells]))?;
            Ok(operand)
        };
        // There is no peephole to the cell gate.
        let peephole = vector([Some(0), Some(1), None, Some(2)][index].map(|place: usize| places.peepholes + place))?;
        let bias = vector(Some(places.biases + index))?;
        let norm = vector(places.norms.map(|norms| norms + index))?;
        let auxiliary_weights = match places.auxiliary_weights {
            Some(place) => operator.optional_input(place + index)?,
            None => None,
        };
        Ok(Some(Gate { input_weights, auxiliary_weights, recurrent_weights, peephole, bias, norm }))
    }

    /// The cell as the library takes it: of integers, or of floats. Biases have one type.
    fn ready(&self, operator: &Operator<'_, '_, '_>, integer: bool, bias: ElementType) -> Result<recurrent::Cell, Diagnostic> {
        let optional = |operand: &Option<Operand>, part| operand.as_ref().map(|o| weights(operator, o, part, integer)).transpose();
        let gate = |gate: &Gate| {
            let own_bias = gate.bias.as_ref().ok_or_else(|| invalid(codes::OPERAND_COUNT, "a gate has no bias"))?;
            expect_element(own_bias, bias)?;
            Ok::<_, Diagnostic>(recurrent::Gate {
                input_weights: weights(operator, &gate.input_weights, Part::Matrix, integer)?,
                auxiliary_weights: optional(&gate.auxiliary_weights, Part::Matrix)?,
                recurrent_weights: weights(operator, &gate.recurrent_weights, Part::Matrix, integer)?,
                peephole: optional(&gate.peephole, Part::Peephole)?,
                bias: own_bias.value,
                norm: optional(&gate.norm, Part::Norm)?,
            })
        };
        let projection = match &self.projection {
            Some((matrix, own_bias)) => {
                own_bias.iter().try_for_each(|own| expect_element(own, bias))?;
                Some((weights(operator, matrix, Part::Matrix, integer)?, own_bias.as_ref().map(|own| own.value)))
            }
            None => None,
        };
        Ok(recurrent::Cell {
            input_gate: self.input_gate.as_ref().map(gate).transpose()?,
            forget_gate: gate(&self.forget_gate)?,
            cell_gate: gate(&self.cell_gate)?,
            output_gate: gate(&self.output_gate)?,
            projection,
            cells: self.cells,
            settings: self.settings,
        })
    }

    /// A cell of floats, with weights of the auxiliary input if there is one.
    fn float(&mut self, operator: &mut Operator<'_, '_, '_>, auxiliary: Option<Value>) -> Result<recurrent::Cell, Diagnostic> {
        if auxiliary.is_none() {
            let gates = [&mut self.forget_gate, &mut self.cell_gate, &mut self.output_gate];
            gates.into_iter().chain(&mut self.input_gate).for_each(|gate| gate.auxiliary_weights = None);
        }
        let gates = self.gates();
        expect_alike(operator, &gates.iter().map(|gate| &gate.input_weights).collect::<Vec<_>>())?;
        if let Some(auxiliary) = auxiliary {
            let weights: Option<Vec<&Operand>> = gates.iter().map(|gate| gate.auxiliary_weights.as_ref()).collect();
            let weights = weights.ok_or_else(|| invalid(codes::OPERAND_COUNT, "auxiliary weights of a gate are missing"))?;
            let depth = operator.graph().bounds(auxiliary)[2];
            weights.iter().try_for_each(|weights| expect_shape(weights, &[self.cells, depth]))?;
            expect_alike(operator, &weights)?;
        }
        expect_alike(operator, &gates.iter().map(|gate| &gate.recurrent_weights).collect::<Vec<_>>())?;
        self.ready(operator, false, F32)
    }

    /// A cell of integers as TFLite for microcontrollers computes them: the four gates alone.
    fn micro(&self, operator: &Operator<'_, '_, '_>, element: ElementType) -> Result<recurrent::Cell, Diagnostic> {
        let has_more = self.projection.is_some() || self.gates().iter().any(|gate| gate.peephole.is_some() || gate.norm.is_some());
        if has_more || self.input_gate.is_none() {
            let message =
                "an integer cell of this kind with projection, peepholes or layer normalization, or without input gate, is not supported";
            return Err(unsupported(message).expected("the four gates alone", "a variant"));
        }
        if self.settings.activation != CellActivation::Tanh {
            return Err(unsupported("an integer cell with another activation than TANH is not supported"));
        }
        self.ready(operator, true, if element == I16 { I64 } else { I32 })
    }

    /// All gates have peepholes, layer normalization and a bias, or none has.
    fn check_alike(&self) -> Result<(), Diagnostic> {
        let first = &self.output_gate;
        for gate in self.gates() {
            let is_cell_gate = std::ptr::eq(gate, &self.cell_gate);
            let alike = gate.bias.is_some()
                && gate.norm.is_some() == first.norm.is_some()
                && (is_cell_gate || gate.peephole.is_some() == first.peephole.is_some());
            if !alike {
                return Err(invalid(codes::OPERAND_COUNT, "gates have a bias, and peepholes and layer normalization all or none"));
            }
        }
        Ok(())
    }
}

/// UNIDIRECTIONAL_SEQUENCE_LSTM
pub(in super::super) fn unidirectional_sequence_lstm(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(20..=24, 1..=1)?;
    let options = operator.record.builtin_options_as_unidirectional_sequence_lstm_options().ok_or_else(missing_options)?;
    if options.diagonal_recurrent_tensors() {
        return Err(unsupported("diagonal recurrent weights are not supported"));
    }
    let settings = Settings {
        activation: activation(options.fused_activation_function())?,
        cell_clip: options.cell_clip(),
        projection_clip: options.proj_clip(),
        asymmetric: options.asymmetric_quantize_inputs(),
    };
    let input = sequence_input(operator, 0)?;
    let time_major = options.time_major();
    let batch = Batch::of(operator, &input, usize::from(time_major))?;
    let rows = if time_major { input.value } else { swapped(operator.graph(), input.value)? };
    let output = run(operator, &FORWARD, &batch, &input, (rows, None), settings, false)?;
    let output = if time_major { output } else { swapped(operator.graph(), output)? };
    operator.bind(0, output)
}

/// LSTM: one step.
pub(in super::super) fn lstm(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_lstm_options().ok_or_else(missing_options)?;
    let settings = Settings {
        activation: activation(options.fused_activation_function())?,
        cell_clip: options.cell_clip(),
        projection_clip: options.proj_clip(),
        asymmetric: options.asymmetric_quantize_inputs(),
    };
    if options.kernel_type() == LSTMKernelType::BASIC {
        operator.arity(5..=5, 4..=4)?;
        return lstm_basic::basic(operator, settings);
    }
    operator.arity(20..=24, 1..=1)?;
    let input = operator.any_input(0)?;
    let [sequences, depth] = input.extents[..] else { return Err(wrong_rank(&input, 2)) };
    operator.require_known(&input, 1)?;
    let batch = Batch::of(operator, &input, 0)?;
    let rows = operator.reshape_to(input.value, &[Extent::Static(1), sequences, depth])?;
    let output = run(operator, &FORWARD, &batch, &input, (rows, None), settings, false)?;
    let shape = operator.extents_of(output);
    let output = operator.reshape_to(output, &shape[1..])?;
    operator.bind(0, output)
}

/// Scales of inner values that the file gives, or the 2⁻¹² of the gates.
fn inner_scales(operator: &Operator<'_, '_, '_>, normalized: bool) -> Result<InnerScales, Diagnostic> {
    let list = operator.lowering.indices(operator.record.intermediates())?;
    if list.len() != 5 {
        let found = list.len().to_string();
        return Err(unsupported("an integer cell with other inner scales is not supported").expected("5 intermediate tensors", found));
    }
    let affine = |index: usize| {
        let tensor = list[index].ok_or_else(|| invalid(codes::TENSOR_INDEX, "an intermediate tensor is missing"))?;
        operator.affine(&*operator.lowering.info(tensor)?)
    };
    let mut gates = [1.0 / 4096.0; 4];
    if normalized {
        for (index, scale) in gates.iter_mut().enumerate() {
            *scale = affine(index)?.scale;
        }
    }
    Ok(InnerScales { gates, hidden: affine(4)? })
}

/// The scales of a cell of integers whose states have these types.
fn scales(
    operator: &Operator<'_, '_, '_>,
    input: &Operand,
    states: [&Operand; 2],
    elements: [ElementType; 2],
) -> Result<Scales, Diagnostic> {
    for (state, element) in states.into_iter().zip(elements) {
        expect_element(state, element)?;
    }
    let result = operator.output(0)?;
    Ok(Scales {
        input: operator.affine(&input.info)?,
        output: operator.affine(&states[0].info)?,
        cell: operator.affine(&states[1].info)?.scale,
        result: operator.affine(&result)?.scale,
    })
}

/// Tests whether a cell of integers is one of TFLite for microcontrollers: it has 16-bit activations, or no inner scales. No other runtime supports
/// 16-bit activations.
fn is_micro(operator: &Operator<'_, '_, '_>, input: &Operand) -> Result<bool, Diagnostic> {
    Ok(input.element() == I16 || operator.lowering.indices(operator.record.intermediates())?.is_empty())
}

/// One direction of a sequence, time first: reads the cell, runs it, and keeps the states.
fn run(
    operator: &mut Operator<'_, '_, '_>,
    places: &Places,
    batch: &Batch,
    input: &Operand,
    (rows, auxiliary): (Value, Option<Value>),
    settings: Settings,
    backward: bool,
) -> Result<Value, Diagnostic> {
    let depth = operator.graph().bounds(rows)[2];
    let mut cell = Cell::read(operator, places, depth, settings)?;
    let before = [batch.load(operator, places.output_state, cell.outputs)?, batch.load(operator, places.cell_state, cell.cells)?];
    let states = before.each_ref().map(|before| &before.operand);
    let values = states.map(|state| state.value);
    let (element, weights) = (input.element(), cell.gates()[0].input_weights.element());
    let (output, after) = match (element, weights) {
        (F32, F32 | I8) => {
            let cell = cell.float(operator, auxiliary)?;
            build(operator, |place| recurrent::float_lstm(place, &cell, rows, auxiliary, values, backward))?
        }
        (I8 | I16, I8) if is_micro(operator, input)? => {
            let (cell, scales) = (cell.micro(operator, element)?, scales(operator, input, states, [element, I16])?);
            build(operator, |place| recurrent::micro_lstm(place, &cell, rows, values, &scales))?
        }
        (I8, I8) if auxiliary.is_none() => {
            let scales = scales(operator, input, states, [I8, I16])?;
            let inner = inner_scales(operator, cell.output_gate.norm.is_some())?;
            let cell = cell.ready(operator, true, I32)?;
            build(operator, |place| recurrent::integer_lstm(place, &cell, rows, values, &scales, &inner))?
        }
        types => return Err(operator.type_error(&[types.0, types.1])),
    };
    for ((place, before), state) in [places.output_state, places.cell_state].into_iter().zip(&before).zip(after) {
        batch.store(operator, place, before, state)?;
    }
    Ok(output)
}

/// BIDIRECTIONAL_SEQUENCE_LSTM: two cells, one from the last step to the first. With auxiliary weights the second input goes to both
/// cells; without, it is the backward cell's own input.
pub(in super::super) fn bidirectional_sequence_lstm(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(48..=48, 1..=2)?;
    let options = operator.record.builtin_options_as_bidirectional_sequence_lstm_options().ok_or_else(missing_options)?;
    let settings = Settings {
        activation: activation(options.fused_activation_function())?,
        cell_clip: options.cell_clip(),
        projection_clip: options.proj_clip(),
        asymmetric: options.asymmetric_quantize_inputs(),
    };
    let (mut input, time_major) = (sequence_input(operator, 0)?, options.time_major());
    if input.element() != F32 {
        return Err(operator.type_error(&[input.element()]));
    }
    let mut second = operator.any_optional_input(39)?;
    second.iter_mut().try_for_each(|second| same_sequence(operator, second, &mut input))?;
    let batch = Batch::of(operator, &input, usize::from(time_major))?;
    let mut ordered = |operand: &Operand| if time_major { Ok(operand.value) } else { swapped(operator.graph(), operand.value) };
    let rows = ordered(&input)?;
    let second_rows = second.as_ref().map(&mut ordered).transpose()?;
    let cross_linked = operator.optional_input(40 + 1)?.is_some();
    let auxiliary = second_rows.filter(|_| cross_linked);
    let (backward_input, backward_rows) = match second.as_ref().zip(second_rows) {
        Some((operand, value)) if !cross_linked => (operand, value),
        _ => (&input, rows),
    };
    let forward = run(operator, &BIDIRECTIONAL[0], &batch, &input, (rows, auxiliary), settings, false)?;
    let backward = run(operator, &BIDIRECTIONAL[1], &batch, backward_input, (backward_rows, auxiliary), settings, true)?;
    bind_directions(operator, [forward, backward], time_major, options.merge_outputs())
}
