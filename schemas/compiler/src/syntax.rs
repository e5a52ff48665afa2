//! A schema as written: the output of the parser and the input of [`crate::check`].

use crate::error::Position;

/// A name, possibly qualified (`a.b.C`), with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) position: Position,
}

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) includes: Vec<Name>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) root: Option<Root>,
    pub(crate) identifier: Option<Name>,
}

/// A statement `root_type NAME;`, with its namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) namespace: String,
    pub(crate) name: Name,
}

/// A table, an enum or a union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// Namespace; empty outside any namespace.
    pub(crate) namespace: String,
    pub(crate) name: Name,
    pub(crate) kind: DeclarationKind,
}

/// Kind of declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeclarationKind {
    Table(Vec<Field>),
    Enum { base: Name, members: Vec<EnumMember> },
    Union(Vec<UnionMember>),
}

/// `name: type = default (attributes);`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) kind: TypeName,
    pub(crate) default: Option<Literal>,
    pub(crate) attributes: Vec<Attribute>,
}

/// `T` or `[T]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypeName {
    Plain(Name),
    Vector(Name),
}

/// `NAME = 3` of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnumMember {
    pub(crate) name: Name,
    pub(crate) value: Option<Literal>,
}

/// `Name` or `Name: Table` of a union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnionMember {
    pub(crate) name: Name,
    pub(crate) table: Name,
}

/// `deprecated` or `force_align: 16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: Name,
    pub(crate) value: Option<Literal>,
}

/// A number or word, with its sign, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) negative: bool,
    pub(crate) text: String,
    pub(crate) position: Position,
}
