//! Leading extents that are known only at run time. A kernel computes a block of slices, whose shape is static, and the driver calls it once for each
//! block. Kernels of smaller blocks compute the remaining slices; the smallest block is one slice.
//!
//! This holds for every schedule whose operator does not mix slices. `Context::shape` returns the shapes of a block, so the schedule needs no code
//! for run-time extents.

use super::Goal;
use super::arguments::Argument;
use super::choose::{self, Extents, Row, choose_whole};
use super::context::Context;
use super::interface::Requirements;
use super::pair::Pair;
use super::piece::{Piece, PieceSlices};
use super::unsupported::Unsupported;
use super::whole::Whole;
use crate::ir::{Axis, Extent, InstData, Op, Value};

/// The slices of a group.
#[derive(Clone, Debug)]
pub struct Outer {
    /// Extents whose product is the number of slices.
    pub extents: Vec<Value>,
    /// Maximum number of slices.
    pub most: u64,
    /// Slices of a block, the largest first: each size is a multiple of the next, and the last is 1.
    pub blocks: Vec<u64>,
}

/// A way to compute a group.
pub enum Choice<'a> {
    /// One kernel that is called once.
    Whole(Whole<'a>),
    /// Kernels that are called for blocks of slices.
    Sliced(Box<Sliced<'a>>),
}

/// The kernels of a group that is computed slice by slice.
pub struct Sliced<'a> {
    cx: Context<'a>,
    outer: Outer,
    /// Schedule of each block size.
    kinds: Vec<Whole<'a>>,
}

impl<'a> Choice<'a> {
    /// Chooses the schedule of a group.
    ///
    /// # Errors
    /// [`Unsupported`] if no schedule does this work.
    pub fn new(cx: Context<'a>) -> Result<Self, Unsupported> {
        if !is_dynamic(&cx) || matches!(extents_of(&cx), Extents::Anywhere) {
            return Ok(Self::Whole(Whole::new(cx, choose_whole(cx)?)));
        }
        let Ok(outer) = outer_of(&cx) else {
            let schedule = match (cx.group.root(), extents_of(&cx)) {
                (Some(root), Extents::OutermostOr(make)) => make(cx, root)?,
                // Schedules without support for such extents return an error.
                _ => choose_whole(cx)?,
            };
            return Ok(Self::Whole(Whole::new(cx, schedule)));
        };
        let of_block = |slices: u64| {
            let cx = Context { sharing: cx.sharing.of_block(slices), ..cx };
            Ok(Whole::new(cx, choose_whole(cx)?))
        };
        let kinds = outer.blocks.iter().map(|&slices| of_block(slices)).collect::<Result<_, _>>()?;
        Ok(Self::Sliced(Box::new(Sliced { cx, kinds, outer })))
    }

    /// Returns the requirements to the planner.
    pub fn requirements(&self) -> Requirements {
        match self {
            Self::Whole(whole) => whole.requirements(),
            Self::Sliced(sliced) => sliced.requirements(),
        }
    }

    /// Returns the number of ranges that need scratch memory.
    pub fn scratch_ranges(&self) -> u64 {
        match self {
            Self::Whole(whole) => whole.scratch_ranges(),
            Self::Sliced(sliced) => sliced.kinds.iter().map(Whole::scratch_ranges).max().unwrap_or(1),
        }
    }

    /// Writes the kernels, in the order of their calls. `shared` are the pairs that do share memory.
    ///
    /// # Errors
    /// [`Unsupported`] if an operation has no lowering.
    pub fn pieces(&self, shared: &[Pair]) -> Result<Vec<Piece>, Unsupported> {
        match self {
            Self::Whole(whole) => whole.pieces(shared),
            Self::Sliced(sliced) => sliced.pieces(shared),
        }
    }
}

impl Sliced<'_> {
    /// Returns the requirements for all kernels. A tensor may overwrite another one only if each of its slices ends before the other's next slice
    /// begins.
    fn requirements(&self) -> Requirements {
        let all = self.kinds.iter().rev().map(Whole::requirements);
        let mut needs = all.reduce(Requirements::of_both).unwrap_or_default();
        // Sliding holds only for whole tensors.
        needs.may_slide.clear();
        let stays_ahead = |&Pair { read, written }: &Pair| self.stride(read) > 0 && self.stride(read) >= self.stride(written);
        needs.may_share.retain(stays_ahead);
        needs.if_staged.retain(stays_ahead);
        needs
    }

    /// Returns the bytes of a slice of a tensor; 0 if all slices use the whole tensor.
    fn stride(&self, tensor: Value) -> u64 {
        slice_bytes(&self.cx, tensor).unwrap_or(0)
    }

    fn pieces(&self, shared: &[Pair]) -> Result<Vec<Piece>, Unsupported> {
        // In tensors that share memory, slices of different sizes begin at different places. The analysis of ranges does not know this, so such
        // kernels stay whole.
        let alike = shared.iter().all(|&Pair { read, written }| self.stride(read) == self.stride(written));
        let mut pieces = Vec::new();
        let mut before = None;
        for (kind, &block) in self.kinds.iter().zip(&self.outer.blocks) {
            let mut of_kind = kind.pieces(shared)?;
            let (Some(mut piece), None) = (of_kind.pop(), of_kind.pop()) else {
                return Err(Unsupported::SlicesOfKernels);
            };
            if !alike {
                piece.most_ranges = 1;
            }
            let stride = |argument: &Argument| if let Argument::Tensor(tensor) = argument { self.stride(*tensor) } else { 0 };
            piece.slices = Some(PieceSlices {
                extents: self.outer.extents.clone(),
                most: self.outer.most,
                block,
                after_blocks_of: before.replace(block),
                strides: piece.lowered.arguments.iter().map(stride).collect(),
            });
            pieces.push(piece);
        }
        Ok(pieces)
    }
}

