//! Attribute values: what an instruction carries beside its operands, typed by the operator's row in the table.

use super::module::{Constant, Func, State, Value};
use super::scalar::{Expression, Scalar};
use super::types::{ElementType, Extent, Interval, Type};

/// The kind of an attribute, which fixes its syntax.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeKind {
    /// An integer: `7`.
    Int,
    /// A list of integers: `[1, 2]`.
    Ints,
    /// `true` or `false`.
    Bool,
    /// A typed scalar: `i8 -128`.
    Scalar,
    /// An element type: `i32`.
    Element,
    /// A list of extents: `[1, v7]`.
    Extents,
    /// One of the words that the row lists: `max`.
    Word(&'static [&'static str]),
    /// A scalar expression in braces.
    Expression,
    /// A constant of the module: `const3`.
    Constant,
    /// A state of the module: `state0`.
    State,
    /// A function of the module: `@name`.
    Function,
    /// An interval: `0..=12`.
    Interval,
    /// A string: `"name"`.
    Text,
    /// A list of types: `[f32[1, 4], i8[2]]`.
    Types,
}

/// An attribute's value.
#[derive(Clone, PartialEq, Debug)]
pub enum Attribute {
    /// See [`AttributeKind::Int`].
    Int(i64),
    /// See [`AttributeKind::Ints`].
    Ints(Vec<i64>),
    /// See [`AttributeKind::Bool`].
    Bool(bool),
    /// See [`AttributeKind::Scalar`].
    Scalar(Scalar),
    /// See [`AttributeKind::Element`].
    Element(ElementType),
    /// See [`AttributeKind::Extents`].
    Extents(Vec<Extent>),
    /// See [`AttributeKind::Word`]: the word's position in the row's list.
    Word(u8),
    /// See [`AttributeKind::Expression`].
    Expression(Box<Expression>),
    /// See [`AttributeKind::Constant`].
    Constant(Constant),
    /// See [`AttributeKind::State`].
    State(State),
    /// See [`AttributeKind::Function`].
    Function(Func),
    /// See [`AttributeKind::Interval`].
    Interval(Interval),
    /// See [`AttributeKind::Text`].
    Text(String),
    /// See [`AttributeKind::Types`].
    Types(Vec<Type>),
}

impl Attribute {
    /// Whether the value is of a kind.
    pub fn is_of(&self, kind: AttributeKind) -> bool {
        use AttributeKind as K;
        match (self, kind) {
            (Self::Int(_), K::Int)
            | (Self::Ints(_), K::Ints)
            | (Self::Bool(_), K::Bool)
            | (Self::Scalar(_), K::Scalar)
            | (Self::Element(_), K::Element)
            | (Self::Extents(_), K::Extents)
            | (Self::Expression(_), K::Expression)
            | (Self::Constant(_), K::Constant)
            | (Self::State(_), K::State)
            | (Self::Function(_), K::Function)
            | (Self::Interval(_), K::Interval)
            | (Self::Text(_), K::Text)
            | (Self::Types(_), K::Types) => true,
            (Self::Word(word), K::Word(words)) => usize::from(*word) < words.len(),
            _ => false,
        }
    }

    /// The index values inside.
    pub fn index_values(&self) -> impl Iterator<Item = Value> + '_ {
        let extents: &[Extent] = if let Self::Extents(extents) = self { extents } else { &[] };
        extents.iter().filter_map(|e| if let Extent::Value(v) = e { Some(*v) } else { None })
    }
}
