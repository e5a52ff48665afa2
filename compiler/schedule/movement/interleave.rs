//! Interleaving of a few rows into one run of elements, and the reverse: for example, image planes to pixels and back.

use super::turn::{Matrix, Sides, interleaved};
use crate::kernel::{KernelBuilder, Lane, Type, Value};
use crate::schedule::loops::row;

/// Maximum rows whose elements are picked: each further vector costs a shuffle for every result. From five rows on, interleaving of halves is
/// cheaper.
const MOST_PICKED: u64 = 4;

/// Maximum rows that fit in registers.
const MOST_ROWS: u64 = 16;

/// Tests whether rows are interleaved rather than transposed in squares, by vectors of `size` lanes. A few rows would leave most of each square
/// empty. If the number of rows is a power of two below `size`, all vectors are full.
pub fn are_few(size: u16, rows: u64) -> bool {
    let size = u64::from(size);
    size > MOST_PICKED && ((2..=MOST_PICKED).contains(&rows) || are_halved(rows) && rows <= size.min(MOST_ROWS))
}

/// Tests whether rows are interleaved by halves.
fn are_halved(rows: u64) -> bool {
    rows > MOST_PICKED && rows.is_power_of_two()
}

/// Interleaves `rows` rows of `columns` elements: the elements of a column become adjacent, one column after another. Vectors have `size` lanes and
/// pass through `convert`.
pub fn interleave(
    b: &mut KernelBuilder,
    size: u16,
    Sides { rows, columns }: Sides,
    from: Matrix,
    to: Matrix,
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
            let picks: Vec<Pick> = (0..size).map(|lane| vector * size + lane).map(|i| Pick { vector: i % rows, lane: i / rows }).collect();
            let value = picked(b, &vectors, &picks);
            let value = convert(b, value);
            b.store_active(to.buffer, start, i64::from(vector * size), value, lanes);
        }
    });
}

/// Splits `rows` groups of `columns` adjacent elements into `columns` rows, one for each place in a group. Vectors have `size` lanes.
pub fn take_apart(b: &mut KernelBuilder, (lane, size): (Lane, u16), Sides { rows, columns }: Sides, from: Matrix, to: Matrix) {
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

/// Returns the vectors of a run of elements, each with the number of its lanes in the run.
fn run(elements: u16, size: u16) -> impl Iterator<Item = (u16, u16)> {
    (0..elements.div_ceil(size)).map(move |vector| (vector, (elements - vector * size).min(size)))
}

/// Returns a vector of every `step`th element of some vectors, from `first` on. Elements are numbered across the vectors.
fn every(b: &mut KernelBuilder, vectors: &[Value], step: u16, first: u16) -> Value {
    let size = b.ty(vectors[0]).lanes;
    let picks: Vec<Pick> = (0..size).map(|lane| lane * step + first).map(|i| Pick { vector: i / size, lane: i % size }).collect();
    picked(b, vectors, &picks)
}

/// A lane of one of several vectors.
#[derive(Clone, Copy)]
struct Pick {
    /// The number of the vector.
    vector: u16,
    lane: u16,
}

/// Picks the lanes of a vector from several. The vectors are merged one by one, and a picked lane stays in
/// place.
fn picked(b: &mut KernelBuilder, vectors: &[Value], picks: &[Pick]) -> Value {
    let size = picks.len() as u16;
    let mut found = vectors[0];
    for (i, &vector) in (0u16..).zip(vectors).skip(1) {
        let lanes = picks.iter().zip(0u16..).map(|(&Pick { vector: from, lane }, here)| match (from == i, i) {
            (true, _) => size + lane,
            (false, 1) if from == 0 => lane,
            // Lanes stay if they are in place or still to come.
            (false, _) => here,
        });
        found = b.shuffle(found, vector, lanes.collect());
    }
    found
}
