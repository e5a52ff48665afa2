//! Methods and ports, as all wrappers see them.

use crate::emit::c_text::comment;
use crate::interface::has_shape;
use crate::program::{self, Port as Source};

/// A method that is wrapped.
pub(super) struct Method<'a> {
    /// The method's name in the model.
    pub source: &'a str,
    /// Name in the wrapper.
    pub name: String,
    /// Name in C, without the prefix of the model.
    pub c_name: &'a str,
    pub inputs: Vec<Port<'a>>,
    pub outputs: Vec<Port<'a>>,
}

impl<'a> Method<'a> {
    /// Makes a method with its names in C and in the wrapper.
    pub fn new(method: &'a program::Method, c_name: &'a str, name: String) -> Self {
        let port = |direction, index, source| Port { source, field: format!("{direction}{index}") };
        Self {
            source: &method.name,
            name,
            c_name,
            inputs: method.inputs.iter().enumerate().map(|(index, source)| port("in", index, source)).collect(),
            outputs: method.outputs.iter().enumerate().map(|(index, source)| port("out", index, source)).collect(),
        }
    }

    /// Returns the inputs, then the outputs.
    pub fn ports(&self) -> impl Iterator<Item = &Port<'a>> {
        self.inputs.iter().chain(&self.outputs)
    }
}

/// An input or an output.
pub(super) struct Port<'a> {
    pub source: &'a Source,
    /// Name of the field: `in0`.
    pub field: String,
}

/// Way in which a caller passes a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// A scalar.
    Number,
    /// An array of fixed length.
    Fixed,
    /// Elements with their shape.
    Shaped,
}

impl Port<'_> {
    /// Returns the way in which a caller passes the port.
    pub fn passing(&self) -> Passing {
        match self.source.scalar {
            true => Passing::Number,
            false if has_shape(self.source) => Passing::Shaped,
            false => Passing::Fixed,
        }
    }

    /// Returns the most elements in memory. Packed elements count as bytes.
    pub fn elements(&self) -> u64 {
        self.source.bytes / u64::from(self.source.element.bits()).div_ceil(8).max(1)
    }

    /// Returns name, type and shape, for a comment.
    pub fn description(&self) -> String {
        let bound = |(extent, &is_dynamic): (&u64, &bool)| if is_dynamic { format!("at most {extent}") } else { extent.to_string() };
        let shape: Vec<String> = self.source.shape.iter().zip(&self.source.dynamic).map(bound).collect();
        format!("{}: {}[{}]", comment(&self.source.name), self.source.element, shape.join(", "))
    }
}
