//! Input and output of the planner: byte ranges and steps, without their meaning.

use std::fmt;

/// A tensor of a [`Request`], by its index in [`Request::tensors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub u32);

impl TensorId {
    /// Returns the index in [`Request::tensors`] and in [`Plan::offset`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of memory that holds a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The arena, at an offset that the planner chooses.
    Arena,
    /// A buffer that the caller provides. It is never written and never used as scratch.
    Input,
    /// A result buffer that the caller provides. It holds other tensors only if the request says so, as views that take it over.
    Output,
    /// The read-only data of the object.
    Constant,
    /// The persistent part of the arena, which this planner does not lay out.
    State,
}

/// One tensor, as a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Size. Zero is allowed.
    pub bytes: u64,
    /// Alignment of the offset: a power of two.
    pub alignment: u64,
    /// Kind of memory. A view has the place of its host, or [`Place::Arena`].
    pub place: Place,
    /// The host of which the tensor is a contiguous part, and the offset there. Hosts may be views themselves.
    pub view_of: Option<(TensorId, u64)>,
    /// `true` if the tensor has contents of its own. It takes over its host's memory once the contents there are dead.
    pub takes_over: bool,
    /// The arena offset of an imported plan, which is kept exactly.
    pub fixed: Option<u64>,
    /// Name for messages.
    pub name: String,
}

/// Scratch memory a step needs while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scratch {
    /// Size.
    pub bytes: u64,
    /// Alignment of the offset: a power of two.
    pub alignment: u64,
}

/// One kernel call. Its tensors are read and written in any order, so all of them are live together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// Tensors that are read, including those that are only partly overwritten.
    pub reads: Vec<TensorId>,
    /// Tensors that are written.
    pub writes: Vec<TensorId>,
    /// Scratch memory.
    pub scratch: Vec<Scratch>,
    /// Pairs (read, written) that this kernel handles correctly at the same address, at the sizes they have. The planner uses a pair only if
    /// the tensor read has no later use.
    pub may_share: Vec<(TensorId, TensorId)>,
    /// Pairs (read, written) that this kernel handles correctly if the tensor written starts at the same address or below, at the sizes they
    /// have. The planner does not look for such places; the check allows those in the request.
    pub may_slide: Vec<(TensorId, TensorId)>,
    /// Parallel moves (from, to) between tensors at one address. They take no work: `to` then has the contents of `from`. Every `from` is read.
    pub moves: Vec<(TensorId, TensorId)>,
    /// `true` if no other step may move across this one, for example at the edge of a branch. Only [`super::order`] uses it.
    pub barrier: bool,
    /// Name for messages.
    pub name: String,
}

/// Limit of the exact search, in explored nodes. Time is no limit, so that a plan does not depend on the load of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effort {
    /// Greedy packings only, to compare alternatives.
    Trial,
    /// A few dozen milliseconds at most.
    #[default]
    Normal,
    /// A few seconds.
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
    /// Returns the request with its steps in another order: `steps` are indices of its steps. Invalid indices are left out.
    pub fn reordered(&self, steps: &[usize]) -> Request {
        let steps = steps.iter().filter_map(|&step| self.steps.get(step).cloned()).collect();
        Request { tensors: self.tensors.clone(), steps, effort: self.effort }
    }
}

/// Offsets of all tensors and scratch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Arena offset of each tensor, views resolved. `None` for tensors outside the arena and for unused tensors.
    pub offset: Vec<Option<u64>>,
    /// Arena offsets of each step's scratch, in the order of [`Step::scratch`].
    pub scratch: Vec<Vec<u64>>,
    /// Size of the arena.
    pub arena_bytes: u64,
    /// A lower bound of the arena size for this order of steps.
    pub lower_bound: u64,
    /// `true` if no smaller arena exists for this order of steps: it meets the bound, or the search was exhaustive.
    pub optimal: bool,
    /// Number of placed blocks: by the exact search, by greedy packings that try in-place pairs, and into callers' buffers.
    pub explored_nodes: u64,
    /// Bytes of tensors in callers' result buffers ([`super::plan_lent`]).
    pub lent_bytes: u64,
    /// The most bytes that are live at a step. It is the lower bound, except if callers' buffers could hold other tensors.
    pub peak_bytes: u64,
    /// The step with the most live bytes (0 if there are no steps).
    pub peak_step: usize,
}

/// Reason why there is no plan. Everything except [`PlanError::FixedConflict`] is a fault in the request.
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
    /// A chain of views that forms a cycle.
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
    /// A view that is misaligned in every aligned host.
    ViewAlignment {
        /// The view.
        name: String,
        /// The offset in the storage.
        offset: u64,
        /// The required alignment.
        alignment: u64,
    },
    /// A read of arena bytes that no earlier step has written.
    ReadBeforeWrite {
        /// The tensor.
        name: String,
        /// The step.
        step: String,
    },
    /// An imported offset that is misaligned, outside the arena, or not at its place in the tensor's host.
    FixedOffset {
        /// The tensor.
        name: String,
        /// The imported offset.
        offset: u64,
    },
    /// Two imported offsets that overlap while both tensors are live.
    FixedConflict {
        /// One tensor.
        first: String,
        /// The other.
        second: String,
    },
    /// A sum of sizes above the limit of an arena (2^62 bytes).
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
    /// Returns the size above the lower bound, as a fraction of the bound: 0.0 at the bound.
    pub fn gap(&self) -> f64 {
        if self.lower_bound == 0 { 0.0 } else { self.arena_bytes as f64 / self.lower_bound as f64 - 1.0 }
    }
}

/// Writes `arena 22,528 B = lower bound (optimal for this order)`, or the gap.
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

/// Returns a number with commas between groups of three digits.
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
