//! Constants in the order of panels, packed when compiling, once for all CPU levels that read them alike.

use super::block_panels;
use super::filling::Stored;
use super::panels::{Extents, Panels, Storage};
use super::sparse::{self, Entries};
use super::strips::Strips;
use super::weights::{Found, Source, Weights};
use crate::ir::Data;
use crate::kernel::{KernelBuilder, Lane};
use crate::parallel::Memo;
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::elementwise::requantize::Solved;
use crate::schedule::elementwise::sum_of_two::Fits;
use std::sync::Arc;

/// The packed weights of a method so far, and what was found of them and of its requantizations.
#[derive(Default)]
pub struct PackedWeights {
    known: Memo<Packing, Packed>,
    found: Memo<Source, Arc<Found>>,
    /// Those of products in blocks.
    blocks: Memo<block_panels::Key, block_panels::Packed>,
    /// Requantizations.
    pub solved: Solved,
    /// Requantized sums of two.
    pub fits: Fits,
}

/// Which weights are packed, and how: the panels of all parts, and whether without zeros.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Packing {
    source: Source,
    panels: Vec<(Extents, Storage, bool)>,
}

/// The panels of all parts, one after the other.
#[derive(Clone)]
enum Packed {
    All(Data),
    WithoutZeros(sparse::Packed),
}

impl PackedWeights {
    /// What is known of integers.
    pub fn found(&self, source: Source) -> Arc<Found> {
        self.found.get(&source, Arc::default)
    }

    /// Constants in blocks, packed once for all kernels that read them.
    pub fn in_blocks(&self, panels: &block_panels::Panels<'_>, strips: &Strips) -> block_panels::Packed {
        self.blocks.get(&panels.key(), || panels.pack(strips))
    }

    fn pack<'p>(&self, parts: impl Iterator<Item = &'p Panels> + Clone, weights: &Weights) -> Option<Packed> {
        let how = parts.clone().map(|panels| (panels.extents.clone(), panels.storage, panels.sparse)).collect();
        let packing = Packing { source: weights.source()?, panels: how };
        Some(self.known.get(&packing, || {
            let packed = pack(parts, weights);
            weights.release();
            packed
        }))
    }
}

fn pack<'p>(parts: impl Iterator<Item = &'p Panels>, weights: &Weights) -> Packed {
    let (mut packed, mut entries) = (Vec::new(), None);
    for panels in parts {
        let more = panels.packed(weights).unwrap_or_default();
        if panels.sparse {
            panels.add_entries(&more, entries.get_or_insert_with(Entries::default));
        } else if packed.is_empty() {
            // The first panels, which mostly are all, are taken as they are.
            packed = more;
        } else {
            packed.extend(more);
        }
    }
    entries.map_or_else(|| Packed::All(packed.into()), |entries| Packed::WithoutZeros(entries.packed()))
}

/// Declares what the model or the program holds of the right operand, the panels of all parts, and adds the arguments.
pub fn declare<'p>(
    known: &PackedWeights,
    b: &mut KernelBuilder,
    parts: impl Iterator<Item = &'p Panels> + Clone,
    weights: &Weights,
    arguments: &mut Arguments,
) -> Stored {
    let lane = parts.clone().last().map_or(Lane::I8, Panels::stored_lane);
    if let Weights::Computed { tensor, count, .. } = weights {
        return Stored { elements: arguments.input(b, "weights", *tensor, Elements::new(lane, *count)), places: None };
    }
    let packed = known.pack(parts, weights).unwrap_or_else(|| Packed::All(vec![].into()));
    let (Packed::All(data) | Packed::WithoutZeros(sparse::Packed { elements: data, .. })) = &packed;
    let elements = arguments.data(b, "weights", data.clone(), lane, 64);
    let places = match &packed {
        Packed::All(_) => None,
        Packed::WithoutZeros(entries) => Some(entries.declare(b, arguments)),
    };
    Stored { elements, places }
}

impl Panels {
    /// All panels with their zeros; `None` for a tensor that the program computes.
    fn packed(&self, weights: &Weights) -> Option<Vec<u8>> {
        if matches!(weights, Weights::Computed { .. }) {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.packed_bytes());
        // Elements of this many bytes as they are in the file.
        let mut copied = |data: &Data, size: usize| {
            let file = data.bytes();
            self.visit(|first, count| match first {
                Some(i) => bytes.extend_from_slice(&file[i * size..][..count * size]),
                None => bytes.resize(bytes.len() + count * size, 0),
            });
        };
        match (weights, self.storage) {
            (Weights::Floats(data), _) => {
                copied(data, 4);
                self.share_last(&mut bytes);
            }
            (Weights::Narrow { data, stored }, _) => copied(data, stored.bits() as usize / 8),
            (Weights::Integers(integers), storage) => {
                // What is added to an integer, and what stands in padding.
                let (added, padding) = match storage {
                    Storage::Offset { zero_point, .. } => (zero_point, zero_point),
                    Storage::Moved { by, everywhere } => (-by, if everywhere { -by } else { 0 }),
                    _ => (0, 0),
                };
                let reader = integers.reader();
                let value = |i: usize| i64::from(reader.value(i)) + added;
                match (storage, integers.byte_each()) {
                    (Storage::Wide, _) => self.visit(|first, count| match first {
                        Some(i) => bytes.extend((i..i + count).flat_map(|i| reader.value(i).to_le_bytes())),
                        None => bytes.resize(bytes.len() + 2 * count, 0),
                    }),
                    // Of sums the low bytes are the sums of low bytes.
                    (_, Some((stored, zero_point))) => {
                        let added = (added as u8).wrapping_sub(zero_point);
                        self.visit(|first, count| match first {
                            Some(i) => bytes.extend(stored[i..i + count].iter().map(|byte| byte.wrapping_add(added))),
                            None => bytes.resize(bytes.len() + count, padding as u8),
                        });
                    }
                    (_, None) => self.visit(|first, count| match first {
                        Some(i) => bytes.extend((i..i + count).map(|i| value(i) as u8)),
                        None => bytes.resize(bytes.len() + count, padding as u8),
                    }),
                }
            }
            (Weights::Computed { .. }, _) => return None,
        }
        Some(if self.storage == Storage::Nibbles { self.nibbles(&bytes) } else { bytes })
    }

