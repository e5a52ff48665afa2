//! Nodes that move elements.

use super::super::fault::Fault;
use super::run::Run;
use super::subgraph::Node;
use crate::ir::{Extent, Scalar, Value};
use crate::operators::extents;
use crate::operators::quantization::integer_range;
use ElementRange::{Integers, Reals};

/// What a border is made of.
enum ElementRange {
    Reals,
    Integers(i64),
}

impl Run<'_, '_, '_> {
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
        match shape.iter().filter(|&&n| n == 0).count() {
            0 => {}
            1 => {
                let known: Vec<Extent> = to.iter().copied().filter(|&extent| extent != Extent::Static(0)).collect();
                let open = self.graph().quotient(&from, &known)?;
                to = to.into_iter().map(|extent| if extent == Extent::Static(0) { open } else { extent }).collect();
            }
            _ => return Err(Fault::invalid("more than one extent of a shape is open")),
        }
        if from.iter().any(|extent| extent.as_static().is_none()) {
            self.translator.fill(&from, &to)?;
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
            let outside = || Fault::invalid("a slice reaches past the end of its tensor");
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
        let range = match self.affine(input) {
            Some(affine) => {
                let (low, high) = integer_range(element).unwrap_or((i32::MIN, i32::MAX));
                let steps = libm::rintf(number / affine.scale).clamp(-1e6, 1e6) as i32;
                Integers(i64::from((steps + affine.zero_point).clamp(low, high)))
            }
            None => Reals,
        };
        let number = match range {
            Integers(n) => Scalar::int(element, n),
            Reals => Scalar::float(element, f64::from(number)),
        };
        let value = self.graph().pad(value, &signed(before), &signed(after), number)?;
        self.finish_moved(node, value, input)
    }

    pub(super) fn join(&mut self, node: &Node, axis: usize, inputs: &[usize]) -> Result<(), Fault> {
        let Some(&first) = inputs.first() else { return Err(Fault::invalid("nothing is joined")) };
        let mut values = Vec::with_capacity(inputs.len());
        let to = (self.info(node.output).datatype, self.info(node.output).quantization.clone());
        let are_alike = inputs.iter().all(|&input| (self.info(input).datatype, &self.info(input).quantization) == (to.0, &to.1));
        for &input in inputs {
            let value = match (are_alike, self.affine(input), self.affine(node.output)) {
                (false, Some(from), Some(to)) => {
                    let (value, element) = (self.tensor(input)?, self.element(node.output)?);
                    crate::operators::quantize::rescale(self.graph(), value, (from, to), element)?
                }
                (false, ..) => self.real(input)?,
                (true, ..) => self.tensor(input)?,
            };
            values.push(value);
        }
        if axis >= self.graph().rank(values[0]) {
            return Err(Fault::invalid("the dimension to join along does not exist"));
        }
        let value = self.graph().concat(&values, axis)?;
        match (are_alike, self.affine(first).is_some() && self.affine(node.output).is_some()) {
            (true, _) => self.finish_moved(node, value, first),
            (false, true) => self.finish_moved(node, value, node.output),
            (false, false) => self.finish_real(node, value),
        }
    }
}
