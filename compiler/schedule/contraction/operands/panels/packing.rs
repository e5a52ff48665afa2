//! Constants in the order of panels. They are packed at compile time, once for all CPU levels that read the same layout.

use super::block_panels;
use super::filling::Stored;
use super::layout::{Extents, Panels};
use super::sparse::{self, Entries};
use super::storage::Storage;
use super::strips::Strips;
use crate::ir::Data;
use crate::kernel::{KernelBuilder, Lane};
use crate::parallel::Memo;
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::contraction::operands::weights::{Found, Integers, Reader, Source, Weights};
use crate::schedule::elementwise::requantize::Solved;
use crate::schedule::elementwise::sum_of_two::Fits;
use std::sync::Arc;

/// Bytes that are read before memory is released.
const UNRELEASED: usize = 8 << 20;

/// Packed weights of a method so far, and facts about weights and requantizations.
#[derive(Default)]
pub struct PackedWeights {
    known: Memo<Packing, Packed>,
    found: Memo<Source, Arc<Found>>,
    /// Packed weights of products in blocks.
    blocks: Memo<block_panels::Key, block_panels::Packed>,
    /// Requantizations.
    pub solved: Solved,
    /// Requantized sums of two values.
    pub fits: Fits,
}

/// Identity of packed weights: their source, the panels of all phases, and whether zeros are left out.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Packing {
    source: Source,
    panels: Vec<(Extents, Storage, bool)>,
}

/// The panels of all phases, one after another.
#[derive(Clone)]
enum Packed {
    All(Data),
    WithoutZeros(sparse::Packed),
}

impl PackedWeights {
    /// Returns the known facts about integers.
    pub fn found(&self, source: Source) -> Arc<Found> {
        self.found.get(&source, Arc::default)
    }

    /// Packs constants in blocks, once for all kernels that read them.
    pub fn in_blocks(&self, panels: &block_panels::Panels<'_>, strips: &Strips) -> block_panels::Packed {
        self.blocks.get(&panels.key(), || panels.pack(strips))
    }

    fn pack<'p>(&self, phases: impl Iterator<Item = &'p Panels> + Clone, weights: &Weights) -> Option<Packed> {
        let how = phases.clone().map(|panels| (panels.extents.clone(), panels.storage, panels.sparse)).collect();
        let packing = Packing { source: weights.source()?, panels: how };
        Some(self.known.get(&packing, || {
            let packed = pack(phases, weights);
            weights.release();
            packed
        }))
    }
}

fn pack<'p>(phases: impl Iterator<Item = &'p Panels> + Clone, weights: &Weights) -> Packed {
    if phases.clone().any(|panels| panels.sparse) {
        let mut entries = Entries::default();
        for panels in phases {
            let mut packed = vec![0; panels.stored_bytes()];
            panels.write(weights, &mut packed);
            panels.add_entries(&packed, &mut entries);
        }
        return Packed::WithoutZeros(entries.packed());
    }
    Packed::All(Data::filled(phases.clone().map(Panels::stored_bytes).sum(), |mut packed| {
        for panels in phases.clone() {
            let (own, following) = packed.split_at_mut(panels.stored_bytes());
            panels.write(weights, own);
            packed = following;
        }
    }))
}

/// Declares the right operand as the model or the program holds it, with the panels of all phases, and adds the arguments.
pub fn declare<'p>(
    known: &PackedWeights,
    b: &mut KernelBuilder,
    phases: impl Iterator<Item = &'p Panels> + Clone,
    weights: &Weights,
    arguments: &mut Arguments,
) -> Stored {
    let lane = phases.clone().last().map_or(Lane::I8, Panels::stored_lane);
    if let Weights::Computed { tensor, count, .. } = weights {
        return Stored { elements: arguments.input(b, "weights", *tensor, Elements::new(lane, *count)), places: None };
    }
    let packed = known.pack(phases, weights).unwrap_or_else(|| Packed::All(vec![].into()));
    let (Packed::All(data) | Packed::WithoutZeros(sparse::Packed { elements: data, .. })) = &packed;
    let elements = arguments.data(b, "weights", data.clone(), lane, 64);
    let places = match &packed {
        Packed::All(_) => None,
        Packed::WithoutZeros(entries) => Some(entries.declare(b, arguments)),
    };
    Stored { elements, places }
}

impl Panels {
    /// Writes all panels into zeroed bytes, their zeros included. Writes nothing for a tensor that the program computes.
    fn write(&self, weights: &Weights, panels: &mut [u8]) {
        match (weights, self.storage) {
            (Weights::Floats(data), _) => {
                self.copy((data, 4), panels);
                self.share_last(panels);
            }
            (Weights::Narrow { data, .. }, Storage::Packed { .. }) => self.write_packed(data, panels),
            (Weights::Narrow { data, stored, .. }, _) => self.copy((data, stored.bits() as usize / 8), panels),
            (Weights::Integers(integers), Storage::Packed { .. }) => self.write_packed(integers.data().0, panels),
            (Weights::Integers(integers), _) => self.write_integers(integers, panels),
            (Weights::Computed { .. }, _) => {}
        }
    }

    /// Copies elements of some bytes as the file has them.
    fn copy(&self, (data, size): (&Data, usize), mut panels: &mut [u8]) {
        self.visit((data, 8 * size as u64), |file, first, count| {
            let to = next(&mut panels, count * size);
            if let Some(i) = first {
                to.copy_from_slice(&file[i * size..][..count * size]);
            }
        });
    }

