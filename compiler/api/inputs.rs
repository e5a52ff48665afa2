//! Inputs of compiled methods: conversion of users' arrays to the buffers that code reads.

use super::ArrayView;
use super::aligned::is_aligned;
use super::quantize;
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::{Taken, extents_of};
use crate::ir::{self, Data, ElementType, Module, Quantization, Tensor, has_room};
use std::ops::RangeInclusive;

/// An input of a method.
pub struct Input {
    /// The port in the source.
    pub port: ir::Port,
    /// Type of the elements.
    pub element: ElementType,
    /// Smallest and largest extent of each dimension of the buffer.
    pub extents: Vec<RangeInclusive<u64>>,
}

impl Input {
    /// Returns the inputs of a method of a module.
    pub fn of_method(module: &Module, method: usize) -> Vec<Self> {
        let method = &module.methods[method];
        let function = &module.functions[method.function];
        let input = |(port, &value): (&ir::Port, &ir::Value)| {
            let ty = function.tensor(value);
            Self { port: port.clone(), element: ty.element, extents: extents_of(function, ty) }
        };
        method.inputs.iter().zip(&function.params).map(input).collect()
    }

    /// Returns the largest shape of the buffer.
    pub fn largest_shape(&self) -> Vec<u64> {
        self.extents.iter().map(|range| *range.end()).collect()
    }

    /// Returns the quantization for conversion from floats; `None` if there is none.
    pub fn scales(&self) -> Option<&Quantization> {
        quantize::usable(self.port.quantization.as_ref(), self.element)
    }

    /// Returns the requirements for the buffer.
    pub fn taken(&self) -> Taken<'_> {
        Taken { element: self.element, extents: self.extents.as_slice().into(), value: self.port.value.as_ref().map(Data::bytes) }
    }

    /// Converts an array of the source's shape to the buffer; errors contain `name`. With `quantizes`, floats are quantized.
    ///
    /// # Errors
    /// The errors of [`Taken::check`]; MC0711 if there is no memory.
    pub fn buffer(&self, given: &Tensor, quantizes: bool, name: &str) -> Result<Tensor, Diagnostic> {
        // The array is reordered, converted, and copied to the model's buffer.
        if !has_room(given.bytes.len().saturating_mul(4)) {
            return Err(no_memory(given.element, &given.shape));
        }
        // An array of another rank stays as it is; the check below rejects it.
        let given = self.port.to_buffer(given).unwrap_or_else(|| given.clone());
        let quantized = self.scales().filter(|_| quantizes).and_then(|scales| quantize::quantized(&given, scales, self.element));
        self.taken().fitting(&quantized.unwrap_or(given), name)
    }

    /// Tests whether code can read an array of this type and alignment without a copy.
    pub(super) fn takes_as_is(&self, given: &ArrayView<'_>) -> bool {
        let is_packed = self.element.is_packed() && given.element != self.element;
        self.port.dim_order.order().is_none() && !is_packed && is_aligned(given.bytes, self.element)
    }

    /// Checks an array; errors contain the input's name or `number`.
    ///
    /// # Errors
    /// The errors of [`Taken::check`].
    pub(super) fn check(&self, given: &ArrayView<'_>, number: usize) -> Result<(), Diagnostic> {
        let checked = match (given.element, self.element) {
            _ if !self.takes_as_is(given) => self.buffer(&given.to_tensor(), false, "").map(drop),
            (ElementType::U16, element @ ElementType::Bf16) => self.taken().check_parts(element, given.shape, given.bytes),
            (element, _) => self.taken().check_parts(element, given.shape, given.bytes),
        };
        checked.map_err(|mut error| {
            error.location.tensor = Some(self.place(number));
            error
        })
    }

    /// Returns the input's name for messages.
    pub(super) fn place(&self, number: usize) -> String {
        if self.port.name.is_empty() { format!("in{number}") } else { self.port.name.clone() }
    }
}

/// Makes the error for an array without memory.
pub fn no_memory(element: ElementType, shape: &[u64]) -> Diagnostic {
    Diagnostic::new(codes::NO_MEMORY, format!("there is no memory for an input {element}{shape:?}"))
}
