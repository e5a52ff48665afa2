//! What the planner is asked and what it answers: byte ranges and steps, nothing of what they mean.

use std::fmt;

/// A tensor of a [`Request`], by its index in [`Request::tensors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub u32);

impl TensorId {
    /// The index in [`Request::tensors`] and in [`Plan::offset`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where the bytes of a tensor live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the arena: the planner chooses where.
    Arena,
    /// In a buffer the caller hands in. Never written, never used as scratch.
    Input,
    /// In a buffer the caller hands in for a result. Used for others only as far as the request says so: by views that take it over.
    Output,
    /// In the read-only data of the object.
    Constant,
    /// In the persistent part of the arena, which this planner does not lay out.
    State,
}

/// One tensor, as a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Its size. Zero is allowed.
    pub bytes: u64,
    /// What its offset must be a multiple of: a power of two.
    pub alignment: u64,
    /// Where it lives. A view lives where its host does, and says either that or [`Place::Arena`].
    pub place: Place,
    /// The host this tensor is a contiguous part of, and the byte of the host at which it starts. Hosts may be views themselves.
    pub view_of: Option<(TensorId, u64)>,
    /// The contents are its own although the place is its host's: it takes the place over once what was there is not needed any more.
    pub takes_over: bool,
    /// The arena offset an imported plan gave it, to be kept to the byte.
    pub fixed: Option<u64>,
    /// For messages.
    pub name: String,
}

/// Scratch memory a step needs while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scratch {
    /// Its size.
    pub bytes: u64,
    /// What its offset must be a multiple of: a power of two.
    pub alignment: u64,
}

/// One kernel call. A step reads and writes in any order: what it reads and what it writes are live together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// Tensors it reads. A tensor that is only partly overwritten is read too.
    pub reads: Vec<TensorId>,
    /// Tensors it writes.
    pub writes: Vec<TensorId>,
    /// Memory it needs for itself.
    pub scratch: Vec<Scratch>,
    /// Pairs (read, written) that this kernel handles correctly when both start at the same address, at the sizes they have. The planner
    /// uses a pair only where the tensor read has no later use.
    pub may_share: Vec<(TensorId, TensorId)>,
    /// Pairs (read, written) that this kernel handles correctly when the one written starts at the same address or below, at the sizes they have.
    /// The planner does not look for such places; the check allows those that the request comes with.
    pub may_slide: Vec<(TensorId, TensorId)>,
    /// Pairs (from, to) that have one place: afterwards `to` holds what `from` held, all at once and without work. Every `from` is read.
    pub moves: Vec<(TensorId, TensorId)>,
    /// No other step may move across this one: the edge of a branch, for example. It matters to [`super::order`] alone.
    pub barrier: bool,
    /// For messages.
    pub name: String,
}

/// How much work the exact search may do. Both limits count explored nodes, never time: a plan does not depend on the load of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effort {
    /// Greedy packings only, to compare what could be planned.
    Trial,
    /// Some tens of milliseconds at most.
    #[default]
    Normal,
    /// Seconds.
    Max,
}

/// A planning problem: tensors, and the steps that use them, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// The tensors.
    pub tensors: Vec<Tensor>,
    /// The steps in the order in which they run.
    pub steps: Vec<Step>,
    /// The limit of the search.
    pub effort: Effort,
}

impl Request {
    /// The same request with its steps in another order: `steps` are indices of those here. Indices that do not exist are left out.
    pub fn reordered(&self, steps: &[usize]) -> Request {
        let steps = steps.iter().filter_map(|&step| self.steps.get(step).cloned()).collect();
        Request { tensors: self.tensors.clone(), steps, effort: self.effort }
    }
}

/// Where everything goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The arena offset of each tensor, views resolved. `None` for a tensor outside the arena, and for one that no step touches.
    pub offset: Vec<Option<u64>>,
    /// For each step the arena offsets of its scratch, in the order of [`Step::scratch`].
    pub scratch: Vec<Vec<u64>>,
    /// The size of the arena.
    pub arena_bytes: u64,
    /// A size below which no arena can be, for this order of steps.
    pub lower_bound: u64,
    /// No smaller arena exists for this order of steps: it meets the bound, or the search was exhaustive.
    pub optimal: bool,
    /// Blocks that were put down: by the exact search, by the greedy packings that try which memory to share, and into buffers that callers lend.
    pub explored_nodes: u64,
    /// Bytes of tensors that lie in callers' buffers for results ([`super::plan_lent`]).
    pub lent_bytes: u64,
    /// The most bytes that are live at a step: the lower bound, but where callers' buffers could hold others than they do.
    pub peak_bytes: u64,
    /// The step at which the most bytes are live (0 where there are no steps).
    pub peak_step: usize,
}

