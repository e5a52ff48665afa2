//! Norms against their formulas.

use super::{Channels, LocalResponse, batch_norm, group_norm, l2, local_response, scaled_and_moved};
use crate::ir::ElementType;
use crate::operators::Error;
use crate::operators::testing::{Floats, run, run_with};

fn near(found: &Floats, expected: &[f32]) {
    assert_eq!(found.numbers.len(), expected.len());
    for (found, expected) in found.numbers.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
    }
}

#[test]
fn rows_are_divided_by_their_length() {
    let input = Floats::new(&[2, 2], vec![3.0, 4.0, 0.0, 0.0]);
    near(&run_with(&[&input], &[[0, 0]], &|g, v| l2(g, v[0])), &[0.6, 0.8, 0.0, 0.0]);
}

#[test]
fn neighbouring_channels_damp_each_other() {
    let input = Floats::new(&[1, 1, 1, 3], vec![1.0, 2.0, 3.0]);
    let numerics = LocalResponse { radius: 1, bias: 1.0, alpha: 1.0, beta: 1.0 };
    // Each element is divided by 1 + its own square and the square of the channel before it.
    let expected = [1.0 / 2.0, 2.0 / 6.0, 3.0 / 14.0];
    near(&run(&[&input], &|g, v| local_response(g, v[0], &numerics)), &expected);
    near(&run_with(&[&input], &[[0, 1]], &|g, v| local_response(g, v[0], &numerics)), &expected);
}

#[test]
fn batches_are_normalized_channel_by_channel() {
    let input = Floats::new(&[1, 2, 2], vec![1.0, 2.0, 3.0, 4.0]);
    let vector = |a, b| Floats::new(&[2], vec![a, b]);
    let (weight, bias, mean, variance) = (vector(2.0, 1.0), vector(0.5, 0.0), vector(1.0, 2.0), vector(3.0, 15.0));
    let found = run_with(&[&input, &weight, &bias, &mean, &variance], &[[0, 2]], &|g, v| {
        let channels = Channels { weight: Some(v[1]), bias: Some(v[2]), mean: v[3], variance: v[4] };
        batch_norm(g, v[0], channels, (1, ElementType::F32), 1.0)
    });
    near(&found, &[0.5, 1.5, 0.25, 0.5]);
}

#[test]
fn groups_of_channels_are_normalized_together() {
    let input = Floats::new(&[1, 4, 1], vec![1.0, 3.0, 10.0, 20.0]);
    for open in [&[][..], &[[0, 2]]] {
        let found = run_with(&[&input], open, &|g, v| Ok(group_norm(g, v[0], 2, 0.0)?[0]));
        near(&found, &[-1.0, 1.0, -1.0, 1.0]);
    }
    // All together, each channel alone, and without further dimensions. The mean of the means of a group's channels is the mean of all its elements.
    let pixels = Floats::new(&[1, 4, 2], vec![1.0, 3.0, 3.0, 5.0, 0.0, 10.0, 4.0, 2.0]);
    let deviation = |sum: f32, count: f32| (sum / count).sqrt();
    let (pair, rest) = (deviation(8.0, 4.0), deviation(56.0, 4.0));
    let two = [-2.0 / pair, 0.0, 0.0, 2.0 / pair, -4.0 / rest, 6.0 / rest, 0.0, -2.0 / rest];
    near(&run(&[&pixels], &|g, v| Ok(group_norm(g, v[0], 2, 0.0)?[0])), &two);
    near(&run(&[&pixels], &|g, v| Ok(group_norm(g, v[0], 2, 0.0)?[1])), &[3.0, 4.0]);
    near(&run(&[&pixels], &|g, v| Ok(group_norm(g, v[0], 4, 0.0)?[0])), &[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0]);
    near(&run(&[&pixels], &|g, v| Ok(group_norm(g, v[0], 1, 0.0)?[1])), &[3.5]);
    let row = Floats::new(&[1, 4], vec![1.0, 3.0, 10.0, 20.0]);
    near(&run(&[&row], &|g, v| Ok(group_norm(g, v[0], 2, 0.0)?[0])), &[-1.0, 1.0, -1.0, 1.0]);
    let mut module = crate::ir::Module::default();
    let mut g = crate::operators::Graph::new(&mut module, "f");
    let x = g.constant_f32(&[1, 3, 1], &[0.0; 3]).unwrap();
    assert_eq!(group_norm(&mut g, x, 2, 0.0), Err(Error::Groups { channels: 3, groups: 2 }));
}

#[test]
fn weights_and_biases_may_be_missing() {
    let (input, vector) = (Floats::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]), Floats::new(&[2], vec![10.0, 20.0]));
    near(&run(&[&input, &vector], &|g, v| scaled_and_moved(g, v[0], Some(v[1]), None)), &[10.0, 40.0, 30.0, 80.0]);
    near(&run(&[&input, &vector], &|g, v| scaled_and_moved(g, v[0], None, Some(v[1]))), &[11.0, 22.0, 13.0, 24.0]);
    assert_eq!(run(&[&input], &|g, v| scaled_and_moved(g, v[0], None, None)), input);
}
