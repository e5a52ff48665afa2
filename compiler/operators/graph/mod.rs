//! A function under construction, with arithmetic on extents. Every operator of the library works on it. A front end owns one for each function.
//!
//! - `indices.rs`: arithmetic on extents, folded where they are known; extents that must be equal;
//! - `integers.rs`: integers that may be negative, differences that cancel;
//! - `sums.rs`, `forms.rs`: sums of multiples of indices; indices that are computed in different ways and always equal;
//! - `movement.rs`: reshapes, transposes, slices and their like, left out if they change nothing;
//! - `constants.rs`, `fold.rs`: constants, and values that depend on constants only;
//! - `elements.rs`, `origin.rs`, `ranges.rs`: single elements of integer tensors as extents, and their ranges;
//! - `multiples.rs`: reals that are multiples of an extent;
//! - `facts.rs`, `narrowing.rs`, `solving.rs`: what operators require of inputs' extents, noted until nothing new follows;
//! - `captured.rs`, `rounds.rs`: indices that an inner function shares with the function around it, and facts in the body of a loop.

pub mod captured;
mod constants;
pub mod elements;
pub mod facts;
mod fold;
pub mod forms;
mod indices;
pub mod integers;
mod limits;
pub mod movement;
mod multiples;
pub mod narrowing;
mod origin;
mod ranges;
mod rounds;
pub mod solving;
pub mod sums;
#[cfg(test)]
mod tests;

use super::Error;
use super::terms::Terms;
use crate::ir::{ElementType, Expression, Extent, Func, Function, FunctionBuilder, IndexOperation, Interval, Module, Node, Value};
use facts::{Facts, Measured};
use rustc_hash::FxHashMap;

/// A function being built.
pub struct Graph<'m> {
    /// The builder, for everything outside of operators: parameters, states, control flow.
    pub builder: FunctionBuilder<'m>,
    evaluated: fold::Evaluated,
    /// The extents that are compared at run time if they must be equal, but are not known to be. Others are errors.
    pub compares: Compared,
    /// `true` if shapes and lists are followed from one iteration of a loop to the next. An element of a list that is concatenated anew each time is
    /// then written in place.
    pub follows_rounds: bool,
    /// The extents of the inputs, in a method whose front end gathers facts about them here. Empty in other functions.
    pub inputs: Vec<Measured>,
    /// The facts about these extents.
    pub facts: Facts,
    round: limits::Round,
    /// Cache of computed extents.
    combined: FxHashMap<(IndexOperation, Extent, Extent), Extent>,
}

/// Extents that are compared when a function runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    /// No extents.
    None,
    /// Extents that the function reads from its tensors, such as a number of elements found. No caller can give them.
    Read,
    /// All extents.
    All,
}

/// Numbers as extents.
pub fn extents(shape: &[u64]) -> Vec<Extent> {
    shape.iter().map(|&n| Extent::Static(n)).collect()
}

impl<'m> Graph<'m> {
    /// A function without parameters so far.
    pub fn new(module: &'m mut Module, name: impl Into<String>) -> Self {
        Self {
            builder: FunctionBuilder::new(module, name),
            evaluated: fold::Evaluated::default(),
            compares: Compared::None,
            follows_rounds: false,
            inputs: Vec::new(),
            facts: Facts::default(),
            round: limits::Round::default(),
            combined: FxHashMap::default(),
        }
    }

    /// Continues with another function. Returns the former one.
    pub fn exchange(&mut self, function: Function) -> Function {
        self.evaluated.forget();
        self.combined.clear();
        self.round = limits::Round::default();
        std::mem::replace(&mut self.builder.function, function)
    }

    /// Goes on with another function for a while.
    pub fn within<T>(&mut self, function: &mut Function, act: impl FnOnce(&mut Self) -> T) -> T {
        let (round, inputs) = (std::mem::take(&mut self.round), std::mem::take(&mut self.inputs));
        let around = self.exchange(std::mem::take(function));
        let outcome = act(self);
        *function = self.exchange(around);
        (self.round, self.inputs) = (round, inputs);
        outcome
    }

