//! The tables of a test: bytes of inputs and expected outputs, extents, and descriptions.

use super::call::TestCall;
use crate::compare::{Tolerance, scale};
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::has_shape;
use crate::ir::{ElementType, Tensor, packed};
use crate::program::{Method, Port};
use std::collections::HashMap;
use std::fmt::Write;

/// The data of all calls of a test.
#[derive(Default)]
pub struct Tables {
    /// Contents of buffers, each aligned to a word. Equal contents are stored once.
    words: Vec<u64>,
    known_words: HashMap<Vec<u8>, usize>,
    /// Extents of shapes. Equal shapes are stored once.
    extents: Vec<u64>,
    known_extents: HashMap<Vec<u64>, usize>,
    /// Lines of C: inputs and expected outputs of all calls.
    inputs: Vec<String>,
    expected: Vec<String>,
    /// Index of the first input and of the first expected output of each call.
    starts: Vec<(usize, usize)>,
}

impl Tables {
    /// Adds a call.
    ///
    /// # Errors
    /// A diagnostic if an expected output does not have the method's type and shape.
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

    /// Returns the bytes of all buffers.
    pub fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// Returns the index of the first input and of the first expected output of each call.
    pub fn starts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.starts.iter().copied()
    }

    /// Returns the arrays of contents and of extents.
    pub fn contents(&self) -> String {
        let hexadecimal = |word: &u64| if *word < 10 { format!("{word},") } else { format!("{word:#x},") };
        let decimal = |extent: &u64| format!("{extent},");
        array("uint64_t modelc_test_words", self.words.iter().map(hexadecimal), 6)
            + &array("size_t modelc_test_extents", self.extents.iter().map(decimal), 16)
            + "\n"
    }

    /// Returns the arrays of inputs and of expected outputs.
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

    /// Returns the table entry of an input: contents, and extents if the port has them.
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
        // Packed integers are compared byte by byte.
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
        // A truth value is one byte in C.
        let bits = if part == ElementType::Bool { 8 } else { part.bits().max(8) };
        let rank = if has_shape(port) { expected.shape.len() } else { 0 };
        format!("{{ {value}, {elements}, {:e}, {:e}, '{kind}', {bits}, {rank} }}", scale.unit, scale.allowed)
    }
}

/// Checks an expected output and converts it to the port's type.
fn expected(port: &Port, tensor: &Tensor, index: usize) -> Result<Tensor, Diagnostic> {
    // NumPy has no bfloat16, so recordings hold its bits.
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

/// Formats a constant array with `in_a_line` elements a line. C has no empty arrays.
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
