//! Random operands of operators that move elements.

use super::Generator;
use super::operators::{Proposal, extents, is_static, word};
use crate::ir::*;

impl Generator<'_> {
    /// A shape of as many elements, from the prime factors in random places.
    pub(super) fn reshape(&mut self) -> Proposal {
        let input = self.tensor_where(|_| true)?;
        if !is_static(self.b.tensor(input)) {
            return self.reshape_in_other_words(input);
        }
        let mut rest = self.shape_of(input).iter().product::<u64>();
        let mut shape = vec![1; self.random.below(5)];
        if shape.is_empty() && rest != 1 {
            shape.push(1);
        }
        let mut factor = 2;
        while rest > 1 {
            if rest.is_multiple_of(factor) {
                let place = self.random.below(shape.len());
                shape[place] *= factor;
                rest /= factor;
            } else {
                factor += 1;
            }
        }
        if rest == 0 {
            let place = self.random.below(shape.len());
            shape[place] = 0;
        }
        Some((vec![input], vec![extents(&shape)]))
    }

    /// All elements in one dimension; or the shape there is, its extents doubled and halved, so that nobody knows that they are the same.
    fn reshape_in_other_words(&mut self, input: Value) -> Proposal {
        let shape = self.b.tensor(input).shape.clone();
        let index = |b: &mut FunctionBuilder<'_>, extent: Extent| match extent {
            Extent::Value(index) => Some(index),
            Extent::Static(n) => Some(b.inst(Op::IndexConstant, &[], vec![Attribute::Int(n as i64)]).ok()?[0]),
        };
        let binary = |b: &mut FunctionBuilder<'_>, operation: usize, x: Value, y: Value| {
            Some(b.inst(Op::IndexBinary, &[x, y], vec![word(operation)]).ok()?[0])
        };
        let (multiply, divide) = (2, 3);
        let mut wanted = Vec::new();
        if self.random.one_in(2) {
            let mut product = index(&mut self.b, Extent::Static(1))?;
            for extent in shape {
                let factor = index(&mut self.b, extent)?;
                product = binary(&mut self.b, multiply, product, factor)?;
            }
            wanted.push(Extent::Value(product));
        } else {
            let two = index(&mut self.b, Extent::Static(2))?;
            for extent in shape {
                let Extent::Value(n) = extent else {
                    wanted.push(extent);
                    continue;
                };
                let doubled = binary(&mut self.b, multiply, n, two)?;
                wanted.push(Extent::Value(binary(&mut self.b, divide, doubled, two)?));
            }
        }
        Some((vec![input], vec![Attribute::Extents(wanted)]))
    }

    pub(super) fn transpose(&mut self) -> Proposal {
        let input = self.tensor_where(|_| true)?;
        // Mostly the two between channels first and channels last, so that some cancel.
        let permutation = match self.b.tensor(input).rank() {
            4 if !self.random.one_in(4) => self.random.pick(&[vec![0, 3, 1, 2], vec![0, 2, 3, 1]]).clone(),
            rank => {
                let mut list: Vec<i64> = (0..rank as i64).collect();
                (1..rank).for_each(|i| list.swap(i, self.random.below(i + 1)));
                list
            }
        };
        Some((vec![input], vec![Attribute::Ints(permutation)]))
    }

    pub(super) fn broadcast(&mut self) -> Proposal {
        let input = self.tensor_where(is_static)?;
        let added = self.random.below(2);
        let mut shape: Vec<u64> = self.ints(added, 1, 3).iter().map(|&n| n as u64).collect();
        for extent in self.shape_of(input) {
            shape.push(if extent == 1 { self.random.between(1, 4) as u64 } else { extent });
        }
        Some((vec![input], vec![extents(&shape)]))
    }

    /// A box; where extents may be dynamic, sometimes one whose first size is read from a tensor.
    pub(super) fn slice(&mut self) -> Proposal {
        let input = self.tensor_where(is_static)?;
        let shape = self.shape_of(input);
        let (mut start, mut size, mut stride) = (Vec::new(), Vec::new(), Vec::new());
        for &extent in &shape {
            let count = self.random.between(i64::from(extent > 0), extent as i64);
            let step = if count > 1 { self.random.between(1, ((extent as i64 - 1) / (count - 1)).max(1)) } else { 1 };
            let reach = (count - 1).max(0) * step;
            let first = self.random.between(0, (extent as i64 - 1 - reach).max(0));
            let backwards = self.random.one_in(4);
            start.push(Extent::Static(if backwards { first + reach } else { first } as u64));
            size.push(Extent::Static(count as u64));
            stride.push(if backwards { -step } else { step });
        }
        if self.options.dynamic && !shape.is_empty() && stride[0] > 0 && self.random.one_in(2) {
            let bound = size[0].as_static()? as i64;
            size[0] = Extent::Value(self.dynamic_index(bound)?);
        }
        Some((vec![input], vec![Attribute::Extents(start), Attribute::Extents(size), Attribute::Ints(stride)]))
    }

    /// An index from 0 to `bound` that is known only when the program runs.
    pub(super) fn dynamic_index(&mut self, bound: i64) -> Option<Value> {
        let n = self.random.between(0, bound);
        let tensor = Tensor { element: ElementType::I32, shape: vec![], bytes: (n as i32).to_le_bytes().to_vec() };
        let value = self.parameter(tensor);
        let interval = Attribute::Interval(Interval { low: 0, high: bound });
        Some(self.b.inst(Op::IndexLoad, &[value], vec![interval]).ok()?[0])
    }

    pub(super) fn pad(&mut self) -> Proposal {
        let input = self.tensor_where(|_| true)?;
        let element = self.b.tensor(input).element;
        let shape = self.b.tensor(input).shape.clone();
        // Only what is known may be cropped.
        let low: Vec<i64> = shape.iter().map(|extent| self.random.between(if extent.as_static().is_some() { -1 } else { 0 }, 2)).collect();
        let high = self.ints(shape.len(), 0, 2);
        let value = if self.random.one_in(2) { Scalar::from_bits(element, 0) } else { self.scalar(element) };
        let padded = self.padded(&shape, &low, &high)?;
        Some((vec![input], vec![Attribute::Ints(low), Attribute::Ints(high), Attribute::Scalar(value), Attribute::Extents(padded)]))
    }

    pub(super) fn mirror_pad(&mut self) -> Proposal {
        let input = self.tensor_where(|_| true)?;
        let edge = self.random.one_in(2);
        let shape = self.b.tensor(input).shape.clone();
        let mut amounts = [Vec::new(), Vec::new()];
        for &extent in &shape {
            let room = (self.b.function.interval(extent).low - i64::from(!edge)).clamp(0, 2);
            amounts.iter_mut().for_each(|list| list.push(self.random.between(0, room)));
        }
        let padded = self.padded(&shape, &amounts[0], &amounts[1])?;
        let amounts = amounts.map(Attribute::Ints).into_iter();
        Some((vec![input], amounts.chain([Attribute::Bool(edge), Attribute::Extents(padded)]).collect()))
    }

    /// The extents of a shape with a border, where some are known only when the program runs; else nothing.
    fn padded(&mut self, shape: &[Extent], low: &[i64], high: &[i64]) -> Option<Vec<Extent>> {
        if shape.iter().all(|extent| extent.as_static().is_some()) {
            return Some(vec![]);
        }
        let mut padded = Vec::new();
        for (d, &extent) in shape.iter().enumerate() {
            let amount = low[d] + high[d];
            padded.push(match extent {
                Extent::Static(n) => Extent::Static(u64::try_from(n as i64 + amount).ok()?),
                Extent::Value(index) => {
                    let amount = self.b.inst(Op::IndexConstant, &[], vec![Attribute::Int(amount)]).ok()?[0];
                    Extent::Value(self.b.inst(Op::IndexBinary, &[index, amount], vec![word(0)]).ok()?[0])
                }
            });
        }
        Some(padded)
    }

    pub(super) fn concat(&mut self) -> Proposal {
        let first = self.tensor_where(|ty| is_static(ty) && ty.rank() > 0)?;
        let (element, shape) = (self.b.tensor(first).element, self.shape_of(first));
        let axis = self.random.below(shape.len());
        let mut operands = vec![first];
        for _ in 0..self.random.below(3) {
            let mut other = shape.clone();
            other[axis] = self.random.between(0, 3) as u64;
            let same = self.tensor_where(|ty| ty.element == element && ty.static_shape().as_ref() == Some(&shape));
            let leaf = self.leaf(element, &other)?;
            operands.push(if self.random.one_in(2) { same.unwrap_or(leaf) } else { leaf });
        }
        Some((operands, vec![Attribute::Int(axis as i64), Attribute::Extents(vec![])]))
    }

    pub(super) fn iota(&mut self) -> Proposal {
        let mut shape: Vec<Extent> = self.shape().into_iter().map(Extent::Static).collect();
        if shape.is_empty() {
            shape.push(Extent::Static(3));
        }
        if self.options.dynamic && self.random.one_in(3) {
            shape[0] = Extent::Value(self.dynamic_index(4)?);
        }
        let axis = self.random.below(shape.len());
        let element = self.element();
        Some((vec![], vec![Attribute::Extents(shape), Attribute::Int(axis as i64), Attribute::Element(element)]))
    }
}
