//! `window` whose elements are combined nine at a time.

use super::array::{Array, elements};
use super::column::Column;
use super::contract::{self, RunTime};
use super::error::{Step, fail};
use super::reduce::placed;
use crate::operators::{Reduction, WindowGeometry};
use crate::types::ElementType;

/// A tap of a window that reads an element of the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tap {
    /// The place of the tap in the order of the sum.
    place: usize,
    /// The element in its image.
    element: usize,
}

/// The sums or maxima of windows of f32 over one or two spatial dimensions, in the order of [`crate::Summation::Nines`].
pub(crate) fn window<'m>(
    input: &Array<'m>,
    reduction: Reduction,
    size: &[usize],
    geometry: &WindowGeometry,
    run_time: &RunTime,
) -> Step<Array<'m>> {
    let (shape, windows) = placed(input, size, geometry, run_time)?;
    let total = elements(ElementType::F32, &shape)?;
    let column = Column::decode(input.element, &input.bytes, 0..input.len());
    let Some(numbers) = column.singles() else { return fail(format!("nines of {}", input.element)) };
    let last = input.rank() - 1;
    let (batches, channels) = (input.shape[0], input.shape[last]);
    let extents = &input.shape[1..last];
    let spatial: usize = extents.iter().product();
    let is_sum = reduction == Reduction::Sum;
    let taps_of = |(position, taps): (usize, &Vec<contract::Tap>)| {
        if is_sum { down_the_columns(taps, size) } else { nearest(position, &shape[1..last], extents, size, (geometry, run_time)) }
    };
    let windows: Vec<_> = windows.iter().enumerate().map(taps_of).collect();
    let mut bytes = Vec::with_capacity(4 * total);
    for batch in 0..batches {
        for taps in &windows {
            for channel in 0..channels {
                let number = |element| numbers[(batch * spatial + element) * channels + channel];
                let combined = if is_sum { sum(taps, number) } else { largest(taps, number) };
                bytes.extend(combined.to_le_bytes());
            }
        }
    }
    Ok(Array::new(ElementType::F32, shape, bytes))
}

/// The taps of a window, with their places down the columns. A tap outside the input takes the nearest element inside.
fn nearest(
    position: usize,
    positions: &[usize],
    extents: &[usize],
    size: &[usize],
    (geometry, run_time): (&WindowGeometry, &RunTime),
) -> Vec<Tap> {
    let coordinate = |d: usize, position: usize, tap: usize| {
        let first =
            position as i64 * geometry.strides[d] - geometry.padding_low[d] + run_time.shift.get(d).map_or(0, |&shift| shift as i64);
        (first + tap as i64 * geometry.dilation[d]).clamp(0, extents[d] as i64 - 1) as usize
    };
    let elements: Vec<usize> = match *size {
        [rows, columns] => {
            let (y, x) = (position / positions[1], position % positions[1]);
            let tap = |tap: usize| coordinate(0, y, tap % rows) * extents[1] + coordinate(1, x, tap / rows);
            (0..rows * columns).map(tap).collect()
        }
        _ => (0..size[0]).map(|tap| coordinate(0, position, tap)).collect(),
    };
    elements.into_iter().enumerate().map(|(place, element)| Tap { place, element }).collect()
}

/// Taps of a window, each with its place down the columns instead of along the rows.
fn down_the_columns(taps: &[contract::Tap], size: &[usize]) -> Vec<Tap> {
    let (rows, columns) = if let [rows, columns] = *size { (rows, columns) } else { (1, size[0]) };
    let mut placed: Vec<_> =
        taps.iter().map(|tap| Tap { place: tap.number % columns * rows + tap.number / columns, element: tap.element }).collect();
    placed.sort_unstable();
    placed
}

/// The sum of the taps, in the order of their places. A group of nine without any tap would add 0.
fn sum(taps: &[Tap], number: impl Fn(usize) -> f32) -> f32 {
    let mut sum = 0.0;
    for group in taps.chunk_by(|a, b| a.place / 9 == b.place / 9) {
        let mut i = [0.0f32; 9];
        group.iter().for_each(|&Tap { place, element }| i[place % 9] = number(element));
        sum += ((i[2] + i[3]) + (i[4] + i[5])) + (((i[0] + i[1]) + i[8]) + (i[6] + i[7]));
    }
    sum
}

/// The maximum of the taps as x86's instruction computes it: if one of two is NaN, the second is the result. A group with fewer than nine taps
/// repeats its first. If the first nine give NaN, they are left out. If later ones do, the result is +∞, to which XNNPACK limits it.
fn largest(taps: &[Tap], number: impl Fn(usize) -> f32) -> f32 {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let mut largest = f32::NEG_INFINITY;
    for (place, group) in taps.chunks(9).enumerate() {
        let i: [f32; 9] = std::array::from_fn(|place| number(group.get(place).unwrap_or(&group[0]).element));
        let middle = larger(larger(i[2], i[3]), larger(i[4], i[5]));
        let ends = larger(larger(larger(i[0], i[1]), i[8]), larger(i[6], i[7]));
        largest = match larger(middle, ends) {
            nine if !nine.is_nan() => larger(largest, nine),
            _ if place == 0 => largest,
            _ => f32::INFINITY,
        };
    }
    largest
}
