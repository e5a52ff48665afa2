//! Panels for which the model holds only non-zero elements. They are in the order of the panel, each with its distance from the one before. A
//! distance is a byte. A longer distance is divided by an element that is zero.
//!
//! Either products read the elements ([`sparse_products`](super::sparse_products)), or the kernel fills a panel in scratch memory. It clears the
//! panel and writes the elements to their places, once for all pixels.

use crate::ir::Data;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::loops::row;
use crate::schedule::route::Route;

/// Longest distance in one byte.
const FARTHEST: usize = u8::MAX as usize;

/// The elements of panels that are not zero.
#[derive(Default)]
pub struct Entries {
    /// Elements of equal size.
    pub elements: Vec<u8>,
    /// Distance of each element from the one before it in its strip, or from the start of the strip.
    distances: Vec<u8>,
    /// Number of entries before the strip of each lane, for all lanes of all strips. The last number is the count of all entries.
    starts: Vec<u32>,
}

/// Returns the bytes of this many non-zero elements of `size` bytes, in panels of this many lanes, if no distance is too long.
pub fn bytes(elements: u64, size: u64, lanes: u64) -> u64 {
    elements * (size + 1) + 4 * (lanes + 1)
}

/// Entries as the model holds them.
#[derive(Clone)]
pub struct Packed {
    /// Elements that are not zero.
    pub elements: Data,
    distances: Data,
    starts: Data,
}

/// Buffers from which a kernel reads the places of entries.
#[derive(Clone, Copy)]
pub struct Places {
    distances: Buffer,
    starts: Buffer,
}

impl Entries {
    /// Adds a strip of this many lanes. `elements` has its elements in order, `size` bytes each.
    pub fn push(&mut self, elements: &[u8], size: usize, lanes: u64) {
        let entries = self.distances.len() as u32;
        self.starts.extend((0..lanes).map(|_| entries));
        let mut last = 0;
        for (place, element) in elements.chunks_exact(size).enumerate() {
            if element.iter().all(|&byte| byte == 0) {
                continue;
            }
            while place - last > FARTHEST {
                self.elements.extend((0..size).map(|_| 0));
                self.distances.push(FARTHEST as u8);
                last += FARTHEST;
            }
            self.elements.extend_from_slice(element);
            self.distances.push((place - last) as u8);
            last = place;
        }
    }

    /// Returns all entries as the model holds them.
    pub fn packed(mut self) -> Packed {
        self.starts.push(self.distances.len() as u32);
        let starts: Vec<u8> = self.starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        Packed { elements: self.elements.into(), distances: self.distances.into(), starts: starts.into() }
    }
}

impl Packed {
    /// Declares the buffers beside the elements.
    pub fn declare(&self, b: &mut KernelBuilder, arguments: &mut Arguments) -> Places {
        let mut buffer = |name: &str, lane: Lane, data: &Data| arguments.data(b, name, data.clone(), lane, 64);
        Places { distances: buffer("distances", Lane::I8, &self.distances), starts: buffer("starts", Lane::I32, &self.starts) }
    }
}

impl Places {
    /// Loads the numbers of the first entry of a strip and of the entry after its last one. `lane` is the number of the strip's first lane among those
    /// of all panels. Minima with the number of all entries show machines of 32 bits that a counter fits them.
    pub fn entries(self, b: &mut KernelBuilder, lane: Value, lanes: u64) -> [Value; 2] {
        let all = b.index(b.elements_of(self.distances) as i64);
        [0, lanes as i64].map(|offset| {
            let entry = b.load(self.starts, lane, offset, 1);
            let entry = b.convert(ConvertOp::SignExtend, entry, Lane::I64);
            b.binary(BinaryOp::SignedMin, entry, all)
        })
    }

    /// Loads an entry of `from`: its distance from the entry before, and its element as a number of this lane type.
    pub fn load(self, b: &mut KernelBuilder, from: Buffer, entry: Value, lane: Lane) -> (Value, Value) {
        let distance = b.load(self.distances, entry, 0, 1);
        let distance = b.convert(ConvertOp::ZeroExtend, distance, Lane::I64);
        let element = b.load(from, entry, 0, 1);
        let element = if b.lane_of(from) == lane { element } else { b.convert(ConvertOp::HalfToFloat, element, lane) };
        (distance, element)
    }
}

/// A strip of a panel that is filled.
pub struct Strip {
    /// Number of its first lane among those of all panels.
    pub lane: Value,
    /// Number of lanes.
    pub lanes: u64,
    /// Start of its panel in the buffer; `None` is the start of the buffer.
    pub at: Option<Value>,
    /// Start of the strip in its panel.
    pub offset: i64,
    /// Number of elements.
    pub elements: u64,
}

/// Fills a strip. It is cleared a `vector` at a time.
pub fn fill(
    b: &mut KernelBuilder,
    Route { from, to }: Route<Buffer>,
    places: Places,
    Strip { lane, lanes, at, offset, elements }: Strip,
    vector: u16,
) {
    let filled = b.lane_of(to);
    row(b, elements, vector, |b, i, active| {
        let ty = Type::vector(filled, vector);
        let zero = if filled == Lane::F32 { b.float(ty, 0.0) } else { b.int(ty, 0) };
        let place = at.map_or(i, |at| b.add(at, i));
        b.store_active(to, place, offset, zero, active);
    });
    let [start, end] = places.entries(b, lane, lanes);
    let first = b.index(0);
    b.for_carry(start, end, 1, &[first], |b, entry, place| {
        let (distance, element) = places.load(b, from, entry, filled);
        let place = b.add(place[0], distance);
        let to_place = at.map_or(place, |at| b.add(at, place));
        b.store(to, to_place, offset, element);
        vec![place]
    });
}

#[cfg(test)]
mod tests {
    use super::Entries;

    #[test]
    fn far_elements_have_zeros_between() {
        let mut panel = vec![0u8; 600];
        (panel[3], panel[599]) = (7, 9);
        let mut entries = Entries::default();
        entries.push(&panel, 1, 2);
        entries.push(&[0, 0, 5], 1, 1);
        assert_eq!(entries.elements, [7, 0, 0, 9, 5]);
        assert_eq!(entries.distances, [3, 255, 255, 86, 2]);
        assert_eq!(entries.starts, [0, 0, 4]);
    }
}