/// Why there is no plan. Everything but [`PlanError::FixedConflict`] is a fault of whoever wrote the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// A tensor id beyond the table.
    UnknownTensor {
        /// The id.
        tensor: TensorId,
    },
    /// An alignment that is not a power of two.
    Alignment {
        /// The tensor or step.
        name: String,
        /// The alignment given.
        alignment: u64,
    },
    /// A chain of views that comes back to itself.
    ViewCycle {
        /// A view on the chain.
        name: String,
    },
    /// A view that ends beyond its host.
    ViewBounds {
        /// The view.
        name: String,
        /// Its host.
        host: String,
    },
    /// A view whose place contradicts its host's.
    ViewPlace {
        /// The view.
        name: String,
        /// Its host.
        host: String,
    },
    /// A view that no aligned host can align.
    ViewAlignment {
        /// The view.
        name: String,
        /// Its offset in the storage.
        offset: u64,
        /// The alignment it asks for.
        alignment: u64,
    },
    /// A step reads arena bytes that no earlier step has written.
    ReadBeforeWrite {
        /// The tensor.
        name: String,
        /// The step.
        step: String,
    },
    /// An imported offset that is not aligned, not in the arena, or not where the tensor's host says.
    FixedOffset {
        /// The tensor.
        name: String,
        /// The imported offset.
        offset: u64,
    },
    /// Two imported offsets overlap while both tensors are live.
    FixedConflict {
        /// One tensor.
        first: String,
        /// The other.
        second: String,
    },
    /// The sizes add up to more than an arena can have (2^62 bytes).
    TooLarge,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::UnknownTensor { tensor } => write!(f, "tensor {} does not exist", tensor.0),
            PlanError::Alignment { name, alignment } => {
                write!(f, "`{name}`: alignment {alignment} is not a power of two")
            }
            PlanError::ViewCycle { name } => write!(f, "`{name}` is a view of itself"),
            PlanError::ViewBounds { name, host } => write!(f, "view `{name}` ends beyond its host `{host}`"),
            PlanError::ViewPlace { name, host } => write!(f, "view `{name}` does not live where its host `{host}` does"),
            PlanError::ViewAlignment { name, offset, alignment } => {
                write!(f, "view `{name}` at byte {offset} of its host cannot be aligned to {alignment}")
            }
            PlanError::ReadBeforeWrite { name, step } => {
                write!(f, "step `{step}` reads `{name}` before any step has written it")
            }
            PlanError::FixedOffset { name, offset } => write!(f, "imported offset {offset} does not suit `{name}`"),
            PlanError::FixedConflict { first, second } => {
                write!(f, "imported offsets of `{first}` and `{second}` overlap while both are live")
            }
            PlanError::TooLarge => write!(f, "the tensors do not fit in any address space"),
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// How far above the lower bound the arena is: 0.0 at the bound.
    pub fn gap(&self) -> f64 {
        if self.lower_bound == 0 { 0.0 } else { self.arena_bytes as f64 / self.lower_bound as f64 - 1.0 }
    }
}

/// `arena 22,528 B = lower bound (optimal for this order)`, or the gap.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arena {} B", thousands(self.arena_bytes))?;
        let bound = thousands(self.lower_bound);
        if self.arena_bytes == self.lower_bound {
            write!(f, " = lower bound (optimal for this order)")
        } else if self.optimal {
            write!(f, " (optimal for this order by exhaustive search; lower bound {bound} B)")
        } else {
            let nodes = thousands(self.explored_nodes);
            write!(f, ", lower bound {bound} B (gap {:.1} %, {nodes} nodes explored)", self.gap() * 100.0)
        }
    }
}

/// A number with commas between groups of three digits.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
