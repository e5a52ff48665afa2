//! Operators that move elements and compute nothing. Movement that changes nothing adds no instruction. Reshapes of reshapes, and transposes
//! of transposes, are merged.

use super::{Graph, extents};
use crate::ir::{ElementType, Extent, InstData, Op, Operation, Scalar, Value};
use crate::operators::Error;

/// The permutation that undoes another.
pub fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (i, &p) in permutation.iter().enumerate() {
        inverse[p] = i;
    }
    inverse
}

impl Graph<'_> {
    /// The instruction that defines a value, if it is this operator.
    fn defined_by(&self, value: Value, op: Op) -> Option<&InstData> {
        let data = &self.function().insts[self.function().defining_inst(value)?];
        (data.op() == op).then_some(data)
    }

    /// The operand and the permutation of a value that is a transpose.
    fn transposed(&self, value: Value) -> Option<(Value, &[usize])> {
        let data = self.defined_by(value, Op::Transpose)?;
        let Operation::Transpose(transpose) = &data.operation else { return None };
        Some((data.operands[0], &transpose.permutation))
    }

    /// A reshape: the elements in the same row-major order under another shape.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Error> {
        if self.extents(value) == shape {
            return Ok(value);
        }
        if let Some(source) = self.defined_by(value, Op::Reshape).map(|data| data.operands[0]) {
            return self.reshape(source, shape);
        }
        Ok(self.builder.reshape(value, shape.to_vec())?)
    }

    /// Permuted dimensions: result dimension i is operand dimension `permutation[i]`.
    ///
    /// # Errors
    /// When the permutation does not fit.
    pub fn transpose(&mut self, value: Value, permutation: &[usize]) -> Result<Value, Error> {
        if let Some((source, inner)) = self.transposed(value) {
            let combined: Option<Vec<usize>> = permutation.iter().map(|&p| inner.get(p).copied()).collect();
            return self.transpose(source, &combined.ok_or(Error::Permutation)?);
        }
        if permutation.len() == self.rank(value) && permutation.iter().enumerate().all(|(i, &p)| i == p) {
            return Ok(value);
        }
        Ok(self.builder.transpose(value, permutation.to_vec())?)
    }

    /// Repetition along new dimensions and dimensions of extent 1.
    ///
    /// # Errors
    /// When the shape does not fit.
    pub fn broadcast(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Error> {
        if self.extents(value) == shape {
            return Ok(value);
        }
        Ok(self.builder.broadcast(value, shape.to_vec())?)
    }

    /// Broadcasts a tensor, and requires that its extents other than 1 equal those of the shape.
    ///
    /// # Errors
    /// The errors of extents that are not known to be equal, and of a shape that does not fit.
    pub fn expand(&mut self, mut value: Value, shape: &[Extent]) -> Result<Value, Error> {
        let own = self.extents(value);
        let added = shape.len().saturating_sub(own.len());
        for (d, (&from, &to)) in own.iter().zip(&shape[added..]).enumerate() {
            let (from, to) = (self.function().resolved(from), self.function().resolved(to));
            if from != Extent::Static(1) && from != to {
                value = self.agree(value, d, to)?;
            }
        }
        let shape: Vec<Extent> = shape.iter().map(|&extent| self.function().resolved(extent)).collect();
        self.broadcast(value, &shape)
    }

    /// A tensor filled with one number.
    ///
    /// # Errors
    /// Never.
    pub fn filled(&mut self, number: Scalar, shape: &[Extent]) -> Result<Value, Error> {
        let one = self.scalar(number)?;
        self.broadcast(one, shape)
    }

    /// A reinterpretation of the memory as another element type. The extent of the last dimension follows its size.
    ///
    /// # Errors
    /// When the last dimension does not divide.
    pub fn bitcast(&mut self, value: Value, element: ElementType) -> Result<Value, Error> {
        Ok(self.builder.bitcast(value, element)?)
    }

    /// A strided box of a tensor.
    ///
    /// # Errors
    /// When the box is not within the tensor.
    pub fn slice(&mut self, value: Value, start: &[Extent], size: &[Extent], stride: &[i64]) -> Result<Value, Error> {
        let starts_at_zero = start.iter().all(|&s| s == Extent::Static(0));
        if starts_at_zero && stride.iter().all(|&s| s == 1) && self.extents(value) == size {
            return Ok(value);
        }
        Ok(self.builder.slice(value, start.to_vec(), size.to_vec(), stride.to_vec())?)
    }

    /// A run of a tensor's slices along one axis.
    ///
    /// # Errors
    /// When it is not within the tensor.
    pub fn slice_along(&mut self, value: Value, axis: usize, start: Extent, size: Extent) -> Result<Value, Error> {
        let mut sizes = self.extents(value);
        let (mut starts, strides) = (extents(&vec![0; sizes.len()]), vec![1; sizes.len()]);
        (starts[axis], sizes[axis]) = (start, size);
        self.slice(value, &starts, &sizes, &strides)
    }

    /// A border of one number; a negative amount cuts off.
    ///
    /// # Errors
    /// When a border cuts off more than there is.
    pub fn pad(&mut self, value: Value, low: &[i64], high: &[i64], number: Scalar) -> Result<Value, Error> {
        let (value, low, high) = self.cut(value, low, high)?;
        if low.iter().chain(&high).all(|&n| n == 0) {
            return Ok(value);
        }
        let padded = self.bordered_extents(value, &low, &high)?;
        Ok(self.builder.pad_to(value, low, high, number, padded)?)
    }

    /// Applies negative amounts of a border along run-time extents as a slice, and returns the rest of the border. A `pad` crops only static extents.
    fn cut(&mut self, value: Value, low: &[i64], high: &[i64]) -> Result<(Value, Vec<i64>, Vec<i64>), Error> {
        let (mut low, mut high) = (low.to_vec(), high.to_vec());
        let (mut starts, mut sizes) = (vec![Extent::Static(0); low.len()], self.extents(value));
        for (d, size) in sizes.iter_mut().enumerate().filter(|(_, size)| size.as_static().is_none()) {
            let off = |amount: &mut i64| Extent::Static(std::mem::replace(amount, (*amount).max(0)).min(0).unsigned_abs());
            starts[d] = off(&mut low[d]);
            let rest = self.sub(*size, starts[d])?;
            *size = self.sub(rest, off(&mut high[d]))?;
        }
        let strides = vec![1; low.len()];
        Ok((self.slice(value, &starts, &sizes, &strides)?, low, high))
    }

    /// A border that mirrors the inside. With `edge`, the outermost elements are repeated.
    ///
    /// # Errors
    /// When a border is wider than what it mirrors.
    pub fn mirror_pad(&mut self, value: Value, low: &[i64], high: &[i64], edge: bool) -> Result<Value, Error> {
        let padded = self.bordered_extents(value, low, high)?;
        Ok(self.builder.mirror_pad(value, low.to_vec(), high.to_vec(), edge, padded)?)
    }

    /// The extents of a value with a border, if some are known only at run time; otherwise empty.
    fn bordered_extents(&mut self, value: Value, low: &[i64], high: &[i64]) -> Result<Vec<Extent>, Error> {
        let mut shape = self.extents(value);
        if shape.iter().all(|extent| extent.as_static().is_some()) {
            return Ok(vec![]);
        }
        for (extent, borders) in shape.iter_mut().zip(low.iter().zip(high)) {
            for &border in [borders.0, borders.1] {
                let more = Extent::Static(border.unsigned_abs());
                *extent = if border < 0 { self.sub(*extent, more)? } else { self.add(*extent, more)? };
            }
        }
        Ok(shape)
    }

    /// Tensors joined along an axis.
    ///
    /// # Errors
    /// When the tensors do not fit each other elsewhere.
    pub fn concat(&mut self, values: &[Value], axis: usize) -> Result<Value, Error> {
        if let [only] = values {
            return Ok(*only);
        }
        let along: Vec<Extent> = values.iter().filter_map(|&value| self.extents(value).get(axis).copied()).collect();
        if along.iter().all(|extent| extent.as_static().is_some()) {
            return Ok(self.builder.concat(values, axis)?);
        }
        let mut joined = Extent::Static(0);
        for extent in along {
            joined = self.add(joined, extent)?;
        }
        Ok(self.builder.concat_to(values, axis, joined)?)
    }

    /// Slices of a tensor along an axis, picked by positions.
    ///
    /// # Errors
    /// When positions are no integers.
    pub fn gather(&mut self, value: Value, positions: Value, axis: usize) -> Result<Value, Error> {
        Ok(self.builder.gather(value, positions, axis, 0)?)
    }

    /// A transpose of a constant as a constant in the new order, so that filters are transposed once, when the model is read. Other values stay.
    ///
    /// # Errors
    /// Never for sound constants.
    pub fn settle_transpose(&mut self, value: Value) -> Result<Value, Error> {
        let Some((source, permutation)) = self.transposed(value) else { return Ok(value) };
        let Some(constant) = self.constant_of(source) else { return Ok(value) };
        match self.builder.module.constants[constant].permuted(permutation) {
            Some(moved) => {
                let constant = self.builder.module.add_constant(moved.ty, moved.data);
                Ok(self.builder.constant(constant)?)
            }
            None => Ok(value),
        }
    }
}
