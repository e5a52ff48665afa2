//! Values that random instructions draw from.

use super::draft::Draft;
use super::numbers::Random;
use crate::data::Data;
use crate::entities::Value;
use crate::packed;
use crate::scalar::{Scalar, ScalarOp};
use crate::tensor::Tensor;
use crate::types::{ElementType, Extent, Interval, TensorType, Type};

/// A supply for proposals, whatever its function is built with.
pub(crate) type Generator<'m> = Supply<dyn Draft + 'm>;

/// Values and numbers to draw from, and a function in the making.
pub(crate) struct Supply<D: ?Sized> {
    pub(crate) random: Random,
    /// Element types to choose from.
    pub(super) elements: Vec<ElementType>,
    /// Scalar operations without parameters to choose from.
    pub(super) scalar_operations: Vec<ScalarOp>,
    /// `true` if some extents may be run-time extents.
    pub(crate) dynamic: bool,
    /// Values to compute with: tensors and indices.
    pub(super) pool: Vec<Value>,
    /// Inputs so far, one a parameter that is no token.
    pub(super) inputs: Vec<Tensor>,
    pub(crate) token: Option<Value>,
    /// `true` while numbers must be finite.
    pub(crate) finite: bool,
    /// The function in the making.
    pub(crate) draft: D,
}

impl<D: Draft + ?Sized> Supply<D> {
    pub(crate) fn element(&mut self) -> ElementType {
        *self.random.pick(&self.elements)
    }

    /// A shape of a few hundred elements at most; sometimes without any.
    pub(crate) fn shape(&mut self) -> Vec<u64> {
        let rank = self.random.between(0, 4);
        (0..rank).map(|_| if self.random.one_in(60) { 0 } else { self.random.between(1, 5) as u64 }).collect()
    }

    /// A number that is usually small.
    pub(crate) fn scalar(&mut self, element: ElementType) -> Scalar {
        let small = self.random.between(-12, 12);
        match element {
            ElementType::Bool => Scalar::bool(self.random.one_in(2)),
            ElementType::C64 => {
                let imaginary = u64::from((self.random.between(-4, 4) as f32).to_bits());
                Scalar::from_bits(element, imaginary << 32 | u64::from((small as f32).to_bits()))
            }
            e if e.is_float() => match self.random.below(40) {
                0 if !self.finite => Scalar::float(e, f64::NAN),
                1 if !self.finite => Scalar::float(e, f64::INFINITY),
                2 => Scalar::float(e, -0.0),
                3 => Scalar::float(e, small as f64 * 1e3),
                4..20 => Scalar::float(e, small as f64 / 8.0),
                _ => Scalar::float(e, small as f64),
            },
            e if self.random.one_in(4) => Scalar::from_bits(e, self.random.bits()),
            e => Scalar::int(e, small),
        }
    }

    pub(crate) fn tensor(&mut self, element: ElementType, shape: &[u64]) -> Tensor {
        let count = shape.iter().product::<u64>() as usize;
        let numbers: Vec<Scalar> = (0..count).map(|_| self.scalar(element)).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|s| s.to_bytes()).collect();
        let bytes = if element.is_packed() { packed::pack(element, &bytes) } else { bytes };
        Tensor { element, shape: shape.to_vec(), bytes }
    }

    /// A new parameter with contents.
    pub(crate) fn parameter(&mut self, tensor: Tensor) -> Value {
        let value = self.draft.param(Type::Tensor(TensorType::of(tensor.element, &tensor.shape)));
        self.inputs.push(tensor);
        value
    }

    /// A constant as a value.
    pub(super) fn constant(&mut self, ty: TensorType, data: Data) -> Option<Value> {
        let constant = self.draft.add_constant(ty, data);
        self.draft.constant(constant)
    }

    /// A new constant or, sometimes, a parameter; not in the pool.
    pub(crate) fn leaf(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        let tensor = self.tensor(element, shape);
        if self.random.one_in(3) {
            return Some(self.parameter(tensor));
        }
        self.constant(TensorType::of(element, shape), tensor.bytes.into())
    }

    /// A constant of finite numbers.
    pub(crate) fn literal(&mut self, element: ElementType, shape: &[u64]) -> Option<Value> {
        self.finite = true;
        let tensor = self.tensor(element, shape);
        self.finite = false;
        self.constant(TensorType::of(element, shape), tensor.bytes.into())
    }

    /// A tensor of the pool that passes a test; often a recent one, so that chains grow.
    pub(crate) fn tensor_where(&mut self, accept: impl Fn(&TensorType) -> bool) -> Option<Value> {
        let fits = |&&v: &&Value| self.draft.types().values()[v].ty.as_tensor().is_some_and(&accept);
        let values: Vec<Value> = self.pool.iter().filter(fits).copied().collect();
        let recent = if self.random.one_in(2) { values.len().saturating_sub(2) } else { 0 };
        if values.is_empty() { None } else { Some(*self.random.pick(&values[recent..])) }
    }

    /// The type of a tensor.
    pub(crate) fn tensor_type(&self, value: Value) -> &TensorType {
        self.draft.tensor_type(value)
    }

    /// The interval of an extent.
    pub(crate) fn interval(&self, extent: Extent) -> Interval {
        self.draft.types().interval(extent)
    }
}
