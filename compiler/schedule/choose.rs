//! Choice of a group's schedule. One table also lists the operators that are compiled.

use super::attention::AttentionSchedule;
use super::contraction::blocks::BlockSchedule;
use super::contraction::choice;
use super::contraction::products::ProductsSchedule;
use super::elementwise::map::MapSchedule;
use super::fourier::FourierSchedule;
use super::indexed::gather::GatherSchedule;
use super::indexed::index::IndexSchedule;
use super::indexed::scatter::ScatterSchedule;
use super::movement::iota::IotaSchedule;
use super::movement::mirror_pad::MirrorPadSchedule;
use super::movement::repack::RepackSchedule;
use super::movement::strided::MovementSchedule;
use super::movement::unpack::UnpackSchedule;
use super::ordering::suppress::SuppressSchedule;
use super::ordering::top_k::TopKSchedule;
use super::reductions::arg_reduce::ArgReduceSchedule;
use super::reductions::reduce::ReduceSchedule;
use super::reductions::scan::ScanSchedule;
use super::reductions::window::WindowSchedule;
use super::rowwise::RowwiseSchedule;
use super::{Context, Schedule, Unsupported};
use crate::ir::{Inst, Op};

/// A schedule, or the reason why there is none.
type Made<'a> = Result<Box<dyn Schedule + 'a>, Unsupported>;

/// Function that makes the schedule of a group with a root.
pub(super) type Make = for<'a> fn(Context<'a>, Inst) -> Made<'a>;

/// A way to compute an operator.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// Root of a group.
    Root(Make, Extents),
    /// Part of a group without a root, or part of an epilogue or prologue.
    ElementWise,
    /// No kernel: constants, numbers and views; control flow and states, which are unrolled; calls of the application.
    NoKernel,
}

/// Positions at which a schedule accepts run-time extents.
#[derive(Clone, Copy)]
pub(super) enum Extents {
    /// Any position.
    Anywhere,
    /// Leading dimensions: see [`super::outer`].
    Outermost,
    /// Leading dimensions. Another schedule accepts other positions.
    OutermostOr(Make),
}

use Extents::{Anywhere, Outermost, OutermostOr};
use Row::{ElementWise, NoKernel, Root};

/// All operators that are compiled.
const TABLE: &[(&[Op], Row)] = &[
    (&[Op::Map], ElementWise),
    (&[Op::Conv], Root(choice::choose, Outermost)),
    (&[Op::Matmul], Root(choice::choose, OutermostOr(|cx, root| made(ProductsSchedule::new(cx, root))))),
    (&[Op::BlockMatmul], Root(|cx, root| made(BlockSchedule::new(cx, root)), Outermost)),
    (&[Op::Attention], Root(|cx, root| made(AttentionSchedule::new(cx, root)), Anywhere)),
    (&[Op::Fourier, Op::RealFourier], Root(|cx, root| made(FourierSchedule::new(cx, root)), Outermost)),
    (&[Op::Window], Root(|cx, root| made(WindowSchedule::new(cx, root)), Outermost)),
    (&[Op::Reduce], Root(|cx, root| made(ReduceSchedule::new(cx, root)), Anywhere)),
    (&[Op::ArgReduce], Root(|cx, root| made(ArgReduceSchedule::new(cx, root)), Outermost)),
    (&[Op::Scan], Root(|cx, root| made(ScanSchedule::new(cx, root)), Outermost)),
    (
        &[Op::Bitcast, Op::Reshape, Op::Slice, Op::Transpose, Op::Broadcast, Op::Concat, Op::Pad],
        Root(|cx, root| made(MovementSchedule::new(cx, root)), Anywhere),
    ),
    (&[Op::Unpack], Root(|cx, root| made(UnpackSchedule::new(cx, root)), Outermost)),
    (&[Op::Repack], Root(|cx, root| made(RepackSchedule::new(cx, root)), Anywhere)),
    (&[Op::MirrorPad], Root(|cx, root| made(MirrorPadSchedule::new(cx, root)), Outermost)),
    (&[Op::Iota], Root(|cx, root| made(IotaSchedule::new(cx, root)), Anywhere)),
    (&[Op::Gather], Root(|cx, root| made(GatherSchedule::new(cx, root)), Outermost)),
    (&[Op::Scatter], Root(|cx, root| made(ScatterSchedule::new(cx, root)), Outermost)),
    (&[Op::IndexBinary, Op::IndexLoad, Op::IndexTensor], Root(|cx, root| made(IndexSchedule::new(cx, root)), Outermost)),
    (&[Op::TopK], Root(|cx, root| made(TopKSchedule::new(cx, root)), Outermost)),
    (&[Op::NonMaxSuppression], Root(|cx, root| made(SuppressSchedule::new(cx, root)), Outermost)),
    (&[Op::Constant, Op::IndexConstant, Op::ExtentOf], NoKernel),
    (&[Op::If, Op::While, Op::Call, Op::LoadState, Op::StoreState], NoKernel),
    (&[Op::External], NoKernel),
];

/// Returns the way to compute an operator. `None` if it is not compiled.
pub(super) fn row(op: Op) -> Option<Row> {
    TABLE.iter().find(|(ops, _)| ops.contains(&op)).map(|(_, row)| *row)
}

/// Tests whether an operator has kernels or needs none.
pub fn is_compiled(op: Op) -> bool {
    row(op).is_some()
}

/// Makes the schedule of a group with static shapes, or with the shapes of a block.
pub(super) fn choose_whole<'a>(cx: Context<'a>) -> Made<'a> {
    if let Some(from) = cx.group.copied() {
        return made(MovementSchedule::whole(cx, from));
    }
    if let Some(rows) = cx.group.rowwise() {
        return made(RowwiseSchedule::new(cx, rows));
    }
    let Some(root) = cx.group.root() else { return made(MapSchedule::new(cx)) };
    match row(cx.operation(root).op()) {
        Some(Root(make, _)) => make(cx, root),
        Some(ElementWise | NoKernel) | None => Err(cx.no_schedule(root)),
    }
}

fn made<'a>(schedule: Result<impl Schedule + 'a, Unsupported>) -> Made<'a> {
    Ok(Box::new(schedule?))
}

#[cfg(test)]
mod tests {
    use super::{TABLE, is_compiled};
    use crate::ir::operators::OPS;

    #[test]
    fn every_operator_stands_in_the_table_once() {
        for row in OPS {
            let rows = TABLE.iter().filter(|(ops, _)| ops.contains(&row.op)).count();
            assert_eq!(rows, 1, "{}", row.name);
            assert!(is_compiled(row.op));
        }
    }
}
