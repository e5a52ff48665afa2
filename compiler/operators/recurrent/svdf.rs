//! SVDF: a layer in two small factors. Each filter turns the input into one feature, remembers its last features, and weighs them
//! over time; the filters of a unit are added.

use super::cell::{CellActivation, Weights};
use super::matrix::Matrix;
use crate::ir::{ElementType, Extent, Interval, Node, Reduction, Value, ZeroPoints};
use crate::operators::quantization::{Affine, integer_range, multiplier};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F32, I8, I32};

/// The operands.
#[derive(Clone, Debug)]
pub struct Svdf {
    /// `[batch, inputs]`
    pub input: Value,
    /// `[filters, inputs]`
    pub feature_weights: Weights,
    /// `[filters, memory]`
    pub time_weights: Weights,
    /// `[units]`
    pub bias: Option<Value>,
    /// The memory, of as many elements as all filters remember.
    pub state: Value,
    /// Its extents.
    pub memory: Memory,
}

/// The extents of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Batches.
    pub batch: Extent,
    /// Filters, a multiple of the units.
    pub filters: u64,
    /// Features that each filter remembers.
    pub features: u64,
    /// Units.
    pub units: u64,
}

impl Svdf {
    /// The memory with the features `[batch, filters]` appended and the oldest removed, `[batch, filters, memory]`.
    fn remember(&self, g: &mut Graph<'_>, features: Value) -> Result<Value, Error> {
        let Memory { batch, filters, features: count, .. } = self.memory;
        let [filters, features_kept] = [filters, count].map(Extent::Static);
        let newest = g.reshape(features, &[batch, filters, Extent::Static(1)])?;
        if count == 1 {
            return Ok(newest);
        }
        let state = g.reshape(self.state, &[batch, filters, features_kept])?;
        let kept = g.slice_along(state, 2, Extent::Static(1), Extent::Static(count - 1))?;
        Ok(g.builder.concat(&[kept, newest], 2)?)
    }

    /// The products of memory and weights over time, added over time and over the filters of a unit: `[batch, units]`.
    fn weigh(&self, g: &mut Graph<'_>, memory: Value, product: impl FnOnce(&mut Terms, Node, Node) -> Term) -> Result<Value, Error> {
        let Memory { batch, filters, units, .. } = self.memory;
        let mut terms = Terms::new(&[g.element(memory), g.element(self.time_weights.value)]);
        let (state, weight) = (terms.input(0), terms.input(1));
        let product = product(&mut terms, state, weight)?;
        let products = g.map(&[memory, self.time_weights.value], terms.finish(product))?;
        let sums = g.builder.reduce(products, Reduction::Sum, vec![2])?;
        let rank = filters.checked_div(units).unwrap_or(0);
        let [units, rank_kept] = [units, rank].map(Extent::Static);
        let sums = g.reshape(sums, &[batch, units, rank_kept])?;
        let sums = if rank == 1 { sums } else { g.builder.reduce(sums, Reduction::Sum, vec![2])? };
        g.reshape(sums, &[batch, units])
    }

    /// Floats, with weights of f32 or int8: the result, and the new memory.
    ///
    /// # Errors
    /// When operands do not fit each other.
    pub fn float(&self, g: &mut Graph<'_>, activation: CellActivation, asymmetric: bool) -> Result<[Value; 2], Error> {
        let matrix = Matrix::new(g, &[&self.feature_weights], asymmetric)?;
        let features = matrix.product(g, self.input)?;
        let memory = self.remember(g, features)?;
        let Weights { zero_point, .. } = self.time_weights;
        let scale = (g.element(self.time_weights.value) == I8).then(|| self.time_weights.scale());
        let sums = self.weigh(g, memory, |terms, state, weight| {
            let mut weight = weight;
            if let Some(scale) = scale {
                let (wide, zero_point, scale) = (terms.convert(weight, I32), terms.i32(zero_point), terms.f32(scale));
                let difference = terms.sub(wide, zero_point)?;
                let real = terms.convert(difference, F32);
                weight = terms.mul(real, scale)?;
            }
            terms.mul(weight, state)
        })?;
        let mut operands = vec![sums];
        operands.extend(self.bias);
        let mut terms = Terms::new(&vec![F32; operands.len()]);
        let mut sum = terms.input(0);
        if operands.len() == 2 {
            let bias = terms.input(1);
            sum = terms.add(bias, sum)?;
        }
        let result = activation.apply(&mut terms, sum)?;
        Ok([g.map(&operands, terms.finish(result))?, memory])
    }

    /// The layer on int8, with a memory of int16, or of int8 with a zero point. Returns the result and the new memory. The operands are the
    /// quantization of the input, the memory and the result.
    ///
    /// # Errors
    /// When operands do not fit each other, or scales are out of range.
    pub fn integer(&self, g: &mut Graph<'_>, [input, state, result]: [Affine; 3]) -> Result<[Value; 2], Error> {
        let element = g.element(self.state);
        let bounds = integer_range(element).unwrap_or(Interval::exactly(0));
        let to_state = multiplier(f64::from(input.scale * self.feature_weights.scale() / state.scale))?;
        let zero_points = ZeroPoints::of_left(input.zero_point.into());
        let sums = g.builder.matmul(self.input, self.feature_weights.value, zero_points, I32)?;
        let mut terms = Terms::new(&[I32]);
        let sum = terms.input(0);
        let x = terms.requantize_by(sum, to_state)?;
        let zero_point = terms.i32(state.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        let x = terms.convert(x, element);
        let features = g.map(&[sums], terms.finish(x))?;
        let memory = self.remember(g, features)?;

        let sums = self.weigh(g, memory, |terms, value, weight| {
            let (value, weight, zero_point) = (terms.convert(value, I32), terms.convert(weight, I32), terms.i32(state.zero_point));
            let value = terms.sub(value, zero_point)?;
            terms.mul(weight, value)
        })?;
        let to_output = multiplier(f64::from(state.scale * self.time_weights.scale() / result.scale))?;
        let mut operands = vec![sums];
        operands.extend(self.bias);
        let mut terms = Terms::new(&vec![I32; operands.len()]);
        let mut sum = terms.input(0);
        if operands.len() == 2 {
            let bias = terms.input(1);
            sum = terms.add(sum, bias)?;
        }
        let x = terms.requantize_by(sum, to_output)?;
        let zero_point = terms.i32(result.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, Interval::new(-128, 127))?;
        let x = terms.convert(x, I8);
        Ok([g.map(&operands, terms.finish(x))?, memory])
    }
}
