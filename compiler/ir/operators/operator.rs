//! The contract of an operator, which its file fulfils.
//!
//! An operator knows its fields and its operands. It sees types through [`Context`], numbers through [`Evaluation`], and values to draw from through
//! [`Generator`]. None of them knows instructions, so the table of operators and modules stand above the files of operators.

use super::arity::Arity;
use super::field::Field;
use super::rule::{Context, Types};
use crate::axes::Axes;
use crate::entities::Value;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;

/// Random operands, and an operator that probably fits them.
pub(crate) type Proposal<O> = Option<(Vec<Value>, O)>;

/// The description of an operator, implemented in its file.
pub(crate) trait Operator: Clone + Default {
    /// Its name in the text form.
    const NAME: &'static str;
    /// Its operands.
    const OPERANDS: Arity;
    /// Its meaning, in one sentence for the coverage document.
    const MEANING: &'static str;

    /// Its fields by their names in the text form, in its order.
    fn fields(&self) -> Vec<(&'static str, &dyn Field)>;

    /// Its fields, mutable.
    fn fields_mut(&mut self) -> Vec<(&'static str, &mut dyn Field)>;

    /// The types of the results. The number of operands is checked before.
    fn infer(&self, cx: &Context<'_>) -> Types;

    /// Its results for some operands.
    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>>;

    /// A random instance; `None` if no value at hand fits.
    fn propose(generator: &mut Generator<'_>) -> Proposal<Self>;

    /// The effect along each axis of its operands, in an instruction that its type rule accepts.
    fn axes(&self, cx: &Context<'_>) -> Axes {
        Axes::opaque(cx)
    }

    /// The equivalent operator for permuted operands: dimension `i` of its operands is dimension `permutation[i]` of the original ones. Its result is
    /// the original result with dimensions permuted likewise. `None` if there is no such operator.
    fn permuted(&self, _permutation: &[usize]) -> Option<Self> {
        None
    }

    /// The operator that computes a part of the result along an axis. It reads the needed part of operand 0, with `low` and `high` positions of
    /// border. `None` if fields depend on extents in another way.
    fn part(&self, _axis: usize, _low: i64, _high: i64) -> Option<Self> {
        None
    }

    /// The axis of operand 0 from which the integers of operand 1 pick slices, if the operator does only that; `None` otherwise.
    fn picked_along(&self) -> Option<usize> {
        None
    }

    /// A rough number of scalar operations, or of elements visited, for each element of the results, beside reading the operands once. `None` if it
    /// depends on run-time extents.
    fn work(&self, _cx: &Context<'_>) -> Option<u64> {
        Some(1)
    }
}
