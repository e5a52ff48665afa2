//! The text form's view of an operator's fields: few kinds of values, each with one syntax. Nothing is stored in this form.

use super::entities::{Constant, Func, State};
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
    /// One of some words: `max`.
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
    /// See [`AttributeKind::Word`].
    Word(&'static str),
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
