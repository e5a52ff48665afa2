//! The scalar language inside `map`: typed numbers, scalar operations, and expressions as hash-consed DAGs.
//!
//! An [`Expression`] is a list of nodes in topological order. Equal nodes are one node, so that a chain of thirty `add x, x` has thirty nodes and
//! never 2³⁰. Every walk over it is a loop.

mod expression;
pub mod float;
pub mod integer;
pub mod interval;
mod number;
mod operations;
pub mod row;
mod rules;

pub use expression::{Expression, ExpressionBuilder, ExpressionError, Node, NodeData};
pub use number::Scalar;
pub use operations::ScalarOp;
pub use row::{Exactness, Neutral, Row};
pub use rules::{Comparison, NanRule, RequantizeRule};
