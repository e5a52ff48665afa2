//! Places of a plan that depend on run-time extents: see [`crate::program::Moving`].
//!
//! The plan at the bound orders any two tensors that are live at the same time: one is below the other. This order stays, and each tensor moves down
//! to the end of the tensors below it. Tensors that overlap at the same time, such as a tensor and its subtensors, move together. So do tensors at one
//! offset at different times. This keeps the number of places small.

use super::resolver::Resolver;
use crate::ir::{Extent, Function, Value};
use crate::machine::Alignment;
use crate::plan::{Lifetimes, Plan, Request, TensorId};
use crate::program::{End, Member, Moving, MovingPlace, Size};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// The moving places of a plan, and the place of each tensor and scratch buffer.
#[derive(Default)]
pub(in crate::lower) struct MovingPlaces {
    pub moving: Moving,
    /// The place of each tensor of the request that moves.
    tensors: FxHashMap<TensorId, u32>,
    /// The place of each scratch buffer that moves, by its step and number.
    scratch: FxHashMap<(usize, usize), u32>,
}

impl MovingPlaces {
    /// Returns the place of a tensor, if it moves.
    pub fn of_tensor(&self, tensor: TensorId) -> Option<u32> {
        self.tensors.get(&tensor).copied()
    }

    /// Returns the place of a step's scratch buffer, if it moves.
    pub fn of_scratch(&self, step: usize, number: usize) -> Option<u32> {
        self.scratch.get(&(step, number)).copied()
    }

    /// Finds the moving places of a plan. `given` are the extents that callers give, each once.
    pub fn new(
        resolver: &Resolver<'_>,
        given: &[Value],
        ids: &FxHashMap<Value, TensorId>,
        request: &Request,
        plan: &Plan,
        alignment: Alignment,
    ) -> Self {
        let Ok(lifetimes) = Lifetimes::new(request) else { return Self::default() };
        let items = items(resolver, given, ids, request, plan, &lifetimes);
        if items.iter().all(|item| item.size.extents.is_empty()) {
            return Self::default();
        }
        let blocks = Blocks::new(&items, request);
        let mut places = blocks.places(&items);
        places.moving.alignment = alignment;
        places
    }
}

/// The kind of an item.
#[derive(Clone, Copy)]
enum Of {
    Tensor(TensorId),
    Scratch(usize, usize),
}

/// A tensor or scratch buffer with its place at the bound and its live range.
struct Item {
    of: Of,
    offset: u64,
    /// Size at the bound.
    bytes: u64,
    size: Size,
    steps: Range<usize>,
}

fn items(
    resolver: &Resolver<'_>,
    given: &[Value],
    ids: &FxHashMap<Value, TensorId>,
    request: &Request,
    plan: &Plan,
    lifetimes: &Lifetimes,
) -> Vec<Item> {
    let mut items = Vec::new();
    let roots: FxHashMap<TensorId, Value> = ids.iter().map(|(&root, &id)| (id, root)).collect();
    for (number, tensor) in (0..).zip(&request.tensors) {
        let id = TensorId(number);
        let (Some(offset), Some(steps)) = (plan.offset[id.index()], lifetimes.steps(id)) else { continue };
        if tensor.bytes > 0 {
            let size = roots.get(&id).map_or(Size::known(tensor.bytes), |&root| size_of(resolver.function(), given, root, tensor.bytes));
            items.push(Item { of: Of::Tensor(id), offset, bytes: tensor.bytes, size, steps });
        }
    }
    for (step, (needs, offsets)) in request.steps.iter().zip(&plan.scratch).enumerate() {
        for (number, (scratch, &offset)) in needs.scratch.iter().zip(offsets).enumerate().filter(|(_, (scratch, _))| scratch.bytes > 0) {
            let (bytes, steps) = (scratch.bytes, step..step + 1);
            items.push(Item { of: Of::Scratch(step, number), offset, bytes, size: Size::known(bytes), steps });
        }
    }
    items
}

/// Returns the size of a root as a product of a factor and given extents. `bytes` is its planned size at the bound.
fn size_of(function: &Function, given: &[Value], root: Value, bytes: u64) -> Size {
    let ty = function.stored_type(root);
    let (mut elements, mut most, mut extents) = (1u64, 1u64, Vec::new());
    for &extent in &ty.shape {
        let extent = function.resolved(extent);
        let high = u64::try_from(function.interval(extent).high).unwrap_or(u64::MAX);
        match extent {
            Extent::Value(index) if given.contains(&index) => {
                extents.extend(given.iter().position(|&other| other == index).map(|number| number as u32));
                most = most.saturating_mul(high);
            }
            _ => elements = elements.saturating_mul(high),
        }
    }
    extents.sort_unstable();
    let bits = elements.saturating_mul(ty.element.bits().into());
    let factor = bits / 8;
    // A root may have more bytes than its own elements, for other values in its place. Then its size is fixed.
    if bits.is_multiple_of(8) && factor.checked_mul(most) == Some(bytes) { Size { extents, factor } } else { Size::known(bytes) }
}

