//! Transforms of rows against sums written out, and back.

use super::{inverse_real, real};
use crate::operators::Error;
use crate::operators::testing::{Floats, run};

#[test]
fn a_spectrum_is_the_sum_of_its_definition_and_comes_back() {
    let (rows, half) = (2, 6);
    let input = Floats::varied(&[rows, 2 * half]);
    let spectrum = run(&[&input], &|g, v| real(g, v[0], [rows, half]));
    assert_eq!(spectrum.shape, [rows, 2 * (half + 1)]);
    let length = 2 * half as usize;
    for (row, found) in input.numbers.chunks(length).zip(spectrum.numbers.chunks(length + 2)) {
        for (k, pair) in found.chunks(2).enumerate() {
            let phase = |n: usize| -2.0 * std::f64::consts::PI * (n * k) as f64 / length as f64;
            let re: f64 = row.iter().enumerate().map(|(n, &x)| f64::from(x) * phase(n).cos()).sum();
            let im: f64 = row.iter().enumerate().map(|(n, &x)| f64::from(x) * phase(n).sin()).sum();
            assert!((f64::from(pair[0]) - re).abs() < 1e-4 && (f64::from(pair[1]) - im).abs() < 1e-4, "{k}: {pair:?} for {re}, {im}");
        }
    }
    let back = run(&[&spectrum], &|g, v| inverse_real(g, v[0], [rows, half]));
    for (found, expected) in back.numbers.iter().zip(&input.numbers) {
        assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
    }
}

#[test]
fn other_prime_factors_are_refused() {
    let mut module = crate::ir::Module::default();
    let mut g = crate::operators::Graph::new(&mut module, "f");
    let input = g.constant_f32(&[1, 14], &[0.0; 14]).unwrap();
    assert_eq!(real(&mut g, input, [1, 7]), Err(Error::Radix { radix: 7 }));
}
