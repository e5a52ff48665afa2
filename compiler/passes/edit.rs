//! Rewriting functions instruction by instruction: the common frame of the passes.

use crate::ir::operators::Context;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// A function during a rewrite. Instructions are visited in order. Before a visit, operands are resolved to the values that earlier visits put in
/// their place.
/// Result types are inferred again.
pub(super) struct Edit<'m> {
    /// The module; the function itself is taken out of it.
    pub module: &'m mut Module,
    /// The function's reference in the module.
    pub func: Func,
    /// The function; its body is still the old one.
    pub function: Function,
    /// The number of uses of each value when the pass began.
    pub uses: SecondaryMap<Value, u32>,
    alias: Aliases,
    body: Vec<Inst>,
    source: Option<Source>,
}

/// The outcome of visiting an instruction.
pub(super) enum Visit {
    /// Keeps the instruction.
    Keep,
    /// Keeps the instruction, whose operator or operands were changed in place.
    Changed,
    /// Replaces its results by these values, and removes it.
    Replace(Vec<Value>),
}

/// Visits every instruction of every function; true when anything changed.
pub(super) fn rewrite(module: &mut Module, mut visit: impl FnMut(&mut Edit<'_>, Inst) -> Visit) -> bool {
    let functions: Vec<Func> = module.functions.keys().collect();
    functions.into_iter().fold(false, |changed, func| rewrite_function(module, func, &mut visit) | changed)
}

/// Visits every instruction of every function, and replaces its results by the values that `attempt` returns; true when anything changed.
pub(super) fn replace(module: &mut Module, mut attempt: impl FnMut(&mut Edit<'_>, Inst) -> Option<Vec<Value>>) -> bool {
    rewrite(module, |edit, inst| edit.attempt(|edit| attempt(edit, inst)).map_or(Visit::Keep, Visit::Replace))
}

/// Visits every instruction of one function; true when anything changed.
pub(super) fn rewrite_function(module: &mut Module, func: Func, visit: &mut dyn FnMut(&mut Edit<'_>, Inst) -> Visit) -> bool {
    let function = std::mem::take(&mut module.functions[func]);
    let mut edit = Edit { module, func, uses: count_uses(&function), function, alias: SecondaryMap::new(), body: Vec::new(), source: None };
    let mut changed = false;
    for inst in std::mem::take(&mut edit.function.body) {
        edit.resolve(inst);
        edit.refresh_types(inst);
        edit.source = edit.function.insts[inst].source;
        match visit(&mut edit, inst) {
            Visit::Keep => edit.body.push(inst),
            Visit::Changed => {
                edit.refresh_types(inst);
                edit.body.push(inst);
                changed = true;
            }
            Visit::Replace(values) => {
                edit.replace(inst, &values);
                changed = true;
            }
        }
    }
    let function = edit.finish();
    module.functions[func] = function;
    changed
}

type Aliases = SecondaryMap<Value, PackedOption<Value>>;

fn resolved(alias: &Aliases, mut value: Value) -> Value {
    while let Some(next) = alias[value].expand() {
        value = next;
    }
    value
}

fn resolved_extent(alias: &Aliases, extent: Extent) -> Extent {
    if let Extent::Value(v) = extent { Extent::Value(resolved(alias, v)) } else { extent }
}

fn count_uses(function: &Function) -> SecondaryMap<Value, u32> {
    let mut uses = SecondaryMap::new();
    let operands = function.body.iter().flat_map(|&inst| function.uses(inst));
    for value in operands.chain(function.results.iter().copied()) {
        uses[value] += 1;
    }
    uses
}

impl Edit<'_> {
    fn resolve(&mut self, inst: Inst) {
        let (alias, data) = (&self.alias, &mut self.function.insts[inst]);
        for operand in &mut data.operands {
            *operand = resolved(alias, *operand);
        }
        data.operation.each_extent(|e| *e = resolved_extent(alias, *e));
    }

    /// Infers the result types again. If operands or fields no longer fit, the types stay, and the verifier reports the mistake.
    fn refresh_types(&mut self, inst: Inst) {
        let data = &self.function.insts[inst];
        let Ok(types) = self.infer(&data.operation, &data.operands) else { return };
        for (value, ty) in data.results.clone().into_iter().zip(types) {
            set_type(&mut self.function.values[value].ty, ty);
        }
    }

    /// The types that an instruction's results would have.
    pub fn infer(&self, operation: &Operation, operands: &[Value]) -> Result<Vec<Type>, TypeError> {
        operation.infer(&Context { module: self.module, function: &self.function, operands })
    }

    /// Adds an instruction in front of the one that is visited, with its source.
    pub fn insert(&mut self, operation: impl Into<Operation>, operands: &[Value]) -> Result<Vec<Value>, TypeError> {
        let operation = operation.into();
        let types = self.infer(&operation, operands)?;
        Ok(self.insert_typed(operation, operands, types, self.source))
    }

    /// Adds an instruction of known types and source in front of the one that is visited.
    pub fn insert_typed(&mut self, operation: Operation, operands: &[Value], types: Vec<Type>, source: Option<Source>) -> Vec<Value> {
        // `append` puts it into the function's body, which is empty while its old body is walked.
        let inst = self.function.append(operation, operands.to_vec(), types, source);
        self.body.append(&mut self.function.body);
        for value in self.function.uses(inst) {
            self.uses[value] += 1;
        }
        self.function.insts[inst].results.clone()
    }

    /// Adds a single-result instruction; `None` when its operands do not fit.
    pub fn insert_one(&mut self, operation: impl Into<Operation>, operands: &[Value]) -> Option<Value> {
        self.insert(operation, operands).ok().map(|results| results[0])
    }

    /// Returns the result of an attempt. If it is `None`, the instructions that the attempt inserted are removed.
    pub fn attempt<T>(&mut self, attempt: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = self.length();
        let found = attempt(self);
        if found.is_none() {
            self.body.truncate(before);
        }
        found
    }

    /// The number of instructions of the new body so far.
    pub fn length(&self) -> usize {
        self.body.len()
    }

    /// The instruction that defines a value.
    pub fn definition(&self, value: Value) -> Option<&InstData> {
        self.function.defining_inst(value).map(|inst| &self.function.insts[inst])
    }

    /// The instruction that defines a value, if its operator is `op`.
    pub fn defined_by(&self, value: Value, op: Op) -> Option<&InstData> {
        self.definition(value).filter(|data| data.op() == op)
    }

    /// The transpose that defines a value, and its operand.
    pub fn transpose(&self, value: Value) -> Option<(&operators::Transpose, Value)> {
        let data = self.definition(value)?;
        if let Operation::Transpose(transpose) = &data.operation { Some((transpose, data.operands[0])) } else { None }
    }

    /// The source of a chain of reshapes that ends in this value; the value itself if no reshape defines it.
    pub fn viewed(&self, mut value: Value) -> Value {
        while let Some(data) = self.defined_by(value, Op::Reshape) {
            value = data.operands[0];
        }
        value
    }

    /// Tests whether one instruction of the new body comes before another one.
    pub fn comes_before(&self, first: Inst, second: Inst) -> bool {
        self.body.iter().find(|&&inst| inst == first || inst == second) == Some(&first)
    }

    /// The constant that defines this value, if any.
    pub fn constant_of(&self, value: Value) -> Option<Constant> {
        self.definition(value)?.constant()
    }

    /// The constant that this value holds, possibly reshaped or transposed.
    pub fn moved_constant(&self, mut value: Value) -> Option<Constant> {
        while let Some(data) = self.definition(value).filter(|data| matches!(data.op(), Op::Reshape | Op::Transpose)) {
            value = data.operands[0];
        }
        self.constant_of(value)
    }

    /// The static shape of a tensor value.
    pub fn static_shape(&self, value: Value) -> Option<Vec<u64>> {
        self.function.values[value].ty.as_tensor()?.static_shape()
    }

    fn replace(&mut self, inst: Inst, values: &[Value]) {
        for (old, &new) in self.function.insts[inst].results.clone().into_iter().zip(values) {
            if old == new {
                continue;
            }
            self.alias[old] = new.into();
            self.uses[new] += self.uses[old];
            let is_param = matches!(self.function.values[new].definition, Definition::Param(_));
            if self.function.values[new].name.is_none() && !is_param {
                self.function.values[new].name = self.function.values[old].name.clone();
            }
        }
    }

    fn finish(mut self) -> Function {
        self.function.body = std::mem::take(&mut self.body);
        let results = self.function.results.iter().map(|&v| resolved(&self.alias, v)).collect();
        self.function.results = results;
        for &param in &self.function.params.clone() {
            let Type::Tensor(mut ty) = self.function.values[param].ty.clone() else { continue };
            ty.shape.iter_mut().for_each(|e| *e = resolved_extent(&self.alias, *e));
            self.function.values[param].ty = Type::Tensor(ty);
        }
        self.function
    }
}

/// Visits every place that names a constant.
pub(super) fn each_constant(module: &mut Module, mut visit: impl FnMut(&mut Constant)) {
    module.states.values_mut().filter_map(|state| state.initial.as_mut()).for_each(&mut visit);
    for function in module.functions.values_mut() {
        for &inst in &function.body {
            function.insts[inst].operation.each_constant(&mut visit);
        }
    }
}

/// A new type, in the layout that was chosen for the old one.
fn set_type(slot: &mut Type, mut new: Type) {
    if let (Type::Tensor(old), Type::Tensor(new)) = (&*slot, &mut new)
        && old.rank() == new.rank()
    {
        new.layout = old.layout.clone();
    }
    *slot = new;
}
