//! Ways to merge two groups: element-wise work after or beside other element-wise work, epilogues, rows.

use super::Rowwise;
use super::compose::composed;
use super::line::{Line, Number};
use super::{Group, MAX_NODES, takes_epilogue};
use crate::ir::{Inst, Value};
use rustc_hash::FxHashMap;

impl Line<'_> {
    /// Merges element-wise work with earlier element-wise work, or with a root as its epilogue.
    pub(super) fn elements(&self, first: Number, second: Number) -> Option<Group> {
        let (one, other) = (self.group(first), self.group(second));
        let root_takes = one.root.is_none_or(|root| takes_epilogue(self.function.insts[root].op()) && !other.picks(self.function));
        let is_plain = |group: &Group| group.copied.is_none() && group.rowwise.is_none();
        let work = other.epilogue.as_ref().filter(|_| other.root.is_none() && is_plain(one) && is_plain(other) && root_takes)?;
        let shape = |group: &Group| group.outputs.first().map(|&v| (&self.function.tensor(v).shape, &self.function.tensor(v).layout));
        let nodes = one.epilogue.as_ref().map_or(0, |e| e.expression.nodes.len()) + work.expression.nodes.len();
        if shape(one) != shape(other) || nodes > MAX_NODES {
            return None;
        }
        let (insts, outputs) = self.united(one, other);
        let epilogue = Some(composed(self.function, one, other, &outputs));
        Some(Group { epilogue, insts, outputs, ..one.clone() })
    }

    /// Merges reductions along rows with work on the same rows.
    pub(super) fn rows(&self, first: Number, second: Number) -> Option<Group> {
        let (one, other) = (self.group(first), self.group(second));
        let rowwise = Rowwise::joined(self.function, one, other)?;
        let (insts, outputs) = self.united(one, other);
        Some(Group { rowwise: Some(rowwise), insts, outputs, ..Group::default() })
    }

    /// Returns the instructions of two groups, and the results that are read elsewhere.
    fn united(&self, one: &Group, other: &Group) -> (Vec<Inst>, Vec<Value>) {
        let insts = [&one.insts[..], &other.insts].concat();
        let outputs = self.stored(&insts, one.outputs.iter().chain(&other.outputs));
        // Unread results stay if the group has no other results.
        if outputs.is_empty() { (insts, other.outputs.clone()) } else { (insts, outputs) }
    }

    /// Merges two groups of element-wise work that read the same values.
    pub(super) fn siblings(&self, first: Number, second: Number) -> Option<Group> {
        if self.group(first).root.is_some() { None } else { self.elements(first, second) }
    }

    /// Returns the values that instructions outside `insts` read.
    fn stored<'v>(&self, insts: &[Inst], values: impl Iterator<Item = &'v Value>) -> Vec<Value> {
        let mut inside: FxHashMap<Value, usize> = FxHashMap::default();
        for value in insts.iter().flat_map(|&inst| self.function.uses(inst)) {
            *inside.entry(value).or_default() += 1;
        }
        values
            .copied()
            .filter(|value| self.method.uses.get(value).copied().unwrap_or(0) > inside.get(value).copied().unwrap_or(0))
            .collect()
    }
}
