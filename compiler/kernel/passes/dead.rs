//! Instructions whose results nothing uses are gone, loads and whole loops among them. Stores, failures and barriers stay, and what they need.

use crate::kernel::*;
use cranelift_entity::EntitySet;

/// The pass.
pub(super) fn run(kernel: &mut Kernel) {
    sweep(&mut kernel.body, &mut EntitySet::new());
}

/// From the end to the start uses come before definitions, but for what loops hand to their next round. That counts as used.
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
