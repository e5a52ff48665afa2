//! Broken rules of the tensor language, with expected and actual values.

use crate::entities::{Constant, Func, Inst, Source, State, Value};
use crate::fault::shown;
use crate::operators::{Arity, MAX_RANK, Op};
use crate::scalar::Node;
use crate::type_error::TypeError;
use crate::types::{ElementType, Extent, TensorType, Type};
use std::fmt;

/// A broken rule, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct VerifyError {
    /// The place, from the outside in.
    pub place: Vec<Site>,
    /// The broken rule.
    pub mistake: Box<Mistake>,
}

/// A place in a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Site {
    /// A constant.
    Constant(Constant),
    /// A state.
    State(State),
    /// A function by its name.
    Function(String),
    /// An instruction of that function.
    Inst(Inst),
    /// A field of its operator.
    Field(&'static str),
    /// A node of that expression.
    Node(Node),
    /// A method by its name.
    Method(String),
    /// One of its inputs or outputs.
    Port(Side, usize),
    /// The imported plan.
    Plan,
}

/// The sides of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The inputs.
    Inputs,
    /// The outputs.
    Outputs,
}

/// An entity that a module names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entity {
    /// A constant.
    Constant(Constant),
    /// A state.
    State(State),
    /// A function.
    Function(Func),
    /// An instruction.
    Inst(Inst),
    /// A source.
    Source(Source),
}

/// A broken rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Mistake {
    /// Operands and fields that do not fit the operator.
    Type(TypeError),
    /// The number of operands.
    Operands {
        /// The operator.
        operator: Op,
        /// The number of operands that the operator takes.
        expected: Arity,
        /// The actual number.
        found: usize,
    },
    /// The number of results.
    Results {
        /// The number of results that the type rule gives.
        expected: usize,
        /// The actual number.
        found: usize,
    },
    /// The type of a result.
    ResultType {
        /// The result.
        value: Value,
        /// The type that the type rule gives.
        expected: Type,
        /// The actual type.
        found: Type,
    },
    /// An entity that does not exist.
    Missing(Entity),
    /// An instruction that comes twice.
    Twice(Inst),
    /// A value whose recorded definition does not define it.
    Definition(Value),
    /// A value that is read before it is defined.
    Undefined(Value),
    /// An extent that is no index value.
    NoIndex(Value),
    /// An extent of a parameter that is an index which does not measure it.
    Unmeasured {
        /// The parameter.
        param: Value,
        /// The axis.
        axis: usize,
        /// The index.
        index: Value,
    },
    /// An effect token that is used twice.
    TokenTwice(Value),
    /// More dimensions than a tensor has.
    Rank(usize),
    /// More elements than are countable.
    TooLarge,
    /// A dimension order of another rank.
    Layout {
        /// The rank.
        expected: usize,
        /// Dimensions of the order.
        found: usize,
    },
    /// An interval that holds no number.
    EmptyInterval,
    /// A name that is there already.
    Name,
    /// A function that calls itself.
    Recursion(String),
    /// The number of operands of a scalar operation.
    ScalarOperands {
        /// The operation.
        operation: &'static str,
        /// The number of operands that the operation takes.
        expected: usize,
        /// The actual number.
        found: usize,
    },
    /// A scalar operation that reads a node which comes later.
    LaterNode {
        /// The operation.
        operation: &'static str,
    },
    /// A scalar operation on types that it is not defined on.
    ScalarType {
        /// The operation.
        operation: &'static str,
        /// The types of its operands.
        operands: Vec<ElementType>,
        /// The type of its result.
        result: ElementType,
    },
    /// An expression without a result, or with one that is no node.
    ExpressionResult,
    /// A type whose size is not known.
    NoStaticSize(TensorType),
    /// The number of bytes of a constant.
    Bytes {
        /// The number of bytes of the type.
        expected: u64,
        /// The actual number.
        found: usize,
    },
    /// Initial contents of another type than the state's.
    InitialType {
        /// The contents.
        constant: Constant,
        /// The state's type.
        expected: TensorType,
        /// The type of the contents.
        found: TensorType,
    },
    /// An effect token that stands before data.
    TokenPlace(Side),
    /// The number of inputs or outputs that a method presents.
    Ports {
        /// Inputs or outputs.
        side: Side,
        /// The function's name.
        function: String,
        /// The number that the function has.
        expected: usize,
        /// The number that the method presents.
        found: usize,
    },
    /// A fixed value of an input that does not fill its type.
    PortValue,
    /// Multiples of a port's extents that are not one power of two for each dimension.
    PortMultiples,
    /// Numbers of scales and zero points that differ.
    Quantization {
        /// The number of scales.
        scales: usize,
        /// The number of zero points.
        zero_points: usize,
    },
    /// A number of scales that differs from the number of elements along the axis.
    Scales {
        /// The axis.
        axis: usize,
        /// The number of elements along it.
        expected: Option<Extent>,
        /// The number of scales.
        found: usize,
    },
    /// A value that a plan puts where there is no memory.
    Placement(Value),
}

