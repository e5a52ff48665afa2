//! From groups to kernels: one file an operator class.
//!
//! [`outer::Choice`] picks a [`Schedule`] for a group. The schedule first states what it needs ([`Requirements`]: scratch memory,
//! operand pairs that may share memory), the planner places everything, and then the schedule lowers itself to a kernel.

pub mod arg_reduce;
pub mod bias;
pub mod contraction;
pub mod conv_direct;
mod conv_loops;
mod conv_tile;
pub mod cuts;
pub mod depthwise;
pub mod expression;
mod filling;
pub mod fourier;
pub mod gather;
pub mod image_sizes;
pub mod index;
pub mod iota;
pub mod map;
pub mod mirror_pad;
pub mod movement;
pub mod operands;
pub mod outer;
pub mod packing;
pub mod panels;
pub mod phases;
pub mod products;
pub mod quantity;
pub mod ranges;
pub mod reduce;
pub mod reduction;
pub mod requantize;
mod rowwise;
mod scalar_operations;
pub mod scan;
pub mod scatter;
pub mod slices;
pub mod sparse;
pub mod specialise;
pub mod staging;
pub mod strips;
mod sum_of_two;
pub mod suppress;
pub mod top_k;
mod turn;
pub mod weights;
pub mod window;

use crate::fuse::{Epilogue, Group};
use crate::ir::{Constant, Data, ElementType, Extent, Function, Module, Op, Operation, Value};
use crate::kernel::Kernel;
use crate::machine::Machine;
pub use expression::Unsupported;
pub use packing::PackedWeights;
use quantity::Quantity;
use weights::Weights;

/// What a schedule sees.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// For constants.
    pub module: &'a Module,
    /// Holds the group's values.
    pub function: &'a Function,
    /// The work.
    pub group: &'a Group,
    /// The machine.
    pub machine: &'a Machine,
    /// Where the group is computed slice by slice, the slices of a block: see [`outer`].
    pub block: Option<u64>,
    /// The machines whose code reads the same packed weights, this one among them.
    pub levels: &'a [&'static Machine],
    /// Weights that were packed before.
    pub packed: &'a PackedWeights,
    /// What the code is to be like.
    pub goal: Goal,
}

/// What the code of kernels is to be like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Goal {
    /// As fast as it can be.
    #[default]
    Speed,
    /// Small: loops stay loops, and tiles are as small as keeps vectors busy. Results are the same, bit for bit, wherever sums are of integers.
    Size,
}

impl<'a> Context<'a> {
    /// Whether short loops are written out: where vectors are registers, and code may be as long as is fast.
    pub fn writes_out(&self) -> bool {
        self.machine.has_vector_registers() && self.goal == Goal::Speed
    }

    /// Lanes of the strips in which the packed weights of a kernel lie whose panels have this many.
    pub fn strip(&self, panel: u64, weights: &Weights) -> u64 {
        let is_alone = self.levels.len() == 1 || matches!(weights, Weights::Computed { .. });
        if is_alone { panel } else { strips::COMMON }
    }

    /// The static shape of a tensor, or of a block of its slices; an index has none.
    ///
    /// # Errors
    /// When an extent is dynamic and there are no blocks.
    pub fn shape(&self, value: Value) -> Result<Vec<u64>, Unsupported> {
        let extents = self.function.stored_type(value).shape;
        let mut shape = Vec::with_capacity(extents.len());
        let mut last = None;
        for (d, &extent) in extents.iter().enumerate() {
            let known = self.function.resolved(extent).as_static();
            if known.is_none() {
                last = Some(d);
            }
            shape.push(known.unwrap_or(1));
        }
        match (last, self.block) {
            (Some(last), Some(block)) => shape[last] = block,
            (Some(_), None) => return Err(Unsupported::new("a tensor of dynamic shape")),
            (None, _) => {}
        }
        Ok(shape)
    }

    /// The shape of a tensor, or of a block of its slices.
    pub fn quantities(&self, value: Value) -> Vec<Quantity> {
        match self.shape(value) {
            Ok(shape) => shape.into_iter().map(|n| Quantity::of(Extent::Static(n))).collect(),
            Err(_) => {
                let shape = self.function.stored_type(value).shape;
                shape.into_iter().map(|extent| Quantity::of(self.function.resolved(extent))).collect()
            }
        }
    }

