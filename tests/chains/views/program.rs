//! Functions of such programs, operator by operator.

mod computed;
mod control;
mod movement;
mod open;

use super::shape;
use crate::chains::Random;
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, Extent, Func, Scalar, State, Value};

/// A function under construction. All its tensors have the same number of elements.
pub struct Program<'m> {
    pub builder: FunctionBuilder<'m>,
    pub random: Random,
    pub element: ElementType,
    /// The product of the static extents.
    pub count: u64,
    /// Run-time extents of every tensor, each with its least value.
    pub opens: Vec<(Extent, u64)>,
    pub states: Vec<State>,
    /// Effect token; present if variables, branches and loops are allowed.
    pub token: Option<Value>,
    pub values: Vec<Value>,
    /// A tensor in which the order of sums has no effect, so that the position of its greatest element is unique.
    pub exact: Value,
    /// Nesting depth of this function.
    pub depth: u32,
}

impl Program<'_> {
    /// Adds up to twenty operators and ends the function. Returns it with the number of its results that are tensors.
    pub fn finished(mut self) -> (Func, usize) {
        for _ in 0..4 + self.below(17) {
            self.next();
        }
        let mut results = vec![self.values[self.values.len() - 1]];
        for _ in 0..self.below(4) {
            let result = self.pick();
            if !results.contains(&result) {
                results.push(result);
            }
        }
        let tensors = results.len();
        results.extend(self.token);
        (self.builder.finish(results), tensors)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn shape_of(&self, value: Value) -> Vec<Extent> {
        self.builder.tensor(value).shape.clone()
    }

    /// Returns a static extent.
    fn extent_of(&self, value: Value, axis: usize) -> u64 {
        self.shape_of(value)[axis].as_static().expect("an extent that is known")
    }

    fn reshaped(&mut self, value: Value, shape: &[Extent]) -> Value {
        if self.shape_of(value) == shape { value } else { self.builder.reshape(value, shape.to_vec()).expect("as many elements") }
    }

    /// Reshapes a tensor of static extents to one dimension.
    fn flat(&mut self, value: Value) -> Value {
        self.reshaped(value, &[Extent::Static(self.count)])
    }

    /// Selects a value, often a recent one, and often reshapes it.
    fn pick(&mut self) -> Value {
        let first = if self.below(2) == 0 { self.values.len().saturating_sub(3) } else { 0 };
        let values = self.values.clone();
        let value = self.one_of(&values[first..]);
        if self.below(3) != 0 {
            return value;
        }
        let opens: Vec<Extent> = self.opens.iter().map(|(extent, _)| *extent).collect();
        let shape = shape(&mut self.random, self.count, &opens);
        self.reshaped(value, &shape)
    }

    /// Selects a value in the shape of another one.
    fn pick_like(&mut self, value: Value) -> Value {
        let (other, shape) = (self.pick(), self.shape_of(value));
        self.reshaped(other, &shape)
    }

    /// Adds one more operator.
    fn next(&mut self) {
        let value = self.pick();
        let shape = self.shape_of(value);
        let long: Vec<usize> = (0..shape.len()).filter(|&d| shape[d] != Extent::Static(1)).collect();
        let axis = self.one_of(&long);
        let is_open = shape[axis].as_static().is_none();
        let made = match self.below(27) {
            0 | 1 if is_open => self.shifted(value, axis),
            2..=9 | 18 if is_open => self.moved(value, axis),
            0 => self.rolled(value, axis),
            1 => self.repeated(value, axis),
            2 => self.joined(value, axis),
            3 => self.padded(value, axis),
            4 => self.transposed(value),
            5 => self.spread(value, axis),
            6 => self.part(value, axis, shape[axis].as_static().unwrap_or(1) - 1, shape[axis], -1),
            7 => self.apart(value, axis),
            8 => self.gathered(value, axis),
            9 => self.scattered(value, axis),
            10 => self.scanned(value, axis),
            11 => self.reduced(value, axis),
            12 => self.window(value),
            13 => self.product(value),
            14 => self.convolved(value),
            15 if self.depth == 0 && self.opens.is_empty() => self.found(value),
            16 if shape[shape.len() - 1].as_static().is_some() => self.sorted(value),
            17 => self.remembered(value),
            18 => self.mirrored(value, axis),
            19 if self.element != ElementType::F32 => self.searched(value, axis),
            20 | 21 if self.depth == 0 && self.below(2) == 0 => return self.within(),
            _ => self.mapped(value, axis),
        };
        self.values.push(made);
    }

    /// Slices elements along one axis.
    fn part(&mut self, value: Value, axis: usize, start: u64, size: impl Into<Size>, stride: i64) -> Value {
        self.part_from(value, axis, Extent::Static(start), size, stride)
    }

    fn part_from(&mut self, value: Value, axis: usize, start: Extent, size: impl Into<Size>, stride: i64) -> Value {
        let mut shape = self.shape_of(value);
        let mut starts = vec![Extent::Static(0); shape.len()];
        let mut strides = vec![1; shape.len()];
        (starts[axis], shape[axis], strides[axis]) = (start, size.into().0, stride);
        self.builder.slice(value, starts, shape, strides).expect("inside")
    }

    fn border(&self) -> Scalar {
        if self.element == ElementType::F32 { Scalar::f32(-1.5) } else { Scalar::int(self.element, 3) }
    }

    /// Slices one position along an axis.
    fn one(&mut self, value: Value, axis: usize) -> Value {
        let shape = self.shape_of(value);
        let least = shape[axis].as_static().unwrap_or_else(|| self.least(shape[axis]));
        let start = self.below(least);
        self.part(value, axis, start, 1, 1)
    }

    /// Returns a one-dimensional tensor in which the order of sums has no effect.
    fn exact(&mut self) -> Value {
        let value = if self.element == ElementType::F32 { self.exact } else { self.pick() };
        self.flat(value)
    }
}

/// Number of elements of a part along its axis.
struct Size(Extent);

impl From<u64> for Size {
    fn from(n: u64) -> Self {
        Self(Extent::Static(n))
    }
}

impl From<Extent> for Size {
    fn from(extent: Extent) -> Self {
        Self(extent)
    }
}
