//! `top_k` and `non_max_suppression`: elements chosen by their order.

use super::array::{Array, elements, u32_at, width};
use super::column::Column;
use super::error::{Step, fail};
use crate::scalar::Comparison;
use crate::scalar::integer;
use crate::types::ElementType;
use std::cmp::Ordering;

/// The order of two elements; NaN is larger than any number.
fn order(element: ElementType, column: &Column, a: usize, b: usize) -> Ordering {
    let float = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
    match column {
        Column::Int(v) if v[a] == v[b] => Ordering::Equal,
        Column::Int(v) if integer::compare(Comparison::Less, element, v[a], v[b]) => Ordering::Less,
        Column::Int(_) => Ordering::Greater,
        Column::F32(v) => float(v[a].into(), v[b].into()),
        Column::F64(v) => float(v[a], v[b]),
        Column::C64(_) => Ordering::Equal,
    }
}

/// `top_k`: values and positions.
pub(crate) fn top_k<'m>(input: &Array<'m>, largest: bool, count: usize) -> Step<Vec<Array<'m>>> {
    let Some((&extent, outer)) = input.shape.split_last() else { return fail("the operand has no dimension") };
    if count > extent {
        return fail(format!("{count} of {extent} elements"));
    }
    let shape = [outer, &[count]].concat();
    elements(ElementType::I32, &shape)?;
    if shape.contains(&0) {
        return Ok([input.element, ElementType::I32].map(|element| Array::new(element, shape.clone(), vec![])).into());
    }
    let w = width(input.element);
    let column = Column::decode(input.element, &input.bytes, 0..input.len());
    let (mut values, mut positions) = (Vec::new(), Vec::new());
    for row in 0..outer.iter().product::<usize>() {
        let mut sorted: Vec<usize> = (row * extent..(row + 1) * extent).collect();
        // The sort is stable, so among equal elements the first comes first either way.
        sorted.sort_by(|&a, &b| if largest { order(input.element, &column, b, a) } else { order(input.element, &column, a, b) });
        for &element in &sorted[..count] {
            values.extend_from_slice(&input.bytes[element * w..][..w]);
            positions.extend_from_slice(&((element - row * extent) as i32).to_le_bytes());
        }
    }
    Ok(vec![Array::new(input.element, shape.clone(), values), Array::new(ElementType::I32, shape, positions)])
}

/// A box: its lower and upper corner and its area.
struct Rectangle {
    low: [f32; 2],
    high: [f32; 2],
    area: f32,
}

/// C++'s `std::min` and `std::max`, which give the first number when the comparison is false.
fn lower(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

fn higher(a: f32, b: f32) -> f32 {
    if a < b { b } else { a }
}

impl Rectangle {
    fn new(corners: [f32; 4]) -> Self {
        let [y, x, other_y, other_x] = corners;
        let (low, high) = ([lower(y, other_y), lower(x, other_x)], [higher(y, other_y), higher(x, other_x)]);
        Self { low, high, area: (high[0] - low[0]) * (high[1] - low[1]) }
    }

    /// Intersection ÷ union; 0 with a box that has no area.
    fn overlap(&self, other: &Self) -> f32 {
        if !(self.area > 0.0 && other.area > 0.0) {
            return 0.0;
        }
        let side = |d: usize| higher(lower(self.high[d], other.high[d]) - higher(self.low[d], other.low[d]), 0.0);
        let intersection = side(0) * side(1);
        intersection / (self.area + other.area - intersection)
    }
}

fn numbers(array: &Array<'_>) -> Vec<f32> {
    (0..array.len()).map(|i| f32::from_bits(u32_at(&array.bytes, i))).collect()
}

/// `non_max_suppression`: positions, scores and counts.
pub(crate) fn non_max_suppression<'m>(operands: &[&Array<'m>], count: usize) -> Step<Vec<Array<'m>>> {
    let [boxes, scores, overlap, threshold, sigma] = operands else { return fail("there must be five operands") };
    let shape = vec![scores.shape[0], count];
    elements(ElementType::I32, &shape)?;
    let boxes: Vec<Rectangle> = numbers(boxes).chunks_exact(4).map(|c| Rectangle::new([c[0], c[1], c[2], c[3]])).collect();
    let [overlap, threshold, sigma] = [overlap, threshold, sigma].map(|array| numbers(array)[0]);
    let candidates = scores.shape[1];
    let all = numbers(scores);
    let (mut positions, mut values, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..scores.shape[0] {
        let kept = |score: f32| if score > threshold { score } else { f32::NEG_INFINITY };
        let mut left: Vec<f32> = all[row * candidates..][..candidates].iter().map(|&score| kept(score)).collect();
        let mut found: u32 = 0;
        while (found as usize) < count {
            let better = |best: Option<usize>, i: usize| if best.is_none_or(|b| left[i] > left[b]) { Some(i) } else { best };
            let best = (0..candidates).fold(None, better).filter(|&i| left[i] > f32::NEG_INFINITY);
            let Some(best) = best else { break };
            positions.extend_from_slice(&(best as i32).to_le_bytes());
            values.extend_from_slice(&left[best].to_le_bytes());
            found += 1;
            left[best] = f32::NEG_INFINITY;
            for (score, rectangle) in left.iter_mut().zip(&boxes) {
                let shared = rectangle.overlap(&boxes[best]);
                if sigma > 0.0 {
                    *score = kept(*score * libm::expf(-0.5 / sigma * shared * shared));
                }
                if shared >= overlap {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
        positions.resize(4 * count * (row + 1), 0);
        values.resize(4 * count * (row + 1), 0);
        counts.extend_from_slice(&found.to_le_bytes());
    }
    Ok(vec![
        Array::new(ElementType::I32, shape.clone(), positions),
        Array::new(ElementType::F32, shape, values),
        Array::new(ElementType::I32, vec![scores.shape[0]], counts),
    ])
}
