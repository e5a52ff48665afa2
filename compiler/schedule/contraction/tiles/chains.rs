//! Several sums for each output, where a tile has so few sums that each product would wait for the one before it. They are added at the end.

use super::loops::lowering::Lowering;
use crate::kernel::{KernelBuilder, Value};
use crate::schedule::contraction::direct::PhasePanels;
use crate::schedule::contraction::table::rounds;
use crate::schedule::technique::Technique;

impl Lowering<'_> {
    /// Returns the number of sums for each output of a tile that has `outputs` vectors of them, of a panel without another one beside it. Integers may
    /// be added in any order.
    pub(super) fn chains(&self, phase: &PhasePanels, outputs: usize) -> usize {
        let (cx, form) = (&self.schedule.cx, self.schedule.form);
        let may = cx.uses(Technique::Chains) && cx.writes_out();
        let chains = rounds::chains(cx.machine, form).filter(|chains| may && phase.run() / form.group() >= chains.fewest_groups);
        chains.map_or(1, |chains| (chains.sums / outputs).clamp(1, phase.unroll as usize))
    }
}

/// Adds further sums for each output, which begin at zero.
pub(super) fn begin(b: &mut KernelBuilder, mut sums: Vec<Value>, chains: usize) -> Vec<Value> {
    let outputs = sums.len();
    for number in outputs..outputs * chains {
        let ty = b.ty(sums[number - outputs]);
        sums.push(b.int(ty, 0));
    }
    sums
}

/// Returns the sum of all sums of each output.
pub(super) fn end(b: &mut KernelBuilder, sums: &[Value], outputs: usize) -> Vec<Value> {
    let mut whole = sums[..outputs].to_vec();
    for (number, &sum) in sums.iter().enumerate().skip(outputs) {
        let own = &mut whole[number % outputs];
        *own = b.add(*own, sum);
    }
    whole
}
