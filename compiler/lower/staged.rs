//! The products of pixels that stage their rows only to write their output over them: see [`super::overwriting`].

use crate::fuse::Group;
use crate::ir::Inst;
use rustc_hash::FxHashSet;

/// The roots of the groups that compute a row in short sections: see [`super::shortened`].
pub(super) type Shortened = FxHashSet<Inst>;

/// The groups that stage their rows to overwrite their operand.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Staged {
    /// None.
    #[default]
    None,
    /// All that can.
    All,
    /// Those of these roots.
    These(FxHashSet<Inst>),
}

impl Staged {
    /// Whether a group is one of them.
    pub fn holds(&self, group: &Group) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(roots) => group.root.is_some_and(|root| roots.contains(&root)),
        }
    }
}
