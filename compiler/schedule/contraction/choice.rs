//! Choice among the schedules of contractions.

use super::depthwise::{self, DepthwiseSchedule};
use super::depthwise_planes::{self, DepthwisePlanes};
use super::depthwise_rows::{self, DepthwiseRows};
use super::direct::DirectSchedule;
use super::sparse_products::{self, SparseProducts};
use crate::ir::Inst;
use crate::schedule::context::Context;
use crate::schedule::contraction::geometry::contraction::Contraction;
use crate::schedule::contraction::table::depthwise::MAX_TAPS;
use crate::schedule::interface::Schedule;
use crate::schedule::unsupported::Unsupported;

/// Chooses the schedule of a `conv` or `matmul`.
///
/// # Errors
/// [`Unsupported`] if the geometry or the types have no schedule.
pub fn choose<'a>(cx: Context<'a>, root: Inst) -> Result<Box<dyn Schedule + 'a>, Unsupported> {
    let contraction = Contraction::new(&cx, root)?;
    let geometry = &contraction.geometry;
    let multiplied = geometry.groups == geometry.channels && geometry.channels > 1;
    let taps = geometry.window[0] * geometry.window[1];
    if multiplied && taps <= MAX_TAPS && geometry.is_one_plane() && geometry.is_one_phase() {
        let takes_planes = depthwise_planes::takes(&cx, &contraction);
        if depthwise::takes_lanes(&cx, &contraction) && (depthwise::reaches_neighbours(&cx, geometry) || !takes_planes) {
            return Ok(Box::new(DepthwiseSchedule::new(cx, contraction)?));
        }
        if depthwise_rows::takes(&cx, &contraction) {
            return Ok(Box::new(DepthwiseRows::new(cx, contraction)?));
        }
        if takes_planes {
            return Ok(Box::new(DepthwisePlanes::new(cx, contraction)?));
        }
        return Ok(Box::new(DepthwiseSchedule::new(cx, contraction)?));
    }
    if sparse_products::takes(&cx, &contraction) {
        return Ok(Box::new(SparseProducts::new(cx, contraction)?));
    }
    Ok(Box::new(DirectSchedule::new(cx, contraction)?))
}
