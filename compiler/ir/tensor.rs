//! Tensors as data: what the interpreter, the JIT, `.npz` files and tests exchange.

use super::types::{ElementType, TensorType};

/// A dense row-major tensor with its bytes in little-endian order.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Type of the elements.
    pub element: ElementType,
    /// Shape; none for a scalar.
    pub shape: Vec<u64>,
    /// `element.bytes_for(product of shape)` bytes.
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// A tensor of zeros; `None` when the size overflows.
    pub fn zeros(element: ElementType, shape: &[u64]) -> Option<Self> {
        let bytes = TensorType::of(element, shape).static_bytes()?;
        Some(Self { element, shape: shape.to_vec(), bytes: vec![0; usize::try_from(bytes).ok()?] })
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }
}
