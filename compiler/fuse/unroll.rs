//! A method as one body: calls, branches and loops are unrolled into one function's value space. Everything after this point sees a tree of
//! straight-line pieces over one set of values.
//!
//! States become values too. The contents of a state at the start of the method are one value. After a store, its operand is the state's value;
//! a load returns the current value. Branches and loops pass states like other values. Effect tokens are gone then: the order of values
//! replaces them. Memory planning decides which of these values live in the state's own memory.

use super::accumulation;
use super::check;
use super::flow::{Carried, Flow, Item, StateFlow};
use crate::ir::{
    self, Definition, Extent, Function, Inst, InstData, Module, Operation, State, Type, Value, ValueData, Verified, operators,
};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Functions call each other at most this deep; the verifier has ruled out recursion.
const MAX_DEPTH: usize = 64;
/// Limit of instructions of a method with all callees; each call of a function counts.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// An error of the unroller, with the instruction at fault in the method's own function.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// Calls nest too deeply.
    #[error("functions call each other more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Too many instructions after calls are unrolled.
    #[error("the method with all it calls has more than {MAX_INSTRUCTIONS} operators")]
    TooLarge,
    /// A condition with an effect.
    #[error("a loop whose condition writes a variable")]
    StoringCondition(Option<ir::Source>),
}

/// Unrolls the body of a method's function.
///
/// # Errors
/// [`FlowError`].
pub fn unroll(module: Verified<'_>, function: ir::Func) -> Result<Flow, FlowError> {
    let module = module.module();
    let callee = &module.functions[function];
    let into = Function { name: callee.name.clone(), ..Function::default() };
    let mut unroller = Unroller { module, into, states: BTreeMap::new() };
    let mut names = Names::default();
    for &param in callee.params.iter().filter(|&&v| callee.values[v].ty != Type::Effect) {
        let data = &callee.values[param];
        let copy = unroller.into.add_param(rename_type(&data.ty, &names), data.name.clone());
        names.insert(param, copy);
    }
    let mut entries = Vec::new();
    for state in states(module, function) {
        // Like a parameter, it has no instruction; its number is after those of all parameters.
        let data = &module.states[state];
        let definition = Definition::Param((unroller.into.params.len() + entries.len()) as u32);
        let ty = Type::Tensor(data.ty.clone());
        let entry = unroller.into.values.push(ValueData { ty, definition, name: Some(data.name.clone()) });
        unroller.states.insert(state, entry);
        entries.push((state, entry));
    }
    let mut items = unroller.measures(callee, &mut names);
    let (body, results) = unroller.function(function, names, 0)?;
    items.extend(body);
    let states = entries.into_iter().map(|(state, entry)| StateFlow { state, entry, exit: unroller.states[&state] }).collect();
    unroller.into.results = results.into_iter().flatten().collect();
    let mut flow = Flow { function: unroller.into, items, states };
    accumulation::decide(&mut flow.function);
    check::assert_sound(module, &flow, "unrolling");
    Ok(flow)
}

/// The states that a function reads or writes, itself or in what it calls.
pub fn states(module: &Module, function: ir::Func) -> BTreeSet<State> {
    states_of(module, function, false)
}

/// Returns the states that a function and its callees write; also those that they only read, unless `only_written`.
fn states_of(module: &Module, function: ir::Func, only_written: bool) -> BTreeSet<State> {
    let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([function]), vec![function]);
    while let Some(function) = open.pop() {
        let function = &module.functions[function];
        for data in function.body.iter().map(|&inst| &function.insts[inst]) {
            match &data.operation {
                Operation::LoadState(load) if !only_written => _ = found.insert(load.state),
                Operation::StoreState(store) => _ = found.insert(store.state),
                _ => {}
            }
            open.extend(data.operation.functions().filter(|&callee| seen.insert(callee)));
        }
    }
    found
}

/// Maps values of a callee to values of the method. Effect tokens have no entry.
type Names = FxHashMap<Value, Value>;

/// A body's items, and the value of each result of its function; `None` for effect tokens.
type Body = (Vec<Item>, Vec<Option<Value>>);

fn rename_type(ty: &Type, names: &Names) -> Type {
    let mut ty = ty.clone();
    if let Type::Tensor(tensor) = &mut ty {
        for extent in &mut tensor.shape {
            if let Extent::Value(v) = extent {
                *v = *names.get(v).unwrap_or(v);
            }
        }
    }
    ty
}