    /// The shape of a tensor, or of a block of its slices, at the bounds of what is not known.
    ///
    /// # Errors
    /// Where there is no bound.
    pub fn largest_shape(&self, value: Value) -> Result<Vec<u64>, Unsupported> {
        self.quantities(value).iter().map(|extent| extent.most(self)).collect()
    }

    /// Elements of a tensor, at the bounds of what is not known.
    ///
    /// # Errors
    /// Where there is no bound.
    pub fn most_elements(&self, value: Value) -> Result<u64, Unsupported> {
        quantity::product(&self.quantities(value)).most(self)
    }

    /// The element type of a tensor; an index is an `i64` in memory.
    pub fn element(&self, value: Value) -> ElementType {
        self.function.stored_type(value).element
    }

    /// The constant that a value is, seen through reshapes.
    pub fn constant(&self, mut value: Value) -> Option<Constant> {
        loop {
            let data = &self.function.insts[self.function.defining_inst(value)?];
            match &data.operation {
                Operation::Constant(constant) => return Some(constant.data),
                Operation::Reshape(_) | Operation::Bitcast(_) => value = data.operands[0],
                _ => return None,
            }
        }
    }

    /// The bytes of the constant that a value is.
    pub fn constant_data(&self, value: Value) -> Option<&'a Data> {
        self.constant(value).map(|c| &self.module.constants[c].data)
    }
}

/// What a schedule needs from the planner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Bytes of each scratch buffer, aligned to a cache line.
    pub scratch: Vec<u64>,
    /// A tensor read and a tensor written that may start at the same address if the one read dies here: the schedule reads
    /// every byte before it, or anything after it, is written.
    pub may_share: Vec<(Value, Value)>,
    /// A tensor read and a tensor written that may start at the same address, or at a lower one, if the one read dies here: byte *i* of it
    /// is read before byte *i* is written.
    pub may_slide: Vec<(Value, Value)>,
}

impl Requirements {
    /// What serves both of two schedules of a group.
    #[must_use]
    pub fn of_both(mut self, other: Self) -> Self {
        self.scratch.resize(self.scratch.len().max(other.scratch.len()), 0);
        self.scratch.iter_mut().zip(other.scratch).for_each(|(bytes, others)| *bytes = others.max(*bytes));
        self.may_share.retain(|pair| other.may_share.contains(pair));
        self.may_slide.retain(|pair| other.may_slide.contains(pair));
        self
    }
}

/// What a kernel's pointer parameter is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A tensor.
    Tensor(Value),
    /// Read-only data made at compile time.
    Data(Data),
    /// A scratch buffer of the requirements.
    Scratch(usize),
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The kernel; its name is a stem without the operator number.
    pub kernel: Kernel,
    /// One a pointer parameter.
    pub arguments: Vec<Argument>,
    /// The schedule and its choices, for reports.
    pub description: String,
    /// Multiply-accumulate operations.
    pub multiply_accumulates: u64,
}

/// A way to compute a group. It holds no copy of weights, so that all schedules of a method are kept at once.
pub trait Schedule: Send + Sync {
    /// What the planner must provide.
    fn requirements(&self) -> Requirements;

    /// The kernel. `shared` are the pairs of [`Requirements::may_share`] and [`Requirements::may_slide`] that do share memory.
    ///
    /// # Errors
    /// When an operation has no lowering.
    fn lower(&self, shared: &[(Value, Value)]) -> Result<Lowered, Unsupported>;

    /// The extent of what may be cut to ranges, for each of which the kernel runs by itself: it then has two integers, the first of a range and
    /// the first after it. None where the work is too little, or a part would read what another writes.
    fn extent(&self, _shared: &[(Value, Value)]) -> Option<u64> {
        None
    }
}

/// Kernels of fewer multiply-accumulate operations are not cut: some ten microseconds of work are as long as it takes to wake a thread.
pub const CUT_FROM: u64 = 1 << 18;

