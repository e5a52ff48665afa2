//! Pools against windows written out, of known and of run-time extents.

use super::{Counts, Divisor, Means, Quotient, average, average_parts, max, max_parts, root_mean_square};
use crate::ir::{ElementType, Extent, Module, Search, Summation, TensorType, Type, Value};
use crate::operators::activation::Activation;
use crate::operators::testing::{Floats, run, run_with};
use crate::operators::windows::{Padding, Windows};
use crate::operators::{Error, Graph, extents};

fn windows(padding: &Padding) -> Windows {
    Windows { size: vec![3, 2], strides: vec![2, 2], dilation: vec![1; 2], padding: padding.clone() }
}

fn means(divisor: Divisor, counts: Counts) -> Means {
    let (element, quotient) = (ElementType::F32, Quotient::Float(Activation::NONE));
    Means { accumulator: element, summation: Summation::Rows, divisor, counts, quotient, result: element }
}

/// Pools `[1, h, w, 1]`: for each window its taps, and how many lie inside the image or its padding.
fn pooled(input: &Floats, padding: &Padding, combine: impl Fn(&[f32], usize) -> f32) -> Floats {
    let (h, w) = (input.shape[1], input.shape[2]);
    let geometry = windows(padding).known_geometry(&[h, w]).unwrap();
    let count = |d: usize, n: u64, size: i64| (n as i64 + geometry.padding_low[d] + geometry.padding_high[d] - size) / 2 + 1;
    let counted = if let Padding::Symmetric { elements, .. } = padding { elements.clone() } else { vec![0; 2] };
    let (rows, columns) = (count(0, h, 3), count(1, w, 2));
    let mut numbers = Vec::new();
    for (row, column) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
        let (mut taps, mut padded) = (Vec::new(), 0);
        for (dy, dx) in (0..3).flat_map(|y| (0..2).map(move |x| (y, x))) {
            let (y, x) = (row * 2 - geometry.padding_low[0] + dy, column * 2 - geometry.padding_low[1] + dx);
            let within = |n: i64, extent: u64, border: i64| (-border..extent as i64 + border).contains(&n);
            if within(y, h, 0) && within(x, w, 0) {
                taps.push(input.numbers[(y * w as i64 + x) as usize]);
            }
            if within(y, h, counted[0]) && within(x, w, counted[1]) {
                padded += 1;
            }
        }
        numbers.push(combine(&taps, padded));
    }
    Floats::new(&[1, rows as u64, columns as u64, 1], numbers)
}

fn paddings() -> [Padding; 4] {
    let symmetric = |partial| Padding::Symmetric { elements: vec![1, 1], partial };
    [Padding::Same, Padding::Valid, symmetric(false), symmetric(true)]
}

