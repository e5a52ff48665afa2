//! Few rows interleaved into one run of elements, and one run taken apart into few rows: the planes of an image and its pixels.

use super::turn::{Matrix, interleaved};
use crate::kernel::{KernelBuilder, Lane, Type, Value};
use crate::schedule::loops::row;

/// Each vector more costs a shuffle of every result; vectors of which halves are interleaved are cheaper from five rows on.
const MOST_PICKED: u64 = 4;

/// Rows beyond this many do not fit in registers.
const MOST_ROWS: u64 = 16;

/// Whether this many rows are interleaved rather than turned in squares, by vectors of `size` lanes. Squares would leave most of few rows empty; and of
/// rows that are a power of two, shorter than vectors, all vectors are whole. Measured at AVX2: three rows of bytes ten times as fast, of binary32 no faster.
pub fn are_few(size: u16, rows: u64) -> bool {
    let size = u64::from(size);
    size > MOST_PICKED && ((2..=MOST_PICKED).contains(&rows) || are_halved(rows) && rows <= size.min(MOST_ROWS))
}

/// Whether halves of rows are interleaved until all are.
fn are_halved(rows: u64) -> bool {
    rows > MOST_PICKED && rows.is_power_of_two()
}

/// Writes `rows` rows of `columns` elements so that those of a column are adjacent, and columns follow each other; by vectors of `size` lanes, each as
/// `convert` makes it.
pub fn interleave(
    b: &mut KernelBuilder,
    size: u16,
    (rows, columns): (u64, u64),
    (from, to): (Matrix, Matrix),
    mut convert: impl FnMut(&mut KernelBuilder, Value) -> Value,
) {
    let rows = rows as u16;
    row(b, columns, size, |b, column, active| {
        let vectors: Vec<Value> = (0..rows)
            .map(|i| {
                let start = from.stride.scale_known(b, i.into());
                let start = b.add(from.first, start);
                let place = b.add(start, column);
                b.load_active(from.buffer, place, 0, size, active)
            })
            .collect();
        let start = b.scale_index(column, rows.into(), 0);
        let start = b.add(to.first, start);
        if are_halved(rows.into()) {
            let vectors = interleaved(b, vectors, 1, rows.ilog2());
            for ((vector, lanes), value) in run(active * rows, size).zip(vectors) {
                let value = convert(b, value);
                b.store_active(to.buffer, start, i64::from(vector * size), value, lanes);
            }
            return;
        }
        for (vector, lanes) in run(active * rows, size) {
            let picks: Vec<(u16, u16)> = (0..size).map(|lane| vector * size + lane).map(|i| (i % rows, i / rows)).collect();
            let value = picked(b, &vectors, &picks);
            let value = convert(b, value);
            b.store_active(to.buffer, start, i64::from(vector * size), value, lanes);
        }
    });
}

/// Writes a run of `rows` groups of `columns` adjacent elements as one row for each element of a group; by vectors of `size` lanes.
pub fn take_apart(b: &mut KernelBuilder, (lane, size): (Lane, u16), (rows, columns): (u64, u64), from: Matrix, to: Matrix) {
    let columns = columns as u16;
    row(b, rows, size, |b, group, active| {
        let start = b.scale_index(group, columns.into(), 0);
        let start = b.add(from.first, start);
        let mut vectors = vec![b.zero(Type::vector(lane, size)); columns.into()];
        for (vector, lanes) in run(active * columns, size) {
            vectors[usize::from(vector)] = b.load_active(from.buffer, start, i64::from(vector * size), size, lanes);
        }
        if are_halved(columns.into()) {
            vectors = interleaved(b, vectors, 1, size.ilog2());
        } else {
            vectors = (0..columns).map(|column| every(b, &vectors, columns, column)).collect();
        }
        for (column, value) in (0u16..).zip(vectors) {
            let place = to.stride.scale_known(b, column.into());
            let place = b.add(to.first, place);
            let place = b.add(place, group);
            b.store_active(to.buffer, place, 0, value, active);
        }
    });
}

/// The vectors of a run of elements, and how many lanes of each are in it.
fn run(elements: u16, size: u16) -> impl Iterator<Item = (u16, u16)> {
    (0..elements.div_ceil(size)).map(move |vector| (vector, (elements - vector * size).min(size)))
}

/// Of the elements of some vectors in order, the one at `first` and each that lies `step` after another, as a vector.
fn every(b: &mut KernelBuilder, vectors: &[Value], step: u16, first: u16) -> Value {
    let size = b.ty(vectors[0]).lanes;
    let picks: Vec<(u16, u16)> = (0..size).map(|lane| lane * step + first).map(|i| (i / size, i % size)).collect();
    picked(b, vectors, &picks)
}

/// A vector whose lanes are picked from several: for each its vector and its lane there. The vectors come in one by one, and a lane is in its place from
/// then on.
fn picked(b: &mut KernelBuilder, vectors: &[Value], picks: &[(u16, u16)]) -> Value {
    let size = picks.len() as u16;
    let mut found = vectors[0];
    for (i, &vector) in (0u16..).zip(vectors).skip(1) {
        let lanes = picks.iter().zip(0u16..).map(|(&(from, lane), here)| match (from == i, i) {
            (true, _) => size + lane,
            (false, 1) if from == 0 => lane,
            // In its place, or still to come.
            (false, _) => here,
        });
        found = b.shuffle(found, vector, lanes.collect());
    }
    found
}
