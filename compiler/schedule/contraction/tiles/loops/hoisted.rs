//! Values that an epilogue needs and that are loaded before the loops.

use crate::kernel::KernelBuilder;
use crate::schedule::contraction::operands::panels::cuts::Width;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::Hoisted;

/// Loads the values that an epilogue needs before the loops, for the lanes of each width of panels.
pub(in crate::schedule::contraction) fn hoisted(
    b: &mut KernelBuilder,
    element_wise: &ElementWise<'_>,
    widths: &[Width],
) -> Vec<(u64, Vec<Option<Hoisted>>)> {
    hoisted_for(b, element_wise, widths.iter().map(|width| width.lanes))
}

/// Loads the values of [`hoisted`] for some numbers of lanes.
pub(in crate::schedule::contraction) fn hoisted_for(
    b: &mut KernelBuilder,
    element_wise: &ElementWise<'_>,
    lanes: impl Iterator<Item = u64>,
) -> Vec<(u64, Vec<Option<Hoisted>>)> {
    let mut lanes: Vec<u64> = lanes.collect();
    lanes.dedup();
    lanes.into_iter().map(|lanes| (lanes, element_wise.hoist(b, lanes as u16))).collect()
}
