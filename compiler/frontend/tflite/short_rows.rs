//! ARG_MAX and ARG_MIN of contiguous rows of four to seven floats.
//!
//! LiteRT searches such rows in four lanes, and then the rest. A NaN in a lane is compared with the other lanes, and its place decides the result. In
//! the rest, NaN is left out. Longer rows have several elements a lane, so NaN is left out there, too, unless a lane has nothing else.

use super::operator::Operator;
use crate::diagnostic::Diagnostic;
use crate::ir::{Comparison, ElementType, Extent, Node, ScalarOp, Search, Value};
use crate::operators::Error;
use crate::operators::terms::{Term, Terms};

/// The lengths of these rows.
pub(super) const LENGTHS: std::ops::Range<u64> = 4..8;

const LANES: usize = 4;

/// The positions of the extreme elements of rows along the last dimension, which is left out of the result.
pub(super) fn positions(
    operator: &mut Operator<'_, '_, '_>,
    input: Value,
    search: Search,
    element: ElementType,
) -> Result<Value, Diagnostic> {
    let g = operator.graph();
    let mut shape = g.extents(input);
    let last = shape.len() - 1;
    let count = shape.pop().and_then(Extent::as_static).unwrap_or(0);
    let mut columns = Vec::new();
    for column in 0..count {
        let column = g.slice_along(input, last, Extent::Static(column), Extent::Static(1))?;
        columns.push(g.reshape(column, &shape)?);
    }
    let row = Row { is_largest: search.finds_largest(), element };
    Ok(g.compute::<Error>(&columns, |terms, x| row.position(terms, x))?)
}

struct Row {
    is_largest: bool,
    element: ElementType,
}

impl Row {
    fn position(&self, terms: &mut Terms, x: &[Node]) -> Result<Node, Error> {
        let (lanes, rest) = x.split_at(LANES);
        let (first, second) = (self.extreme(terms, lanes[0], lanes[1])?, self.extreme(terms, lanes[2], lanes[3])?);
        let mut best = self.extreme(terms, first, second)?;
        let mut position = self.number(terms, 0);
        for (lane, &x) in lanes.iter().enumerate().rev() {
            let is_best = terms.compare(Comparison::Equal, x, best)?;
            let number = self.number(terms, lane);
            position = terms.select(is_best, number, position)?;
        }
        for (i, &x) in rest.iter().enumerate() {
            let is_better = self.is_better(terms, x, best)?;
            let number = self.number(terms, LANES + i);
            position = terms.select(is_better, number, position)?;
            best = terms.select(is_better, x, best)?;
        }
        Ok(position)
    }

    fn number(&self, terms: &mut Terms, n: usize) -> Node {
        terms.constant(crate::ir::Scalar::int(self.element, n as i64))
    }

    /// C++'s `std::max` or `std::min`.
    fn extreme(&self, terms: &mut Terms, a: Node, b: Node) -> Term {
        if self.is_largest { terms.max(a, b) } else { terms.min(a, b) }
    }

    /// Tests whether a number is better than the best one so far, or the first one after nothing but NaN.
    fn is_better(&self, terms: &mut Terms, x: Node, best: Node) -> Term {
        let comparison = if self.is_largest { Comparison::Greater } else { Comparison::Less };
        let better = terms.compare(comparison, x, best)?;
        let (none, number) = (terms.compare(Comparison::NotEqual, best, best)?, terms.compare(Comparison::Equal, x, x)?);
        let first = terms.op(ScalarOp::And, &[none, number])?;
        terms.op(ScalarOp::Or, &[better, first])
    }
}
