//! The reasons why an instruction cannot be typed.

use super::operators::Arity;
use super::types::{ElementType, Extent, Interval, TensorType, Type};
use std::fmt;

/// The value or field of an instruction that a misfit is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// An operand by its number.
    Operand(usize),
    /// A field by its name.
    Field(&'static str),
    /// The result.
    Result,
}

/// The required kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    /// A tensor.
    Tensor,
    /// An index.
    Index,
    /// An effect token.
    Effect,
}

/// The element types that are allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Elements {
    /// One of these types.
    Among(Vec<ElementType>),
    /// Any type but this one.
    AllBut(ElementType),
    /// Any integer type.
    Integers,
    /// Any type of numbers but the complex ones.
    Numbers,
    /// Any type of whole bytes.
    WholeBytes,
}

/// A rank that is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ranks {
    /// This rank.
    Exactly(usize),
    /// This rank or more.
    AtLeast(usize),
    /// This rank or fewer.
    AtMost(usize),
}

/// A mismatch between an operator, its operands and its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// The number of operands.
    Operands {
        /// The number of operands that the operator takes.
        expected: Arity,
        /// The actual number.
        found: usize,
    },
    /// A value that is no tensor, no index or no token.
    Kind {
        /// The operand.
        operand: usize,
        /// The required kind.
        expected: ValueKind,
        /// Its type.
        found: Type,
    },
    /// An element type.
    Element {
        /// The operand, field or result.
        subject: Subject,
        /// The allowed types.
        expected: Elements,
        /// The actual type.
        found: ElementType,
    },
    /// Products that cannot be summed in the requested type.
    Accumulator {
        /// The operands' element types.
        factors: [ElementType; 2],
        /// The type of the sums.
        found: ElementType,
    },
    /// The number of dimensions, or of items of a list that has one for each.
    Rank {
        /// The operand, field or result.
        subject: Subject,
        /// The allowed ranks.
        expected: Ranks,
        /// The actual rank.
        found: usize,
    },
    /// An axis that the tensor does not have, or that comes twice.
    Axis {
        /// The field that names it.
        field: &'static str,
        /// Dimensions to name, each once.
        rank: usize,
        /// The axis.
        found: usize,
    },
    /// A number outside of what a field takes.
    Number {
        /// The field.
        field: &'static str,
        /// The dimension, where the field has a number for each.
        dimension: Option<usize>,
        /// The smallest number.
        least: i128,
        /// The largest number.
        most: i128,
        /// The number there is.
        found: i128,
    },
    /// A number that must not be zero.
    Zero {
        /// The field.
        field: &'static str,
        /// The dimension.
        dimension: usize,
    },
    /// An extent.
    Extent {
        /// The operand, field or result.
        subject: Subject,
        /// The dimension.
        dimension: usize,
        /// The extent that it must have.
        expected: Extent,
        /// The one it has.
        found: Extent,
    },
    /// An extent that must divide by a number, or be a power of two.
    Multiple {
        /// The operand.
        operand: usize,
        /// The dimension.
        dimension: usize,
        /// The required divisor; `None` if the extent must be a power of two.
        of: Option<u64>,
        /// The extent.
        found: Extent,
    },
    /// An interval of numbers outside of another one.
    Interval {
        /// The field.
        field: &'static str,
        /// The dimension.
        dimension: usize,
        /// The outer interval.
        expected: Interval,
        /// The actual interval.
        found: Interval,
    },
    /// A run-time extent where it must be known at compile time, or given by a field.
    Dynamic {
        /// The operand.
        operand: usize,
        /// The dimension.
        dimension: usize,
        /// The field that may give the extent of the result.
        field: Option<&'static str>,
    },
    /// Shapes that do not broadcast to one.
    Broadcast {
        /// The shapes.
        found: Vec<Vec<Extent>>,
    },
    /// The number of elements of a tensor.
    Count {
        /// The operand, field or result.
        subject: Subject,
        /// The required number.
        expected: u64,
        /// The actual number.
        found: Option<u64>,
    },
    /// A box that leaves its tensor.
    Outside {
        /// The dimension.
        dimension: usize,
        /// The first element.
        start: u64,
        /// The number of elements of the box.
        size: u64,
        /// The distance between two elements.
        stride: i64,
        /// The number of elements of the tensor.
        extent: u64,
    },
    /// A size beyond the limit for tensors.
    TooLarge {
        /// The operand, field or result.
        subject: Subject,
    },
    /// A field that names something that the module or function does not have.
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A scalar expression without a result.
    NoResult,
    /// A field whose value does not follow the operator's rule.
    Malformed {
        /// The field.
        field: &'static str,
        /// The rule for the value.
        expected: &'static str,
        /// The actual value.
        found: String,
    },
    /// A value that does not fit its parameter or state.
    Argument {
        /// The operand.
        operand: usize,
        /// The function's name, or the state's.
        of: String,
        /// The declared type.
        expected: Type,
        /// The actual type.
        found: Type,
    },
    /// A function that takes another number of arguments.
    Arguments {
        /// The function's name.
        function: String,
        /// The number of parameters.
        expected: usize,
        /// The number of arguments.
        found: usize,
    },
    /// A function whose results do not fit its place.
    Results {
        /// The function's name.
        function: String,
        /// The required results.
        expected: ResultsExpected,
        /// The actual types.
        found: Vec<Type>,
    },
}

