//! Subtensors: tensors inside others. A slice may be a contiguous range of its operand's bytes. A concatenation may be the bytes of its operands, one
//! after the other. Neither needs a kernel: readers of the slice read the operand, and the operands are written into the result.

use super::values::{duplicate, root_of};
use crate::fuse::{Group, Grouped, Node, row_major, subtensor_start};
use crate::ir::{Function, Op, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The subtensors of a method.
#[derive(Debug, Default)]
pub(in crate::lower) struct Subtensors {
    /// The host of each subtensor, and the subtensor's first byte there.
    hosts: FxHashMap<Value, (Value, u64)>,
    /// The subtensors of each concatenation.
    joined: FxHashMap<Value, Vec<Value>>,
}

impl Subtensors {
    /// Finds the subtensors of a method. A concatenation is removed if at least one operand can be written in place; copies replace the other operands.
    /// `written` are the values that groups and moves write.
    pub fn new(grouped: &mut Grouped, pinned: Pinned, written: &[Value]) -> Self {
        let function = &grouped.function;
        let mut subtensors = Self::default();
        for (inst, data) in &function.insts {
            if let Some(start) = subtensor_start(function, inst).filter(|_| !written.contains(&data.results[0])) {
                subtensors.hosts.insert(data.results[0], (root_of(function, data.operands[0]), start));
            }
        }
        let mut nodes = std::mem::take(&mut grouped.nodes);
        Joining { function: &mut grouped.function, subtensors: &mut subtensors, pinned }.body(&mut nodes);
        grouped.nodes = nodes;
        subtensors
    }

    /// Returns the host of a subtensor, and the subtensor's first byte there.
    pub fn host(&self, root: Value) -> Option<(Value, u64)> {
        self.hosts.get(&root).copied()
    }

    /// Returns the number of subtensors of each concatenation.
    pub fn counts(&self) -> FxHashMap<Value, usize> {
        self.joined.iter().map(|(&host, subtensors)| (host, subtensors.len())).collect()
    }
}

/// Values that cannot be subtensors, because their places have another reason.
pub(in crate::lower) struct Pinned {
    /// Values that move to others, and may share their places.
    pub handed_on: FxHashSet<Value>,
    /// Values in callers' output buffers.
    pub outputs: FxHashSet<Value>,
}

/// Replaces concatenations of a method by subtensors.
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
        group.root().is_some_and(|root| self.function.insts[root].op() == op)
    }

    /// Makes the operands of a concatenation subtensors of its result, and returns copies for the operands that cannot be written in place. `None` if
    /// no operand can. `made` are the values that earlier kernels write.
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

    /// Returns the non-empty operands with their first bytes in the result. `None` if an operand is not a contiguous range of the result.
    fn runs(&self, group: &Group) -> Option<Vec<(Value, u64)>> {
        let data = &self.function.insts[group.root()?];
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

    /// Tests whether a value can become a subtensor: a kernel writes it, it is not pinned, and it has no host yet.
    fn is_free(&self, value: Value, made: &FxHashSet<Value>) -> bool {
        let root = root_of(self.function, value);
        let pinned = self.pinned.handed_on.contains(&root) || self.pinned.outputs.contains(&root);
        made.contains(&root) && !pinned && self.subtensors.host(root).is_none()
    }
}
