//! Functions inside the one under construction: the ways of a branch, and the bodies of loops.
//!
//! Such a function begins with the registers and memory around it. Values that it reads from them become parameters (`captures.rs`). When it ends,
//! its registers are known in two forms: with its own values, and with values of the function around it.

use super::fault::Fault;
use super::graph;
use super::program::Form;
use super::registers::{Environment, Handle, Register};
use super::translate::{Scope, Translator};
use crate::ir::{Definition, ElementType, Extent, Func, Function, Placement, Type, Value, ValueData};
use crate::operators::graph::captured;
use std::collections::{BTreeSet, HashMap};

/// A function whose instructions have run, and the registers and memory after them.
pub struct Callee {
    function: Function,
    scope: Scope,
    /// The registers and memory, with values of this function.
    pub environment: Environment,
    /// The registers, with values of the function around it.
    pub outside: Vec<Register>,
    /// The results.
    pub results: Vec<Value>,
}

/// A function that is begun.
pub struct Begun {
    /// Registers whose shapes name indices, before and after they were renamed to the function's own.
    renamed: HashMap<usize, (Register, Register)>,
}

impl Callee {
    /// The element type of one of its tensors.
    pub fn element(&self, value: Value) -> ElementType {
        self.function.tensor(value).element
    }
}

impl Translator<'_, '_> {
    /// Begins a function with the current registers and memory. `what` is the end of its name.
    pub fn begin(&mut self, what: &str) -> Begun {
        let name = self.shared.function_name(&format!("{}.{what}", self.plan.name));
        self.enter(Function { name, ..Function::default() }, Scope::default());
        let depth = self.outer.len();
        let mut renamed = HashMap::new();
        for register in 0..self.environment.registers.len() {
            let Register::Tensor(handle) = &self.environment.registers[register] else { continue };
            if !is_dynamic(&handle.form) {
                continue;
            }
            let before = handle.clone();
            let within = Register::Tensor(Handle { form: self.captured_form(depth, &before.form), ..before.clone() });
            self.environment.registers[register] = within.clone();
            renamed.insert(register, (Register::Tensor(before), within));
        }
        Begun { renamed }
    }

    /// Ends it. It finds out nothing about registers that are not `live`.
    pub fn end(&mut self, begun: &Begun, live: &BTreeSet<usize>) -> Callee {
        let mut outside = self.environment.registers.clone();
        for (register, seen) in outside.iter_mut().enumerate() {
            match begun.renamed.get(&register) {
                Some((before, within)) if within == seen => *seen = before.clone(),
                _ => self.bring_out(seen, live.contains(&register)),
            }
        }
        let environment = self.environment.clone();
        let (function, scope) = self.leave();
        Callee { function, scope, environment, outside, results: Vec::new() }
    }

    /// Replaces indices in a register by the outer function's. A register that is not live, or whose indices exist only inside, becomes unavailable.
    fn bring_out(&mut self, register: &mut Register, is_live: bool) {
        let lost =
            || Register::Unavailable(Fault::unsupported("reads what is known only within one way of a branch, or one round of a loop"));
        let inside = self.outer.len();
        let seen = match register {
            Register::Tensor(handle) if is_dynamic(&handle.form) => {
                let shape: Option<Vec<Extent>> =
                    handle.form.shape.iter().map(|&extent| if is_live { self.lift_extent(extent) } else { None }).collect();
                shape.map(|shape| Register::Tensor(Handle { form: Form { shape, ..handle.form.clone() }, ..handle.clone() }))
            }
            Register::Index(depth, index) if *depth == inside => {
                let index = if is_live { self.lift(*index) } else { None };
                index.map(|index| Register::Index(inside - 1, index))
            }
            _ => return,
        };
        *register = seen.unwrap_or_else(lost);
    }

