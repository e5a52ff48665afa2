//! Reductions of known and of run-time extents against sums written out.

use super::{Axes, Rescaling, integer_mean, mean, moments, normalized, position, quantized_mean, quantized_product, quantized_sum, reduce};
use crate::ir::interpret::Interpreter;
use crate::ir::{ElementType, Module, Reduction, Search};
use crate::operators::quantization::Affine;
use crate::operators::testing::{Floats, run, run_with};
use crate::operators::{Error, Graph};

#[test]
fn axes_are_kept_or_dropped() {
    let input = Floats::varied(&[2, 3]);
    let sums: Vec<f32> = input.numbers.chunks(3).map(|row| row.iter().sum()).collect();
    let found = run_with(&[&input], &[[0, 0]], &|g, v| reduce(g, v[0], Reduction::Sum, &[1], Axes::Kept));
    assert_eq!(found, Floats::new(&[2, 1], sums.clone()));
    let found = run_with(&[&input], &[[0, 1]], &|g, v| reduce(g, v[0], Reduction::Sum, &[1], Axes::Dropped));
    assert_eq!(found, Floats::new(&[2], sums));
    assert_eq!(run(&[&input], &|g, v| reduce(g, v[0], Reduction::Max, &[], Axes::Dropped)), input, "along no axis it is the operand");
}

#[test]
fn means_count_at_run_time_what_they_cannot_count_before() {
    let input = Floats::varied(&[4, 2]);
    let column = |c: usize| input.numbers.iter().skip(c).step_by(2).copied().collect::<Vec<f32>>();
    let means: Vec<f32> = (0..2).map(|c| column(c).iter().sum::<f32>() / 4.0).collect();
    for open in [&[][..], &[[0, 0]]] {
        let found = run_with(&[&input], open, &|g, v| mean(g, v[0], &[0], Axes::Dropped));
        assert_eq!(found, Floats::new(&[2], means.clone()), "{open:?}");
        let found = run_with(&[&input], open, &|g, v| Ok(moments(g, v[0], &[0], 1.0)?.1));
        let variance = |c: usize| column(c).iter().map(|n| (n - means[c]) * (n - means[c])).sum::<f32>() / 3.0;
        assert_eq!(found, Floats::new(&[1, 2], vec![variance(0), variance(1)]), "{open:?}");
    }
}

#[test]
fn normalized_elements_have_no_mean_and_a_variance_of_one() {
    let input = Floats::varied(&[8]);
    let found = run_with(&[&input], &[[0, 0]], &|g, v| Ok(normalized(g, v[0], &[0], 0.0)?[0])).numbers;
    assert!(found.iter().sum::<f32>().abs() < 1e-5);
    assert!((found.iter().map(|n| n * n).sum::<f32>() / 8.0 - 1.0).abs() < 1e-5);
}

#[test]
fn quantized_sums_and_means_are_the_same_where_the_count_is_known_at_run_time() {
    for count in [1u64, 2, 3, 31, 32, 33, 100] {
        let numbers = (0..2 * count).map(|n| (n * 37 % 256) as f32 - 128.0).collect();
        let input = Floats::new(&[count, 2], numbers);
        for (from, to) in [(0.05, 0.02), (0.5, 0.004), (1e-6, 0.5), (0.5, 1e-9)] {
            let rescaling = Rescaling {
                from: Affine { scale: from, zero_point: -7 },
                to: Affine { scale: to, zero_point: 3 },
                element: ElementType::I8,
            };
            for combine in [quantized_sum, quantized_mean] {
                let build = |g: &mut Graph<'_>, v: &[crate::ir::Value]| {
                    let x = g.convert(v[0], ElementType::I8)?;
                    let result = combine(g, x, &[0], &rescaling)?;
                    g.convert(result, ElementType::F32)
                };
                assert_eq!(run(&[&input], &build), run_with(&[&input], &[[0, 0]], &build), "{count} of {from} to {to}");
            }
        }
    }
}

