//! Tensors of the planner's request, and the values that they represent.

use super::resolver::{Memory, Resolver};
use crate::fuse::{Group, Move};
use crate::ir::Value;
use crate::machine::Alignment;
use crate::plan::{self, Place, TensorId};
use crate::schedule::{Pair, Requirements};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The planner's tensors of a method, one for each root.
pub(in crate::lower) struct Tensors<'a> {
    pub resolver: &'a Resolver<'a>,
    /// Alignment of the arena.
    pub alignment: Alignment,
    pub list: Vec<plan::Tensor>,
    pub ids: FxHashMap<Value, TensorId>,
}

impl<'a> Tensors<'a> {
    pub fn new(resolver: &'a Resolver<'a>, alignment: Alignment) -> Self {
        Self { resolver, alignment, list: vec![], ids: FxHashMap::default() }
    }

    /// Returns the tensor of a value's root, and adds it if it is new.
    pub fn id(&mut self, value: Value) -> TensorId {
        let root = self.resolver.root(value);
        if let Some(&id) = self.ids.get(&root) {
            return id;
        }
        let owner = self.resolver.owner(root);
        let host = self.resolver.host(root).map(|(host, start)| (self.id(host), start));
        let taken_over = (owner != root).then(|| (self.id(owner), 0));
        let function = self.resolver.function();
        let element = function.stored_type(root).element;
        self.list.push(plan::Tensor {
            bytes: self.resolver.bytes(root),
            alignment: if host.is_some() { element.alignment() } else { self.alignment.of_tensors().bytes() },
            place: place(&self.resolver.memory(owner)),
            view_of: host.or(taken_over),
            takes_over: taken_over.is_some(),
            fixed: None,
            name: function.values[root].name.clone().unwrap_or_else(|| format!("{root}")),
        });
        let id = TensorId(self.list.len() as u32 - 1);
        self.ids.insert(root, id);
        id
    }

    /// Returns the tensors that the steps of a loop read and do not write. They must stay live in every round.
    pub fn brought_in(&self, steps: &[plan::Step]) -> BTreeSet<TensorId> {
        let made: BTreeSet<TensorId> = steps
            .iter()
            .flat_map(|step| step.writes.iter().copied().chain(step.moves.iter().map(|(_, to)| *to)))
            .map(|id| self.contents(id))
            .collect();
        steps.iter().flat_map(|step| step.reads.iter().copied()).filter(|&id| !made.contains(&self.contents(id))).collect()
    }

    /// Returns the outermost host of a tensor: itself if it is not a subtensor.
    fn contents(&self, mut id: TensorId) -> TensorId {
        while let plan::Tensor { view_of: Some((host, _)), takes_over: false, .. } = &self.list[id.index()] {
            id = *host;
        }
        id
    }

    /// Makes the planner's step of a group. `needs` are the requirements of its schedules.
    pub fn group_step(&mut self, group: &Group, needs: &Requirements) -> plan::Step {
        let function = self.resolver.function();
        let reads = group.inputs(function).iter().map(|&v| self.id(v)).collect();
        let writes = group.outputs.iter().map(|&v| self.id(v)).collect();
        let alignment = self.alignment.bytes();
        let scratch = needs.scratch.iter().chain(&needs.common).map(|&bytes| plan::Scratch { bytes, alignment }).collect();
        let mut ids = |pairs: &[Pair]| pairs.iter().map(|&Pair { read, written }| (self.id(read), self.id(written))).collect();
        let (may_share, may_slide) = (ids(&needs.may_share), ids(&needs.may_slide));
        let name = group.insts.first().map_or("copy", |&inst| function.insts[inst].op().name()).to_owned();
        plan::Step { reads, writes, scratch, may_share, may_slide, name, ..plan::Step::default() }
    }

    /// Makes a step that no other step may cross. It reads values and runs no kernel.
    pub fn barrier(&mut self, name: &str, reads: impl IntoIterator<Item = Value>) -> plan::Step {
        let reads = reads.into_iter().map(|v| self.id(v)).collect();
        plan::Step { reads, barrier: true, name: name.into(), ..plan::Step::default() }
    }

    /// Makes the step of moves. It has only the moves within one place; copies do the others.
    pub fn moves_step(&mut self, moves: &[Move]) -> plan::Step {
        let free: Vec<_> = moves.iter().filter(|m| self.resolver.is_free(**m)).copied().collect();
        let mut step = self.barrier("moves", free.iter().map(|m| m.from));
        step.moves = free.iter().map(|m| (self.id(m.from), self.id(m.to))).collect();
        step.moves.retain(|(from, to)| from != to);
        step
    }
}

/// Translates a memory to the planner's enumeration.
fn place(memory: &Memory) -> Place {
    match memory {
        Memory::Arena => Place::Arena,
        Memory::Input(_) => Place::Input,
        Memory::Output(_) => Place::Output,
        Memory::State(_) => Place::State,
        Memory::Constant(_) => Place::Constant,
    }
}
