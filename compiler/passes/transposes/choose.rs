//! The choice of instructions that are computed in front of the transposes of their operands.
//!
//! Every value has two forms for one permutation: as it is, and as it was in front of a transpose by the permutation. An instruction is
//! computed in one of them. A form that no instruction computes costs one transpose, in proportion to its bytes, however many instructions read it.
//! The cheapest labelling is a minimum cut: an edge joins the instruction that computes a value with the instructions that read it.

use super::before::Before;
use super::cut::{NEVER, Network};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The extra cost of a new transpose. It prevents two transposes from chasing each other.
const NEW: u64 = 1;
/// The weight of a byte compared with [`NEW`].
const BYTE: u64 = 1 << 10;
/// The cost of a transpose besides its bytes, in bytes.
const CALL_BYTES: u64 = 64;
/// The assumed size of a run-time extent.
const USUAL_EXTENT: u64 = 16;

/// The instructions to compute in front of transposes by a permutation, if that moves at most as many bytes as before. On a tie, transposes
/// move nearer to the results, so that work can join the instructions before them.
pub fn choose(module: &Module, function: &Function, permutation: &[usize]) -> FxHashSet<Inst> {
    let region = Region::of(module, function, permutation);
    if region.movable.is_empty() { FxHashSet::default() } else { region.cheapest() }
}

struct Region<'m> {
    module: &'m Module,
    function: &'m Function,
    permutation: &'m [usize],
    back: Vec<usize>,
    /// Instructions that can be computed in front of transposes and read at least one transposed value, with the form of each operand there.
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

    /// The forms of an instruction's operands in front of transposes; `None` if it cannot be computed there.
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

    /// The cost of a transpose of a value.
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

    /// Returns the instructions to move in the cheapest labelling. Among several, the one that moves most instructions.
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

    /// Maps each value that can have two forms to the nodes that read it. Transposes that undo the permutation count as the source; all other
    /// outside readers count as the sink.
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

    /// Adds the edges of a value between the node that computes it and the nodes that read it.
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
