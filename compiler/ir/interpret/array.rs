//! Tensors as the interpreter holds them: little-endian bytes, row major, shared without copying. An element occupies whole bytes, so packed integers
//! have a byte each here.

use super::error::{InterpretError, Step, fail};
use crate::packed;
use crate::tensor::{Tensor, has_room};
use crate::types::ElementType;
use std::ops::Deref;
use std::sync::Arc;

/// No tensor may take more bytes than this; a shape from hostile data must not exhaust the machine.
pub(crate) const MAX_BYTES: usize = 4 << 30;

/// Bytes of a constant of the module, or made by the interpreter.
#[derive(Clone)]
pub(crate) enum Store<'m> {
    Borrowed(&'m [u8]),
    Owned(Arc<Vec<u8>>),
}

impl Deref for Store<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A tensor while it is computed with.
#[derive(Clone)]
pub(crate) struct Array<'m> {
    pub element: ElementType,
    pub shape: Vec<usize>,
    pub bytes: Store<'m>,
}

/// Bytes from one element to the next.
pub(crate) fn width(element: ElementType) -> usize {
    element.bits().div_ceil(8) as usize
}

/// Elements of a shape, when the tensor stays below the limit.
fn elements_within_limit(element: ElementType, shape: &[usize]) -> Step<usize> {
    let count = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match count.filter(|n| n.checked_mul(width(element)).is_some_and(|bytes| bytes <= MAX_BYTES)) {
        Some(n) => Ok(n),
        None => fail(format!("a tensor {element}{shape:?} is larger than the interpreter's limit of {MAX_BYTES} bytes")),
    }
}

/// Elements of a result, when it stays below the limit and there is memory for it and a copy.
pub(crate) fn elements(element: ElementType, shape: &[usize]) -> Step<usize> {
    let count = elements_within_limit(element, shape)?;
    if has_room(2 * count * width(element)) {
        return Ok(count);
    }
    Err(InterpretError::no_memory(format!("{element}{shape:?}")))
}

impl<'m> Array<'m> {
    /// An array of bytes already in the interpreter's form.
    pub fn new(element: ElementType, shape: Vec<usize>, bytes: Vec<u8>) -> Self {
        debug_assert_eq!(bytes.len(), shape.iter().product::<usize>() * width(element));
        Self { element, shape, bytes: Store::Owned(Arc::new(bytes)) }
    }

    /// An array over the packed bytes of a constant.
    pub fn taken_from_packed(element: ElementType, shape: &[u64], bytes: &'m [u8]) -> Step<Self> {
        let shape: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
        let count = elements_within_limit(element, &shape)?;
        if element.bytes_for(count as u64) != Some(bytes.len() as u64) {
            return fail(format!("{} bytes do not fill {element}{shape:?}", bytes.len()));
        }
        let bytes =
            if element.is_packed() { Store::Owned(Arc::new(packed::unpack(element, bytes, count))) } else { Store::Borrowed(bytes) };
        Ok(Self { element, shape, bytes })
    }

    /// A copy that borrows nothing.
    pub fn into_owned<'n>(self) -> Array<'n> {
        let bytes = match self.bytes {
            Store::Borrowed(bytes) => Arc::new(bytes.to_vec()),
            Store::Owned(bytes) => bytes,
        };
        Array { element: self.element, shape: self.shape, bytes: Store::Owned(bytes) }
    }

    /// The tensor as the outside sees it.
    pub fn to_tensor(&self) -> Tensor {
        let bytes = if self.element.is_packed() { packed::pack(self.element, &self.bytes) } else { self.bytes.to_vec() };
        Tensor { element: self.element, shape: self.shape.iter().map(|&n| n as u64).collect(), bytes }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The elements in the same order under a shape with as many elements.
    pub fn reshaped(&self, shape: Vec<usize>) -> Self {
        Self { element: self.element, shape, bytes: self.bytes.clone() }
    }
}

/// Elements from one index to the next in each dimension of a dense row-major shape.
pub(crate) fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(shape[d] as isize);
    }
    strides
}

/// Calls `visit` with `base` + Σ index × stride for every index of a shape, last dimension fastest.
pub(crate) fn walk(shape: &[usize], strides: &[isize], base: isize, mut visit: impl FnMut(isize)) {
    if shape.contains(&0) {
        return;
    }
    let Some((&inner, outer)) = shape.split_last() else { return visit(base) };
    let step = strides[outer.len()];
    let mut index = vec![0usize; outer.len()];
    let mut row = base;
    loop {
        let mut offset = row;
        for _ in 0..inner {
            visit(offset);
            offset += step;
        }
        // Advance the outer dimensions like the digits of a counter.
        let mut d = outer.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            row += strides[d];
            if index[d] < outer[d] {
                break;
            }
            row -= strides[d] * outer[d] as isize;
            index[d] = 0;
        }
    }
}

/// Element `position` of 16 bits.
pub(crate) fn u16_at(bytes: &[u8], position: usize) -> u16 {
    u16::from_le_bytes([bytes[2 * position], bytes[2 * position + 1]])
}

/// Element `position` of 32 bits.
pub(crate) fn u32_at(bytes: &[u8], position: usize) -> u32 {
    bytes[4 * position..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

/// Element `position` of 64 bits.
pub(crate) fn u64_at(bytes: &[u8], position: usize) -> u64 {
    bytes[8 * position..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}