/// Returns the bytes of one slice of a tensor. `None` if the tensor has no slices, or they do not begin at whole bytes.
fn slice_bytes(cx: &Context<'_>, tensor: Value) -> Option<u64> {
    let ty = cx.function.stored_type(tensor);
    let mut known = ty.shape.iter().map(|e| cx.function.resolved(*e)).filter_map(Extent::as_static);
    let is_dynamic = ty.shape.iter().any(|e| cx.function.resolved(*e).as_static().is_none());
    let bits = known.try_fold(u64::from(ty.element.bits()), u64::checked_mul).filter(|_| is_dynamic)?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// Tests whether some tensor of a group has a run-time extent.
fn is_dynamic(cx: &Context<'_>) -> bool {
    cx.group.tensors(cx.function).iter().any(|&v| Shapes { cx }.is_dynamic(v))
}

/// Returns the positions at which the group's schedule accepts run-time extents.
fn extents_of(cx: &Context<'_>) -> Extents {
    let Some(root) = cx.group.root() else { return Extents::Anywhere };
    match choose::row(cx.operation(root).op()) {
        Some(Row::Root(_, extents)) => extents,
        _ => Extents::Outermost,
    }
}

/// Finds the slices of a group with run-time extents.
///
/// [`Unsupported`] if such an extent is not a leading one in all tensors that have it, or if the operator mixes slices.
fn outer_of(cx: &Context<'_>) -> Result<Outer, Unsupported> {
    let shapes = Shapes { cx };
    let tensors = cx.group.tensors(cx.function);
    let dynamic_ones: Vec<Value> = tensors.iter().copied().filter(|&v| shapes.is_dynamic(v)).collect();
    let first = *dynamic_ones.first().ok_or(Unsupported::DynamicShape)?;
    let extents = if shapes.is_flat(&tensors) {
        shapes.extents(first)
    } else {
        let extents = shapes.prefix(first).ok_or(Unsupported::DynamicShape)?.0;
        if !dynamic_ones.iter().all(|&v| shapes.prefix(v).is_some_and(|(other, _)| other == extents)) {
            return Err(Unsupported::DynamicShape);
        }
        shapes.check_expressions()?;
        if let Some(root) = cx.group.root()
            && !shapes.keeps_slices_apart(&cx.function.insts[root])
        {
            return Err(Unsupported::DynamicShape);
        }
        extents
    };
    let most = extents.iter().try_fold(1u64, |product, &extent| {
        let interval = cx.function.interval(Extent::Value(extent));
        product.checked_mul(u64::try_from(interval.high).ok().filter(|_| interval.is_bounded() && interval.low >= 0)?)
    });
    let most = most.ok_or(Unsupported::UnboundedExtent)?;
    if dynamic_ones.iter().any(|&v| slice_bytes(cx, v).is_none()) {
        return Err(Unsupported::SlicesInBytes);
    }
    Ok(Outer { extents, most, blocks: shapes.blocks(most) })
}

/// The shapes of a group's tensors.
struct Shapes<'a, 'c> {
    cx: &'c Context<'a>,
}

impl Shapes<'_, '_> {
    fn shape(&self, tensor: Value) -> Vec<Extent> {
        self.cx.function.stored_type(tensor).shape.iter().map(|&e| self.cx.function.resolved(e)).collect()
    }

    fn is_dynamic(&self, tensor: Value) -> bool {
        let function = self.cx.function;
        function.stored_type(tensor).shape.iter().any(|&extent| function.resolved(extent).as_static().is_none())
    }

    /// Returns all dynamic extents of a tensor, outermost first.
    fn extents(&self, tensor: Value) -> Vec<Value> {
        self.shape(tensor).into_iter().filter_map(|e| if let Extent::Value(v) = e { Some(v) } else { None }).collect()
    }

    /// Returns the dynamic extents of a tensor, and the number of dimensions up to the last of them. `None` if a static extent other than 1 comes
    /// before it.
    fn prefix(&self, tensor: Value) -> Option<(Vec<Value>, usize)> {
        let shape = self.shape(tensor);
        let end = shape.iter().rposition(|e| e.as_static().is_none())? + 1;
        let outermost = shape[..end].iter().all(|e| e.as_static().is_none_or(|n| n == 1));
        outermost.then(|| (self.extents(tensor), end))
    }

    /// Tests whether all work is element-wise on one shape, so that positions of run-time extents do not matter.
    fn is_flat(&self, tensors: &[Value]) -> bool {
        let Some(shape) = tensors.iter().map(|&v| self.shape(v)).find(|s| s.iter().any(|e| e.as_static().is_none())) else { return false };
        let single = |shape: &[Extent]| shape.iter().all(|e| *e == Extent::Static(1));
        self.cx.group.root().is_none() && tensors.iter().map(|&v| self.shape(v)).all(|s| s == shape || single(&s))
    }

    /// Tests whether an operand that broadcasts has the output's extents in all dimensions that it does not repeat.
    fn follows(&self, operand: &[Extent], output: &[Extent]) -> bool {
        let Some(offset) = output.len().checked_sub(operand.len()) else { return false };
        operand.iter().zip(&output[offset..]).all(|(have, want)| *have == Extent::Static(1) || have == want)
    }

    /// Checks the operands of the epilogue and the prologue.
    fn check_expressions(&self) -> Result<(), Unsupported> {
        let group = self.cx.group;
        let output = self.shape(group.outputs[0]);
        let mut sound = group.outputs.iter().all(|&v| self.shape(v) == output);
        for operand in group.epilogue().into_iter().flat_map(|e| &e.operands) {
            sound &= self.follows(&self.shape(*operand), &output);
        }
        let read = group.root().and_then(|root| self.cx.function.insts[root].operands.first());
        for operand in group.prologue().into_iter().flat_map(|e| &e.operands) {
            sound &= read.is_some_and(|&read| self.follows(&self.shape(*operand), &self.shape(read)));
        }
        if sound { Ok(()) } else { Err(Unsupported::DynamicShape) }
    }

    /// Tests whether each slice of the results depends only on the operands' slices of the same number, and on operands without slices. All tensors
    /// with slices must have the same extents. A result's extents must come from an operand, not from a field.
    fn keeps_slices_apart(&self, data: &InstData) -> bool {
        let axes = data.axes(self.cx.module, self.cx.function);
        let operands: Vec<(Vec<Extent>, &Vec<Axis>)> =
            data.operands.iter().zip(&axes.operands).map(|(&operand, axes)| (self.shape(operand), axes)).collect();
        let results: Vec<Vec<Extent>> = data.results.iter().map(|&result| self.shape(result)).collect();
        let is_kept = |extent: &Extent, axis: &Axis| match *axis {
            Axis::Kept(at) => results.iter().all(|shape| shape.get(at) == Some(extent)),
            _ => false,
        };
        let comes_from_operand = |at: usize, extent: &Extent| {
            let mut kept = operands.iter().flat_map(|(shape, axes)| shape.iter().zip(*axes));
            !axes.counted.contains(&at) && kept.any(|(have, axis)| have == extent && *axis == Axis::Kept(at))
        };
        let is_dynamic = |extent: &Extent| extent.as_static().is_none();
        operands.iter().flat_map(|(shape, axes)| shape.iter().zip(*axes)).all(|(extent, axis)| !is_dynamic(extent) || is_kept(extent, axis))
            && results
                .iter()
                .flat_map(|shape| shape.iter().enumerate())
                .all(|(at, extent)| !is_dynamic(extent) || comes_from_operand(at, extent))
    }

    /// Returns the sizes of blocks of at most `most` slices. Contractions get a kernel for medium blocks, since register tiles with few rows take
    /// nearly as long as full ones. All machines have the same sizes, because they share the calls.
    fn blocks(&self, most: u64) -> Vec<u64> {
        let largest = self.block().min(most.max(1));
        let is_contraction = |root| matches!(self.cx.function.insts[root].op(), Op::Matmul | Op::BlockMatmul | Op::Conv);
        let worth_it = self.cx.group.root().is_some_and(is_contraction) && self.cx.goal == Goal::Speed;
        let medium = largest / SMALLER;
        let sizes = [largest, if worth_it && largest.is_multiple_of(SMALLER) { medium } else { 1 }, 1];
        let mut sizes = sizes.to_vec();
        sizes.dedup();
        sizes
    }

    /// Returns the slices of a block: enough to fill vectors and register tiles, or one if a slice alone is enough.
    fn block(&self) -> u64 {
        let elements = |v: Value| self.shape(v).iter().filter_map(|e| e.as_static()).product::<u64>().max(1);
        let output = elements(self.cx.group.outputs[0]);
        let root = self.cx.group.root().map(|root| &self.cx.function.insts[root]);
        match root.map(|data| data.op()) {
            Some(Op::Matmul | Op::BlockMatmul | Op::Conv) => {
                let channels = root.and_then(|data| self.shape(data.results[0]).last()?.as_static()).unwrap_or(1).max(1);
                (ROWS / (output / channels).max(1)).max(1)
            }
            _ => (ELEMENTS / output).max(1).next_power_of_two(),
        }
    }
}

/// Rows of a matrix product, or pixels, that fill register tiles.
const ROWS: u64 = 16;
/// Ratio of the largest blocks to medium ones.
const SMALLER: u64 = 4;
/// Elements that fill vectors.
const ELEMENTS: u64 = 256;
