//! Steps of a method.

use super::address::Address;
use super::call::{Call, Origin};
use modelc_ir::ElementType;

/// One step of a method.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A kernel call.
    Call(Call),
    /// A custom operator.
    External(External),
    /// One of two lists of steps, chosen by the byte at `condition` (0 is false).
    If {
        /// Address of the truth value.
        condition: Address,
        /// Steps when true.
        then: Vec<Step>,
        /// Steps when false.
        otherwise: Vec<Step>,
    },
    /// `head`, then while the byte at `condition` is not 0: `body`, `head` again.
    While {
        /// Steps that compute the condition.
        head: Vec<Step>,
        /// Address of the truth value.
        condition: Address,
        /// Steps of one iteration.
        body: Vec<Step>,
    },
    /// Kernel calls that tasks divide among them.
    Parallel(Parallel),
    /// A region of the device, with steps for the host if no device runs.
    Region {
        /// Index among the device's regions.
        region: usize,
        /// Equivalent steps for the CPU.
        otherwise: Vec<Step>,
    },
}

impl Step {
    /// Returns both lists of steps of a branch or a loop, in order. `None` for other steps.
    pub fn arms(&self) -> Option<[&[Step]; 2]> {
        match self {
            Self::If { then: first, otherwise: second, .. } | Self::While { head: first, body: second, .. } => Some([first, second]),
            _ => None,
        }
    }

    /// Returns both lists of steps of a branch or a loop for changes, in order. `None` for other steps.
    pub fn arms_mut(&mut self) -> Option<[&mut Vec<Step>; 2]> {
        match self {
            Self::If { then: first, otherwise: second, .. } | Self::While { head: first, body: second, .. } => Some([first, second]),
            _ => None,
        }
    }
}

/// Kernel calls that **tasks** divide among them. Tasks run in any order, or at the same time. No task accesses bytes that another one writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    /// The calls, each a [`Step::Call`].
    pub calls: Vec<Step>,
    /// The division of the calls.
    pub tasks: Tasks,
}

/// Division of kernel calls into tasks.
#[derive(Clone, Debug, PartialEq)]
pub enum Tasks {
    /// Task *i* runs range *i* of each call in turn, without a barrier between calls. Each call has ranges.
    Ranges {
        /// Granularity of ranges in all calls: the rounds of each call, and the ends of its ranges, are multiples of it.
        rounds: u64,
        /// Limit of the number of tasks.
        most: u32,
    },
    /// Each task runs a list of whole calls, a **stream**, in its order.
    Lists {
        /// Index of each list's first call; the first list starts at 0.
        starts: Vec<usize>,
    },
}

impl Parallel {
    /// Makes an empty step of lists.
    pub fn of_lists() -> Self {
        Self { calls: vec![], tasks: Tasks::Lists { starts: vec![] } }
    }

    /// Returns the calls of each list. There are none if tasks are ranges.
    pub fn lists(&self) -> impl Iterator<Item = &[Step]> {
        let starts: &[usize] = if let Tasks::Lists { starts } = &self.tasks { starts } else { &[] };
        let ends = starts.iter().skip(1).copied().chain([self.calls.len()]);
        starts.iter().zip(ends).filter_map(|(&start, end)| self.calls.get(start..end))
    }

    /// Returns the limit of the number of tasks.
    pub fn most(&self) -> u32 {
        match &self.tasks {
            Tasks::Ranges { most, .. } => *most,
            Tasks::Lists { starts } => starts.len() as u32,
        }
    }
}

/// A call of a function of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// Symbol of the function.
    pub symbol: String,
    /// Tensors that it reads.
    pub inputs: Vec<ExternalTensor>,
    /// Tensors that it writes.
    pub outputs: Vec<ExternalTensor>,
    /// The constant with its options, if it has any.
    pub options: Option<u32>,
    /// Origin for reports and errors.
    pub origin: Origin,
}

/// A tensor for a function of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalTensor {
    /// Address.
    pub address: Address,
    /// Size.
    pub bytes: u64,
    /// Element type.
    pub element: ElementType,
    /// Number of dimensions.
    pub rank: u32,
    /// The constant with its extents, 64 bits each, unless it has no dimensions.
    pub shape: Option<u32>,
    /// Address of the scale in a constant: an f32 at a multiple of 4.
    pub scale: Address,
    /// Address of the zero point in a constant: an i32 at a multiple of 4.
    pub zero_point: Address,
}
