//! `window` whose elements are summed nine at a time.

use super::array::{Array, elements};
use super::column::Column;
use super::contract::RunTime;
use super::error::{Step, fail};
use super::reduce::placed;
use crate::ir::operators::WindowGeometry;
use crate::ir::types::ElementType;

/// The sums of windows of f32 over one spatial dimension or two, as [`crate::ir::Summation::Nines`] has them.
pub(in crate::ir) fn window<'m>(input: &Array<'m>, size: &[usize], geometry: &WindowGeometry, run_time: &RunTime) -> Step<Array<'m>> {
    let (shape, windows) = placed(input, size, geometry, run_time)?;
    let total = elements(ElementType::F32, &shape)?;
    let column = Column::decode(input.element, &input.bytes, 0..input.len());
    let Some(numbers) = column.singles() else { return fail(format!("sums of nine {}", input.element)) };
    let last = input.rank() - 1;
    let (batches, channels) = (input.shape[0], input.shape[last]);
    let spatial: usize = input.shape[1..last].iter().product();
    let windows: Vec<_> = windows.iter().map(|taps| down_the_columns(taps, size)).collect();
    let mut bytes = Vec::with_capacity(4 * total);
    for batch in 0..batches {
        for taps in &windows {
            for channel in 0..channels {
                let sum = sum(taps, |element| numbers[(batch * spatial + element) * channels + channel]);
                bytes.extend(sum.to_le_bytes());
            }
        }
    }
    Ok(Array::new(ElementType::F32, shape, bytes))
}

/// Taps of a window, each with its place down the columns instead of along the rows.
fn down_the_columns(taps: &[(usize, usize)], size: &[usize]) -> Vec<(usize, usize)> {
    let (rows, columns) = if let [rows, columns] = *size { (rows, columns) } else { (1, size[0]) };
    let mut placed: Vec<_> = taps.iter().map(|&(tap, element)| (tap % columns * rows + tap / columns, element)).collect();
    placed.sort_unstable();
    placed
}

/// The sum of what taps have, in the order of their places. A group of nine without any would add 0.
fn sum(taps: &[(usize, usize)], number: impl Fn(usize) -> f32) -> f32 {
    let mut sum = 0.0;
    for group in taps.chunk_by(|(a, _), (b, _)| a / 9 == b / 9) {
        let mut i = [0.0f32; 9];
        group.iter().for_each(|&(place, element)| i[place % 9] = number(element));
        sum += ((i[2] + i[3]) + (i[4] + i[5])) + (((i[0] + i[1]) + i[8]) + (i[6] + i[7]));
    }
    sum
}