#[test]
fn largest_elements_of_windows() {
    for extents in [[5, 6], [6, 5], [7, 7]] {
        let input = Floats::varied(&[1, extents[0], extents[1], 1]);
        for padding in paddings() {
            let expected = pooled(&input, &padding, |taps, _| taps.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            assert_eq!(run(&[&input], &|g, v| max(g, v[0], &windows(&padding), Search::Max)), expected, "{padding:?}");
            let open = run_with(&[&input], &[[0, 1], [0, 2]], &|g, v| max(g, v[0], &windows(&padding), Search::Max));
            assert_eq!(open, expected, "at run time, {padding:?}");
        }
    }
}

#[test]
fn means_of_windows_by_every_divisor() {
    for extents in [[5, 6], [6, 5], [7, 7]] {
        let input = Floats::varied(&[1, extents[0], extents[1], 1]);
        for padding in paddings() {
            for divisor in [Divisor::Inside, Divisor::Padded, Divisor::Number(4)] {
                let expected = pooled(&input, &padding, |taps, padded| {
                    let by = match divisor {
                        Divisor::Inside => taps.len(),
                        Divisor::Padded => padded,
                        Divisor::Number(n) => n as usize,
                    };
                    taps.iter().sum::<f32>() / by as f32
                });
                for counts in [Counts::Table, Counts::Sides] {
                    let mean = |g: &mut Graph<'_>, v: &[crate::ir::Value]| average(g, v[0], &windows(&padding), &means(divisor, counts));
                    assert_eq!(run(&[&input], &mean), expected, "{padding:?} {divisor:?} {counts:?}");
                    assert_eq!(run_with(&[&input], &[[0, 1], [0, 2]], &mean), expected, "at run time, {padding:?} {divisor:?}");
                }
            }
        }
    }
}

/// XNNPACK's sums: the order of taps and of sums is written out here.
#[test]
fn means_of_nine_taps_at_a_time_and_times_the_reciprocal() {
    let mut n: Vec<f32> = (1..=10).map(|i| i as f32 / 7.0).collect();
    (n[3], n[5]) = (3e7, -3e7);
    let input = Floats::new(&[1, 2, 5, 1], n.clone());
    let windows = |size, padding| Windows { size, strides: vec![1; 2], dilation: vec![1; 2], padding };
    let (summation, quotient) = (Summation::Nines, Quotient::Reciprocal);
    let means = Means { summation, quotient, ..means(Divisor::Inside, Counts::Sides) };
    // Down the columns: rows hold n0 to n4 and n5 to n9.
    let nine = ((n[1] + n[6]) + (n[2] + n[7])) + (((n[0] + n[5]) + n[4]) + (n[3] + n[8]));
    let whole = Floats::new(&[1, 1, 1, 1], vec![(nine + n[9]) * (1.0f32 / 10.0)]);
    let all = windows(vec![2, 5], Padding::Valid);
    assert_eq!(run(&[&input], &|g, v| average(g, v[0], &all, &means)), whole);
    assert_eq!(run_with(&[&input], &[[0, 2]], &|g, v| average(g, v[0], &all, &means)), whole);
    assert_ne!(n.iter().sum::<f32>() / 10.0, whole.numbers[0], "another order gives another sum");
    // Two columns of three rows. The last row is outside of the image: i0, i1, i3 and i4 are inside.
    let below = Padding::Sides { before: vec![0; 2], after: vec![1, 0] };
    let pairs = (0..4).map(|x| (n[x + 1] + n[x + 6] + (n[x] + n[x + 5])) * 0.25).collect();
    let found = run(&[&input], &|g, v| average(g, v[0], &windows(vec![3, 2], below.clone()), &means));
    assert_eq!(found, Floats::new(&[1, 1, 4, 1], pairs));
}

#[test]
fn roots_of_mean_squares() {
    let input = Floats::varied(&[1, 5, 6, 1]);
    let expected = pooled(&input, &Padding::Same, |taps, _| (taps.iter().map(|n| n * n).sum::<f32>() / taps.len() as f32).sqrt());
    let root = |g: &mut Graph<'_>, v: &[crate::ir::Value]| root_mean_square(g, v[0], &windows(&Padding::Same), Activation::NONE);
    assert_eq!(run(&[&input], &root), expected);
    assert_eq!(run_with(&[&input], &[[0, 1]], &root), expected);
}

#[test]
fn volumes_are_pooled_along_planes_and_then_across_them() {
    let input = Floats::varied(&[1, 5, 4, 6, 2]);
    let padding = Padding::Symmetric { elements: vec![1, 0, 1], partial: false };
    let windows = Windows { size: vec![3, 2, 2], strides: vec![2, 2, 1], dilation: vec![1; 3], padding };
    let at = |d: i64, y: u64, x: i64, c: u64| {
        let inside = (0..5).contains(&d) && (0..6).contains(&x);
        inside.then(|| input.numbers[(((d as u64 * 4 + y) * 6 + x as u64) * 2 + c) as usize])
    };
    let mut largest = Vec::new();
    for (d, y, x, c) in (0..3).flat_map(|d| (0..2).flat_map(move |y| (0..7).flat_map(move |x| (0..2).map(move |c| (d, y, x, c))))) {
        let taps = (0..3).flat_map(|i| (0..2).flat_map(move |j| (0..2).map(move |k| (i, j, k))));
        let taps = taps.filter_map(|(i, j, k)| at(d * 2 - 1 + i, y * 2 + j, x - 1 + k, c));
        largest.push(taps.fold(f32::NEG_INFINITY, f32::max));
    }
    let expected = Floats::new(&[1, 3, 2, 7, 2], largest);
    assert_eq!(run(&[&input], &|g, v| max(g, v[0], &windows, Search::Max)), expected);
    assert_eq!(run_with(&[&input], &[[0, 1], [0, 3]], &|g, v| max(g, v[0], &windows, Search::Max)), expected);
    let ones = Floats::new(&[1, 5, 4, 6, 2], vec![1.0; 240]);
    let means = means(Divisor::Inside, Counts::Sides);
    assert_eq!(run(&[&ones], &|g, v| average(g, v[0], &windows, &means)), Floats::new(&[1, 3, 2, 7, 2], vec![1.0; 84]));
}

#[test]
fn parts_of_uneven_size() {
    // Parts of 5 in 2: elements 0 to 2 and 2 to 4.
    let input = Floats::new(&[1, 5, 1], vec![1.0, 2.0, 6.0, 7.0, 8.0]);
    let means = means(Divisor::Inside, Counts::Sides);
    assert_eq!(run(&[&input], &|g, v| average_parts(g, v[0], &extents(&[2]), &means)), Floats::new(&[1, 2, 1], vec![3.0, 7.0]));
}

#[test]
fn parts_of_extents_known_at_run_time() {
    let input = Floats::varied(&[2, 5, 4, 3]);
    let means = means(Divisor::Inside, Counts::Sides);
    for parts in [[2, 3], [5, 1], [3, 4], [7, 2]] {
        let build = |g: &mut Graph<'_>, v: &[Value]| average_parts(g, v[0], &extents(&parts), &means);
        let expected = run(&[&input], &build);
        for open in [&[[0, 1], [0, 2]][..], &[[0, 2]]] {
            let found = run_with(&[&input], open, &build);
            assert_eq!(found.shape, expected.shape);
            assert!(found.numbers.iter().zip(&expected.numbers).all(|(a, b)| (a - b).abs() < 1e-6), "{parts:?}: {found:?} {expected:?}");
        }
    }
}

#[test]
fn largest_elements_of_parts_of_uneven_size() {
    // Parts of 5 in 3: elements 0 to 1, 1 to 3 and 3 to 4.
    let input = Floats::new(&[1, 1, 5], vec![1.0, 9.0, 6.0, 7.0, 8.0]);
    for open in [&[][..], &[[0, 2]]] {
        let found = run_with(&[&input], open, &|g, v| max_parts(g, v[0], &extents(&[3])));
        assert_eq!(found, Floats::new(&[1, 1, 3], vec![9.0, 9.0, 8.0]));
    }
}

#[test]
fn windows_keep_nan_or_leave_it_out() {
    // Windows of two: NaN comes first, last, and alone.
    let nan = f32::NAN;
    let input = Floats::new(&[1, 8, 1, 1], vec![nan, 1.0, 2.0, nan, nan, nan, 3.0, 4.0]);
    let pairs = Windows { size: vec![2, 1], strides: vec![2, 1], dilation: vec![1; 2], padding: Padding::Valid };
    for (search, expected) in [(Search::Max, [1.0, 2.0, f32::NEG_INFINITY, 4.0]), (Search::MaxOrNan, [nan, nan, nan, 4.0])] {
        for open in [&[][..], &[[0, 1]]] {
            let found = run_with(&[&input], open, &|g, v| max(g, v[0], &pairs, search));
            assert!(same(&found.numbers, &expected), "{search:?}: {found:?}");
        }
    }
}

#[test]
fn parts_keep_nan() {
    let nan = f32::NAN;
    let input = Floats::new(&[1, 1, 5], vec![nan, 9.0, 6.0, 7.0, 8.0]);
    for open in [&[][..], &[[0, 2]]] {
        let found = run_with(&[&input], open, &|g, v| max_parts(g, v[0], &extents(&[3])));
        assert!(same(&found.numbers, &[nan, 9.0, 8.0]), "{found:?}");
    }
}

/// Tests whether numbers are equal. NaN equals NaN.
fn same(found: &[f32], expected: &[f32]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
}

#[test]
fn as_many_parts_as_elements_are_the_elements() {
    let input = Floats::varied(&[1, 1, 5, 4]);
    let build = |g: &mut Graph<'_>, v: &[Value]| {
        let parts = [g.extents(v[0])[2], Extent::Static(1)];
        max_parts(g, v[0], &parts)
    };
    let expected = input.numbers.chunks_exact(4).map(|row| row.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect::<Vec<f32>>();
    for open in [&[][..], &[[0, 2]], &[[0, 2], [0, 3]]] {
        assert_eq!(run_with(&[&input], open, &build), Floats::new(&[1, 1, 5, 1], expected.clone()), "{open:?}");
    }
}

#[test]
fn what_has_no_divisor_is_refused() {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let image = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[1, 5, 5, 1])), None);
    let zero = means(Divisor::Number(0), Counts::Table);
    assert_eq!(average(&mut g, image, &windows(&Padding::Valid), &zero), Err(Error::ZeroDivisor));
    assert!(matches!(
        average_parts(&mut g, image, &extents(&[0, 1]), &means(Divisor::Inside, Counts::Sides)),
        Err(Error::WindowMisfit { .. })
    ));
}
