//! Which instructions are computed in front of the transposes of their operands.
//!
//! For one permutation, every value has two forms: as it is, and as it was in front of a transpose by the permutation. An instruction is
//! computed in one of them. A form that nobody computes costs a transpose, as many bytes as it moves, however many read it. The
//! labelling with the least bytes is a minimum cut: an edge joins the instruction that computes a value with those that read it.

use super::before::Before;
use super::cut::{NEVER, Network};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A transpose that is not there yet must save a little to come, so that no two of them chase each other.
const NEW: u64 = 1;
/// So much more than [`NEW`] does a byte cost.
const BYTE: u64 = 1 << 10;
/// What a transpose costs beside its bytes.
const CALL_BYTES: u64 = 64;
/// What an extent is taken for that is known when the program runs.
const USUAL_EXTENT: u64 = 16;

/// The instructions to be computed in front of transposes by a permutation, where that moves fewer bytes or as many: transposes then
/// stand nearer to the results, and work can join what comes before them.
pub fn choose(module: &Module, function: &Function, permutation: &[usize]) -> FxHashSet<Inst> {
    let region = Region::of(module, function, permutation);
    if region.movable.is_empty() { FxHashSet::default() } else { region.cheapest() }
}

struct Region<'m> {
    module: &'m Module,
    function: &'m Function,
    permutation: &'m [usize],
    back: Vec<usize>,
    /// Instructions that can be computed in front of transposes, and have an operand that is after one. How each operand comes to be what it
    /// is there.
    movable: FxHashMap<Inst, Vec<Before>>,
    /// Values that come out of a transpose or of these instructions.
    held: FxHashSet<Value>,
}

impl<'m> Region<'m> {
    fn of(module: &'m Module, function: &'m Function, permutation: &'m [usize]) -> Self {
        let back = operators::Transpose { permutation: permutation.to_vec() }.inverse().permutation;
        let mut region = Self { module, function, permutation, back, movable: FxHashMap::default(), held: FxHashSet::default() };
        for &inst in &function.body {
            let data = &function.insts[inst];
            let can = match &data.operation {
                // One that undoes another is no start: it may be both where a permutation is its own inverse.
                Operation::Transpose(transpose) => transpose.permutation == permutation && !region.held.contains(&data.operands[0]),
                _ => match region.operands_before(data) {
                    Some(operands) => region.movable.insert(inst, operands).is_none(),
                    None => false,
                },
            };
            if can {
                region.held.extend(&data.results);
            }
        }
        region
    }

    /// The operands of an instruction in front of transposes; none where it is not computed there.
    fn operands_before(&self, data: &InstData) -> Option<Vec<Before>> {
        let type_of = |value: Value| self.function.values[value].ty.as_tensor();
        let rank = self.permutation.len();
        let has_rank = data.results.iter().all(|&value| type_of(value).map(TensorType::rank) == Some(rank));
        let is_after_one = data.operands.iter().any(|value| self.held.contains(value));
        if !has_rank || !is_after_one || data.results.is_empty() || data.operation.permuted(self.permutation).is_none() {
            return None;
        }
        let axes = data.axes(self.module, self.function);
        let before = |(operand, (&value, axes)): (usize, (&Value, &Vec<axes::Axis>))| {
            Before::in_operation((&data.operation, operand), type_of(value)?, self.is_constant(value), axes, rank)
        };
        data.operands.iter().zip(&axes.operands).enumerate().map(before).collect()
    }

    fn is_constant(&self, value: Value) -> bool {
        self.function.defining_inst(value).is_some_and(|inst| self.function.insts[inst].constant().is_some())
    }

    /// What a transpose of a value costs.
    fn cost(&self, value: Value) -> u64 {
        let Some(ty) = self.function.values[value].ty.as_tensor() else { return 0 };
        let extents: Vec<u64> = ty.shape.iter().map(|extent| extent.as_static().unwrap_or(USUAL_EXTENT)).collect();
        let moved = extents.iter().zip(self.permutation).filter(|(extent, _)| **extent != 1).map(|(_, axis)| axis);
        if moved.is_sorted() {
            // Only axes of one element move: it is a reshape.
            return 0;
        }
        let elements = extents.iter().fold(1u64, |product, &extent| product.saturating_mul(extent));
        let bytes = elements.saturating_mul(u64::from(ty.element.bits())) / 8;
        bytes.saturating_add(CALL_BYTES).min(NEVER / BYTE / 4) * BYTE
    }

    /// The labelling of the instructions that costs least; of several the one that moves most instructions.
    fn cheapest(&self) -> FxHashSet<Inst> {
        let mut network = Network::new();
        let movable = self.function.body.iter().filter(|inst| self.movable.contains_key(inst));
        let nodes: FxHashMap<Inst, usize> = movable.map(|&inst| (inst, network.node())).collect();
        for (value, readers) in self.readers(&nodes) {
            self.join(&mut network, &nodes, value, &readers);
        }
        let like_source = network.most_like_source();
        nodes.into_iter().filter(|&(_, node)| like_source[node]).map(|(inst, _)| inst).collect()
    }

    /// For each value that can have two forms, the nodes that read it: the source stands for transposes that undo one, the sink for all that
    /// reads it as it is.
    fn readers(&self, nodes: &FxHashMap<Inst, usize>) -> BTreeMap<Value, Vec<usize>> {
        let mut readers: BTreeMap<Value, Vec<usize>> = BTreeMap::new();
        let mut read = |value: Value, reader: usize| readers.entry(value).or_default().push(reader);
        for &inst in &self.function.body {
            let data = &self.function.insts[inst];
            if let (Some(&node), Some(before)) = (nodes.get(&inst), self.movable.get(&inst)) {
                let operands = data.operands.iter().zip(before).filter(|(_, before)| **before == Before::Transposed);
                operands.for_each(|(&value, _)| read(value, node));
                continue;
            }
            let undoes = match &data.operation {
                Operation::Transpose(transpose) => transpose.permutation == self.back && !self.held.contains(&data.results[0]),
                _ => false,
            };
            self.function.uses(inst).for_each(|value| read(value, if undoes { Network::SOURCE } else { Network::SINK }));
        }
        self.function.results.iter().for_each(|&value| read(value, Network::SINK));
        readers.values_mut().for_each(|list| list.dedup());
        readers
    }

    /// The edges of a value between the node that computes it and those that read it.
    fn join(&self, network: &mut Network, nodes: &FxHashMap<Inst, usize>, value: Value, readers: &[usize]) {
        let writer = self.function.defining_inst(value).and_then(|inst| nodes.get(&inst).copied());
        let from = match writer {
            Some(node) => node,
            None if self.held.contains(&value) => Network::SOURCE,
            None => Network::SINK,
        };
        let moves = readers.iter().any(|reader| *reader > Network::SINK);
        if from <= Network::SINK && !moves {
            return;
        }
        let cost = self.cost(value);
        if from != Network::SINK {
            let after = network.node();
            network.edge(from, after, cost);
            readers.iter().for_each(|&reader| network.edge(after, reader, NEVER));
        }
        if from != Network::SOURCE {
            let before = network.node();
            network.edge(before, from, cost);
            readers.iter().for_each(|&reader| network.edge(reader, before, NEVER));
            readers.iter().filter(|reader| **reader > Network::SINK).for_each(|&reader| network.edge(reader, from, NEW));
        }
    }
}
