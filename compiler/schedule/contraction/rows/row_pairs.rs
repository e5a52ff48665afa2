//! Staged rows of bytes in pairs: two padded rows of an image, interleaved element by element. They are a ring of as many pairs as windows
//! span. A product takes the bytes of two or four rows from one place, so windows need not combine them. Every input row is staged before the
//! output rows that need it are written, so the output may overwrite the input.

use super::staging::with_sign;
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, KernelBuilder, Lane, Type, Value, orders};
use crate::machine::Machine;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::operands::form::Form;
use crate::schedule::loops::row;
use crate::schedule::route::Route;
use std::ops::Range;

/// The ring of pairs.
#[derive(Clone, Debug)]
pub struct RowPairs {
    /// Form in which products take the bytes.
    form: Form,
    /// Number of pairs in the ring.
    pub count: u64,
    /// Bytes of a pair.
    bytes: u64,
    /// Bytes after the last pair that reads of whole vectors may touch.
    slack: u64,
    /// Number of channels in a block whose bytes have the order of [`orders::spread`]; `None` without this order.
    spread: Option<u16>,
    /// Bytes of a vector.
    vector: u16,
}

impl RowPairs {
    /// Makes a ring of this many pairs for a contraction of bytes. Its products have a form, and read this many channels at a time.
    pub fn new(machine: &Machine, (work, form): (&Contraction, Form), count: u64, channels: u64) -> Self {
        let geometry = &work.geometry;
        let width = geometry.phases[2].padded(geometry.input_size[1]);
        Self { form, count, bytes: 2 * width * geometry.channels, slack: 2 * channels, spread: None, vector: machine.vector_bytes() }
    }

    /// Puts each block of this many channels into the order of [`orders::spread`].
    pub fn spread(mut self, channels: u64) -> Self {
        self.spread = u16::try_from(channels).ok();
        self
    }

    /// Tests whether blocks are in the order of [`orders::spread`].
    pub fn is_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// Returns the bytes of the ring.
    pub fn ring_bytes(&self) -> u64 {
        self.count * self.bytes + self.slack
    }

    /// Fills the ring with padding, once before the first row.
    pub fn prepare(&self, b: &mut KernelBuilder, work: &Contraction, ring: Buffer) {
        let border = work.border(self.form);
        row(b, self.ring_bytes(), self.vector, |b, i, active| {
            let value = b.int(Type::vector(Lane::I8, self.vector), border);
            b.store_active(ring, i, 0, value, active);
        });
    }

    /// Returns the place of a pair in the ring.
    pub fn slot(&self, b: &mut KernelBuilder, pair: Value) -> Value {
        if self.count == 1 {
            return b.index(0);
        }
        let count = b.index(self.count as i64);
        let slot = b.binary(BinaryOp::SignedRem, pair, count);
        b.scale_index(slot, self.bytes as i64, 0)
    }

    /// Stages the pairs of a range. A pair has two padded rows.
    pub fn copy_pairs(
        &self,
        b: &mut KernelBuilder,
        work: &Contraction,
        buffers: Route<Buffer>,
        Rows { image, origin }: Rows,
        pairs: Range<Value>,
    ) {
        let geometry = &work.geometry;
        let [rows, _] = geometry.input_size;
        let left = 2 * geometry.phases[2].padding_low * geometry.channels;
        b.for_values(pairs.start, pairs.end, 1, |b, pair| {
            let slot = self.slot(b, pair);
            let to = b.scale_index(slot, 1, left as i64);
            let upper = b.scale_index(pair, 2, -(geometry.phases[1].padding_low as i64));
            let upper = b.add(upper, origin);
            let last = b.index(rows as i64 - 1);
            let both_inside = b.compare(CompareOp::UnsignedLess, upper, last);
            b.if_else(
                both_inside,
                |b| {
                    let places = [0, 1].map(|k| PairPlace { row: b.scale_index(upper, 1, k), inside: None });
                    self.copy(b, work, buffers, Route { from: image, to }, places);
                    vec![]
                },
                |b| {
                    let places = [0, 1].map(|k| place_within(b, upper, k, rows));
                    self.copy(b, work, buffers, Route { from: image, to }, places);
                    vec![]
                },
            );
        });
    }

