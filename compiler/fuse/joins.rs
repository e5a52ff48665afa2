//! Ways to merge two groups: element-wise work after or beside other element-wise work, epilogues, rows.

use super::Rowwise;
use super::compose::composed;
use super::line::{Line, Number};
use super::{Group, Kind, MAX_NODES, Read, takes_epilogue};
use crate::ir::{Inst, Value};
use rustc_hash::FxHashMap;

impl Line<'_> {
    /// Merges element-wise work with earlier element-wise work, or with a root as its epilogue.
    pub(super) fn elements(&self, first: Number, second: Number) -> Option<Group> {
        let (one, other) = (self.group(first), self.group(second));
        let Kind::Elements(work) = &other.kind else { return None };
        let takes = match &one.kind {
            Kind::Elements(_) => true,
            Kind::Root(root) => takes_epilogue(self.function.insts[root.inst].op()) && !other.picks(),
            Kind::Copy(_) | Kind::Rows(_) => false,
        };
        let shape = |group: &Group| group.outputs.first().map(|&v| (&self.function.tensor(v).shape, &self.function.tensor(v).layout));
        let nodes = one.epilogue().map_or(0, |e| e.expression.nodes.len()) + work.expression.nodes.len();
        if !takes || shape(one) != shape(other) || nodes > MAX_NODES {
            return None;
        }
        let (insts, outputs) = self.united(one, other);
        let kind = one.kind_with(composed(self.function, one, other, &outputs))?;
        Some(Group { kind, insts, reads: united_reads(one, other), outputs })
    }

    /// Merges reductions along rows with work on the same rows.
    pub(super) fn rows(&self, first: Number, second: Number) -> Option<Group> {
        let (one, other) = (self.group(first), self.group(second));
        let rowwise = Rowwise::joined(self.function, one, other)?;
        let (insts, outputs) = self.united(one, other);
        Some(Group { kind: Kind::Rows(rowwise), insts, reads: vec![], outputs })
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
        if self.group(first).root().is_some() { None } else { self.elements(first, second) }
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

/// Returns the reads of two groups, each once.
fn united_reads(one: &Group, other: &Group) -> Vec<Read> {
    let new = other.reads.iter().filter(|read| !one.reads.contains(read));
    one.reads.iter().chain(new).cloned().collect()
}
