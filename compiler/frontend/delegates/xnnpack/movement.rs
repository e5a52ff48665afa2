//! Nodes that move elements.

use super::run::{Run, on_scale};
use super::subgraph::Node;
use crate::frontend::executorch::fault::Fault;
use crate::ir::{Extent, Scalar, Value};
use crate::operators::{extents, joins};

impl Run<'_, '_> {
    pub(super) fn transpose(&mut self, node: &Node, permutation: &[usize], input: usize) -> Result<(), Fault> {
        let value = self.tensor(input)?;
        let rank = self.graph().rank(value);
        let mut seen = vec![false; rank];
        let fits = permutation.len() == rank && permutation.iter().all(|&d| d < rank && !std::mem::replace(&mut seen[d], true));
        if !fits {
            return Err(Fault::invalid("the permutation does not fit the rank")
                .expected(format!("a permutation of {rank} dimensions"), format!("{permutation:?}")));
        }
        let value = self.graph().transpose(value, permutation)?;
        self.finish_moved(node, value, input)
    }

    /// Another shape, in which one extent may be left open.
    pub(super) fn reshape(&mut self, node: &Node, shape: &[u64], input: usize) -> Result<(), Fault> {
        let value = self.tensor(input)?;
        let value = self.reshaped(value, shape)?;
        self.finish_moved(node, value, input)
    }

    fn reshaped(&mut self, value: Value, shape: &[u64]) -> Result<Value, Fault> {
        let from = self.extents(value);
        let mut to = extents(shape);
        let mut open = shape.iter().enumerate().filter(|&(_, &n)| n == 0).map(|(d, _)| d);
        match (open.next(), open.next()) {
            (None, _) => {}
            (Some(open), None) => {
                self.caller.agree_beside_open(&from, &to, open)?;
                let known: Vec<Extent> = to.iter().copied().filter(|&extent| extent != Extent::Static(0)).collect();
                to[open] = self.graph().quotient(&from, &known)?;
            }
            _ => return Err(Fault::invalid("more than one dimension of a shape is unknown")),
        }
        if from.iter().any(|extent| extent.as_static().is_none()) {
            self.caller.fill(&from, &to)?;
        }
        Ok(self.graph().reshape(value, &to)?)
    }

    pub(super) fn slice(&mut self, node: &Node, offsets: &[u64], sizes: &[u64], input: usize) -> Result<(), Fault> {
        let value = self.tensor(input)?;
        let shape = self.extents(value);
        if offsets.len() != shape.len() || sizes.len() != shape.len() {
            return Err(
                Fault::invalid("a slice has other dimensions than its tensor").expected(shape.len().to_string(), sizes.len().to_string())
            );
        }
        let mut wanted = Vec::with_capacity(shape.len());
        for (d, &extent) in shape.iter().enumerate() {
            let outside = || Fault::invalid("a slice extends beyond the end of its tensor");
            let size = match (sizes[d], extent) {
                (0, Extent::Static(n)) => Extent::Static(n.checked_sub(offsets[d]).ok_or_else(outside)?),
                (0, extent) => self.graph().sub(extent, Extent::Static(offsets[d]))?,
                (size, Extent::Static(n)) if offsets[d].checked_add(size).is_none_or(|end| end > n) => return Err(outside()),
                (size, _) => Extent::Static(size),
            };
            wanted.push(size);
        }
        let value = self.graph().slice(value, &extents(offsets), &wanted, &vec![1; shape.len()])?;
        self.finish_moved(node, value, input)
    }

    /// A border of a real number, on the scale of a quantized tensor.
    pub(super) fn pad(&mut self, node: &Node, [before, after]: [&[u64]; 2], number: f32, input: usize) -> Result<(), Fault> {
        let value = self.tensor(input)?;
        let (rank, element) = (self.graph().rank(value), self.graph().element(value));
        if before.len() != rank || after.len() != rank {
            return Err(
                Fault::invalid("a border has other dimensions than its tensor").expected(rank.to_string(), before.len().to_string())
            );
        }
        let signed = |list: &[u64]| list.iter().map(|&n| n as i64).collect::<Vec<i64>>();
        let number = match self.affine(input) {
            Some(affine) => Scalar::int(element, i64::from(on_scale(number, affine, element)?)),
            None => Scalar::float(element, f64::from(number)),
        };
        let value = self.graph().pad(value, &signed(before), &signed(after), number)?;
        self.finish_moved(node, value, input)
    }

    pub(super) fn join(&mut self, node: &Node, axis: usize, inputs: &[usize]) -> Result<(), Fault> {
        let mut values = Vec::with_capacity(inputs.len());
        for &input in inputs {
            let value = self.tensor(input)?;
            values.push(self.stored_as(value, input, node.output)?);
        }
        if values.iter().any(|&value| axis >= self.graph().rank(value)) {
            return Err(Fault::invalid("the dimension to join along does not exist"));
        }
        let value = joins::joined(self.graph(), &values, axis)?;
        self.finish_stored(node, value)
    }
}