    /// Interleaves two rows of the image at `from`.
    fn copy(
        &self,
        b: &mut KernelBuilder,
        work: &Contraction,
        buffers: Route<Buffer>,
        Route { from: image, to }: Route<Value>,
        rows: [PairPlace; 2],
    ) {
        let elements = work.geometry.input_size[1] * work.geometry.channels;
        let lanes = self.vector.min(u16::try_from(elements.next_power_of_two()).unwrap_or(self.vector));
        let starts = rows.each_ref().map(|place| {
            let start = b.scale_index(place.row, elements as i64, 0);
            b.add(start, image)
        });
        let kept = rows.map(|place| place.inside.map(|inside| kept(b, inside, work.border(self.form), lanes)));
        let order = self.order(lanes);
        row(b, elements, lanes, |b, i, active| {
            let [upper, lower] = [0, 1].map(|k| {
                let index = b.add(starts[k], i);
                let raw = b.load_active(buffers.from, index, 0, lanes, active);
                let value = with_sign(b, work.element, self.form, raw);
                kept[k].map_or(value, |(mask, border)| {
                    let value = b.binary(BinaryOp::And, value, mask);
                    b.binary(BinaryOp::Or, value, border)
                })
            });
            let pair = b.shuffle(upper, lower, order.clone());
            let at = b.scale_index(i, 2, 0);
            let at = b.add(at, to);
            b.store_active(buffers.to, at, 0, pair, 2 * active);
        });
    }

    /// Returns the order in which the elements of two rows become a pair.
    fn order(&self, lanes: u16) -> Vec<u16> {
        let order = orders::interleaved(lanes);
        match self.spread {
            Some(block) if lanes >= block => order
                .chunks(2 * usize::from(block))
                .flat_map(|block| orders::spread_bytes(block.len() as u16).into_iter().map(|at| block[usize::from(at)]))
                .collect(),
            _ => order,
        }
    }
}

/// Rows of an image that are staged.
#[derive(Clone, Copy)]
pub struct Rows {
    /// First element of the image.
    pub image: Value,
    /// Number of the row after the padding of the first pair.
    pub origin: Value,
}

/// A row of the input.
struct PairPlace {
    /// Number of the row, clamped to the input.
    row: Value,
    /// Mask that is true if the row is inside the input; `None` if it always is.
    inside: Option<Value>,
}

fn place_within(b: &mut KernelBuilder, first: Value, after: i64, rows: u64) -> PairPlace {
    let row = b.scale_index(first, 1, after);
    let (zero, count, last) = (b.index(0), b.index(rows as i64), b.index(rows as i64 - 1));
    let inside = b.compare(CompareOp::UnsignedLess, row, count);
    let row = b.binary(BinaryOp::SignedMax, row, zero);
    PairPlace { row: b.binary(BinaryOp::SignedMin, row, last), inside: Some(inside) }
}

/// Returns a mask for the bits of a row, and bits to replace the others: all bits and none, or no bits and padding.
fn kept(b: &mut KernelBuilder, inside: Value, border: i64, lanes: u16) -> (Value, Value) {
    let byte = Type::scalar(Lane::I8);
    let (zero, one, border) = (b.int(byte, 0), b.int(byte, 1), b.int(byte, border));
    let inside = b.convert(ConvertOp::MaskToInteger, inside, Lane::I8);
    let outside = b.sub(inside, one);
    let border = b.binary(BinaryOp::And, outside, border);
    let mask = b.sub(zero, inside);
    (b.splat(mask, lanes), b.splat(border, lanes))
}
