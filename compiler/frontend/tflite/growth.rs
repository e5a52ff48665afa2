//! Tensors whose length changes from one iteration of a loop to the next: lists that are appended to, queues that are taken from.
//!
//! Such a tensor lies at the beginning of a buffer with room for its maximum, and its length is carried as a number. The maximum follows from the
//! number of iterations, from limits of the length in an iteration, or from a user's bound of the loop's output.

use super::callee::{Argument, Callee};
use super::counter::Counter;
use super::error::unsupported;
use super::lengths::{Change, Grown, buffer, changes};
use super::operator::Operator;
use super::shape::bounds_of_output;
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Value};
use crate::operators::Graph;
use crate::operators::graph::elements::ListItem;

/// The arguments of a loop, and its condition and body.
type Followed = (Vec<Argument>, [Callee; 2]);

/// The maximum number of analyses of a loop, each with the changes found before.
const MOST_LOOKS: usize = 8;

/// A tensor whose length changes.
#[derive(Clone, Copy)]
struct Found {
    input: usize,
    axis: usize,
    most: i64,
    has_room: bool,
}

/// Analyses a loop until every tensor that changes has a buffer with enough room. `look` returns the condition and body for the arguments.
///
/// # Errors
/// A tensor whose length nothing limits.
pub(super) fn with_buffers(
    operator: &mut Operator<'_, '_, '_>,
    arguments: &[Argument],
    counters: &[Counter],
    mut look: impl FnMut(&mut Operator<'_, '_, '_>, &[Argument]) -> Result<Option<[Callee; 2]>, Diagnostic>,
) -> Result<Option<Followed>, Diagnostic> {
    let mut found: Vec<Found> = Vec::new();
    for _ in 0..MOST_LOOKS {
        let mut with = arguments.to_vec();
        for found in &found {
            let Argument::Tensor(value) = arguments[found.input] else { return Err(changes(found.input)) };
            with[found.input] = Argument::Grown(grown(operator.graph(), value, found)?);
        }
        let Some(callees) = look(operator, &with)? else { return Ok(None) };
        let changed = callees[1].changes.clone();
        if changed.is_empty() {
            return Ok(Some((with, callees)));
        }
        for change in changed {
            let room = room(operator, arguments, counters, &change, &found)?;
            found.retain(|known| known.input != change.output);
            found.push(room);
        }
    }
    Err(no_bound(found.first().map_or(0, |known| known.input)))
}

/// The error for a tensor that may get longer than anything tells.
fn no_bound(output: usize) -> Diagnostic {
    let error = unsupported(format!("output {output} of the loop's body gets longer from round to round, and nothing says how long"));
    error.help("let the loop count its rounds up to an extent; if the result is an output, give it a bound with --bound out0.DIMENSION=N")
}

/// The buffer for a tensor that a round changes.
fn room(
    operator: &Operator<'_, '_, '_>,
    arguments: &[Argument],
    counters: &[Counter],
    change: &Change,
    found: &[Found],
) -> Result<Found, Diagnostic> {
    let &Change { output: input, axis, by, most } = change;
    let Some(Argument::Tensor(value)) = arguments.get(input) else { return Err(changes(input)) };
    let graph = &operator.lowering.graph;
    let first = graph.interval(*graph.extents(*value).get(axis).ok_or_else(|| changes(input))?).high;
    let known = found.iter().find(|known| known.input == input);
    if known.is_some_and(|known| known.axis != axis || known.has_room) {
        return Err(unsupported(format!("output {input} of the loop's body changes along more than one dimension")));
    }
    let Some(known) = known else {
        // The initial length may be enough.
        return Ok(Found { input, axis, most: first, has_room: false });
    };
    let rounds = counters.iter().filter_map(Counter::rounds).min();
    let grown = by.zip(rounds).and_then(|(by, rounds)| first.checked_add(by.checked_mul(rounds)?));
    let given = bounds_of_output(operator, input).get(axis).copied().flatten().and_then(|most| i64::try_from(most).ok());
    let room = grown.into_iter().chain(given).min().map(|most| (most.max(first), true));
    let room = room.or(Some((most, false)).filter(|(most, _)| *most < i64::from(i32::MAX) && *most > known.most && by.is_none()));
    let (most, has_room) = room.ok_or_else(|| no_bound(input))?;
    Ok(Found { input, axis, most, has_room })
}

/// A tensor at the beginning of a buffer, and its length.
fn grown(graph: &mut Graph<'_>, value: Value, &Found { axis, most, has_room, .. }: &Found) -> Result<Grown, Diagnostic> {
    let count = graph.extents(value)[axis];
    let buffer = buffer(graph, value, axis, most)?;
    let length = graph.list(&[ListItem::of(count)], ElementType::I64)?;
    Ok(Grown { buffer, length, axis, most, has_room })
}

#[cfg(test)]
mod tests {
    use crate::frontend::{Bound, LoadOptions, load};
    use std::sync::Arc;

    /// The number of rounds bounds the length of a list. This holds if a round appends on some sides of a branch only. It also holds if the condition
    /// reads the number from a shape.
    #[test]
    fn lists_that_ways_append_to_need_no_bound() {
        for name in ["chosen", "chosen_twice", "grow_inside", "grow_inside_behind"] {
            let path = format!("{}/tests/models/loops/{name}.tflite", env!("CARGO_MANIFEST_DIR"));
            let rows = Bound { is_output: false, port: 0, dimension: 0, most: 9 };
            let options = LoadOptions { bounds: vec![rows], ..LoadOptions::default() };
            let model = std::fs::read(path).expect("the model is there");
            load(Arc::new(model), name, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
