//! Groups with a special schedule that saves memory.

use crate::fuse::Group;
use crate::ir::Inst;
use rustc_hash::FxHashSet;

/// The roots of the groups that compute a row in short sections: see [`super::shortened`].
pub(in crate::lower) type Shortened = FxHashSet<Inst>;

/// The pixel products that stage their rows to overwrite their input: see [`super::overwriting`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::lower) enum Overwriting {
    /// No group.
    #[default]
    None,
    /// All groups that can.
    All,
    /// The groups of these roots.
    These(FxHashSet<Inst>),
}

impl Overwriting {
    /// Tests whether a group is one of them.
    pub fn holds(&self, group: &Group) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(roots) => group.root().is_some_and(|root| roots.contains(&root)),
        }
    }
}
