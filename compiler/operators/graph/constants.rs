//! Constants, and values that depend on constants only.

use super::{Graph, fold};
use crate::ir::{Constant, ElementType, Scalar, TensorType, Value};
use crate::operators::Error;

impl Graph<'_> {
    /// A constant of little-endian bytes that fill the shape.
    ///
    /// # Errors
    /// Never for sound shapes.
    pub fn constant(&mut self, element: ElementType, shape: &[u64], bytes: Vec<u8>) -> Result<Value, Error> {
        Ok(self.builder.literal(TensorType::of(element, shape), bytes)?)
    }

    /// A constant of numbers, whose elements have their type.
    ///
    /// # Errors
    /// Never for sound shapes.
    pub fn numbers(&mut self, element: ElementType, shape: &[u64], numbers: &[Scalar]) -> Result<Value, Error> {
        self.constant(element, shape, numbers.iter().flat_map(|n| n.to_bytes()).collect())
    }

    /// A constant of 32-bit integers.
    ///
    /// # Errors
    /// Never for sound shapes.
    pub fn constant_i32(&mut self, shape: &[u64], values: &[i32]) -> Result<Value, Error> {
        self.constant(ElementType::I32, shape, values.iter().flat_map(|n| n.to_le_bytes()).collect())
    }

    /// A constant of binary32.
    ///
    /// # Errors
    /// Never for sound shapes.
    pub fn constant_f32(&mut self, shape: &[u64], values: &[f32]) -> Result<Value, Error> {
        self.constant(ElementType::F32, shape, values.iter().flat_map(|n| n.to_le_bytes()).collect())
    }

    /// A constant of binary64.
    ///
    /// # Errors
    /// Never for sound shapes.
    pub fn constant_f64(&mut self, shape: &[u64], values: &[f64]) -> Result<Value, Error> {
        self.constant(ElementType::F64, shape, values.iter().flat_map(|n| n.to_le_bytes()).collect())
    }

    /// One number, of shape `[]`.
    ///
    /// # Errors
    /// Never.
    pub fn scalar(&mut self, number: Scalar) -> Result<Value, Error> {
        let constant = self.builder.module.add_scalar(number);
        Ok(self.builder.constant(constant)?)
    }

    /// A table for `lut`.
    pub fn table(&mut self, element: ElementType, bytes: Vec<u8>) -> Constant {
        let count = bytes.len() as u64 * 8 / u64::from(element.bits());
        self.builder.module.add_constant(TensorType::of(element, &[count]), bytes.into())
    }

    /// The constant that a value is defined as, if it is.
    pub fn constant_of(&self, value: Value) -> Option<Constant> {
        fold::defining_constant(&self.builder, value)
    }

    /// The bytes of a value that is defined as a constant.
    pub fn known(&self, value: Value) -> Option<&[u8]> {
        Some(self.builder.module.constants[self.constant_of(value)?].data.bytes())
    }

    /// Releases a constant's bytes, which are not read for some time.
    pub fn release(&self, value: Value) {
        if let Some(constant) = self.constant_of(value) {
            self.builder.module.constants[constant].data.release();
        }
    }

    /// The bytes of a value that depends on constants only, however it is computed.
    pub fn evaluated(&mut self, value: Value) -> Option<&[u8]> {
        let constant = self.evaluated.constant(&mut self.builder, value)?;
        Some(self.builder.module.constants[constant].data.bytes())
    }

    /// A value that depends on constants only as a constant; any other as it is.
    ///
    /// # Errors
    /// Never for sound constants.
    pub fn settled(&mut self, value: Value) -> Result<Value, Error> {
        match self.evaluated.constant(&mut self.builder, value) {
            Some(constant) => Ok(self.builder.constant(constant)?),
            None => Ok(value),
        }
    }

    /// Replaces the instructions from number `start` on by constants for `results`, if these depend on small constants only.
    pub fn fold_from(&mut self, start: usize, results: &[Value]) -> Option<Vec<Value>> {
        fold::fold_from(&mut self.builder, start, results)
    }
}
