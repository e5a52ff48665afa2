//! Elements of a dense array in the order of permuted dimensions.

use super::types::ElementType;
use std::ops::Range;

/// The order of the elements of a dense row-major array whose dimensions are permuted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementOrder {
    /// Bytes of an element.
    size: usize,
    /// The dimensions of the result: the number of elements and the distance in bytes. Dimensions that are contiguous in the array are merged.
    dimensions: Vec<(usize, usize)>,
}

impl ElementOrder {
    /// Creates an order in which result dimension `i` is dimension `permutation[i]` of the array. `None` if the permutation does not fit, elements
    /// are less than a byte, or the array is larger than memory.
    pub fn new(element: ElementType, shape: &[u64], permutation: &[usize]) -> Option<Self> {
        let mut seen = vec![false; shape.len()];
        for &p in permutation {
            *seen.get_mut(p)? = true;
        }
        if permutation.len() != shape.len() || seen.contains(&false) || !element.bits().is_multiple_of(8) {
            return None;
        }
        let size = (element.bits() / 8) as usize;
        let shape: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?;
        let mut strides = vec![size; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = strides[d].checked_mul(shape[d])?;
        }
        let mut dimensions: Vec<(usize, usize)> = Vec::new();
        for &p in permutation.iter().filter(|&&p| shape[p] != 1) {
            match dimensions.last_mut() {
                Some((count, stride)) if *stride == strides[p].checked_mul(shape[p])? => {
                    (*count, *stride) = (*count * shape[p], strides[p])
                }
                _ => dimensions.push((shape[p], strides[p])),
            }
        }
        if dimensions.is_empty() {
            dimensions.push((1, size));
        }
        let order = Self { size, dimensions };
        order.dimensions.iter().try_fold(size, |bytes, &(count, _)| bytes.checked_mul(count)).map(|_| order)
    }

    /// Tests whether the elements keep the order of the array.
    pub fn is_as_it_lies(&self) -> bool {
        matches!(self.dimensions[..], [(_, stride)] if stride == self.size)
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> usize {
        self.size * self.dimensions.iter().map(|&(count, _)| count).product::<usize>()
    }

    /// Writes a range of the bytes of the result. The range is inside the result, and `array` has as many bytes as the result.
    pub fn write(&self, array: &[u8], range: Range<usize>, result: &mut [u8]) {
        let first = range.start / self.size * self.size;
        if first < range.start || !range.len().is_multiple_of(self.size) {
            // A range that cuts elements.
            let mut whole = vec![0; (range.end - first).next_multiple_of(self.size)];
            self.write_elements(array, first / self.size, &mut whole);
            result.copy_from_slice(&whole[range.start - first..][..range.len()]);
        } else {
            self.write_elements(array, first / self.size, result);
        }
    }

    /// Writes the elements from a position on.
    fn write_elements(&self, array: &[u8], mut position: usize, mut result: &mut [u8]) {
        let (&(inner, stride), outer) = self.dimensions.split_last().expect("there is a dimension");
        while !result.is_empty() {
            let (mut at, mut rest) = (position % inner * stride, position / inner);
            for &(count, stride) in outer.iter().rev() {
                at += rest % count * stride;
                rest /= count;
            }
            let count = (inner - position % inner).min(result.len() / self.size);
            let (run, following) = result.split_at_mut(count * self.size);
            copy(&array[at..], stride, self.size, run);
            (result, position) = (following, position + count);
        }
    }
}

/// Copies elements that are some bytes apart.
fn copy(from: &[u8], stride: usize, size: usize, to: &mut [u8]) {
    match size {
        _ if stride == size => to.copy_from_slice(&from[..to.len()]),
        1 => copy_sized::<1>(from, stride, to),
        2 => copy_sized::<2>(from, stride, to),
        4 => copy_sized::<4>(from, stride, to),
        8 => copy_sized::<8>(from, stride, to),
        _ => to.chunks_exact_mut(size).zip(from.chunks(stride)).for_each(|(to, from)| to.copy_from_slice(&from[..size])),
    }
}

/// Copies strided elements like `copy`, for a size that the machine moves at once.
fn copy_sized<const SIZE: usize>(from: &[u8], stride: usize, to: &mut [u8]) {
    to.as_chunks_mut::<SIZE>().0.iter_mut().zip(from.chunks(stride)).for_each(|(to, from)| to.copy_from_slice(&from[..SIZE]));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of an array whose elements are their positions.
    fn numbered(element: ElementType, shape: &[u64]) -> Vec<u8> {
        let size = (element.bits() / 8) as usize;
        (0..shape.iter().product::<u64>()).flat_map(|n| n.to_le_bytes()[..size].to_vec()).collect()
    }

    #[test]
    fn elements_are_where_their_indices_say() {
        let shape = [3u64, 1, 4, 5];
        for element in [ElementType::I8, ElementType::F16, ElementType::F32, ElementType::I64] {
            for permutation in [[0, 1, 2, 3], [3, 1, 2, 0], [0, 2, 3, 1], [2, 3, 0, 1], [1, 0, 3, 2]] {
                let size = (element.bits() / 8) as usize;
                let order = ElementOrder::new(element, &shape, &permutation).expect("an order");
                let array = numbered(element, &shape);
                let mut expected = Vec::new();
                let extent = |d: usize| shape[permutation[d]] as usize;
                for n in 0..array.len() / size {
                    let (mut rest, mut indices) = (n, [0; 4]);
                    for d in (0..4).rev() {
                        indices[permutation[d]] = rest % extent(d);
                        rest /= extent(d);
                    }
                    let at = indices.iter().zip(&shape).fold(0, |at, (&i, &n)| at * n as usize + i);
                    expected.extend_from_slice(&array[at * size..][..size]);
                }
                for range in [0..array.len(), size..7 * size, 1..array.len(), 5..array.len() - 1, 3..3] {
                    let mut result = vec![0; range.len()];
                    order.write(&array, range.clone(), &mut result);
                    assert_eq!(result, expected[range.clone()], "{element:?} {permutation:?} {range:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_order_is_none() {
        assert_eq!(ElementOrder::new(ElementType::I8, &[2, 3], &[1, 1]), None);
        assert_eq!(ElementOrder::new(ElementType::I8, &[2, 3], &[0]), None);
        assert_eq!(ElementOrder::new(ElementType::I8, &[2, 3], &[0, 2]), None);
        assert_eq!(ElementOrder::new(ElementType::I4, &[2, 3], &[1, 0]), None);
        assert_eq!(ElementOrder::new(ElementType::F32, &[1 << 40, 1 << 40], &[1, 0]), None);
    }

    #[test]
    fn arrays_of_one_element_and_of_none_have_an_order() {
        let mut one = [0; 4];
        ElementOrder::new(ElementType::F32, &[], &[]).expect("an order").write(&[1, 2, 3, 4], 0..4, &mut one);
        assert_eq!(one, [1, 2, 3, 4]);
        let none = ElementOrder::new(ElementType::F32, &[2, 0, 3], &[2, 0, 1]).expect("an order");
        assert_eq!(none.bytes(), 0);
        none.write(&[], 0..0, &mut []);
    }
}