/// The schedule of a group whose shapes are static, or those of a block.
fn choose_whole<'a>(cx: Context<'a>) -> Result<Box<dyn Schedule + 'a>, Unsupported> {
    if let Some(from) = cx.group.copied {
        return Ok(Box::new(movement::MovementSchedule::whole(cx, from)?));
    }
    if let Some(rows) = &cx.group.rowwise {
        return Ok(Box::new(rowwise::RowwiseSchedule::new(cx, rows)?));
    }
    let Some(root) = cx.group.root else { return Ok(Box::new(map::MapSchedule::new(cx)?)) };
    match &cx.function.insts[root].operation {
        Operation::Conv(_) | Operation::Matmul(_) => contraction::choose(cx, root),
        Operation::Fourier(_) | Operation::RealFourier(_) => Ok(Box::new(fourier::FourierSchedule::new(cx, root)?)),
        Operation::Window(window) => Ok(Box::new(window::WindowSchedule::new(cx, root, window)?)),
        Operation::Reduce(reduce) => Ok(Box::new(reduce::ReduceSchedule::new(cx, root, reduce)?)),
        Operation::Bitcast(_)
        | Operation::Reshape(_)
        | Operation::Slice(_)
        | Operation::Transpose(_)
        | Operation::Broadcast(_)
        | Operation::Concat(_)
        | Operation::Pad(_) => Ok(Box::new(movement::MovementSchedule::new(cx, root)?)),
        Operation::Gather(gather) => Ok(Box::new(gather::GatherSchedule::new(cx, root, gather)?)),
        Operation::Scatter(scatter) => Ok(Box::new(scatter::ScatterSchedule::new(cx, root, scatter)?)),
        Operation::ArgReduce(search) => Ok(Box::new(arg_reduce::ArgReduceSchedule::new(cx, root, search)?)),
        Operation::MirrorPad(pad) => Ok(Box::new(mirror_pad::MirrorPadSchedule::new(cx, root, pad)?)),
        Operation::IndexBinary(_) | Operation::IndexLoad(_) | Operation::IndexTensor(_) => {
            Ok(Box::new(index::IndexSchedule::new(cx, root)?))
        }
        Operation::Scan(scan) => Ok(Box::new(scan::ScanSchedule::new(cx, root, scan)?)),
        Operation::TopK(top_k) => Ok(Box::new(top_k::TopKSchedule::new(cx, root, top_k)?)),
        Operation::NonMaxSuppression(suppress) => Ok(Box::new(suppress::SuppressSchedule::new(cx, root, suppress)?)),
        Operation::Iota(iota) => Ok(Box::new(iota::IotaSchedule::new(cx, root, iota)?)),
        other => Err(Unsupported::new(format!("operator {}", other.op()))),
    }
}

/// Whether an operator has kernels, needs none (a constant, a view, control flow and state, which are unrolled), or neither.
pub fn is_compiled(op: Op) -> bool {
    let has_kernels = matches!(
        op,
        Op::Map
            | Op::Conv
            | Op::Matmul
            | Op::Window
            | Op::Fourier
            | Op::RealFourier
            | Op::Reduce
            | Op::ArgReduce
            | Op::Bitcast
            | Op::Slice
            | Op::Transpose
            | Op::Broadcast
            | Op::Concat
            | Op::Pad
            | Op::MirrorPad
            | Op::Gather
            | Op::Scatter
            | Op::Scan
            | Op::TopK
            | Op::NonMaxSuppression
            | Op::Iota
            | Op::IndexBinary
            | Op::IndexLoad
            | Op::IndexTensor
    );
    let is_unrolled = matches!(op, Op::If | Op::While | Op::Call | Op::LoadState | Op::StoreState);
    has_kernels || is_unrolled || matches!(op, Op::Constant | Op::Reshape | Op::IndexConstant | Op::ExtentOf | Op::External)
}

/// The epilogue of a group, or the identity on the root's result.
pub fn epilogue_of(cx: &Context<'_>) -> Epilogue {
    if let Some(epilogue) = &cx.group.epilogue {
        return epilogue.clone();
    }
    identity(cx, cx.group.outputs[0])
}

/// The expression that gives a tensor as it is.
pub fn identity(cx: &Context<'_>, tensor: Value) -> Epilogue {
    let mut builder = crate::ir::ExpressionBuilder::new(&[cx.element(tensor)]);
    let input = builder.input(0);
    Epilogue { operands: vec![tensor], expression: builder.finish(vec![input]) }
}