    /// Writes packed integers. A strip is divided into as many parts as a byte has integers.
    fn write_packed(&self, data: &Data, mut panels: &mut [u8]) {
        let Storage::Packed { stored, zero_point, bits } = self.storage else { return };
        let mut bytes = Vec::with_capacity(self.all_elements() as usize);
        self.visit((data, stored.bits().into()), |file, first, count| match first {
            Some(i) => bytes.extend((i..i + count).map(|i| Reader::of_packed(stored, 0, file).value(i) as u8)),
            None => bytes.resize(bytes.len() + count, zero_point as u8),
        });
        let mask = (1 << bits) - 1;
        let mut rest = &bytes[..];
        for _ in 0..self.extents.groups {
            for lanes in self.extents.strips.all() {
                let (strip, following) = rest.split_at(self.elements_of(lanes) as usize);
                let to = next(&mut panels, strip.len() * usize::from(bits) / 8);
                for part in strip.chunks(to.len().max(1)).rev() {
                    to.iter_mut().zip(part).for_each(|(to, byte)| *to = *to << bits | byte & mask);
                }
                rest = following;
            }
        }
    }

    /// Writes integers, one or two bytes each.
    fn write_integers(&self, integers: &Integers, mut panels: &mut [u8]) {
        // The first number is added to integers, and the second one fills padding.
        let (added, padding) = match self.storage {
            Storage::Offset { zero_point, .. } => (zero_point, zero_point),
            Storage::Moved { by, everywhere } => (-by, if everywhere { -by } else { 0 }),
            _ => (0, 0),
        };
        let (added, padding) = (added as u8, padding as u8);
        match (self.storage, integers.byte_each()) {
            (Storage::Wide, _) => self.visit(integers.data(), |file, first, count| {
                let to = next(&mut panels, 2 * count).as_chunks_mut::<2>().0;
                if let Some(i) = first {
                    let reader = integers.reader(file);
                    to.iter_mut().zip(i..).for_each(|(to, i)| *to = reader.value(i).to_le_bytes());
                }
            }),
            // The low byte of a sum depends only on the low bytes.
            (_, Some(zero_point)) => {
                let added = added.wrapping_sub(zero_point);
                self.visit(integers.data(), |file, first, count| {
                    let to = next(&mut panels, count);
                    match first {
                        Some(i) => to.iter_mut().zip(&file[i..i + count]).for_each(|(to, byte)| *to = byte.wrapping_add(added)),
                        None => to.fill(padding),
                    }
                });
            }
            (_, None) => self.visit(integers.data(), |file, first, count| {
                let (to, reader) = (next(&mut panels, count), integers.reader(file));
                match first {
                    Some(i) => to.iter_mut().zip(i..).for_each(|(to, i)| *to = (reader.value(i) as u8).wrapping_add(added)),
                    None => to.fill(padding),
                }
            }),
        }
    }

    /// Gives each place of a segment's last group its share of the weight, if the group has only one element. Products multiply such an element
    /// in all places of the group. Division by a power of two is exact.
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

    /// Adds the elements that are not zero to those of earlier panels.
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

    /// Returns the bytes of all panels.
    fn stored_bytes(&self) -> usize {
        (self.all_elements() * self.storage.row().bits / 8) as usize
    }

    /// Visits all packed elements in order, as runs that are contiguous in the right operand or are padding. `elements` gets some bytes of the
    /// operand, the number of the first element among them (`None` in padding), and the count. These bytes are of one strip, so that a large
    /// operand is never in memory beside its panels. An element has `bits`.
    fn visit(&self, (weights, bits): (&Data, u64), mut elements: impl FnMut(&[u8], Option<usize>, usize)) {
        let Extents { groups, step, .. } = self.extents;
        let (outputs, segment) = (self.extents.strips.outputs, self.extents.segment());
        // Each element of a segment has a place in an output's k, or is padding.
        let source = |s, k| Some(self.extents.source(s, k)).filter(|&source| source < self.per_output());
        let in_k = |s| (0..self.padded()).map(move |k| if k < segment { source(s, k) } else { None });
        let sources: Vec<Option<u64>> = (0..self.extents.segments()).flat_map(in_k).collect();
        let steps: Vec<Vec<(Option<u64>, usize)>> = sources.chunks(step as usize).map(runs).collect();
        let per_output = self.per_output();
        let mut unreleased = 0;
        for group in 0..groups {
            let mut first_output = 0;
            for lanes in self.extents.strips.all() {
                let place = |output: u64| (group * outputs + output.min(outputs)) * per_output;
                // Elements smaller than a byte may begin within one.
                let first_byte = place(first_output) * bits / 8;
                let strip = (first_byte as usize)..(place(first_output + lanes) * bits).div_ceil(8) as usize;
                let file = weights.slice(strip).expect("a constant has all elements of its shape");
                let file = file.read();
                for runs in &steps {
                    for output in first_output..first_output + lanes {
                        let first = place(output) - first_byte * 8 / bits;
                        for &(source, count) in runs {
                            elements(&file, source.filter(|_| output < outputs).map(|source| (first + source) as usize), count);
                        }
                    }
                }
                first_output += lanes;
                unreleased += file.len();
                if unreleased > UNRELEASED {
                    weights.release();
                    unreleased = 0;
                }
            }
        }
    }
}

/// Takes the next bytes of a slice that is written in order.
fn next<'a>(bytes: &mut &'a mut [u8], count: usize) -> &'a mut [u8] {
    let (next, following) = std::mem::take(bytes).split_at_mut(count);
    *bytes = following;
    next
}

/// Groups consecutive positions, and padding, into runs.
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