    /// Ends the function and adds it to the module.
    pub fn finish(self, results: Vec<Value>) -> Func {
        self.builder.finish(results)
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.builder.function
    }

    /// Copies to a value the name of another one that it replaces.
    pub fn name_after(&mut self, value: Value, other: Value) {
        self.builder.function.values[value].name = self.function().values[other].name.clone();
    }

    /// The element type of a tensor.
    pub fn element(&self, value: Value) -> ElementType {
        self.function().tensor(value).element
    }

    /// The number of dimensions of a tensor.
    pub fn rank(&self, value: Value) -> usize {
        self.function().tensor(value).rank()
    }

    /// The extents of a tensor. An extent with a single possible value is a number. Extents that are always equal are the same index.
    pub fn extents(&self, value: Value) -> Vec<Extent> {
        self.function().tensor(value).shape.iter().map(|&extent| self.function().resolved(extent)).collect()
    }

    /// The bounds of a tensor's extents.
    pub fn bounds(&self, value: Value) -> Vec<u64> {
        self.extents(value).into_iter().map(|extent| self.bound(extent)).collect()
    }

    /// The range of an extent.
    pub fn interval(&self, extent: Extent) -> Interval {
        self.function().interval(extent)
    }

    /// The largest possible value of an extent.
    pub fn bound(&self, extent: Extent) -> u64 {
        u64::try_from(self.interval(extent).high).unwrap_or(0)
    }

    /// The shape of a tensor.
    ///
    /// # Errors
    /// [`Error::DynamicExtent`] if an extent is known only at run time.
    pub fn shape(&self, value: Value) -> Result<Vec<u64>, Error> {
        let known = self.extents(value).into_iter().map(Extent::as_static).collect::<Option<Vec<u64>>>();
        known.ok_or(Error::DynamicExtent)
    }

    /// An element-wise expression with one result. Extents of operands are made equal where they must be equal to broadcast.
    ///
    /// # Errors
    /// When operands do not fit each other.
    pub fn map(&mut self, operands: &[Value], expression: Expression) -> Result<Value, Error> {
        let operands = self.meet(operands)?;
        Ok(self.builder.map(&operands, expression)?)
    }

    /// An element-wise expression with all its results.
    ///
    /// # Errors
    /// When operands do not fit each other.
    pub fn map_many(&mut self, operands: &[Value], expression: Expression) -> Result<Vec<Value>, Error> {
        let operands = self.meet(operands)?;
        Ok(self.builder.map_many(&operands, expression)?)
    }

    /// An element-wise expression of one result, built from its operands as terms. An identity returns the operand.
    ///
    /// # Errors
    /// When operand types or shapes do not fit.
    pub fn compute<E: From<Error>>(
        &mut self,
        operands: &[Value],
        build: impl FnOnce(&mut Terms, &[Node]) -> Result<Node, E>,
    ) -> Result<Value, E> {
        let elements: Vec<ElementType> = operands.iter().map(|&value| self.element(value)).collect();
        let mut terms = Terms::new(&elements);
        let inputs: Vec<Node> = (0..operands.len()).map(|i| terms.input(i)).collect();
        let result = build(&mut terms, &inputs)?;
        match *operands {
            [only] if result == inputs[0] => Ok(only),
            _ => Ok(self.map(operands, terms.finish(result))?),
        }
    }

    /// A tensor converted to another element type: integers wrap, floats lose their fraction, to truth values whether it is not zero.
    ///
    /// # Errors
    /// Never for element types that expressions compute with.
    pub fn convert(&mut self, value: Value, element: ElementType) -> Result<Value, Error> {
        self.compute(&[value], |terms, x| Ok(terms.convert(x[0], element)))
    }

    /// A tensor whose packed integers have a byte each; any other tensor as it is.
    ///
    /// # Errors
    /// Never.
    pub fn unpacked(&mut self, value: Value) -> Result<Value, Error> {
        let element = self.element(value);
        if element.is_packed() { self.convert(value, element.unpacked()) } else { Ok(value) }
    }
}
