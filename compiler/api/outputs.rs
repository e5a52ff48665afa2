//! Outputs of compiled methods: conversion of the buffers that code writes to users' arrays.

use super::aligned::is_aligned;
use crate::ir::{self, ElementType, Tensor, packed};
use crate::program;

/// An output of a method.
pub struct Output {
    port: ir::Port,
    /// Type of the elements.
    pub element: ElementType,
    /// Bytes of the largest buffer.
    pub buffer_bytes: usize,
    /// Bytes of the largest array.
    pub array_bytes: usize,
}

impl Output {
    /// Makes an output from the ports in the source and in the compiled method.
    pub fn new(port: &ir::Port, compiled: &program::Port) -> Self {
        let elements = compiled.shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
        let array = compiled.element.unpacked().bytes_for(elements).unwrap_or(u64::MAX);
        Self { port: port.clone(), element: compiled.element, buffer_bytes: compiled.bytes as usize, array_bytes: array as usize }
    }

    /// Returns the element type of its arrays, in which packed elements have a byte each.
    pub fn array_element(&self) -> ElementType {
        self.element.unpacked()
    }

    /// Returns the output's name for messages.
    pub fn place(&self, number: usize) -> String {
        if self.port.name.is_empty() { format!("out{number}") } else { self.port.name.clone() }
    }

    /// Tests whether code can write directly to a user's memory.
    pub fn is_written_as_is(&self, memory: &[u8]) -> bool {
        self.port.dim_order.order().is_none() && !self.element.is_packed() && is_aligned(memory, self.element)
    }

    /// Returns the array of a buffer. Replaces `shape`, the buffer's, by the array's.
    pub fn array(&self, buffer: &[u8], shape: &mut Vec<u64>) -> Vec<u8> {
        let elements = shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
        let bytes = self.element.bytes_for(elements).map_or(buffer.len(), |bytes| buffer.len().min(bytes as usize));
        let tensor = Tensor { element: self.element, shape: shape.clone(), bytes: buffer[..bytes].to_vec() };
        let array = self.port.from_buffer(&tensor).unwrap_or(tensor);
        shape.clone_from(&array.shape);
        if self.element.is_packed() { packed::unpack(self.element, &array.bytes, array.elements()) } else { array.bytes }
    }
}
