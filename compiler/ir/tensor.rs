//! Tensors as data, exchanged between the interpreter, the JIT, `.npz` files and tests.

use super::element_order::ElementOrder;
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
    /// A tensor of zeros; `None` when the size overflows, or there is no memory.
    pub fn zeros(element: ElementType, shape: &[u64]) -> Option<Self> {
        let bytes = usize::try_from(TensorType::of(element, shape).static_bytes()?).ok()?;
        has_room(bytes).then(|| Self { element, shape: shape.to_vec(), bytes: vec![0; bytes] })
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    /// Permutes dimensions: dimension `i` of the result is dimension `permutation[i]` of this tensor. `None` when the
    /// permutation does not fit, or elements are less than a byte.
    pub fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let order = ElementOrder::new(self.element, &self.shape, permutation)?;
        let mut bytes = vec![0; order.bytes()];
        order.write(&self.bytes, 0..order.bytes(), &mut bytes);
        Some(Self { element: self.element, shape: permutation.iter().map(|&p| self.shape[p]).collect(), bytes })
    }
}

/// Tests that this many bytes can be allocated now. An allocation that fails ends the process, so large ones whose size a model or a file names ask
/// before.
pub fn has_room(bytes: usize) -> bool {
    /// Smaller ones do not ask: they are few.
    const LARGE: usize = 1 << 20;
    bytes < LARGE || Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permuting_moves_elements_and_back() {
        let tensor = Tensor { element: ElementType::U8, shape: vec![2, 3], bytes: vec![1, 2, 3, 4, 5, 6] };
        let turned = tensor.permuted(&[1, 0]).unwrap();
        assert_eq!((&turned.shape[..], &turned.bytes[..]), (&[3, 2][..], &[1, 4, 2, 5, 3, 6][..]));
        assert_eq!(turned.permuted(&[1, 0]).unwrap(), tensor);
        assert_eq!(tensor.permuted(&[1, 1]), None);
        assert_eq!(tensor.permuted(&[0]), None);
    }

    #[test]
    fn a_tensor_without_room_is_none() {
        assert_eq!(Tensor::zeros(ElementType::U8, &[1 << 60]), None);
        assert!(Tensor::zeros(ElementType::U8, &[1 << 21]).is_some());
    }
}