struct Unroller<'m> {
    module: &'m Module,
    into: Function,
    /// The current value of each state.
    states: BTreeMap<State, Value>,
}

impl Unroller<'_> {
    /// Copies the instructions that compute extents in the parameters' types. They come first, because later types use these extents.
    fn measures(&mut self, callee: &Function, names: &mut Names) -> Vec<Item> {
        let mut items = Vec::new();
        let named = callee.params.iter().filter_map(|&v| callee.values[v].ty.as_tensor()).flat_map(|ty| &ty.shape);
        for extent in named {
            let Extent::Value(index) = *extent else { continue };
            if let (None, Some(inst)) = (names.get(&index), callee.defining_inst(index)) {
                items.push(Item::Inst(self.copy(callee, inst, names)));
            }
        }
        for param in &callee.params {
            if let Some(copy) = names.get(param) {
                self.into.values[*copy].ty = rename_type(&callee.values[*param].ty, names);
            }
        }
        items
    }

    fn function(&mut self, function: ir::Func, mut names: Names, depth: usize) -> Result<Body, FlowError> {
        if depth > MAX_DEPTH {
            return Err(FlowError::TooDeep);
        }
        let callee = &self.module.functions[function];
        let mut items = Vec::new();
        for &inst in &callee.body {
            if self.into.insts.len() > MAX_INSTRUCTIONS {
                return Err(FlowError::TooLarge);
            }
            let data = &callee.insts[inst];
            match &data.operation {
                Operation::Call(call) => {
                    let (body, results) = self.callee(data, call.function, 0, &names, depth)?;
                    items.extend(body);
                    names.extend(data.results.iter().zip(results).filter_map(|(&old, new)| Some((old, new?))));
                }
                Operation::If(choice) => items.push(self.branch(callee, inst, choice, &mut names, depth)?),
                Operation::While(repeat) => items.push(self.repeat(callee, inst, repeat, &mut names, depth)?),
                Operation::LoadState(load) => {
                    names.insert(data.results[1], self.states[&load.state]);
                }
                Operation::StoreState(store) => {
                    self.states.insert(store.state, names[&data.operands[1]]);
                }
                // Extents of parameters were copied by `measures`.
                Operation::ExtentOf(_) if data.results.iter().all(|v| names.contains_key(v)) => {}
                _ => items.push(Item::Inst(self.copy(callee, inst, &mut names))),
            }
        }
        Ok((items, callee.results.iter().map(|v| names.get(v).copied()).collect()))
    }

    fn callee(&mut self, data: &InstData, callee: ir::Func, skip: usize, names: &Names, depth: usize) -> Result<Body, FlowError> {
        let params = self.module.functions[callee].params.iter();
        let inner = params.zip(&data.operands[skip..]).filter_map(|(&param, operand)| Some((param, *names.get(operand)?))).collect();
        self.function(callee, inner, depth + 1)
    }

    fn branch(&mut self, from: &Function, inst: Inst, choice: &operators::If, names: &mut Names, depth: usize) -> Result<Item, FlowError> {
        let data = &from.insts[inst];
        let before = self.states.clone();
        let (then, then_results) = self.callee(data, choice.then, 1, names, depth)?;
        let then_states = std::mem::replace(&mut self.states, before);
        let (otherwise, otherwise_results) = self.callee(data, choice.otherwise, 1, names, depth)?;
        let condition = names[&data.operands[0]];
        let (mut results, mut handed) = (Vec::new(), (Vec::new(), Vec::new()));
        let copy = self.control(data, vec![condition]);
        for (&result, values) in data.results.iter().zip(then_results.into_iter().zip(otherwise_results)) {
            let (Some(then), Some(otherwise)) = values else { continue };
            let value = self.result(copy, rename_type(&from.values[result].ty, names), from.values[result].name.clone());
            names.insert(result, value);
            results.push(value);
            handed.0.push(then);
            handed.1.push(otherwise);
        }
        for (state, then) in then_states {
            let otherwise = self.states[&state];
            if then != otherwise {
                let value = self.state_value(copy, state);
                self.states.insert(state, value);
                results.push(value);
                handed.0.push(then);
                handed.1.push(otherwise);
            }
        }
        Ok(Item::If { condition, results, then: (then, handed.0), otherwise: (otherwise, handed.1) })
    }

    fn repeat(
        &mut self,
        from: &Function,
        inst: Inst,
        repeat: &operators::While,
        names: &mut Names,
        depth: usize,
    ) -> Result<Item, FlowError> {
        let data = &from.insts[inst];
        let (test, round) = (repeat.condition, repeat.body);
        if !states_of(self.module, test, true).is_empty() {
            return Err(FlowError::StoringCondition(data.source));
        }
        let (test_params, callee) = (&self.module.functions[test].params, &self.module.functions[round]);
        let copy = self.control(data, vec![]);
        let (mut in_test, mut in_round) = (Names::default(), Names::default());
        // Loop-carried values: value, first value, and the position among the body's results or the state.
        let (mut operands, mut states) = (Vec::new(), Vec::new());
        // A parameter that the body returns unchanged is invariant. Invariant extents come first, for the types of the others.
        let mut places: Vec<usize> = (0..data.operands.len()).collect();
        places.sort_by_key(|&i| callee.results[i] != callee.params[i]);
        for i in places {
            let Some(&initial) = names.get(&data.operands[i]) else { continue };
            let param = callee.params[i];
            let value = if callee.results[i] == param {
                initial
            } else {
                let value =
                    self.result(copy, any_index(rename_type(&callee.values[param].ty, &in_round)), callee.values[param].name.clone());
                operands.push((value, initial, i));
                value
            };
            in_test.insert(test_params[i], value);
            in_round.insert(param, value);
            names.insert(data.results[i], value);
        }
        for state in states_of(self.module, round, true) {
            let value = self.state_value(copy, state);
            let initial = self.states.insert(state, value).unwrap_or(value);
            states.push((value, initial, state));
        }
        let (head, verdict) = self.function(test, in_test, depth + 1)?;
        let (body, results) = self.function(round, in_round, depth + 1)?;
        let mut carried = Vec::new();
        for (value, initial, position) in operands {
            let next = results[position].unwrap_or(value);
            carried.push(Carried { value, initial, next });
        }
        for (value, initial, state) in states {
            let next = self.states.insert(state, value).unwrap_or(value);
            carried.push(Carried { value, initial, next });
        }
        let Some(&Some(condition)) = verdict.first() else { unreachable!("the verifier asks for a truth value") };
        Ok(Item::While { carried, head, condition, body })
    }

    /// Adds an instruction of control flow that only defines values.
    fn control(&mut self, data: &InstData, operands: Vec<Value>) -> Inst {
        self.into.insts.push(InstData { operation: data.operation.clone(), operands, results: vec![], source: data.source })
    }

    fn result(&mut self, inst: Inst, ty: Type, name: Option<String>) -> Value {
        let definition = Definition::Result(inst, self.into.insts[inst].results.len() as u32);
        let value = self.into.values.push(ValueData { ty, definition, name });
        self.into.insts[inst].results.push(value);
        value
    }

    /// Adds a value for the contents of a state after control flow.
    fn state_value(&mut self, inst: Inst, state: State) -> Value {
        let data = &self.module.states[state];
        self.result(inst, Type::Tensor(data.ty.clone()), Some(data.name.clone()))
    }

    fn copy(&mut self, from: &Function, inst: Inst, names: &mut Names) -> Inst {
        let data = &from.insts[inst];
        let operands = data.operands.iter().map(|v| names[v]).collect();
        let mut operation = data.operation.clone();
        operation.each_extent(|extent| {
            if let Extent::Value(v) = extent {
                *v = names[v];
            }
        });
        let copy = self.into.insts.push(InstData { operation, operands, results: vec![], source: data.source });
        for &result in &data.results {
            let old = &from.values[result];
            let new = self.result(copy, rename_type(&old.ty, names), old.name.clone());
            names.insert(result, new);
        }
        copy
    }
}

/// Widens the type of a loop-carried index to the full range, because the interval of the parameter holds for the first iteration only.
fn any_index(ty: Type) -> Type {
    if matches!(ty, Type::Index(_)) { Type::Index(ir::Interval { low: i64::MIN, high: i64::MAX }) } else { ty }
}