/// Blocks: sets of items that move together (a union-find structure).
struct Blocks {
    /// The block of each item: the number of its first item, after `settle`.
    of: Vec<usize>,
    /// The start of each block at the bound.
    base: Vec<u64>,
    /// Pairs of items that are live at the same time, with the lower one first. They do not overlap.
    below: Vec<(usize, usize)>,
}

impl Blocks {
    fn new(items: &[Item], request: &Request) -> Self {
        let mut blocks = Self { of: (0..items.len()).collect(), base: vec![], below: vec![] };
        let (mut at, mut numbers): (FxHashMap<u64, usize>, FxHashMap<TensorId, usize>) = Default::default();
        for (number, item) in items.iter().enumerate() {
            let first = *at.entry(item.offset).or_insert(number);
            blocks.join(first, number);
            if let Of::Tensor(id) = item.of {
                numbers.insert(id, number);
            }
        }
        for (&id, &number) in &numbers {
            let host = request.tensors[id.index()].view_of.and_then(|(host, _)| numbers.get(&host));
            host.into_iter().for_each(|&host| blocks.join(host, number));
        }
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_unstable_by_key(|&number| items[number].steps.start);
        let mut there: Vec<usize> = Vec::new();
        for number in order {
            let item = &items[number];
            there.retain(|&other| items[other].steps.end > item.steps.start);
            for &other in &there {
                let (low, high) = if items[other].offset < item.offset { (other, number) } else { (number, other) };
                if items[low].offset + items[low].bytes <= items[high].offset {
                    blocks.below.push((low, high));
                } else {
                    blocks.join(low, high);
                }
            }
            there.push(number);
        }
        blocks.settle(items);
        blocks
    }

    fn find(&self, mut item: usize) -> usize {
        while self.of[item] != item {
            item = self.of[item];
        }
        item
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.of[a.max(b)] = a.min(b);
    }

    /// Computes the start of each block. Joins two blocks if a pair requires the one with the higher start to be below the other.
    fn settle(&mut self, items: &[Item]) {
        loop {
            self.of = (0..items.len()).map(|item| self.find(item)).collect();
            self.base = vec![u64::MAX; items.len()];
            for (item, &block) in items.iter().zip(&self.of) {
                self.base[block] = self.base[block].min(item.offset);
            }
            let wrong: Vec<(usize, usize)> = self
                .below
                .iter()
                .map(|&(low, high)| (self.of[low], self.of[high]))
                .filter(|&(low, high)| low != high && self.base[low] >= self.base[high])
                .collect();
            if wrong.is_empty() {
                return;
            }
            wrong.into_iter().for_each(|(low, high)| self.join(low, high));
        }
    }

    /// Computes the places of the blocks that move, and the members of each.
    fn places(&self, items: &[Item]) -> MovingPlaces {
        // For each block, the items below it, each with the offset in the block of the item above it.
        let mut before: BTreeMap<(u64, usize), Vec<(usize, u64)>> = BTreeMap::new();
        for &(low, high) in &self.below {
            let block = self.of[high];
            if self.of[low] != block {
                before.entry((self.base[block], block)).or_default().push((low, items[high].offset - self.base[block]));
            }
        }
        let mut found = MovingPlaces::default();
        let mut places: FxHashMap<usize, u32> = FxHashMap::default();
        for ((bound, block), before) in before {
            let after = essential(before.iter().map(|&(low, into)| self.end(&places, low, &items[low], into)).collect());
            if after.iter().any(|end| end.place.is_some() || !end.size.extents.is_empty()) {
                places.insert(block, found.moving.places.len() as u32);
                found.moving.places.push(MovingPlace { bound, after });
            }
        }
        for (number, item) in items.iter().enumerate() {
            let place = places.get(&self.of[number]).copied();
            if let Some(place) = place {
                match item.of {
                    Of::Tensor(id) => found.tensors.insert(id, place).is_some(),
                    Of::Scratch(step, number) => found.scratch.insert((step, number), place).is_some(),
                };
            }
            let start = item.offset - place.map_or(0, |_| self.base[self.of[number]]);
            found.moving.members.push(Member { place, start, size: item.size.clone(), steps: item.steps.clone() });
        }
        found.moving.ends = essential(items.iter().enumerate().map(|(number, item)| self.end(&places, number, item, 0)).collect());
        if found.moving.places.is_empty() && found.moving.ends.iter().all(|end| end.size.extents.is_empty()) {
            return MovingPlaces::default();
        }
        found
    }

