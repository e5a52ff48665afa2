//! Rewrites of the tensor language. Each keeps what a module computes, and a verified module stays verified.

mod byte_chains;
mod byte_functions;
mod computed_weights;
mod dead_code;
mod dead_taps;
mod dequantized;
mod edit;
mod epilogues;
mod flattened;
mod fold_constants;
mod index_fold;
mod inline_calls;
mod integer_sums;
mod maps;
mod merge_equal;
mod narrow_movement;
mod narrow_operands;
mod open_numbers;
mod repeated;
mod scales;
mod shifted;
mod simplify;
mod table_rows;
mod through_reshape;
mod transposes;
mod unary;
mod unpacked;

use crate::ir::{Module, verify};

/// A rewrite.
pub struct Pass {
    /// Its name in text tests and `--emit` dumps.
    pub name: &'static str,
    /// Rewrites a verified module; true when it changed anything.
    pub run: fn(&mut Module) -> bool,
    /// `true` if results keep every bit. Otherwise float sums are rounded in another order, which this language leaves open.
    pub exact: bool,
}

impl Pass {
    /// Applies the rewrite; true when it changed anything.
    ///
    /// # Panics
    /// In builds with debug assertions, when the module does not keep the rules of the language any more: a mistake of the rewrite.
    pub fn apply(&self, module: &mut Module) -> bool {
        let changed = (self.run)(module);
        if cfg!(debug_assertions) && changed {
            verify(module).map(drop).unwrap_or_else(|error| panic!("{} breaks the rules of the tensor language: {error}", self.name));
        }
        changed
    }
}

/// All rewrites, in the order in which [`run_all`] applies them.
pub const PASSES: &[Pass] = &[
    Pass { name: "inline_calls", run: inline_calls::run, exact: true },
    Pass { name: "index_fold", run: index_fold::run, exact: true },
    Pass { name: "transposes", run: transposes::run, exact: true },
    Pass { name: "computed_weights", run: computed_weights::run, exact: true },
    Pass { name: "simplify", run: simplify::run, exact: true },
    Pass { name: "epilogues", run: epilogues::run, exact: true },
    Pass { name: "flattened", run: flattened::run, exact: false },
    Pass { name: "dead_taps", run: dead_taps::run, exact: true },
    Pass { name: "scales", run: scales::run, exact: true },
    Pass { name: "narrow_movement", run: narrow_movement::run, exact: true },
    Pass { name: "narrow_operands", run: narrow_operands::run, exact: true },
    Pass { name: "integer_sums", run: integer_sums::run, exact: false },
    Pass { name: "fold_constants", run: fold_constants::run, exact: true },
    Pass { name: "maps", run: maps::run, exact: true },
    Pass { name: "byte_functions", run: byte_functions::run, exact: true },
    Pass { name: "shifted", run: shifted::run, exact: true },
    Pass { name: "merge_equal", run: merge_equal::run, exact: true },
    Pass { name: "dead_code", run: dead_code::run, exact: true },
];

/// Passes that follow [`PASSES`] in a module whose constants are open.
pub const OPEN_PASSES: &[Pass] = &[Pass { name: "open_numbers", run: open_numbers::run, exact: true }];

/// Passes that come last. They turn instructions on packed constants into instructions that have kernels.
pub const LAST_PASSES: &[Pass] =
    &[Pass { name: "table_rows", run: table_rows::run, exact: true }, Pass { name: "unpacked", run: unpacked::run, exact: true }];

/// Rounds after which [`run_all`] stops even if a rewrite still found something.
const ROUNDS: usize = 8;

/// Applies all rewrites in turns until each has found nothing to do since the last change, or for a bounded number of rounds.
pub fn run_all(module: &mut Module) {
    run_rounds(module);
    if module.open_constants {
        for pass in OPEN_PASSES {
            pass.apply(module);
        }
    }
    let changed = LAST_PASSES.iter().fold(false, |changed, pass| pass.apply(module) | changed);
    if changed {
        run_rounds(module);
    }
}

fn run_rounds(module: &mut Module) {
    let mut idle = 0;
    for pass in PASSES.iter().cycle().take(ROUNDS * PASSES.len()) {
        idle = if pass.apply(module) { 0 } else { idle + 1 };
        if idle == PASSES.len() {
            return;
        }
    }
}