    /// Does something at the end of a function that has ended.
    pub fn inside<T>(&mut self, callee: &mut Callee, act: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.environment, &mut callee.environment);
        self.enter(std::mem::take(&mut callee.function), std::mem::take(&mut callee.scope));
        let found = act(self);
        (callee.function, callee.scope) = self.leave();
        std::mem::swap(&mut self.environment, &mut callee.environment);
        found
    }

    /// Reads a register at the end of a function. `None` if it cannot be read, since it may never be needed.
    pub fn read_in(&mut self, callee: &mut Callee, register: usize) -> Option<Value> {
        self.inside(callee, |t| t.read(register).ok())
    }

    fn enter(&mut self, function: Function, scope: Scope) {
        let function = self.graph.exchange(function);
        let scope = std::mem::replace(&mut self.scope, scope);
        self.outer.push((function, scope));
    }

    fn leave(&mut self) -> (Function, Scope) {
        let (function, scope) = self.outer.pop().unwrap_or_default();
        (self.graph.exchange(function), std::mem::replace(&mut self.scope, scope))
    }

    /// Turns indices that a function shares with the one around it into parameters, and removes unused instructions.
    ///
    /// # Errors
    /// An extent of a parameter or a result that has no counterpart outside.
    pub fn close(&mut self, callee: &mut Callee) -> Result<(), Fault> {
        let results = callee.results.clone();
        self.inside(callee, |t| t.lift_types(&results))?;
        let function = &mut callee.function;
        captured::settle(&callee.scope.captures, function);
        function.results = results;
        graph::sweep(function);
        Ok(())
    }

    fn lift_types(&mut self, results: &[Value]) -> Result<(), Fault> {
        let params = self.graph.function().params.clone();
        for value in params.into_iter().chain(results.iter().copied()) {
            if self.graph.function().values[value].ty.as_tensor().is_none() {
                continue;
            }
            let extents = self.graph.extents(value);
            if !extents.iter().all(|&extent| self.lift_extent(extent).is_some()) {
                return Err(Fault::unsupported("the shape of a result is known only within one way of a branch, or one round of a loop"));
            }
            if let Type::Tensor(ty) = &mut self.graph.builder.function.values[value].ty {
                ty.shape = extents;
            }
        }
        Ok(())
    }

    /// The values that functions take from the one around them: indices that at least one of them uses, then tensors.
    pub fn common(&self, callees: &[&Callee]) -> Vec<Value> {
        let function = self.graph.function();
        let (mut indices, mut tensors) = (Vec::new(), Vec::new());
        for callee in callees {
            let used = captured::used(&callee.function);
            for &(outer, inner) in &callee.scope.captures {
                let is_index = matches!(function.values[outer].ty, Type::Index(_));
                let list = if is_index { &mut indices } else { &mut tensors };
                if !list.contains(&outer) && (!is_index || used.contains(&inner)) {
                    list.push(outer);
                }
            }
        }
        indices.append(&mut tensors);
        indices
    }

    /// Returns the parameters of a finished function for captured values of the function around it, and adds missing ones.
    pub fn parameters(&mut self, callee: &mut Callee, captured: &[Value]) -> Vec<Value> {
        let around = self.graph.function();
        let mut inner: Vec<Value> = Vec::with_capacity(captured.len());
        for &outer in captured {
            if let Some((_, known)) = callee.scope.captures.iter().find(|(other, _)| *other == outer) {
                inner.push(*known);
                continue;
            }
            let mut ty = around.values[outer].ty.clone();
            if let Type::Tensor(tensor) = &mut ty {
                for extent in &mut tensor.shape {
                    let known = around.resolved(*extent);
                    let index = captured.iter().position(|&other| Extent::Value(around.index_root(other)) == known);
                    *extent = index.and_then(|index| inner.get(index)).map_or(known, |&index| Extent::Value(index));
                }
            }
            inner.push(callee.function.values.push(ValueData { ty, definition: Definition::Param(0), name: None }));
        }
        inner
    }

    /// Gives a function its parameters and adds it to the module.
    pub fn finish(&mut self, callee: Callee, params: Vec<Value>) -> Func {
        let Callee { mut function, scope, results, .. } = callee;
        for (i, &param) in params.iter().enumerate() {
            function.values[param].definition = Definition::Param(i as u32);
        }
        (function.params, function.results) = (params, results);
        let live = graph::sweep(&mut function);
        let func = self.graph.builder.module.functions.push(function);
        for (value, (memory_id, offset, bytes)) in scope.placements.into_iter().filter(|(value, _)| live.contains(value)) {
            self.placements.push(Placement { function: func, value, memory_id, offset, bytes });
        }
        func
    }
}

/// Tests whether some extents are known only at run time.
pub fn is_dynamic(form: &Form<Extent>) -> bool {
    form.shape.iter().any(|extent| extent.as_static().is_none())
}