    /// Returns the end of an item minus `into`, the offset of the item above in its block. The second result is its value at the bound.
    fn end(&self, places: &FxHashMap<usize, u32>, number: usize, item: &Item, into: u64) -> (End, u64) {
        let block = self.of[number];
        let place = places.get(&block).copied();
        let start = item.offset - place.map_or(0, |_| self.base[block]);
        let (size, known) = if item.size.extents.is_empty() { (Size::known(0), item.bytes) } else { (item.size.clone(), 0) };
        (End { place, size, plus: (start + known).cast_signed() - into.cast_signed() }, (item.offset + item.bytes).saturating_sub(into))
    }
}

/// Removes ends that are never the last one. Each end is given with its value at the bound.
fn essential(ends: Vec<(End, u64)>) -> Vec<End> {
    let is_known = |end: &End| end.place.is_none() && end.size.extents.is_empty();
    let known = ends.iter().filter(|(end, _)| is_known(end)).map(|&(_, bound)| bound).max().unwrap_or(0);
    let mut ends: Vec<End> = ends.into_iter().filter(|(end, bound)| *bound > known || is_known(end)).map(|(end, _)| end).collect();
    ends.sort_unstable();
    ends.dedup();
    let is_less = |one: &End, other: &End| {
        let alike = one.place == other.place && (one.size.extents == other.size.extents || one.size.factor == 0);
        alike && one.size.factor <= other.size.factor && one.plus <= other.plus && one != other
    };
    ends.iter().filter(|end| !ends.iter().any(|other| is_less(end, other))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(factor: u64) -> Size {
        Size { extents: vec![0], factor }
    }

    /// Finds the places of scratch buffers, given as offset, size and live steps. The bound of the extent is 10.
    fn found(list: &[(u64, Size, Range<usize>)]) -> MovingPlaces {
        let item = |(number, (offset, size, steps)): (usize, &(u64, Size, Range<usize>))| Item {
            of: Of::Scratch(0, number),
            offset: *offset,
            bytes: size.bytes(&[10]),
            size: size.clone(),
            steps: steps.clone(),
        };
        let items: Vec<Item> = list.iter().enumerate().map(item).collect();
        Blocks::new(&items, &Request::default()).places(&items)
    }

    #[test]
    fn what_is_above_a_growing_tensor_moves_and_what_is_below_stays() {
        let found = found(&[(0, Size::known(64), 0..3), (64, rows(64), 0..2), (704, rows(32), 1..3), (1024, Size::known(8), 2..3)]);
        assert_eq!([0, 1, 2, 3].map(|number| found.of_scratch(0, number)), [None, None, Some(0), Some(1)]);
        for (extent, offsets, bytes) in [(10, [704, 1024], 1088), (1, [128, 192], 256), (0, [64, 64], 128)] {
            assert_eq!((found.moving.offsets(&[extent]), found.moving.bytes(&[extent])), (offsets.to_vec(), bytes));
        }
    }

    #[test]
    fn what_overlaps_at_one_time_moves_as_one() {
        // The second begins inside the first, as its subtensor does.
        let found = found(&[(0, rows(64), 0..2), (640, Size::known(256), 1..4), (768, Size::known(64), 1..4)]);
        assert_eq!([1, 2].map(|number| found.of_scratch(0, number)), [Some(0), Some(0)]);
        let starts: Vec<u64> = found.moving.members.iter().map(|member| member.start).collect();
        assert_eq!(starts, [0, 0, 128]);
    }

    #[test]
    fn blocks_that_are_above_each_other_at_different_times_move_as_one() {
        // The second is a subtensor of the first, which is below the third; later the third is below the second.
        let list = [(64, Size::known(1024), 1..3), (900, rows(8), 2..4), (256, rows(16), 3..5), (0, rows(6), 0..6)];
        let found = found(&list);
        assert_eq!([0, 1, 2, 3].map(|number| found.of_scratch(0, number)), [Some(0), Some(0), Some(0), None]);
        let starts: Vec<u64> = found.moving.members.iter().map(|member| member.start).collect();
        assert_eq!(starts, [0, 836, 192, 0]);
        assert_eq!([10, 1, 0].map(|extent| found.moving.offsets(&[extent])[0]), [64, 64, 0]);
    }

    #[test]
    fn what_ends_before_a_known_end_moves_nothing() {
        let found = found(&[
            (0, Size::known(1024), 0..2),
            (2048, rows(8), 0..1),
            (512, rows(8), 2..3),
            (1024, rows(8), 0..3),
            (1152, rows(9), 0..3),
        ]);
        assert_eq!([0, 1, 2, 3, 4].map(|number| found.of_scratch(0, number)), [None, Some(1), None, None, Some(0)]);
    }

    #[test]
    fn nothing_moves_where_nothing_grows() {
        assert!(found(&[(0, Size::known(64), 0..2), (64, Size::known(64), 0..2)]).moving.is_empty());
    }
}
