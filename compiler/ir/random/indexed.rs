//! Random operands of operators that pick, place and order elements.

use super::Generator;
use super::operators::{Proposal, is_static, word};
use crate::ir::*;

impl Generator<'_> {
    pub(super) fn gather(&mut self) -> Proposal {
        let source = self.tensor_where(|ty| ty.rank() > 0)?;
        // Indices fit the least extent there may be, and what both have in common is known.
        let extents = self.b.tensor(source).shape.clone();
        let shape: Vec<u64> = extents.iter().map(|&extent| self.b.function.interval(extent).low.max(0) as u64).collect();
        let axis = self.random.below(shape.len());
        let known = extents[..axis].iter().take_while(|extent| extent.as_static().is_some()).count();
        let batch = if self.random.one_in(3) { self.random.below(known + 1) } else { 0 };
        if shape[axis] == 0 {
            return None;
        }
        let mut index_shape = shape[..batch].to_vec();
        let rank = self.random.below(3);
        index_shape.extend(self.ints(rank, 1, 3).iter().map(|&n| n as u64));
        let count = index_shape.iter().product::<u64>();
        let bytes = (0..count).flat_map(|_| (self.random.between(0, shape[axis] as i64 - 1) as i32).to_le_bytes()).collect();
        let indices = self.parameter(Tensor { element: ElementType::I32, shape: index_shape, bytes });
        Some((vec![source, indices], vec![Attribute::Int(axis as i64), Attribute::Int(batch as i64)]))
    }

    /// Updates at random places of a tensor; sometimes negative indices, which are then left out.
    pub(super) fn scatter(&mut self) -> Proposal {
        let skips = self.random.one_in(3);
        let target = self.tensor_where(|ty| is_static(ty) && ty.rank() > 0)?;
        let (element, shape) = (self.b.tensor(target).element, self.shape_of(target));
        let axis = self.random.below(shape.len());
        let batch = if self.random.one_in(3) { self.random.below(axis + 1) } else { 0 };
        if shape[axis] == 0 {
            return None;
        }
        let (mut index_shape, mut update_shape) = (shape[..batch].to_vec(), shape[..axis].to_vec());
        let rank = self.random.below(3);
        let picked: Vec<u64> = self.ints(rank, 1, 3).iter().map(|&n| n as u64).collect();
        index_shape.extend(&picked);
        update_shape.extend(&picked);
        update_shape.extend(&shape[axis + 1..]);
        let count = index_shape.iter().product::<u64>();
        let lowest = if skips { -1 } else { 0 };
        let bytes = (0..count).flat_map(|_| (self.random.between(lowest, shape[axis] as i64 - 1) as i32).to_le_bytes()).collect();
        let indices = self.parameter(Tensor { element: ElementType::I32, shape: index_shape, bytes });
        let same = self.tensor_where(|ty| ty.element == element && ty.static_shape().as_ref() == Some(&update_shape));
        let updates = match same {
            Some(value) => value,
            None => self.leaf(element, &update_shape)?,
        };
        let combination = if element == ElementType::C64 { 0 } else { self.random.below(op::COMBINATIONS.len()) };
        let attributes = vec![Attribute::Int(axis as i64), Attribute::Int(batch as i64), word(combination), Attribute::Bool(skips)];
        Some((vec![target, indices, updates], attributes))
    }

    pub(super) fn scan(&mut self) -> Proposal {
        let input = self.tensor_where(|ty| ty.rank() > 0 && ty.element != ElementType::C64)?;
        let axis = Attribute::Int(self.random.below(self.b.tensor(input).rank()) as i64);
        let flags = [self.random.one_in(2), self.random.one_in(2)].map(Attribute::Bool);
        let [exclusive, reverse] = flags;
        Some((vec![input], vec![word(self.random.below(op::SCANS.len())), axis, exclusive, reverse]))
    }

    pub(super) fn top_k(&mut self) -> Proposal {
        let input = self.tensor_where(|ty| ty.rank() > 0 && ty.element != ElementType::C64)?;
        let extent = *self.b.tensor(input).shape.last()?;
        let least = self.b.function.interval(extent).low.max(0);
        let count = match extent {
            // All of them.
            Extent::Value(_) if self.random.one_in(3) => extent,
            _ if self.options.dynamic && self.random.one_in(3) => Extent::Value(self.dynamic_index(least)?),
            _ => Extent::Static(self.random.between(0, least) as u64),
        };
        Some((vec![input], vec![word(self.random.below(op::ORDERS.len())), Attribute::Extents(vec![count])]))
    }

    /// A few boxes with corners on a small grid, so that they overlap.
    pub(super) fn non_max_suppression(&mut self) -> Proposal {
        let (rows, boxes) = (self.random.between(1, 3) as u64, self.random.between(1, 20) as u64);
        let mut numbers = |count: u64, low: i64, high: i64, step: f32| {
            let numbers = (0..count).flat_map(|_| (self.random.between(low, high) as f32 * step).to_le_bytes());
            numbers.collect::<Vec<u8>>()
        };
        let (corners, scores) = (numbers(4 * boxes, 0, 6, 0.5), numbers(rows * boxes, -2, 12, 0.125));
        let thresholds = [numbers(1, 1, 9, 0.1), numbers(1, -1, 4, 0.125), numbers(1, 0, 1, 0.5)];
        let tensor = |shape: &[u64], bytes| Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes };
        let mut operands = vec![self.parameter(tensor(&[boxes, 4], corners)), self.parameter(tensor(&[rows, boxes], scores))];
        operands.extend(thresholds.map(|bytes| self.parameter(tensor(&[], bytes))));
        Some((operands, vec![Attribute::Int(self.random.between(0, 8))]))
    }
}
