//! Cuts: operators computed part by part, so that intermediate tensors need memory for one part only. They are chains [by rows](rows) and
//! regions [by batches](batches).

use super::band::Bands;
use super::flow::Flow;
use super::{batches, check, rows, uses_of};
use crate::ir::Module;
use rustc_hash::FxHashSet;

/// Operators to be computed part by part.
#[derive(Clone, Debug)]
pub enum Cut {
    /// A chain in bands of rows.
    Rows(rows::Split),
    /// A region in batches.
    Batches(batches::Region),
}

impl Cut {
    /// Returns the bytes live at once without the cut, from the sizes of the tensors.
    fn peak(&self) -> u64 {
        match self {
            Self::Rows(split) => split.peak,
            Self::Batches(region) => region.peak,
        }
    }

    /// Returns the multiply-accumulate operations and elements that the cut computes twice.
    pub fn extra_work(&self) -> u64 {
        match self {
            Self::Rows(split) => split.extra_work,
            Self::Batches(_) => 0,
        }
    }
}

/// Returns disjoint candidates for cuts, largest peak first, and the method's total work. `threads` bands or batches are computed at the same time.
pub fn candidates(module: &Module, flow: &Flow, threads: u64) -> (Vec<Cut>, u64) {
    let uses = uses_of(flow);
    let regions = batches::regions(module, flow, &uses);
    let taken: FxHashSet<_> = regions.iter().flat_map(|region| &region.insts).copied().collect();
    let (splits, work) = rows::candidates(module, flow, &uses, threads);
    let apart = splits.into_iter().filter(|split| split.links.iter().all(|link| !taken.contains(&link.inst)));
    let mut list: Vec<Cut> = apart.map(Cut::Rows).chain(regions.into_iter().map(Cut::Batches)).collect();
    list.sort_by_key(|cut| std::cmp::Reverse(cut.peak()));
    (list, work)
}

/// Applies cuts to a method. Returns the values that are parts of others.
pub fn apply(module: &Module, flow: &mut Flow, cuts: &[Cut]) -> Bands {
    let (mut splits, mut regions) = (Vec::new(), Vec::new());
    for (number, cut) in cuts.iter().enumerate() {
        match cut {
            Cut::Rows(split) => splits.push((number, split)),
            Cut::Batches(region) => regions.push((number, region)),
        }
    }
    let mut parts = rows::apply(flow, &splits);
    parts.extend(batches::apply(flow, &regions));
    check::assert_sound(module, flow, "computing part by part");
    parts
}