impl VerifyError {
    pub(super) fn new(mistake: Mistake) -> Self {
        Self { place: vec![], mistake: Box::new(mistake) }
    }

    /// Adds an outer place to the error.
    #[must_use]
    pub(super) fn within(mut self, place: Site) -> Self {
        self.place.insert(0, place);
        self
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.iter().try_for_each(|place| write!(f, "{place}: "))?;
        self.mistake.fmt(f)
    }
}

impl std::error::Error for VerifyError {}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(id) => id.fmt(f),
            Self::State(id) => id.fmt(f),
            Self::Function(name) => write!(f, "@{name}"),
            Self::Inst(inst) => inst.fmt(f),
            Self::Field(name) => f.write_str(name),
            Self::Node(node) => node.fmt(f),
            Self::Method(name) => write!(f, "method {name:?}"),
            Self::Port(side, number) => write!(f, "{side} {number}"),
            Self::Plan => f.write_str("the imported plan"),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
        })
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(id) => id.fmt(f),
            Self::State(id) => id.fmt(f),
            Self::Function(id) => id.fmt(f),
            Self::Inst(id) => id.fmt(f),
            Self::Source(id) => id.fmt(f),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(error) => error.fmt(f),
            Self::Operands { operator, expected, found } => write!(f, "{operator} has {found} operands, it takes {expected}"),
            Self::Results { expected, found } => write!(f, "has {found} results, the rule gives {expected}"),
            Self::ResultType { value, expected, found } => {
                write!(f, "{value} is {}, the rule gives {}", shown(found), shown(expected))
            }
            Self::Missing(entity) => write!(f, "{entity} does not exist"),
            Self::Twice(inst) => write!(f, "{inst} comes twice"),
            Self::Definition(value) => write!(f, "{value} is not defined as such"),
            Self::Undefined(value) => write!(f, "{value} is used before it is defined"),
            Self::NoIndex(value) => write!(f, "{value} is an extent but no index"),
            Self::Unmeasured { param, axis, index } => {
                write!(f, "extent {axis} of parameter {param} is {index}, which does not measure it")
            }
            Self::TokenTwice(value) => write!(f, "the effect token {value} is used twice"),
            Self::Rank(found) => write!(f, "rank {found} is above {MAX_RANK}"),
            Self::TooLarge => f.write_str("the shape has too many elements"),
            Self::Layout { expected, found } => write!(f, "a dimension order of {found} dimensions does not fit rank {expected}"),
            Self::EmptyInterval => f.write_str("the interval is empty"),
            Self::Name => f.write_str("this name comes twice"),
            Self::Recursion(name) => write!(f, "@{name} calls itself"),
            Self::ScalarOperands { operation, expected, found } => write!(f, "{operation} has {found} operands, it takes {expected}"),
            Self::LaterNode { operation } => write!(f, "{operation} reads a node that comes later"),
            Self::ScalarType { operation, operands, result } => {
                write!(f, "{operation} from {operands:?} to {result} is not defined")
            }
            Self::ExpressionResult => f.write_str("the expression has no result, or one that is no node"),
            Self::NoStaticSize(ty) => write!(f, "{} has no static size", shown(&Type::Tensor(ty.clone()))),
            Self::Bytes { expected, found } => write!(f, "has {found} bytes, its type takes {expected}"),
            Self::InitialType { constant, expected, found } => {
                let [expected, found] = [expected, found].map(|ty| shown(&Type::Tensor(ty.clone())));
                write!(f, "{constant} is {found}, the state is {expected}")
            }
            Self::TokenPlace(side) => write!(f, "an effect token does not stand after all {side}"),
            Self::Ports { side, function, expected, found } => write!(f, "presents {found} {side}, @{function} has {expected}"),
            Self::PortValue => f.write_str("the only value does not fill the type"),
            Self::PortMultiples => f.write_str("the multiples are not a power of two for each dimension"),
            Self::Quantization { scales, zero_points } => write!(f, "{scales} scales and {zero_points} zero points"),
            Self::Scales { axis, expected: Some(Extent::Static(n)), found } => {
                write!(f, "{found} scales along axis {axis}, which has {n} elements")
            }
            Self::Scales { axis, found, .. } => write!(f, "{found} scales along axis {axis}, whose extent is not known"),
            Self::Placement(value) => write!(f, "{value} is placed where there is no memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_where_from_the_outside_in() {
        let mistake = Mistake::ScalarOperands { operation: "add", expected: 2, found: 1 };
        let error = VerifyError::new(mistake).within(Site::Node(Node::from_u32(1))).within(Site::Field("expression"));
        let error = error.within(Site::Inst(Inst::from_u32(4))).within(Site::Function("main".into()));
        assert_eq!(error.to_string(), "@main: inst4: expression: n1: add has 1 operands, it takes 2");
    }
}
