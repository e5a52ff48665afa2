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

    /// With permuted dimensions: dimension `i` of the result is dimension `permutation[i]` of this tensor. `None` when the
    /// permutation does not fit, or elements are less than a byte.
    pub fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let bytes = permute_bytes(&self.bytes, self.element, &self.shape, permutation)?;
        Some(Self { element: self.element, shape: permutation.iter().map(|&p| self.shape[p]).collect(), bytes })
    }
}

/// The bytes of a dense row-major tensor with permuted dimensions; see [`Tensor::permuted`].
pub fn permute_bytes(bytes: &[u8], element: ElementType, shape: &[u64], permutation: &[usize]) -> Option<Vec<u8>> {
    let mut seen = vec![false; shape.len()];
    for &p in permutation {
        *seen.get_mut(p)? = true;
    }
    if permutation.len() != shape.len() || seen.contains(&false) || !element.bits().is_multiple_of(8) {
        return None;
    }
    let size = (element.bits() / 8) as usize;
    let mut strides = vec![size; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].checked_mul(usize::try_from(shape[d]).ok()?)?;
    }
    let mut result = Vec::with_capacity(bytes.len());
    let mut position = vec![0u64; shape.len()];
    let mut at = 0usize;
    while result.len() < bytes.len() {
        result.extend_from_slice(bytes.get(at..at + size)?);
        for &p in permutation.iter().rev() {
            position[p] += 1;
            at += strides[p];
            if position[p] < shape[p] {
                break;
            }
            at -= strides[p] * position[p] as usize;
            position[p] = 0;
        }
    }
    Some(result)
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
}