#[test]
fn quantized_products_are_the_same_where_the_count_is_known_at_run_time() {
    for count in [1u64, 2, 3, 7, 31] {
        let numbers = (0..6 * count).map(|n| (n * 37 % 23) as f32 - 11.0).collect();
        let input = Floats::new(&[2, count, 3], numbers);
        for (from, to) in [(0.5, 0.25), (0.8, 0.004), (0.1, 1e-3)] {
            let rescaling = Rescaling {
                from: Affine { scale: from, zero_point: -7 },
                to: Affine { scale: to, zero_point: 3 },
                element: ElementType::I8,
            };
            let build = |g: &mut Graph<'_>, v: &[crate::ir::Value]| {
                let x = g.convert(v[0], ElementType::I8)?;
                let result = quantized_product(g, x, &[1], &rescaling)?;
                g.convert(result, ElementType::F32)
            };
            let known = run(&[&input], &build);
            for open in [&[[0, 1]][..], &[[0, 0], [0, 1]], &[[0, 1], [0, 2]]] {
                assert_eq!(run_with(&[&input], open, &build), known, "{count} of {from} to {to}");
            }
        }
    }
}

/// The bytes of a constant's reduction.
fn of_constant(bytes: &[u8], element: ElementType, build: impl FnOnce(&mut Graph<'_>, crate::ir::Value) -> crate::ir::Value) -> Vec<u8> {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let count = bytes.len() as u64 * 8 / u64::from(element.bits());
    let x = g.constant(element, &[count], bytes.to_vec()).unwrap();
    let result = build(&mut g, x);
    let function = g.finish(vec![result]);
    Interpreter::new(&module).run_function(function, &[], None).unwrap()[0].bytes.clone()
}

#[test]
fn narrow_sums_wrap_and_truth_values_count() {
    let sum = of_constant(&[100, 100, 100], ElementType::U8, |g, x| reduce(g, x, Reduction::Sum, &[0], Axes::Dropped).unwrap());
    assert_eq!(sum, [44]);
    let any = of_constant(&[0, 1, 0], ElementType::Bool, |g, x| reduce(g, x, Reduction::Sum, &[0], Axes::Dropped).unwrap());
    assert_eq!(any, [1]);
    let all = of_constant(&[0, 1, 0], ElementType::Bool, |g, x| reduce(g, x, Reduction::Product, &[0], Axes::Dropped).unwrap());
    assert_eq!(all, [0]);
}

#[test]
fn means_of_integers_lose_their_fraction() {
    let bytes: Vec<u8> = [-3i32, -4].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(of_constant(&bytes, ElementType::I32, |g, x| integer_mean(g, x, &[0], Axes::Dropped).unwrap()), (-3i32).to_le_bytes());
}

#[test]
fn quantized_reductions_are_on_the_scale_of_their_result() {
    let rescaling =
        Rescaling { from: Affine { scale: 0.5, zero_point: 1 }, to: Affine { scale: 1.0, zero_point: -2 }, element: ElementType::I8 };
    // Real numbers 1, 2 and 4.
    let bytes = [3, 5, 9];
    let combine = |f: fn(&mut Graph<'_>, crate::ir::Value, &[usize], &Rescaling) -> Result<crate::ir::Value, Error>| {
        of_constant(&bytes, ElementType::I8, |g, x| f(g, x, &[0], &rescaling).unwrap())[0] as i8
    };
    assert_eq!(combine(quantized_sum), 7 - 2);
    assert_eq!(combine(quantized_product), 8 - 2);
    // Rounded twice: 14 ÷ 3 to 5, and half of that to 3.
    assert_eq!(combine(quantized_mean), 3 - 2);
}

#[test]
fn the_first_extreme_is_found() {
    let found = of_constant(&[3, 9, 9, 1], ElementType::U8, |g, x| position(g, x, Search::Max, 0, ElementType::I32).unwrap());
    assert_eq!(found, 1i32.to_le_bytes());
}

#[test]
fn nan_is_worse_than_every_number() {
    let nan = f32::NAN;
    let infinite = f32::NEG_INFINITY;
    for (row, expected) in [([nan, 2.0, 5.0, 3.0], 2), ([1.0, nan, 0.5, nan], 0), ([nan; 4], 0), ([nan, infinite, infinite, nan], 1)] {
        let bytes: Vec<u8> = row.iter().flat_map(|n| n.to_le_bytes()).collect();
        let found = of_constant(&bytes, ElementType::F32, |g, x| position(g, x, Search::Max, 0, ElementType::I32).unwrap());
        assert_eq!(found, i32::to_le_bytes(expected), "{row:?}");
    }
}
