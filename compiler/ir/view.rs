//! Typed views of an instruction's attributes, for those who read instructions.

use super::attribute::Attribute;
use super::builder::WindowGeometry;
use super::module::{Func, InstData, State};
use super::op::Op;
use super::scalar::{Expression, Scalar};
use super::types::{ElementType, Extent};

/// The attributes of a `conv`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvAttributes {
    /// Strides, dilation and padding.
    pub geometry: WindowGeometry,
    /// Step between neighbouring input elements; 1 or a stride of 1 in each dimension.
    pub input_dilation: Vec<i64>,
    /// Groups of channels.
    pub groups: u64,
    /// Subtracted from each input element; padded taps contribute nothing.
    pub input_zero_point: i64,
    /// Subtracted from each filter element.
    pub filter_zero_point: i64,
    /// The type of the sums.
    pub accumulator: ElementType,
}

impl InstData {
    /// An attribute by its name in the table.
    ///
    /// # Panics
    /// When the operator has no such attribute: a bug of the caller.
    pub fn attribute(&self, name: &str) -> &Attribute {
        &self.attributes[self.op.attribute_index(name)]
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> i64 {
        match self.attribute(name) {
            Attribute::Int(n) => *n,
            other => unreachable!("{name} is {other:?}, the table says integer"),
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> &[i64] {
        match self.attribute(name) {
            Attribute::Ints(list) => list,
            other => unreachable!("{name} is {other:?}, the table says integers"),
        }
    }

    /// A list of extents.
    pub fn extents(&self, name: &str) -> &[Extent] {
        match self.attribute(name) {
            Attribute::Extents(list) => list,
            other => unreachable!("{name} is {other:?}, the table says extents"),
        }
    }

    /// An element type.
    pub fn element(&self, name: &str) -> ElementType {
        match self.attribute(name) {
            Attribute::Element(element) => *element,
            other => unreachable!("{name} is {other:?}, the table says element type"),
        }
    }

    /// A scalar.
    pub fn scalar(&self, name: &str) -> Scalar {
        match self.attribute(name) {
            Attribute::Scalar(scalar) => *scalar,
            other => unreachable!("{name} is {other:?}, the table says scalar"),
        }
    }

    /// A word, as text.
    pub fn word(&self, name: &str) -> &'static str {
        let index = self.op.attribute_index(name);
        match (&self.attributes[index], self.op.row().attributes[index].1) {
            (Attribute::Word(word), super::AttributeKind::Word(words)) => words[usize::from(*word)],
            (other, _) => unreachable!("{name} is {other:?}, the table says word"),
        }
    }

    /// The expression of a `map`.
    pub fn expression(&self) -> &Expression {
        match self.attribute("expression") {
            Attribute::Expression(expression) => expression,
            other => unreachable!("the expression is {other:?}"),
        }
    }

    /// A function.
    pub fn function(&self, name: &str) -> Func {
        match self.attribute(name) {
            Attribute::Function(function) => *function,
            other => unreachable!("{name} is {other:?}, the table says function"),
        }
    }

    /// The state of a `load_state` or `store_state`.
    pub fn state(&self) -> State {
        match self.attribute("state") {
            Attribute::State(state) => *state,
            other => unreachable!("the state is {other:?}"),
        }
    }

    /// The window geometry of a `conv` or `window`.
    pub fn geometry(&self) -> WindowGeometry {
        WindowGeometry {
            strides: self.ints("strides").to_vec(),
            dilation: self.ints("dilation").to_vec(),
            padding_low: self.ints("padding_low").to_vec(),
            padding_high: self.ints("padding_high").to_vec(),
            positions: self.extents("positions").to_vec(),
            shift: self.extents("shift").to_vec(),
        }
    }

    /// The attributes of a `conv`.
    pub fn conv(&self) -> ConvAttributes {
        debug_assert_eq!(self.op, Op::Conv);
        ConvAttributes {
            geometry: self.geometry(),
            input_dilation: self.ints("input_dilation").to_vec(),
            groups: self.int("groups") as u64,
            input_zero_point: self.int("input_zero_point"),
            filter_zero_point: self.int("filter_zero_point"),
            accumulator: self.element("accumulator"),
        }
    }
}
