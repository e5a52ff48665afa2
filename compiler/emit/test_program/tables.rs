//! The tables of a test: bytes of inputs and expected outputs, extents, and what they are of.

use super::TestCall;
use crate::compare::{Tolerance, scale};
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::has_shape;
use crate::ir::{ElementType, Tensor, packed};
use crate::program::{Method, Port};
use std::collections::HashMap;
use std::fmt::Write;

/// What the calls of a test read.
#[derive(Default)]
pub struct Tables {
    /// Contents of buffers, each from a word of its own on. Equal contents are there once.
    words: Vec<u64>,
    known_words: HashMap<Vec<u8>, usize>,
    /// Extents of shapes, equal ones once.
    extents: Vec<u64>,
    known_extents: HashMap<Vec<u64>, usize>,
    /// Lines of C: inputs and expected outputs of all calls.
    inputs: Vec<String>,
    expected: Vec<String>,
    /// Where each call's inputs and expected outputs begin.
    starts: Vec<(usize, usize)>,
}

impl Tables {
    /// Adds a call.
    ///
    /// # Errors
    /// When an expected output is not of the method's type and shape.
    pub fn add(&mut self, method: &Method, call: &TestCall, tolerance: Tolerance) -> Result<(), Diagnostic> {
        self.starts.push((self.inputs.len(), self.expected.len()));
        for (port, tensor) in method.inputs.iter().zip(&call.inputs) {
            let line = self.value(port, tensor);
            self.inputs.push(line);
        }
        for (index, (port, expected)) in method.outputs.iter().zip(&call.expected).enumerate() {
            let line = match expected {
                Some(expected) => {
                    let expected = self::expected(port, expected, index)?;
                    self.expected_line(port, &expected, tolerance)
                }
                None => "{ { 0, 0 }, 0, 1.0, 0.0, 0, 8, 0 }".into(),
            };
            self.expected.push(line);
        }
        Ok(())
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// Where each call's inputs and expected outputs begin.
    pub fn starts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.starts.iter().copied()
    }

    /// The arrays of contents and of extents.
    pub fn contents(&self) -> String {
        let hexadecimal = |word: &u64| if *word < 10 { format!("{word},") } else { format!("{word:#x},") };
        let decimal = |extent: &u64| format!("{extent},");
        array("uint64_t modelc_test_words", self.words.iter().map(hexadecimal), 6)
            + &array("size_t modelc_test_extents", self.extents.iter().map(decimal), 16)
            + "\n"
    }

    /// The arrays of inputs and of expected outputs.
    pub fn values(&self) -> String {
        let line = |line: &String| format!("{line},");
        let nothing = ["{ { 0, 0 }, 0, 1.0, 0.0, 0, 8, 0 }".to_owned()];
        let expected = if self.expected.is_empty() { &nothing[..] } else { &self.expected };
        let none = ["{ 0, 0 }".to_owned()];
        let inputs = if self.inputs.is_empty() { &none[..] } else { &self.inputs };
        format!(
            "\n{}{}",
            array("modelc_test_value modelc_test_inputs", inputs.iter().map(line), 8),
            array("modelc_test_expected modelc_test_expectations", expected.iter().map(line), 1)
        )
    }

    /// Contents, and extents where the port has them.
    fn value(&mut self, port: &Port, tensor: &Tensor) -> String {
        let words = &mut self.words;
        let word = *self.known_words.entry(tensor.bytes.clone()).or_insert_with(|| {
            let start = words.len();
            let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
            words.extend(tensor.bytes.chunks(8).map(word));
            start
        });
        let extents = &mut self.extents;
        let extent = match has_shape(port) {
            true => *self.known_extents.entry(tensor.shape.clone()).or_insert_with(|| {
                let start = extents.len();
                extents.extend(&tensor.shape);
                start
            }),
            false => 0,
        };
        format!("{{ {word}, {extent} }}")
    }

    fn expected_line(&mut self, port: &Port, expected: &Tensor, tolerance: Tolerance) -> String {
        let value = self.value(port, expected);
        let part = expected.element.part();
        // Integers that share bytes are compared byte by byte.
        let elements = match expected.element.is_packed() {
            true => expected.bytes.len(),
            false => expected.elements() * (expected.element.bits() / part.bits()) as usize,
        };
        let scale = scale(expected, tolerance);
        let kind = match part {
            ElementType::Bf16 => 'b',
            _ if part.is_float() => 'f',
            _ if part.is_packed() => 'u',
            ElementType::Bool | ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => 'u',
            _ => 'i',
        };
        // Truth values are bytes in C.
        let bits = if part == ElementType::Bool { 8 } else { part.bits().max(8) };
        let rank = if has_shape(port) { expected.shape.len() } else { 0 };
        format!("{{ {value}, {elements}, {:e}, {:e}, '{kind}', {bits}, {rank} }}", scale.unit, scale.allowed)
    }
}

/// An expected output as the method gives it: of the port's type, and of a shape that it may have.
fn expected(port: &Port, tensor: &Tensor, index: usize) -> Result<Tensor, Diagnostic> {
    // NumPy has no bfloat16: its bits are recorded.
    let is_bits = (port.element, tensor.element) == (ElementType::Bf16, ElementType::U16);
    let fits = |(d, (&most, &extent)): (usize, (&u64, &u64))| if port.dynamic[d] { extent <= most } else { extent == most };
    if port.shape.len() != tensor.shape.len() || !port.shape.iter().zip(&tensor.shape).enumerate().all(fits) {
        let error = Diagnostic::new(codes::EXPECTED_OUTPUT, format!("the expected output {index} is not of the output's shape"));
        return Err(error.expected(format!("{:?}", port.shape), format!("{:?}", tensor.shape)));
    }
    if port.element.is_packed() && tensor.element == port.element.unpacked() {
        return Ok(Tensor { element: port.element, shape: tensor.shape.clone(), bytes: packed::pack(port.element, &tensor.bytes) });
    }
    if port.element != tensor.element && !is_bits {
        let error = Diagnostic::new(codes::EXPECTED_OUTPUT, format!("the expected output {index} is not of the output's type"));
        return Err(error.expected(port.element.name(), tensor.element.name()));
    }
    Ok(Tensor { element: port.element, ..tensor.clone() })
}

/// A constant array, this many elements a line. C has no empty ones.
fn array(declaration: &str, elements: impl Iterator<Item = String>, in_a_line: usize) -> String {
    let elements: Vec<String> = elements.collect();
    let mut text = format!("static const {declaration}[] = {{\n");
    for line in elements.chunks(in_a_line) {
        let _ = writeln!(text, "  {}", line.concat());
    }
    if elements.is_empty() {
        text.push_str("  0\n");
    }
    text.push_str("};\n");
    text
}
