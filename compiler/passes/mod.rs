//! Rewrites of the tensor language. Each keeps what a module computes, and a verified module stays verified.

use crate::ir::Module;

/// A rewrite.
pub struct Pass {
    /// Its name in text tests and `--emit` dumps.
    pub name: &'static str,
    /// Rewrites a verified module; true when it changed anything.
    pub run: fn(&mut Module) -> bool,
}

/// All rewrites, in the order in which [`run_all`] applies them.
pub const PASSES: &[Pass] = &[];

/// Rounds after which [`run_all`] stops even if a rewrite still found something.
const ROUNDS: usize = 8;

/// Applies all rewrites until none finds anything to do, or for a bounded number of rounds.
pub fn run_all(module: &mut Module) {
    for _ in 0..ROUNDS {
        let mut changed = false;
        for pass in PASSES {
            changed |= (pass.run)(module);
        }
        if !changed {
            return;
        }
    }
}
