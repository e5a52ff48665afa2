//! What a function inside another one takes from it: tensors and indices, which become parameters.
//!
//! An index that is computed from others is computed again inside, so that as much is known of it there. What the function around has as well becomes
//! a parameter when the inner function ends (`callee.rs`).

use super::fault::Fault;
use super::memory::Definition;
use super::program::Form;
use super::translate::{Scope, Translator};
use crate::ir::operators::{IndexBinary, IndexConstant};
use crate::ir::{Extent, Function, IndexOperation, Interval, Operation, Type, Value, interval};
use crate::operators::graph::integers::{number, operation_of};

/// Operations on indices that are followed at most from a function to the next.
const MOST_FOLLOWED: usize = 64;

impl Translator<'_, '_> {
    /// A value that belongs to the function being built, for one of an enclosing function: a parameter through every level between.
    pub fn localize(&mut self, definition: &Definition) -> Value {
        (definition.depth + 1..=self.outer.len()).fold(definition.value, |value, depth| self.capture(depth, value))
    }

    /// The same of an index.
    ///
    /// # Errors
    /// When it is one of a function that has ended.
    pub fn localize_index(&mut self, depth: usize, index: Value) -> Result<Value, Fault> {
        if depth > self.outer.len() {
            return Err(Fault::unsupported("reads a number that is known only within one way of a branch, or one round of a loop"));
        }
        let index = (depth + 1..=self.outer.len()).fold(index, |index, depth| self.capture_index(depth, index, MOST_FOLLOWED));
        Ok(self.graph.function().index_root(index))
    }

    /// The form of an enclosing function's tensor in the function being built.
    pub fn localize_form(&mut self, depth: usize, form: &Form<Extent>) -> Form<Extent> {
        (depth + 1..=self.outer.len()).fold(form.clone(), |form, depth| self.captured_form(depth, &form))
    }

    /// A form of the function around the one at a depth, in that.
    pub(super) fn captured_form(&mut self, depth: usize, form: &Form<Extent>) -> Form<Extent> {
        let shape = form.shape.iter().map(|&extent| self.capture_extent(depth, extent)).collect();
        Form { shape, ..form.clone() }
    }

    /// An extent of the function around the one at a depth, in that.
    pub(super) fn capture_extent(&mut self, depth: usize, extent: Extent) -> Extent {
        match self.function_at(depth - 1).resolved(extent) {
            Extent::Value(index) => Extent::Value(self.capture_index(depth, index, MOST_FOLLOWED)),
            known @ Extent::Static(_) => known,
        }
    }

    /// The type of a value of the function around the one at a depth, in that.
    pub(super) fn captured_type(&mut self, depth: usize, value: Value) -> Type {
        let mut ty = self.function_at(depth - 1).values[value].ty.clone();
        if let Type::Tensor(tensor) = &mut ty {
            for extent in &mut tensor.shape {
                *extent = self.capture_extent(depth, *extent);
            }
        }
        ty
    }

    /// A value of the function around the one at a depth, in that.
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

    /// An index of the function around the one at a depth, in that: an operation where it is one there, followed no further than `left`.
    fn capture_index(&mut self, depth: usize, index: Value, left: usize) -> Value {
        let around = self.function_at(depth - 1);
        let index = around.index_root(index);
        let same = |&&(outer, _): &&(Value, Value)| around.index_root(outer) == index;
        if let Some((_, inner)) = self.scope_at(depth).captures.iter().find(same) {
            return *inner;
        }
        let (constant, operation, ty) = (number(around, index), operation_of(around, index), around.values[index].ty.clone());
        let inner = match (constant, operation, left) {
            (Some(n), _, _) => append_constant(self.level(depth).0, n),
            (None, Some((operation, operands)), 1..) => {
                let [a, b] = operands.map(|operand| self.capture_index(depth, operand, left - 1));
                append_operation(self.level(depth).0, operation, [a, b])
            }
            _ => self.level(depth).0.add_param(ty, None),
        };
        self.level(depth).1.captures.push((index, inner));
        inner
    }

    /// An index of the function being built, in the function around it: one of that, or an operation on such. `None` of what only a round of a
    /// loop or one way of a branch knows.
    pub fn lift(&mut self, index: Value) -> Option<Value> {
        self.lift_from(self.outer.len(), index, MOST_FOLLOWED)
    }

    /// An extent of the function being built, in the function around it.
    pub fn lift_extent(&mut self, extent: Extent) -> Option<Extent> {
        match self.graph.function().resolved(extent) {
            Extent::Value(index) => self.lift(index).map(Extent::Value),
            known @ Extent::Static(_) => Some(known),
        }
    }

    /// An extent of the function being built, in the method's own function.
    pub fn lift_to_method(&mut self, extent: Extent) -> Option<Extent> {
        let Extent::Value(index) = extent else { return Some(extent) };
        let lifted = (1..=self.outer.len()).rev().try_fold(index, |index, depth| self.lift_from(depth, index, MOST_FOLLOWED))?;
        Some(self.function_at(0).resolved(Extent::Value(lifted)))
    }

    fn lift_from(&mut self, depth: usize, index: Value, left: usize) -> Option<Value> {
        let function = self.function_at(depth);
        let index = function.index_root(index);
        let same =
            |&&(_, inner): &&(Value, Value)| matches!(function.values[inner].ty, Type::Index(_)) && function.index_root(inner) == index;
        if let Some((outer, _)) = self.scope_at(depth).captures.iter().find(same) {
            return Some(*outer);
        }
        let left = left.checked_sub(1)?;
        let outer = match (number(function, index), operation_of(function, index)) {
            (Some(n), _) => append_constant(self.level(depth - 1).0, n),
            (None, Some((operation, [a, b]))) => {
                let operands = [self.lift_from(depth, a, left)?, self.lift_from(depth, b, left)?];
                append_operation(self.level(depth - 1).0, operation, operands)
            }
            (None, None) => return None,
        };
        self.level(depth).1.captures.push((outer, index));
        Some(outer)
    }

    /// The function being built at a depth, and what belongs to it.
    fn level(&mut self, depth: usize) -> (&mut Function, &mut Scope) {
        match self.outer.get_mut(depth) {
            Some((function, scope)) => (function, scope),
            None => (&mut self.graph.builder.function, &mut self.scope),
        }
    }

    fn function_at(&self, depth: usize) -> &Function {
        self.outer.get(depth).map_or(self.graph.function(), |(function, _)| function)
    }

    fn scope_at(&self, depth: usize) -> &Scope {
        self.outer.get(depth).map_or(&self.scope, |(_, scope)| scope)
    }
}

fn append_constant(function: &mut Function, value: i64) -> Value {
    let inst = function.append(IndexConstant { value }, vec![], vec![Type::Index(Interval::exactly(value))], None);
    function.insts[inst].results[0]
}

fn append_operation(function: &mut Function, operation: IndexOperation, operands: [Value; 2]) -> Value {
    let [a, b] = operands.map(|operand| function.interval(Extent::Value(operand)));
    let ty = Type::Index(interval::apply(operation, a, b));
    let inst = function.append(Operation::IndexBinary(IndexBinary { operation }), operands.to_vec(), vec![ty], None);
    function.insts[inst].results[0]
}