/// The required results of a function that an instruction calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResultsExpected {
    /// Shapes that the caller can name.
    VisibleShapes,
    /// One truth value.
    Truth,
    /// Values of these types.
    Types(Vec<Type>),
    /// Extents equal to the ones that it was given.
    SameExtents,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operand(number) => write!(f, "operand {number}"),
            Self::Field(name) => f.write_str(name),
            Self::Result => f.write_str("the result"),
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "a tensor",
            Self::Index => "an index",
            Self::Effect => "an effect token",
        })
    }
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Among(list) => f.write_str(&list.iter().map(|element| element.name()).collect::<Vec<_>>().join(" or ")),
            Self::AllBut(element) => write!(f, "anything but {element}"),
            Self::Integers => f.write_str("an integer type"),
            Self::Numbers => f.write_str("an integer or floating-point type"),
            Self::WholeBytes => f.write_str("a type of whole bytes and not bool"),
        }
    }
}

impl fmt::Display for Ranks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(rank) => write!(f, "{rank}"),
            Self::AtLeast(rank) => write!(f, "{rank} or more"),
            Self::AtMost(rank) => write!(f, "at most {rank}"),
        }
    }
}

/// A type as the text form has it, but for the names of values.
pub(super) fn shown(ty: &Type) -> String {
    match ty {
        Type::Tensor(TensorType { element, shape, .. }) => format!("{element}{}", shown_shape(shape)),
        Type::Index(interval) => format!("index {}..={}", interval.low, interval.high),
        Type::Effect => "effect".into(),
    }
}

fn shown_extent(extent: Extent) -> String {
    match extent {
        Extent::Static(n) => n.to_string(),
        Extent::Value(value) => value.to_string(),
    }
}

fn shown_shape(shape: &[Extent]) -> String {
    format!("[{}]", shape.iter().map(|&extent| shown_extent(extent)).collect::<Vec<_>>().join(", "))
}

fn shown_types(types: &[Type]) -> String {
    types.iter().map(shown).collect::<Vec<_>>().join(", ")
}

impl ResultsExpected {
    /// Returns the end of a sentence about results.
    fn text(&self) -> String {
        match self {
            Self::VisibleShapes => "whose extents only it knows".into(),
            Self::Truth => "it must return one truth value".into(),
            Self::Types(types) => format!("it must return {}", shown_types(types)),
            Self::SameExtents => "with other extents than it takes".into(),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operands { expected, found } => write!(f, "takes {expected} operands, {found} are given"),
            Self::Kind { operand, expected, found } => write!(f, "operand {operand} must be {expected}, it is {}", shown(found)),
            Self::Element { subject, expected, found } => write!(f, "{subject} is {found}, it must be {expected}"),
            Self::Accumulator { factors: [left, right], found } => write!(f, "{left} × {right} cannot be summed in {found}"),
            Self::Rank { subject: Subject::Field(field), expected, found } => {
                write!(f, "{field} has {found} numbers for {expected} dimensions")
            }
            Self::Rank { subject, expected, found } => write!(f, "{subject} has {found} dimensions, there must be {expected}"),
            Self::Axis { field, rank, found } => write!(f, "{field}: axis {found} is outside rank {rank}, or comes twice"),
            Self::Number { field, dimension, least, most, found } => {
                write!(f, "{field} is {found}")?;
                dimension.map_or(Ok(()), |dimension| write!(f, " in dimension {dimension}"))?;
                write!(f, ", it must be {least} to {most}")
            }
            Self::Zero { field, dimension } => write!(f, "{field} is zero in dimension {dimension}"),
            Self::Extent { subject, dimension, expected, found } => {
                write!(f, "{subject} has extent {} in dimension {dimension}, it must be {}", shown_extent(*found), shown_extent(*expected))
            }
            Self::Multiple { operand, dimension, of, found } => {
                write!(f, "operand {operand} has extent {} in dimension {dimension}, it must be ", shown_extent(*found))?;
                match of {
                    Some(of) => write!(f, "a multiple of {of}"),
                    None => f.write_str("a power of two"),
                }
            }
            Self::Interval { field, dimension, expected, found } => write!(
                f,
                "{field} is {}..={} in dimension {dimension}, it must be within {}..={}",
                found.low, found.high, expected.low, expected.high
            ),
            Self::Dynamic { operand, dimension, field: None } => write!(f, "dimension {dimension} of operand {operand} must be static"),
            Self::Dynamic { operand, dimension, field: Some(field) } => {
                write!(f, "dimension {dimension} of operand {operand} is dynamic, and {field} does not give its extent")
            }
            Self::Broadcast { found } => {
                let shapes: Vec<String> = found.iter().map(|shape| shown_shape(shape)).collect();
                write!(f, "the shapes {} do not broadcast", shapes.join(" and "))
            }
            Self::Count { subject, expected, found } => {
                let found = found.map_or("a number of elements that is not known".to_owned(), |n| format!("{n} elements"));
                write!(f, "{subject} has {found}, there must be {expected}")
            }
            Self::Outside { dimension, start, size, stride, extent } => {
                write!(f, "dimension {dimension}: {size} elements from {start} by {stride} leave {extent}")
            }
            Self::TooLarge { subject } => write!(f, "{subject} is too large"),
            Self::Missing { field } => write!(f, "{field} names nothing that there is"),
            Self::NoResult => f.write_str("the expression has no result"),
            Self::Malformed { field, expected, found } => write!(f, "{field} is {found}, it must be {expected}"),
            Self::Argument { operand, of, expected, found } => {
                write!(f, "operand {operand} is {}, {of} takes {}", shown(found), shown(expected))
            }
            Self::Arguments { function, expected, found } => write!(f, "@{function} takes {expected} operands, {found} are given"),
            Self::Results { function, expected, found } => write!(f, "@{function} returns {}, {}", shown_types(found), expected.text()),
        }
    }
}
