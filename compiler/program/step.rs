//! Steps of a method.

use super::address::Address;
use super::call::{Call, Origin};
use super::division::Parallel;
use crate::ir::ElementType;

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
