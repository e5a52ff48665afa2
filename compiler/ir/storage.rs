//! The tensors that a module holds: constants and states.

use super::data::Data;
use super::element_order::ElementOrder;
use super::entities::Constant;
use super::types::TensorType;

/// A constant tensor. Its shape is static. Its bytes are dense, row-major and little-endian.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantData {
    /// Element type and static shape.
    pub ty: TensorType,
    /// `ty.static_bytes()` bytes.
    pub data: Data,
}

impl ConstantData {
    /// Permutes dimensions: dimension `i` of the result is dimension `permutation[i]` of this constant. `None` when the permutation does not
    /// fit, or elements are less than a byte.
    pub fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let shape = self.ty.static_shape()?;
        let data = Data::in_order(&self.data, ElementOrder::new(self.ty.element, &shape, permutation)?)?;
        let shape: Vec<u64> = permutation.iter().map(|&p| shape[p]).collect();
        Some(Self { ty: TensorType::of(self.ty.element, &shape), data })
    }
}

/// Storage that keeps its contents from call to call.
#[derive(Clone, Debug, PartialEq)]
pub struct StateData {
    /// Name in the file.
    pub name: String,
    /// Element type and shape; a dynamic extent is stored at its bound.
    pub ty: TensorType,
    /// Contents after init and reset; zeros when absent.
    pub initial: Option<Constant>,
}
