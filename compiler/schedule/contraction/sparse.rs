//! Panels of which the model holds only what is not zero: the elements in the order of the panel, and beside each its distance from
//! the one before. The kernel clears a panel in scratch memory and puts them in their places, once for all pixels.
//!
//! A distance is a byte. Where it would be longer, an element that is zero stands in between.

use crate::ir::Data;
use crate::kernel::{Buffer, ConvertOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::arguments::Arguments;
use crate::schedule::loops::row;

/// The longest distance that is written down.
const FARTHEST: usize = u8::MAX as usize;

/// The elements of panels that are not zero.
#[derive(Default)]
pub struct Entries {
    /// The elements, this many bytes each.
    pub elements: Vec<u8>,
    /// How far each is from the one before it in its strip, or from the strip's start.
    distances: Vec<u8>,
    /// For each lane of each strip, and after the last: the entries before the strip that it is in.
    starts: Vec<u32>,
}

/// Bytes of this many elements that are not zero, `size` bytes each, in panels of this many lanes, if no distance is too long.
pub fn bytes(elements: u64, size: u64, lanes: u64) -> u64 {
    elements * (size + 1) + 4 * (lanes + 1)
}

/// Entries as the model holds them.
#[derive(Clone)]
pub struct Packed {
    /// The elements.
    pub elements: Data,
    distances: Data,
    starts: Data,
}

/// Where a kernel reads entries, beside the elements.
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

    /// All of them, as the model holds them.
    pub fn packed(mut self) -> Packed {
        self.starts.push(self.distances.len() as u32);
        let starts: Vec<u8> = self.starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        Packed { elements: self.elements.into(), distances: self.distances.into(), starts: starts.into() }
    }
}

impl Packed {
    /// Declares what is read beside the elements.
    pub fn declare(&self, b: &mut KernelBuilder, arguments: &mut Arguments) -> Places {
        let mut buffer = |name: &str, lane: Lane, data: &Data| arguments.data(b, name, data.clone(), lane, 64);
        Places { distances: buffer("distances", Lane::I8, &self.distances), starts: buffer("starts", Lane::I32, &self.starts) }
    }
}

/// Fills a strip from an element of `to` on, of this many lanes and `count` elements. `lane` is the number of its first lane among those of
/// all panels; what is cleared is cleared a `vector` at a time.
pub fn fill(
    b: &mut KernelBuilder,
    (from, to): (Buffer, Buffer),
    places: Places,
    lanes: u64,
    (lane, at, target, count, vector): (Value, Option<Value>, i64, u64, u16),
) {
    let filled = b.lane_of(to);
    row(b, count, vector, |b, i, active| {
        let ty = Type::vector(filled, vector);
        let zero = if filled == Lane::F32 { b.float(ty, 0.0) } else { b.int(ty, 0) };
        let place = at.map_or(i, |at| b.add(at, i));
        b.store_active(to, place, target, zero, active);
    });
    let [start, end] = [0, lanes as i64].map(|offset| {
        let entry = b.load(places.starts, lane, offset, 1);
        b.convert(ConvertOp::ZeroExtend, entry, Lane::I64)
    });
    let first = b.index(0);
    b.for_carry(start, end, 1, &[first], |b, entry, place| {
        let distance = b.load(places.distances, entry, 0, 1);
        let distance = b.convert(ConvertOp::ZeroExtend, distance, Lane::I64);
        let place = b.add(place[0], distance);
        let element = b.load(from, entry, 0, 1);
        let element = if b.lane_of(from) == filled { element } else { b.convert(ConvertOp::HalfToFloat, element, filled) };
        let to_place = at.map_or(place, |at| b.add(at, place));
        b.store(to, to_place, target, element);
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
