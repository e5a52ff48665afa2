//! Transposes of short rows to columns, and back. A column has the elements of several rows at one place, so each lane of a vector has a row.

use crate::kernel::{Buffer, KernelBuilder, Lane, Type, Value};
use crate::machine::Machine;
use crate::schedule::elementwise::lanes::join;
use crate::schedule::movement::turn::{riffled, riffled_in_blocks};

/// Maximum number of vectors that are transposed together.
const MOST_VECTORS: u64 = 16;

/// Bytes of the blocks that byte-interleaving instructions work in.
const BLOCK: u16 = 16;

/// A number of rows and the machine that transposes them.
#[derive(Clone, Copy)]
pub(super) struct Columns<'m> {
    pub machine: &'m Machine,
    /// Number of rows, a power of two, and the number that is present.
    pub rows: u16,
    pub present: u16,
    /// Number of elements in a row.
    pub length: u16,
}

/// A range of elements of all rows that is transposed together.
struct Chunk {
    /// First element in each row.
    start: u16,
    /// Number of elements in each row, a power of two, and the number that is present.
    lanes: u16,
    active: u16,
    /// Lanes of a vector.
    vector: u16,
    /// `true` if it has all elements of the rows, without gaps.
    is_whole: bool,
}

impl Chunk {
    /// Returns the number of blocks in a vector, if each block is a row of bytes. Such vectors are transposed within blocks and then across them. 1
    /// for other chunks.
    fn blocks(&self, lane: Lane) -> u16 {
        if lane == Lane::I8 && self.lanes == BLOCK { self.vector / BLOCK } else { 1 }
    }

    fn vectors(&self, rows: u16) -> u16 {
        rows * self.lanes / self.vector
    }

    /// Returns the place of a vector among the columns, and the number of its lanes that are elements.
    fn columns(&self, rows: u16, vector: u16) -> (u16, u16) {
        let first = vector * self.vector;
        (self.start * rows + first, (self.active * rows).saturating_sub(first).min(self.vector))
    }
}

impl Columns<'_> {
    /// Returns the elements of a buffer for all columns.
    pub fn elements(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.length)
    }

    /// Returns the lanes of the vectors that are transposed. Vectors of bytes can be interleaved at any length.
    fn vector(&self, bytes: u32) -> u16 {
        if bytes == 1 { self.machine.lanes(1) } else { self.machine.turned_lanes(bytes) }
    }

    fn chunks(&self, bytes: u32) -> Vec<Chunk> {
        let (rows, length, longest) = (self.rows, self.length, self.vector(bytes));
        let of = |start: u16, lanes: u16, active: u16| {
            let vector = longest.min(rows * lanes / 2);
            Chunk { start, lanes, active, vector, is_whole: lanes == length && self.present == rows }
        };
        let whole = of(0, length, length);
        if length.is_power_of_two() && self.present == rows && u64::from(whole.vectors(rows)) <= MOST_VECTORS {
            return vec![whole];
        }
        let most = longest.min(MOST_VECTORS as u16);
        let least = (4 / bytes as u16).max(2);
        let mut chunks = Vec::new();
        let mut start = 0;
        while start < length {
            let lanes = (length - start).next_power_of_two().clamp(least, most);
            let active = lanes.min(length - start);
            chunks.push(of(start, lanes, active));
            start += active;
        }
        chunks
    }

    /// Transposes rows, from element `first` of a buffer on, to the columns of another buffer.
    pub fn load(&self, b: &mut KernelBuilder, (from, first): (Buffer, Value), to: Buffer) {
        let zero = b.index(0);
        for chunk in self.chunks(b.lane_of(from).bytes()) {
            let vectors = self.load_rows(b, (from, first), &chunk);
            let vectors = match chunk.blocks(b.lane_of(from)) {
                1 => riffled(b, vectors, self.rows.ilog2()),
                blocks => {
                    let vectors = riffled_in_blocks(b, vectors, (self.rows / blocks).ilog2());
                    permuted(b, vectors, |place| place % blocks * BLOCK + place / blocks)
                }
            };
            for (i, vector) in (0..).zip(vectors) {
                let (at, active) = chunk.columns(self.rows, i);
                if active > 0 {
                    b.store_active(to, zero, at.into(), vector, active);
                }
            }
        }
    }

    /// Loads the elements of a chunk, row by row.
    fn load_rows(&self, b: &mut KernelBuilder, (from, first): (Buffer, Value), chunk: &Chunk) -> Vec<Value> {
        if chunk.is_whole {
            let vectors = 0..chunk.vectors(self.rows);
            return vectors.map(|i| b.load(from, first, i64::from(i * chunk.vector), chunk.vector)).collect();
        }
        let row = |row: u16| i64::from(row * self.length + chunk.start);
        let ty = Type::vector(b.lane_of(from), chunk.lanes);
        let load = |i: u16| match i < self.present {
            true => b.load_active(from, first, row(i), chunk.lanes, chunk.active),
            false => b.zero(ty),
        };
        let rows: Vec<Value> = (0..self.rows).map(load).collect();
        rows.chunks(usize::from(chunk.vector / chunk.lanes)).map(|rows| join(b, rows)).collect()
    }

    /// Transposes columns to the rows of another buffer, from element `first` on.
    pub fn store(&self, b: &mut KernelBuilder, from: Buffer, (to, first): (Buffer, Value)) {
        let zero = b.index(0);
        for chunk in self.chunks(b.lane_of(from).bytes()) {
            let ty = Type::vector(b.lane_of(from), chunk.vector);
            let column = |i: u16| match chunk.columns(self.rows, i) {
                (_, 0) => b.zero(ty),
                (at, active) => b.load_active(from, zero, at.into(), chunk.vector, active),
            };
            let vectors = (0..chunk.vectors(self.rows)).map(column).collect();
            let vectors = match chunk.blocks(b.lane_of(from)) {
                1 => riffled(b, vectors, chunk.lanes.ilog2()),
                blocks => {
                    let vectors = permuted(b, vectors, |place| place % BLOCK * blocks + place / BLOCK);
                    riffled_in_blocks(b, vectors, chunk.lanes.ilog2())
                }
            };
            self.store_rows(b, &vectors, (to, first), &chunk);
        }
    }

    fn store_rows(&self, b: &mut KernelBuilder, vectors: &[Value], (to, first): (Buffer, Value), chunk: &Chunk) {
        if chunk.is_whole {
            for (i, &vector) in (0..).zip(vectors) {
                b.store(to, first, i64::from(i * chunk.vector), vector);
            }
            return;
        }
        for row in 0..self.present {
            let at = row * chunk.lanes;
            let part = b.part(vectors[usize::from(at / chunk.vector)], at % chunk.vector, chunk.lanes);
            b.store_active(to, first, i64::from(row * self.length + chunk.start), part, chunk.active);
        }
    }
}

/// Permutes the lanes of vectors. `from` returns the old place of the lane at each place.
fn permuted(b: &mut KernelBuilder, vectors: Vec<Value>, from: impl Fn(u16) -> u16) -> Vec<Value> {
    let order: Vec<u16> = (0..b.ty(vectors[0]).lanes).map(from).collect();
    vectors.into_iter().map(|vector| b.shuffle(vector, vector, order.clone())).collect()
}
