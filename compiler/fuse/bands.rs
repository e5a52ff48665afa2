//! What may be computed part by part, so that what is in between needs memory for a part only: chains [by rows](rows), regions [by
//! batches](batches).

use super::band::Bands;
use super::flow::Flow;
use super::{batches, check, rows, uses_of};
use crate::ir::Module;
use rustc_hash::FxHashSet;

/// Operators to be computed part by part.
#[derive(Clone, Debug)]
pub enum Cut {
    /// By rows.
    Rows(rows::Split),
    /// By batches.
    Batches(batches::Region),
}

impl Cut {
    /// Bytes that they need at once as they are, by the sizes of their tensors.
    fn peak(&self) -> u64 {
        match self {
            Self::Rows(split) => split.peak,
            Self::Batches(region) => region.peak,
        }
    }

    /// Multiply-accumulate operations and elements that are computed twice.
    pub fn extra_work(&self) -> u64 {
        match self {
            Self::Rows(split) => split.extra_work,
            Self::Batches(_) => 0,
        }
    }
}

/// What needs much memory at once and would need less part by part, none of which overlaps another, what needs most first; and all the
/// method's work. As many parts are computed at the same time as there are `threads`.
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

/// Computes operators part by part. Gives the values that are parts of others.
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
