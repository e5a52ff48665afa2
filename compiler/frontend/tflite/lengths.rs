//! Tensors whose length changes from one iteration of a loop to the next: their values at both ends of an iteration.

use super::error::unsupported;
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Extent, Interval, Value};
use crate::operators::graph::elements::ListItem;
use crate::operators::indexing::placed;
use crate::operators::{Graph, slices};

/// A tensor in a buffer, with its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    /// The buffer, in the function around the loop.
    pub buffer: Value,
    /// The length before the loop, one i64.
    pub length: Value,
    /// The axis along which the tensor changes.
    pub axis: usize,
    /// The extent of the buffer along it.
    pub most: i64,
    /// `true` if the number of iterations or the user guarantees enough room. Otherwise each iteration must show it.
    pub has_room: bool,
}

/// An extent of an iteration's result that differs from the input's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// The output.
    pub output: usize,
    /// The axis.
    pub axis: usize,
    /// The largest increase in an iteration, if a bound is known.
    pub by: Option<i64>,
    /// The maximum.
    pub most: i64,
}

/// The error for an output whose shape differs from the next iteration's input.
pub(super) fn changes(output: usize) -> Diagnostic {
    unsupported(format!("output {output} of the loop's body has another shape than its input"))
}

/// A buffer with a tensor at its beginning. It has extent `most` along one axis.
///
/// # Errors
/// When there are too many elements.
pub(super) fn buffer(graph: &mut Graph<'_>, value: Value, axis: usize, most: i64) -> Result<Value, Diagnostic> {
    let mut shape = graph.extents(value);
    let count = shape[axis];
    shape[axis] = Extent::Static(u64::try_from(most).unwrap_or(0));
    let element = graph.element(value);
    let zero = graph.constant(element, &[], vec![0; element.bytes_for(1).unwrap_or(1) as usize])?;
    let blank = graph.broadcast(zero, &shape)?;
    Ok(if count == shape[axis] { value } else { placed::run(graph, [blank, value], axis, Extent::Static(0))? })
}

impl Grown {
    /// The tensor that a buffer and a length are: in a round, or after the loop.
    ///
    /// # Errors
    /// Never.
    pub fn tensor(&self, graph: &mut Graph<'_>, buffer: Value, length: Value) -> Result<Value, Diagnostic> {
        let count = graph.load_integer(length, Interval { low: 0, high: self.most })?;
        Ok(slices::part(graph, buffer, self.axis, slices::Cut::run(Extent::Static(0), Extent::Value(count)))?)
    }

    /// The buffer and the length after an iteration, and the change if there may be no room for it. If the result begins with the tensor before, only
    /// the rest is written, behind it.
    ///
    /// # Errors
    /// When there are too many elements.
    pub fn written(
        &self,
        graph: &mut Graph<'_>,
        [before, after]: [Value; 2],
        output: usize,
    ) -> Result<([Value; 2], Option<Change>), Diagnostic> {
        let buffer = graph.whole_of(before);
        let [from, count] = [before, after].map(|value| graph.extents(value)[self.axis]);
        let most = graph.interval(count).high;
        let by = graph.most_increase(count, from);
        let change = Change { output, axis: self.axis, by, most };
        let (added, first) = match graph.appended(after, before, self.axis)? {
            Some(added) => (added, from),
            None => (after, Extent::Static(0)),
        };
        let buffer = placed::run(graph, [buffer, added], self.axis, first)?;
        let length = graph.list(&[ListItem::of(count)], ElementType::I64)?;
        Ok(([buffer, length], Some(change).filter(|_| !self.has_room && most > self.most)))
    }
}
