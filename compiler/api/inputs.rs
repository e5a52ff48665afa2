//! Inputs of compiled methods: arrays as users have them become the buffers that code takes.

use super::ArrayView;
use super::aligned::is_aligned;
use super::quantize;
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::{Taken, extents_of};
use crate::ir::{self, Data, ElementType, Module, Quantization, Tensor, has_room};
use std::ops::RangeInclusive;

/// An input of a method.
pub struct Input {
    /// As the source has it.
    pub port: ir::Port,
    /// Type of the elements.
    pub element: ElementType,
    /// Extents of the buffer.
    pub extents: Vec<RangeInclusive<u64>>,
}

impl Input {
    /// The inputs of a method of a module.
    pub fn of_method(module: &Module, method: usize) -> Vec<Self> {
        let method = &module.methods[method];
        let function = &module.functions[method.function];
        let input = |(port, &value): (&ir::Port, &ir::Value)| {
            let ty = function.tensor(value);
            Self { port: port.clone(), element: ty.element, extents: extents_of(function, ty) }
        };
        method.inputs.iter().zip(&function.params).map(input).collect()
    }

    /// The largest shape of the buffer.
    pub fn largest_shape(&self) -> Vec<u64> {
        self.extents.iter().map(|range| *range.end()).collect()
    }

    /// The scales with which floats can be given for it.
    pub fn scales(&self) -> Option<&Quantization> {
        quantize::usable(self.port.quantization.as_ref(), self.element)
    }

    /// The buffers that it takes.
    pub fn taken(&self) -> Taken<'_> {
        Taken { element: self.element, extents: self.extents.as_slice().into(), value: self.port.value.as_ref().map(Data::bytes) }
    }

    /// An array of the source's shape as the buffer, `name` in the error. With `quantizes` floats become the integers that stand for them.
    ///
    /// # Errors
    /// As [`Taken::check`]; MC0711 where there is no memory.
    pub fn buffer(&self, given: &Tensor, quantizes: bool, name: &str) -> Result<Tensor, Diagnostic> {
        // It is put in order, converted and copied to where the model reads it.
        if !has_room(given.bytes.len().saturating_mul(4)) {
            return Err(no_memory(given.element, &given.shape));
        }
        // One of another rank stays as it is, to be refused below.
        let given = self.port.to_buffer(given).unwrap_or_else(|| given.clone());
        let quantized = self.scales().filter(|_| quantizes).and_then(|scales| quantize::quantized(&given, scales, self.element));
        self.taken().fitting(&quantized.unwrap_or(given), name)
    }

    /// Tests that code takes an array of this type and alignment without a copy.
    pub(super) fn takes_as_is(&self, given: &ArrayView<'_>) -> bool {
        let is_packed = self.element.is_packed() && given.element != self.element;
        self.port.dim_order.order().is_none() && !is_packed && is_aligned(given.bytes, self.element)
    }

    /// Checks an array, `number` in the error.
    ///
    /// # Errors
    /// As [`Taken::check`].
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

    /// What messages call it.
    pub(super) fn place(&self, number: usize) -> String {
        if self.port.name.is_empty() { format!("in{number}") } else { self.port.name.clone() }
    }
}

/// The error where there is no memory for an array.
pub fn no_memory(element: ElementType, shape: &[u64]) -> Diagnostic {
    Diagnostic::new(codes::NO_MEMORY, format!("there is no memory for an input {element}{shape:?}"))
}
