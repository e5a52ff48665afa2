//! Which merges of groups are made, so that whoever plans memory can try fewer.

use crate::ir::Inst;
use rustc_hash::FxHashSet;

/// A merge of two groups, by the first instruction of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Merge {
    /// The group that computes what the other one reads.
    pub first: Inst,
    /// The other one.
    pub second: Inst,
}

/// Which merges are made.
#[derive(Clone, Debug)]
pub enum Fusions {
    /// All that the rules allow.
    All,
    /// None but these.
    These(FxHashSet<Merge>),
}

impl Fusions {
    /// None.
    pub fn none() -> Self {
        Self::These(FxHashSet::default())
    }

    /// Whether no groups merge.
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
