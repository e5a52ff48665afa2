//! Cells against their formulas, step by step; loops of known and of run-time length.

use super::{Cell, CellActivation, Gate, Memory, Rnn, Settings, Svdf, Weights, float_lstm, rnn, swapped};
use crate::ir::{Extent, Value};
use crate::operators::activation::Activation;
use crate::operators::testing::{Floats, run, run_with};
use crate::operators::{Error, Graph};

fn near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-5, "{found} instead of {expected}");
    }
}

/// Names for functions, each another one.
fn names() -> impl FnMut(&str) -> String {
    let mut count = 0;
    move |name| {
        count += 1;
        format!("{name}{count}")
    }
}

fn floats(value: Value) -> Weights {
    Weights { value, scales: vec![], zero_point: 0 }
}

fn scaled(shape: &[u64]) -> Floats {
    let varied = Floats::varied(shape);
    Floats::new(shape, varied.numbers.iter().map(|n| n / 10.0).collect())
}

/// W x, of a matrix `[rows, depth]`.
fn product(matrix: &Floats, x: &[f32]) -> Vec<f32> {
    matrix.numbers.chunks(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

#[test]
fn a_basic_cell_follows_its_formula_in_both_directions() {
    let (steps, units) = (4, 2);
    let (x, w, r) = (scaled(&[steps, 1, 3]), scaled(&[units, 3]), scaled(&[units, units]));
    let (bias, state) = (scaled(&[units]), scaled(&[1, units]));
    for backward in [false, true] {
        let mut hidden = state.numbers.clone();
        let mut expected = vec![0.0; (steps * units) as usize];
        let mut order: Vec<usize> = (0..steps as usize).collect();
        if backward {
            order.reverse();
        }
        for step in order {
            let (input, own) = (product(&w, &x.numbers[3 * step..3 * step + 3]), product(&r, &hidden));
            hidden = (0..2).map(|i| (bias.numbers[i] + input[i] + own[i]).tanh()).collect();
            expected[2 * step..2 * step + 2].copy_from_slice(&hidden);
        }
        for open in [&[][..], &[[0, 0]]] {
            let found = run_with(&[&x, &w, &r, &bias, &state], open, &|g, v| {
                let cell = Rnn {
                    input_weights: vec![floats(v[1])],
                    recurrent_weights: floats(v[2]),
                    bias: v[3],
                    activation: CellActivation::Tanh,
                    asymmetric: false,
                };
                Ok(rnn((g, &mut names()), &cell, &[v[0]], v[4], backward)?.0)
            });
            assert_eq!(found.shape, [steps, 1, units]);
            near(&found.numbers, &expected);
        }
    }
}

/// An LSTM cell of one unit for tests, its weights in one operand: four of the input, four of the state, four biases.
fn cell(g: &mut Graph<'_>, numbers: Value) -> Result<Cell, Error> {
    let mut gate = |index: u64| {
        let mut part = |start: u64, shape: &[u64]| {
            let (start, size) = (Extent::Static(start + index), Extent::Static(1));
            let part = g.slice_along(numbers, 0, start, size)?;
            g.reshape(part, &crate::operators::extents(shape))
        };
        Ok::<_, Error>(Gate {
            input_weights: floats(part(0, &[1, 1])?),
            auxiliary_weights: None,
            recurrent_weights: floats(part(4, &[1, 1])?),
            peephole: None,
            bias: part(8, &[1])?,
            norm: None,
        })
    };
    let settings = Settings { activation: CellActivation::Tanh, cell_clip: 0.5, projection_clip: 0.0, asymmetric: false };
    let input_gate = Some(gate(0)?);
    let (forget_gate, cell_gate, output_gate) = (gate(1)?, gate(2)?, gate(3)?);
    Ok(Cell { input_gate, forget_gate, cell_gate, output_gate, projection: None, cells: 1, settings })
}

#[test]
fn an_lstm_cell_follows_its_formula() {
    let (x, numbers) = (scaled(&[5, 1, 1]), scaled(&[12]));
    let n = &numbers.numbers;
    let logistic = |x: f32| 1.0 / (1.0 + (-x).exp());
    let (mut hidden, mut state, mut expected) = (0.25f32, 0.125f32, vec![]);
    for x in &x.numbers {
        let gate = |i: usize| n[i] * x + n[4 + i] * hidden + n[8 + i];
        state = (logistic(gate(1)) * state + logistic(gate(0)) * gate(2).tanh()).clamp(-0.5, 0.5);
        hidden = logistic(gate(3)) * state.tanh();
        expected.push(hidden);
    }
    let states = [Floats::new(&[1, 1], vec![0.25]), Floats::new(&[1, 1], vec![0.125])];
    for open in [&[][..], &[[0, 0]]] {
        let found = run_with(&[&x, &numbers, &states[0], &states[1]], open, &|g, v| {
            let cell = cell(g, v[1])?;
            Ok(float_lstm((g, &mut names()), &cell, v[0], None, [v[2], v[3]], false)?.0)
        });
        near(&found.numbers, &expected);
    }
}

#[test]
fn a_filter_remembers_its_last_features() {
    // Two filters of one unit, three features each: the oldest goes, the newest is the product with the input.
    let (x, features, weights) = (scaled(&[1, 2]), scaled(&[2, 2]), scaled(&[2, 3]));
    let (state, bias) = (scaled(&[1, 6]), scaled(&[1]));
    let newest = product(&features, &x.numbers);
    let mut sum = bias.numbers[0];
    for filter in 0..2 {
        let memory = [&state.numbers[3 * filter + 1..3 * filter + 3], &newest[filter..=filter]].concat();
        sum += memory.iter().zip(&weights.numbers[3 * filter..]).map(|(a, b)| a * b).sum::<f32>();
    }
    let found = run(&[&x, &features, &weights, &state, &bias], &|g, v| {
        let memory = Memory { batch: Extent::Static(1), filters: 2, features: 3, units: 1 };
        let svdf = Svdf { input: v[0], feature_weights: floats(v[1]), time_weights: floats(v[2]), bias: Some(v[4]), state: v[3], memory };
        Ok(svdf.float(g, CellActivation::Clamp(Activation::NONE), false)?[0])
    });
    near(&found.numbers, &[sum]);
}

#[test]
fn batches_and_steps_change_places() {
    let x = Floats::varied(&[2, 3, 1]);
    let found = run(&[&x], &|g, v| swapped(g, v[0]));
    assert_eq!((found.shape, found.numbers[1]), (vec![3, 2, 1], x.numbers[3]));
    assert!(matches!(swapped_scalar(), Err(Error::NoMatrix { rank: 0 })));
}

fn swapped_scalar() -> Result<Value, Error> {
    let mut module = crate::ir::Module::default();
    let mut g = Graph::new(&mut module, "f");
    let scalar = g.scalar(crate::ir::Scalar::f32(1.0))?;
    swapped(&mut g, scalar)
}

#[test]
fn a_sequence_without_steps_is_refused() {
    let mut module = crate::ir::Module::default();
    let mut g = Graph::new(&mut module, "f");
    let [x, w, bias, state] = [&[0, 1, 1][..], &[1, 1], &[1], &[1, 1]].map(|shape: &[u64]| {
        let count = shape.iter().product::<u64>() as usize;
        g.constant_f32(shape, &vec![0.0; count]).unwrap()
    });
    let cell =
        Rnn { input_weights: vec![floats(w)], recurrent_weights: floats(w), bias, activation: CellActivation::Tanh, asymmetric: false };
    assert_eq!(rnn((&mut g, &mut names()), &cell, &[x], state, false).unwrap_err(), Error::NoSteps);
}
