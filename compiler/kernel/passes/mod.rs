//! Passes: rewrites of a kernel that every back end would need otherwise. Each pass has its own file, which states what it preserves.
//!
//! A pass turns a verified kernel into a verified kernel that computes the same bits. Debug builds verify the result.

mod common;
mod dead;
pub mod grid;
mod invariants;
mod known;
mod members;
mod narrow;
pub mod numbers;
mod private;
pub mod range;
mod renumbered;
mod values;
mod whole;

pub use members::joined_copies;
pub use narrow::narrow;
pub use private::with_copies;
pub use renumbered::renumbered;

use super::verify::verify;
use super::{Inst, Kernel};
use std::borrow::Cow;

/// A pass over a kernel.
pub struct Pass {
    /// Name in tests of the text form.
    pub name: &'static str,
    /// Rewrites a kernel in place.
    pub run: fn(&mut Kernel),
}

/// All passes that need nothing except the kernel, in a useful order.
pub const PASSES: [Pass; 4] = [COMMON, INVARIANTS, QUOTIENTS, DEAD];

/// Removes scalar instructions that repeat an earlier computation.
pub const COMMON: Pass = Pass { name: "common", run: common::run };

/// Computes loop invariants before the loop.
pub const INVARIANTS: Pass = Pass { name: "invariants", run: invariants::run };

/// Computes loop-invariant integer divisions before the loop.
pub const QUOTIENTS: Pass = Pass { name: "quotients", run: invariants::quotients };

/// Removes instructions whose results are unused.
pub const DEAD: Pass = Pass { name: "dead", run: dead::run };

/// Resolves conditions, bounds and integers that are constant. It serves kernels whose parameters became constants: schedules write no decision that
/// is already made.
pub const KNOWN: Pass = Pass { name: "known", run: known::run };

/// Nothing is divided: a `divide` is its body for all rounds, and `for each` is `for`.
pub const WHOLE: Pass = Pass { name: "whole", run: whole::run };

/// A kernel in which no work is divided into ranges: the same kernel, or [`WHOLE`] of it.
pub fn undivided(kernel: &Kernel) -> Cow<'_, Kernel> {
    let divides = kernel.body.statements.iter().any(|statement| matches!(statement.inst, Inst::Divide { .. }));
    if divides { Cow::Owned(WHOLE.of(kernel)) } else { Cow::Borrowed(kernel) }
}

impl Pass {
    /// Returns the kernel that the pass makes of a verified kernel.
    ///
    /// # Panics
    /// In debug builds, if the pass breaks a rule of the language.
    #[must_use]
    pub fn of(&self, kernel: &Kernel) -> Kernel {
        self.after(kernel.clone())
    }

    /// Does the same as [`Pass::of`], but consumes the kernel.
    ///
    /// # Panics
    /// Panics as [`Pass::of`] does.
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
