//! Captures of inner functions: tensors and indices of the outer function, which become parameters.
//!
//! Indices are captured by `operators/graph/captured.rs`. Indices that the outer function has as well become parameters when the inner function ends
//! (`callee.rs`).

use super::fault::Fault;
use super::memory::Definition;
use super::program::Form;
use super::translate::{Scope, Translator};
use crate::ir::{Extent, Function, Type, Value};
use crate::operators::graph::captured;

impl Translator<'_, '_> {
    /// Returns the counterpart of an enclosing function's value in the function under construction. It becomes a parameter of every function between.
    pub fn localize(&mut self, definition: &Definition) -> Value {
        (definition.depth + 1..=self.outer.len()).fold(definition.value, |value, depth| self.capture(depth, value))
    }

    /// Returns the counterpart of an enclosing function's index.
    ///
    /// # Errors
    /// An index of a function that has ended.
    pub fn localize_index(&mut self, depth: usize, index: Value) -> Result<Value, Fault> {
        if depth > self.outer.len() {
            return Err(Fault::unsupported("reads a number that is known only within one way of a branch, or one round of a loop"));
        }
        let index = (depth + 1..=self.outer.len()).fold(index, |index, depth| self.capture_index(depth, index));
        Ok(self.graph.function().index_root(index))
    }

    /// The form of an enclosing function's tensor in the function being built.
    pub fn localize_form(&mut self, depth: usize, form: &Form<Extent>) -> Form<Extent> {
        (depth + 1..=self.outer.len()).fold(form.clone(), |form, depth| self.captured_form(depth, &form))
    }

    /// Returns the counterpart, in the function at a depth, of a form of the function around it.
    pub(super) fn captured_form(&mut self, depth: usize, form: &Form<Extent>) -> Form<Extent> {
        let shape = form.shape.iter().map(|&extent| self.capture_extent(depth, extent)).collect();
        Form { shape, ..form.clone() }
    }

    /// Returns the counterpart, in the function at a depth, of an extent of the function around it.
    pub(super) fn capture_extent(&mut self, depth: usize, extent: Extent) -> Extent {
        let (around, function, scope) = self.levels(depth);
        captured::capture_extent(&mut scope.captures, around, function, extent)
    }

    /// Returns the type, in the function at a depth, of a value of the function around it.
    pub(super) fn captured_type(&mut self, depth: usize, value: Value) -> Type {
        let mut ty = self.function_at(depth - 1).values[value].ty.clone();
        if let Type::Tensor(tensor) = &mut ty {
            for extent in &mut tensor.shape {
                *extent = self.capture_extent(depth, *extent);
            }
        }
        ty
    }

    /// Returns the counterpart, in the function at a depth, of a value of the function around it.
    fn capture(&mut self, depth: usize, value: Value) -> Value {
        let (_, scope) = self.level(depth);
        if let Some((_, inner)) = scope.captures.iter().find(|(outer, _)| *outer == value) {
            return *inner;
        }
        let ty = self.captured_type(depth, value);
        let (function, scope) = self.level(depth);
        let inner = function.add_param(ty, None);
        scope.captures.push((value, inner));
        inner
    }

    /// Returns the counterpart, in the function at a depth, of an index of the function around it.
    fn capture_index(&mut self, depth: usize, index: Value) -> Value {
        let (around, function, scope) = self.levels(depth);
        captured::capture(&mut scope.captures, around, function, index)
    }

    /// Returns the counterpart of an index in the function around the one under construction: an index of it, or an operation on such. `None` if the
    /// index exists only in the body of a loop or in a branch.
    pub fn lift(&mut self, index: Value) -> Option<Value> {
        self.lift_from(self.outer.len(), index)
    }

    /// Returns the counterpart of an extent in the function around the one under construction.
    pub fn lift_extent(&mut self, extent: Extent) -> Option<Extent> {
        match self.graph.function().resolved(extent) {
            Extent::Value(index) => self.lift(index).map(Extent::Value),
            known @ Extent::Static(_) => Some(known),
        }
    }

    /// An extent of the function being built, in the method's own function.
    pub fn lift_to_method(&mut self, extent: Extent) -> Option<Extent> {
        let Extent::Value(index) = extent else { return Some(extent) };
        let lifted = (1..=self.outer.len()).rev().try_fold(index, |index, depth| self.lift_from(depth, index))?;
        Some(self.function_at(0).resolved(Extent::Value(lifted)))
    }

    fn lift_from(&mut self, depth: usize, index: Value) -> Option<Value> {
        let (around, function, scope) = self.levels(depth);
        captured::lift(&mut scope.captures, around, function, index)
    }

    /// The function around the one at a depth, the function itself, and its scope.
    fn levels(&mut self, depth: usize) -> (&mut Function, &mut Function, &mut Scope) {
        let (outer, inner) = self.outer.split_at_mut(depth);
        let around = &mut outer[depth - 1].0;
        match inner.first_mut() {
            Some((function, scope)) => (around, function, scope),
            None => (around, &mut self.graph.builder.function, &mut self.scope),
        }
    }

    /// The function under construction at a depth, and its scope.
    fn level(&mut self, depth: usize) -> (&mut Function, &mut Scope) {
        match self.outer.get_mut(depth) {
            Some((function, scope)) => (function, scope),
            None => (&mut self.graph.builder.function, &mut self.scope),
        }
    }

    fn function_at(&self, depth: usize) -> &Function {
        self.outer.get(depth).map_or(self.graph.function(), |(function, _)| function)
    }
}
