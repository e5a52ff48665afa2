//! Resized rows against positions computed one by one, of known and of run-time extents.

use super::{Along, Between, Blend, Grid, Step, bilinear, nearest, separable, stepped};
use crate::ir::{Extent, Value};
use crate::operators::Graph;
use crate::operators::testing::{Build, Floats, run, run_with};

/// Rows of an image `[1, h, 1, 1]` to this many; the one column stays.
fn rows(g: &Graph<'_>, image: Value, to: u64) -> [Along; 2] {
    let shape = g.extents(image);
    [Along { dimension: 1, from: shape[1], to: Extent::Static(to) }, Along { dimension: 2, from: shape[2], to: Extent::Static(1) }]
}

/// A column of numbers under another size, of known and of run-time rows.
fn both(input: &Floats, build: Build<'_>) -> Vec<f32> {
    let known = run(&[input], build);
    assert_eq!(run_with(&[input], &[[0, 1]], build), known, "at run time");
    known.numbers
}

fn column(numbers: &[f32]) -> Floats {
    Floats::new(&[1, numbers.len() as u64, 1, 1], numbers.to_vec())
}

#[test]
fn nearest_elements_follow_the_grid() {
    let input = column(&[0.0, 1.0, 2.0]);
    let found = |align_corners, half_pixel_centers, to| {
        let grid = Grid { align_corners, half_pixel_centers };
        both(&input, &move |g, v| {
            let sides = rows(g, v[0], to);
            nearest(g, v[0], &sides, grid)
        })
    };
    // ⌊i · 3 ÷ 5⌋, ⌊(i + ½) · 3 ÷ 5⌋, and i · 2 ÷ 4 rounded away from zero.
    assert_eq!(found(false, false, 5), [0.0, 0.0, 1.0, 1.0, 2.0]);
    assert_eq!(found(false, true, 5), [0.0, 0.0, 1.0, 2.0, 2.0]);
    assert_eq!(found(true, false, 5), [0.0, 1.0, 1.0, 2.0, 2.0]);
    assert_eq!(found(false, false, 3), [0.0, 1.0, 2.0], "the same size");
}

#[test]
fn neighbours_are_blended_by_their_distance() {
    let input = column(&[0.0, 8.0]);
    let found = |align_corners, half_pixel_centers, to| {
        let grid = Grid { align_corners, half_pixel_centers };
        both(&input, &move |g, v| {
            let sides = rows(g, v[0], to);
            bilinear(g, v[0], sides, grid, Blend::Floats)
        })
    };
    assert_eq!(found(false, false, 4), [0.0, 4.0, 8.0, 8.0]);
    assert_eq!(found(true, false, 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
    assert_eq!(found(false, true, 4), [0.0, 2.0, 6.0, 8.0]);
}

#[test]
fn steps_are_a_ratio_a_number_or_from_corner_to_corner() {
    let input = column(&[0.0, 8.0, 16.0]);
    let picked = |step, to| {
        both(&input, &move |g, v| {
            let sides = rows(g, v[0], to).map(|along| (along, step));
            stepped(g, v[0], &sides[..1])
        })
    };
    assert_eq!(picked(Step::Ratio, 6), [0.0, 0.0, 8.0, 8.0, 16.0, 16.0]);
    assert_eq!(picked(Step::Number(0.75), 4), [0.0, 0.0, 8.0, 16.0]);
    for between in [Between::Shares, Between::Difference] {
        let blended = |step, to| {
            both(&input, &move |g, v| {
                let sides = rows(g, v[0], to).map(|along| (along, step));
                separable(g, v[0], &sides[..1], between)
            })
        };
        assert_eq!(blended(Step::Corners, 5), [0.0, 4.0, 8.0, 12.0, 16.0]);
        assert_eq!(blended(Step::Corners, 1), [0.0], "one element has no distance to another");
        assert_eq!(blended(Step::Ratio, 6), [0.0, 2.0, 6.0, 10.0, 14.0, 16.0]);
    }
}
