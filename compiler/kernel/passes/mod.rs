//! From kernel to kernel: what every back end would do otherwise, once. Each pass has its file and states what it keeps.
//!
//! A pass takes a verified kernel and leaves a verified one, which computes the same bits; debug builds check the first.

mod common;
mod dead;
pub mod grid;
mod invariants;
mod known;
mod narrow;
pub mod numbers;
pub mod parts;

pub use narrow::narrow;

use super::Kernel;
use super::verify::verify;

/// A pass.
pub struct Pass {
    /// Its name, as tests of the text call it.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&mut Kernel),
}

/// All passes that need nothing but the kernel, in the order in which they are of use.
pub const PASSES: [Pass; 4] = [COMMON, INVARIANTS, QUOTIENTS, DEAD];

/// Scalars that are computed a second time are gone.
pub const COMMON: Pass = Pass { name: "common", run: common::run };

/// What is the same in every round of a loop is computed before it.
pub const INVARIANTS: Pass = Pass { name: "invariants", run: invariants::run };

/// Divisions of integers that are the same in every round of a loop are made before it.
pub const QUOTIENTS: Pass = Pass { name: "quotients", run: invariants::quotients };

/// Instructions whose results nothing uses are gone.
pub const DEAD: Pass = Pass { name: "dead", run: dead::run };

/// What constants decide is decided. For kernels whose parameters have become constants; schedules write down no decision that is made.
pub const KNOWN: Pass = Pass { name: "known", run: known::run };

impl Pass {
    /// The kernel that a pass makes of a verified one.
    ///
    /// # Panics
    /// In debug builds, if the pass breaks a rule of the language.
    #[must_use]
    pub fn of(&self, kernel: &Kernel) -> Kernel {
        self.after(kernel.clone())
    }

    /// The same, where the kernel is not needed any more.
    ///
    /// # Panics
    /// As [`Pass::of`].
    #[must_use]
    pub fn after(&self, mut kernel: Kernel) -> Kernel {
        let before = cfg!(debug_assertions).then(|| kernel.clone());
        (self.run)(&mut kernel);
        if let Some(before) = before {
            assert_eq!(verify(&kernel), Ok(()), "{} of\n{before}\ngives\n{kernel}", self.name);
        }
        kernel
    }
}
