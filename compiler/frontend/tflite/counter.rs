//! A number that counts the iterations of a loop, and the operands that a condition compares it with.

use super::subgraph::Slot;
use crate::diagnostic::Diagnostic;
use crate::ir::{Extent, Interval};
use crate::operators::Graph;
use crate::operators::graph::elements::{Elements, ListItem};

/// An operand of a comparison.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operand {
    /// An input of one integer.
    Input(usize),
    /// A dimension of an input. A negative one counts from behind the last.
    Extent(usize, i64),
    Number(i64),
}

impl Operand {
    /// Returns the extent that equals this operand in a subgraph with these inputs; `None` for a number.
    ///
    /// # Errors
    /// The errors of instructions that compute the extent.
    pub fn extent(self, graph: &mut Graph<'_>, inputs: &[Slot]) -> Result<Option<Extent>, Diagnostic> {
        match self {
            Self::Input(input) => match inputs.get(input) {
                Some(&Slot::Value(value)) => Ok(Elements::default().item(graph, value, 0)?.and_then(ListItem::extent)),
                _ => Ok(None),
            },
            Self::Extent(input, dimension) => Ok(dimension_of(graph, inputs, input, dimension)),
            Self::Number(_) => Ok(None),
        }
    }
}

/// Returns the extent of an input along a dimension.
pub(super) fn dimension_of(graph: &Graph<'_>, inputs: &[Slot], input: usize, dimension: i64) -> Option<Extent> {
    let Some(&Slot::Value(value)) = inputs.get(input) else { return None };
    let extents = graph.extents(value);
    let position = if dimension < 0 { dimension.checked_add(extents.len() as i64)? } else { dimension };
    extents.get(usize::try_from(position).ok()?).copied()
}

/// The counter of a loop, as an input of its body.
#[derive(Clone, Copy)]
pub(super) struct Counter {
    /// The position of the input.
    pub input: usize,
    /// Its range in an iteration.
    pub interval: Interval,
    /// The difference to the next iteration.
    pub step: i64,
    /// The operand that it is below, if that is not a number.
    pub below: Option<Operand>,
    /// `true` if the condition limits it.
    pub is_limited: bool,
}

impl Counter {
    /// The maximum number of iterations.
    pub fn rounds(&self) -> Option<i64> {
        let interval = Some(self.interval).filter(|_| self.is_limited)?;
        interval.high.checked_sub(interval.low)?.checked_div(self.step.checked_abs()?)?.checked_add(1)
    }
}