    /// Where a group of floats at the end of a segment is of one element, gives each place of the group its share of the weight: such an element is
    /// multiplied in all of them. A share of a power of two is exact.
    fn share_last(&self, bytes: &mut [u8]) {
        let Extents { groups, step, .. } = self.extents;
        let (group, segment) = (4 * step as usize, self.extents.segment());
        if step == 1 || segment % step != 1 {
            return;
        }
        let mut rest = bytes;
        for _ in 0..groups {
            for lanes in self.extents.strips.all() {
                let (strip, following) = rest.split_at_mut(self.elements_of(lanes) as usize * 4);
                for segment in strip.chunks_mut((self.padded() * lanes) as usize * 4) {
                    let last = segment.len() - lanes as usize * group;
                    for places in segment[last..].chunks_mut(group) {
                        let share = f32::from_le_bytes([places[0], places[1], places[2], places[3]]) / step as f32;
                        places.chunks_mut(4).for_each(|place| place.copy_from_slice(&share.to_le_bytes()));
                    }
                }
                rest = following;
            }
        }
    }

    /// Adds the elements that are not zero to those of the panels before.
    fn add_entries(&self, packed: &[u8], entries: &mut Entries) {
        let size = self.stored_lane().bytes() as usize;
        let mut rest = packed;
        for _ in 0..self.extents.groups {
            for lanes in self.extents.strips.all() {
                let (strip, following) = rest.split_at(self.elements_of(lanes) as usize * size);
                entries.push(strip, size, lanes);
                rest = following;
            }
        }
    }

    /// Bytes of all panels before 4-bit integers are joined.
    fn packed_bytes(&self) -> usize {
        (self.group_elements() * self.extents.groups) as usize * self.stored_lane().bytes() as usize
    }

    fn nibbles(&self, mut bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(bytes.len() / 2);
        for _ in 0..self.extents.groups {
            for lanes in self.extents.strips.all() {
                let (strip, rest) = bytes.split_at(self.elements_of(lanes) as usize);
                let (low, high) = strip.split_at(strip.len() / 2);
                packed.extend(low.iter().zip(high).map(|(l, h)| l & 15 | h << 4));
                bytes = rest;
            }
        }
        packed
    }

    /// Visits all packed elements in order, as many at once as lie side by side in the right operand or are padding: where the first of them is
    /// there, `None` in padding, and how many there are.
    fn visit(&self, mut elements: impl FnMut(Option<usize>, usize)) {
        let Extents { groups, step, .. } = self.extents;
        let (outputs, segment) = (self.extents.strips.outputs, self.extents.segment());
        // Where each element of the segments is in an output's k.
        let source = |s, k| Some(self.extents.source(s, k)).filter(|&source| source < self.per_output());
        let in_k = |s| (0..self.padded()).map(move |k| if k < segment { source(s, k) } else { None });
        let sources: Vec<Option<u64>> = (0..self.extents.segments()).flat_map(in_k).collect();
        let steps: Vec<Vec<(Option<u64>, usize)>> = sources.chunks(step as usize).map(runs).collect();
        for group in 0..groups {
            let mut first_output = 0;
            for lanes in self.extents.strips.all() {
                for runs in &steps {
                    for output in first_output..first_output + lanes {
                        let first = (group * outputs + output) * self.per_output();
                        for &(source, count) in runs {
                            elements(source.filter(|_| output < outputs).map(|source| (first + source) as usize), count);
                        }
                    }
                }
                first_output += lanes;
            }
        }
    }
}

/// Positions one after the other, and padding, as runs of several.
fn runs(sources: &[Option<u64>]) -> Vec<(Option<u64>, usize)> {
    let mut runs: Vec<(Option<u64>, usize)> = Vec::new();
    for &source in sources {
        match runs.last_mut() {
            Some((first, count)) if source == first.map(|first| first + *count as u64) => *count += 1,
            _ => runs.push((source, 1)),
        }
    }
    runs
}
