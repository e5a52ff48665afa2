//! Python buffers as arrays, without copies.

use modelc::{ArrayView, ElementType};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyByteArrayMethods};

/// The memory of a Python object, which stays valid as long as this value.
pub struct Input {
    buffer: PyUntypedBuffer,
    element: ElementType,
    shape: Vec<u64>,
}

impl Input {
    /// Makes an input from an object's buffer and a shape, because a buffer of a single number has none. The buffer must be dense, in row-major
    /// order, with numbers in this machine's byte order.
    pub fn new((object, shape): &(Bound<'_, PyAny>, Vec<u64>)) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err("the array is not contiguous"));
        }
        let format = buffer.format().to_string_lossy().into_owned();
        let element =
            element(&format, buffer.item_size()).ok_or_else(|| PyTypeError::new_err(format!("no model takes elements of {format:?}")))?;
        Ok(Self { buffer, element, shape: shape.clone() })
    }

    /// Returns the array.
    pub fn view(&self) -> ArrayView<'_> {
        let (start, bytes) = (self.buffer.buf_ptr().cast::<u8>().cast_const(), self.buffer.len_bytes());
        // SAFETY: the buffer is dense, was exported for reading, and is released when this value is dropped. As everywhere in Python's array
        // libraries, a program must not write an array while a call reads it.
        let slice = if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, bytes) } };
        ArrayView { element: self.element, shape: &self.shape, bytes: slice }
    }
}

/// Returns the element type of a format of Python's `struct`.
fn element(format: &str, bytes: usize) -> Option<ElementType> {
    let letter = format.trim_start_matches(['@', '=', if cfg!(target_endian = "little") { '<' } else { '>' }]);
    Some(match (letter, bytes) {
        ("?", 1) => ElementType::Bool,
        ("b" | "h" | "i" | "l" | "q", 1) => ElementType::I8,
        ("b" | "h" | "i" | "l" | "q", 2) => ElementType::I16,
        ("b" | "h" | "i" | "l" | "q", 4) => ElementType::I32,
        ("b" | "h" | "i" | "l" | "q", 8) => ElementType::I64,
        ("B" | "H" | "I" | "L" | "Q", 1) => ElementType::U8,
        ("B" | "H" | "I" | "L" | "Q", 2) => ElementType::U16,
        ("B" | "H" | "I" | "L" | "Q", 4) => ElementType::U32,
        ("B" | "H" | "I" | "L" | "Q", 8) => ElementType::U64,
        ("e", 2) => ElementType::F16,
        ("f", 4) => ElementType::F32,
        ("d", 8) => ElementType::F64,
        ("Zf", 8) => ElementType::C64,
        ("Zd", 16) => ElementType::C128,
        _ => return None,
    })
}

/// Memory of an output, which Python owns.
pub struct Output {
    array: Py<PyByteArray>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: nobody else has seen the array yet, so its memory is this value's alone, on whichever thread.
unsafe impl Send for Output {}

impl Output {
    /// Allocates zeros.
    pub fn new(py: Python<'_>, bytes: usize) -> PyResult<Self> {
        let array = PyByteArray::new_with(py, bytes, |_| Ok(()))?;
        let start = array.data();
        Ok(Self { array: array.unbind(), start, bytes })
    }

    /// Returns the memory.
    pub fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the array has these bytes, is not resized while this value has it, and nobody else has seen it.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Returns the array for Python.
    pub fn into_array(self) -> Py<PyByteArray> {
        self.array
    }
}
