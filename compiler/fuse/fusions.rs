//! A list of allowed merges, so that the memory planner can try fewer of them.

use crate::ir::Inst;
use rustc_hash::FxHashSet;

/// A merge of two groups, by the first instruction of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Merge {
    /// The group that computes the operand.
    pub first: Inst,
    /// The group that reads it.
    pub second: Inst,
}

/// The merges that are allowed.
#[derive(Clone, Debug)]
pub enum Fusions {
    /// All merges that the rules allow.
    All,
    /// Only these merges.
    These(FxHashSet<Merge>),
}

impl Fusions {
    /// Allows no merge.
    pub fn none() -> Self {
        Self::These(FxHashSet::default())
    }

    /// Tests whether no groups may merge.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::These(list) if list.is_empty())
    }

    pub(super) fn allow(&self, merge: Merge) -> bool {
        match self {
            Self::All => true,
            Self::These(list) => list.contains(&merge),
        }
    }
}
