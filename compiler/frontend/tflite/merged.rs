//! Results of a branch whose sizes depend on the way taken.
//!
//! Each way puts such a result at the beginning of a buffer with room for both results, and returns its sizes as numbers. After the
//! branch, the result is the part of the buffer with these sizes.

use super::callee::{Callee, Returned};
use super::error::{invalid, unsupported};
use super::lengths;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Function, Interval, Value};
use crate::operators::graph::elements::ListItem;
use crate::operators::{Graph, slices};

/// A size that depends on the way taken.
struct Size {
    axis: usize,
    interval: Interval,
    /// The extents of the ways' results.
    extents: [Extent; 2],
    /// Extents of the outer function, with the maximum by which the size exceeds each.
    limits: Vec<(Value, i64)>,
}

/// A result of a branch. It has a buffer where sizes depend on the way.
#[derive(Default)]
pub(super) struct Merged {
    sizes: Vec<Size>,
}

impl Merged {
    /// The results of two ways, as values of the outer function.
    ///
    /// # Errors
    /// When types or ranks differ, or nothing limits a size.
    pub fn of(around: &Function, ways: [&Callee; 2]) -> Result<Vec<Self>, Diagnostic> {
        let [then, otherwise] = ways;
        if then.outputs.len() != otherwise.outputs.len() {
            let found = otherwise.outputs.len().to_string();
            return Err(invalid(codes::OPERAND_COUNT, "the branches differ in their number of outputs")
                .expected(then.outputs.len().to_string(), found));
        }
        let (mut merged, mut pairs) = (Vec::new(), then.values().iter().zip(otherwise.values()));
        for (index, pair) in then.outputs.iter().zip(&otherwise.outputs).enumerate() {
            match pair {
                (Returned::Variable(a), Returned::Variable(b)) if a == b => continue,
                (Returned::Value, Returned::Value) => {}
                _ => return Err(unsupported(format!("output {index} is another variable in each branch"))),
            }
            let Some((&a, &b)) = pairs.next() else { break };
            merged.push(Self::pair(around, index, [(then, a), (otherwise, b)])?);
        }
        Self::find_limits(ways, &mut merged);
        Ok(merged)
    }

    fn pair(around: &Function, index: usize, results: [(&Callee, Value); 2]) -> Result<Self, Diagnostic> {
        let [a, b] = results.map(|(way, value)| way.function.tensor(value));
        if a.element != b.element {
            let error = invalid(codes::ELEMENT_TYPE, format!("the type of output {index} differs between the two branches"));
            return Err(error.expected(a.element.name(), b.element.name()));
        }
        if a.rank() != b.rank() {
            return Err(unsupported(format!("output {index} has a number of dimensions that depends on the branch taken")));
        }
        let mut sizes = Vec::new();
        for axis in 0..a.rank() {
            let extents = [a.shape[axis], b.shape[axis]];
            let outside = [0, 1].map(|i| results[i].0.outside(around, extents[i]));
            if outside[0].is_some() && outside[0] == outside[1] {
                continue;
            }
            let [x, y] = [0, 1].map(|i| results[i].0.function.interval(extents[i]));
            let interval = Interval { low: x.low.min(y.low), high: x.high.max(y.high) };
            if interval.high >= i64::from(i32::MAX) {
                return Err(unsupported(format!("output {index} has a size that depends on the branch taken, and nothing limits it")));
            }
            sizes.push(Size { axis, interval, extents, limits: vec![] });
        }
        Ok(Self { sizes })
    }

    /// Finds limits of sizes besides their intervals. A loop that appends only in one branch has enough room by them.
    fn find_limits([then, otherwise]: [&Callee; 2], merged: &mut [Self]) {
        for size in merged.iter_mut().flat_map(|result| &mut result.sizes) {
            let more = |index: Value| otherwise.increases(size.extents[1]).find(|(outer, _)| *outer == index).map(|(_, more)| more);
            let both = then.increases(size.extents[0]);
            // Differences of extents saturate at 0, so no decrease is certain.
            size.limits = both.filter_map(|(index, here)| Some((index, here.max(more(index)?).max(0)))).collect();
        }
    }

    /// Ends a way: buffers and sizes in place of the results that have them.
    ///
    /// # Errors
    /// When there are too many elements.
    pub fn hand_over(graph: &mut Graph<'_>, way: &mut Callee, merged: &[Self]) -> Result<(), Diagnostic> {
        if merged.iter().all(|result| result.sizes.is_empty()) {
            return Ok(());
        }
        graph.within(&mut way.function, |graph| {
            let given = std::mem::take(&mut graph.builder.function.results);
            let mut results = Vec::new();
            for (number, &value) in given.iter().enumerate() {
                match merged.get(number) {
                    Some(result) => results.extend(result.written(graph, value)?),
                    None => results.push(value),
                }
            }
            graph.builder.function.results = results;
            Ok(())
        })
    }

    /// The buffer and the sizes of a result.
    fn written(&self, graph: &mut Graph<'_>, value: Value) -> Result<Vec<Value>, Diagnostic> {
        let (mut buffer, mut lengths) = (value, Vec::new());
        for &Size { axis, interval, .. } in &self.sizes {
            let count = graph.extents(buffer)[axis];
            lengths.push(graph.list(&[ListItem::of(count)], ElementType::I64)?);
            buffer = lengths::buffer(graph, buffer, axis, interval.high)?;
        }
        Ok([vec![buffer], lengths].concat())
    }

    /// The results after the branch. Other results follow the merged ones.
    ///
    /// # Errors
    /// When there are too many elements.
    pub fn taken(graph: &mut Graph<'_>, merged: &[Self], results: &[Value]) -> Result<Vec<Value>, Diagnostic> {
        let (mut results, mut tensors) = (results.iter().copied(), Vec::new());
        for result in merged {
            let Some(mut tensor) = results.next() else { break };
            for size in &result.sizes {
                let Some(length) = results.next() else { break };
                let count = graph.load_integer(length, size.interval)?;
                size.limits.iter().for_each(|&(index, more)| graph.limit(count, Extent::Value(index), more));
                tensor = slices::part(graph, tensor, size.axis, slices::Cut::run(Extent::Static(0), Extent::Value(count)))?;
            }
            tensors.push(tensor);
        }
        tensors.extend(results);
        Ok(tensors)
    }
}
