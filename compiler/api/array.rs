//! Arrays: arguments and results of calls.

use super::Error;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Tensor};

/// Dense numbers in row-major order.
///
/// Elements of 4 bits stand one in a byte, as int8 or uint8.
///
/// ```
/// use modelc::{Array, ElementType};
/// let array = Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
/// assert_eq!((array.element(), array.shape()), (ElementType::F32, &[2, 2][..]));
/// assert_eq!(array.to_vec::<f32>(), Some(vec![1.0, 2.0, 3.0, 4.0]));
/// assert_eq!(array.to_vec::<i32>(), None);
/// # Ok::<(), modelc::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array(Tensor);

impl Array {
    /// Makes an array of little-endian bytes.
    ///
    /// ```
    /// use modelc::{Array, ElementType};
    /// let error = Array::new(ElementType::I16, &[3], vec![0; 5]).unwrap_err();
    /// assert_eq!(error.code(), "MC0511");
    /// ```
    ///
    /// # Errors
    /// MC0511 if the bytes do not fill the shape.
    pub fn new(element: ElementType, shape: &[u64], bytes: Vec<u8>) -> Result<Self, Error> {
        let wanted = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)).and_then(|n| element.bytes_for(n));
        if wanted == Some(bytes.len() as u64) {
            return Ok(Self(Tensor { element, shape: shape.to_vec(), bytes }));
        }
        let expected = wanted.map_or_else(|| "fewer elements".into(), |bytes| format!("{bytes} bytes"));
        let error = Diagnostic::new(codes::INPUT_SIZE, "the bytes of the array do not fill its shape");
        Err(error.expected(expected, format!("{} bytes", bytes.len())).into())
    }

    /// Makes an array of numbers.
    ///
    /// # Errors
    /// MC0511 if there are more or fewer numbers than the shape has elements.
    pub fn from_slice<T: Element>(shape: &[u64], numbers: &[T]) -> Result<Self, Error> {
        let mut bytes = Vec::with_capacity(size_of_val(numbers));
        numbers.iter().for_each(|number| number.append(&mut bytes));
        Self::new(T::TYPE, shape, bytes)
    }

    /// Returns the type of the elements.
    pub fn element(&self) -> ElementType {
        self.0.element
    }

    /// Returns the extents; empty for a scalar.
    pub fn shape(&self) -> &[u64] {
        &self.0.shape
    }

    /// Returns the elements as little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Returns the elements as little-endian bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.bytes
    }

    /// Returns the numbers; `None` if they have another type.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        (self.0.element == T::TYPE).then(|| self.0.bytes.chunks_exact(size_of::<T>()).map(T::read).collect())
    }

    /// Borrows the array.
    pub fn view(&self) -> ArrayView<'_> {
        ArrayView { element: self.0.element, shape: &self.0.shape, bytes: &self.0.bytes }
    }

    /// Returns the array as a tensor.
    #[doc(hidden)]
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }
}

#[doc(hidden)]
impl From<Tensor> for Array {
    fn from(tensor: Tensor) -> Self {
        Self(tensor)
    }
}

/// An array in memory of the caller, for [`Session::call_into`](crate::Session::call_into).
///
/// ```
/// use modelc::{ArrayView, ElementType};
/// let view = ArrayView { element: ElementType::U8, shape: &[3], bytes: b"abc" };
/// # assert_eq!(view.shape.len(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayView<'a> {
    /// Type of the elements.
    pub element: ElementType,
    /// Extents; empty for a scalar.
    pub shape: &'a [u64],
    /// The elements as little-endian bytes, dense and in row-major order.
    pub bytes: &'a [u8],
}

impl ArrayView<'_> {
    /// Copies the array.
    pub(super) fn to_tensor(self) -> Tensor {
        Tensor { element: self.element, shape: self.shape.to_vec(), bytes: self.bytes.to_vec() }
    }
}

/// A number that an [`Array`] may hold. No other types can implement it.
///
/// ```
/// fn is_float<T: modelc::Element>() -> bool {
///     T::TYPE == modelc::ElementType::F32
/// }
/// assert!(is_float::<f32>() && !is_float::<u8>());
/// ```
pub trait Element: Copy + sealed::Bytes {
    /// Type in a model.
    const TYPE: ElementType;
}

mod sealed {
    /// Conversion of numbers to and from little-endian bytes.
    pub trait Bytes: Sized {
        /// Appends the bytes of the number.
        fn append(&self, bytes: &mut Vec<u8>);
        /// Reads a number from the first bytes.
        fn read(bytes: &[u8]) -> Self;
    }
}

macro_rules! elements {
    ($($number:ty => $element:ident),*) => {$(
        impl Element for $number {
            const TYPE: ElementType = ElementType::$element;
        }

        impl sealed::Bytes for $number {
            fn append(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

elements!(i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64, f32 => F32, f64 => F64);

impl Element for bool {
    const TYPE: ElementType = ElementType::Bool;
}

impl sealed::Bytes for bool {
    fn append(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn read(bytes: &[u8]) -> Self {
        bytes.first().is_some_and(|&byte| byte != 0)
    }
}
