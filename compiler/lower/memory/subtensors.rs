//! Subtensors: tensors inside others. A slice may be a contiguous range of its operand's bytes. A concatenation may be the bytes of its operands, one
//! after the other. Neither costs a kernel: the slice is read where it is, and the operand is written where the concatenation has it.

use super::values::{duplicate, root_of};
use crate::fuse::{Group, Grouped, Node, part_of, row_major};
use crate::ir::{Function, Op, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The subtensors of a method.
#[derive(Debug, Default)]
pub(in crate::lower) struct Subtensors {
    /// For each subtensor its host, and the byte of the host at which it starts.
    hosts: FxHashMap<Value, (Value, u64)>,
    /// The subtensors of each concatenation.
    joined: FxHashMap<Value, Vec<Value>>,
}

impl Subtensors {
    /// Finds the subtensors of a method. Concatenations whose operands can be written in place are taken out of it; what cannot is copied.
    /// `written` are the values that groups and moves write.
    pub fn new(grouped: &mut Grouped, pinned: Pinned, written: &[Value]) -> Self {
        let function = &grouped.function;
        let mut subtensors = Self::default();
        for (inst, data) in &function.insts {
            if let Some(start) = part_of(function, inst).filter(|_| !written.contains(&data.results[0])) {
                subtensors.hosts.insert(data.results[0], (root_of(function, data.operands[0]), start));
            }
        }
        let mut nodes = std::mem::take(&mut grouped.nodes);
        Joining { function: &mut grouped.function, subtensors: &mut subtensors, pinned }.body(&mut nodes);
        grouped.nodes = nodes;
        subtensors
    }

    /// The tensor that a subtensor lies in, and the byte at which it starts there.
    pub fn host(&self, root: Value) -> Option<(Value, u64)> {
        self.hosts.get(&root).copied()
    }

    /// The number of subtensors of each concatenation.
    pub fn counts(&self) -> FxHashMap<Value, usize> {
        self.joined.iter().map(|(&host, subtensors)| (host, subtensors.len())).collect()
    }
}

/// Values that have a place for another reason.
pub(in crate::lower) struct Pinned {
    /// They become others, whose places they may take.
    pub handed_on: FxHashSet<Value>,
    /// They are in callers' buffers.
    pub outputs: FxHashSet<Value>,
}

/// Takes concatenations out of a method.
struct Joining<'a> {
    function: &'a mut Function,
    subtensors: &'a mut Subtensors,
    pinned: Pinned,
}

impl Joining<'_> {
    fn body(&mut self, nodes: &mut Vec<Node>) {
        let mut made = FxHashSet::default();
        let mut list = Vec::with_capacity(nodes.len());
        for mut node in nodes.drain(..) {
            match &mut node {
                Node::Group(group) => {
                    let is_kernel = !self.is(group, Op::External);
                    let copies = self.join(group, &made);
                    made.extend(group.outputs.iter().filter(|_| is_kernel).map(|&v| root_of(self.function, v)));
                    if let Some(copies) = copies {
                        list.extend(copies.into_iter().map(|copy| Node::Group(Box::new(copy))));
                        continue;
                    }
                }
                Node::Moves(_) => {}
                Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                    self.body(first);
                    self.body(second);
                }
            }
            list.push(node);
        }
        *nodes = list;
    }

    fn is(&self, group: &Group, op: Op) -> bool {
        group.root.is_some_and(|root| self.function.insts[root].op() == op)
    }

    /// Makes the operands of a concatenation subtensors of its result, if at least one of those `made` so far can be. Gives the copies of
    /// the others.
    fn join(&mut self, group: &Group, made: &FxHashSet<Value>) -> Option<Vec<Group>> {
        let result = group.outputs[0];
        if !self.is(group, Op::Concat) || self.pinned.handed_on.contains(&result) {
            return None;
        }
        let operands = self.runs(group)?;
        let mut taken = FxHashSet::default();
        let in_place: Vec<bool> =
            operands.iter().map(|&(value, _)| self.is_free(value, made) && taken.insert(root_of(self.function, value))).collect();
        if !in_place.contains(&true) {
            return None;
        }
        let (mut copies, mut subtensors) = (Vec::new(), Vec::new());
        for ((value, start), in_place) in operands.into_iter().zip(in_place) {
            let subtensor = if in_place { root_of(self.function, value) } else { duplicate(self.function, value) };
            if !in_place {
                copies.push(Group { insts: group.insts.clone(), ..Group::copy(value, subtensor) });
            }
            self.subtensors.hosts.insert(subtensor, (result, start));
            subtensors.push(subtensor);
        }
        self.subtensors.joined.insert(result, subtensors);
        Some(copies)
    }

    /// The operands that have bytes, and where in the result they are, if each is a run of its bytes.
    fn runs(&self, group: &Group) -> Option<Vec<(Value, u64)>> {
        let data = &self.function.insts[group.root?];
        let Operation::Concat(concat) = &data.operation else { return None };
        let shape = row_major(self.function, group.outputs[0])?;
        if self.function.tensor(group.outputs[0]).element.bits() < 8 || shape.iter().take(concat.axis).any(|&n| n != 1) {
            return None;
        }
        let mut start = 0;
        let mut runs = Vec::new();
        for &operand in &data.operands {
            row_major(self.function, operand)?;
            let bytes = self.function.tensor(operand).static_bytes()?;
            if bytes > 0 {
                runs.push((operand, start));
            }
            start += bytes;
        }
        Some(runs)
    }

    /// Tells whether a value can be wherever it is wanted.
    fn is_free(&self, value: Value, made: &FxHashSet<Value>) -> bool {
        let root = root_of(self.function, value);
        let pinned = self.pinned.handed_on.contains(&root) || self.pinned.outputs.contains(&root);
        made.contains(&root) && !pinned && self.subtensors.host(root).is_none()
    }
}
