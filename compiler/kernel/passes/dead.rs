//! Dead code elimination. It removes instructions and whole loops whose results are unused, loads included. Stores, failures and barriers stay, and
//! so do their operands.

use crate::*;
use cranelift_entity::EntitySet;

/// Runs the pass.
pub(super) fn run(kernel: &mut Kernel) {
    sweep(&mut kernel.body, &mut EntitySet::new());
}

/// Removes unused statements from the end to the start, so that uses come before definitions. Values that a loop yields to its next round count as
/// used.
fn sweep(region: &mut Region, used: &mut EntitySet<Value>) {
    used.extend(region.yields.iter().copied());
    let mut kept = Vec::with_capacity(region.statements.len());
    while let Some(mut statement) = region.statements.pop() {
        if !statement.inst.has_effect() && !statement.results.iter().any(|&result| used.contains(result)) {
            continue;
        }
        for inner in statement.inst.regions_mut() {
            sweep(inner, used);
        }
        used.extend(statement.inst.operands());
        kept.push(statement);
    }
    kept.reverse();
    region.statements = kept;
}
