//! The groups that are computed in another way than usual, to save memory.

use crate::fuse::Group;
use crate::ir::Inst;
use rustc_hash::FxHashSet;

/// The roots of the groups that compute a row in short sections: see [`super::shortened`].
pub(in crate::lower) type Shortened = FxHashSet<Inst>;

/// The groups of pixel products that stage their rows only to write their output over them: see [`super::overwriting`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::lower) enum Overwriting {
    /// None.
    #[default]
    None,
    /// All that can.
    All,
    /// The groups of these roots.
    These(FxHashSet<Inst>),
}

impl Overwriting {
    /// Tells whether a group is one of them.
    pub fn holds(&self, group: &Group) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(roots) => group.root.is_some_and(|root| roots.contains(&root)),
        }
    }
}
