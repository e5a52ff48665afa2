//! One function: entities, order of definitions, types.

use super::check::{Check, require};
use super::expression;
use super::mistake::{Entity, Mistake, Site, VerifyError};
use crate::entities::{Inst, Value};
use crate::module::{Function, InstData, Module};
use crate::operators::{Context, MAX_RANK, Operation, Reference};
use crate::types::{Extent, TensorType, Type};
use crate::value::Definition;
use cranelift_entity::EntitySet;

/// Everything that indexing relies on: entities exist, definitions point back, expressions
/// are sound, and every value is defined before it is used.
pub(super) fn check_structure(module: &Module, function: &Function) -> Check {
    let mut defined: EntitySet<Value> = EntitySet::with_capacity(function.values.len());
    for (i, &param) in function.params.iter().enumerate() {
        let sound = function.values.get(param).is_some_and(|v| v.definition == Definition::Param(i as u32));
        require(sound && defined.insert(param), || Mistake::Definition(param))?;
    }
    let mut seen: EntitySet<Inst> = EntitySet::with_capacity(function.insts.len());
    for &inst in &function.body {
        require(function.insts.is_valid(inst), || Mistake::Missing(Entity::Inst(inst)))?;
        require(seen.insert(inst), || Mistake::Twice(inst))?;
        check_inst(module, function, inst, &mut defined).map_err(|e| e.within(Site::Inst(inst)))?;
    }
    for &result in &function.results {
        require(defined.contains(result), || Mistake::Undefined(result))?;
    }
    for &param in &function.params {
        check_param_extents(function, param, &defined)?;
    }
    check_tokens(function)
}

fn check_inst(module: &Module, function: &Function, inst: Inst, defined: &mut EntitySet<Value>) -> Check {
    let data = &function.insts[inst];
    let (operator, expected, found) = (data.op(), data.op().row().operands, data.operands.len());
    require(expected.allows(found), || Mistake::Operands { operator, expected, found })?;
    for value in function.uses(inst) {
        require(defined.contains(value), || Mistake::Undefined(value))?;
    }
    for index in data.operation.index_values() {
        require(matches!(function.values[index].ty, Type::Index(_)), || Mistake::NoIndex(index))?;
    }
    for (name, reference) in data.operation.references() {
        check_reference(module, reference).map_err(|e| e.within(Site::Field(name)))?;
    }
    for (i, &result) in data.results.iter().enumerate() {
        let sound = function.values.get(result).is_some_and(|v| v.definition == Definition::Result(inst, i as u32));
        require(sound && defined.insert(result), || Mistake::Definition(result))?;
    }
    data.source.map_or(Ok(()), |source| require(module.sources.is_valid(source), || Mistake::Missing(Entity::Source(source))))
}

fn check_reference(module: &Module, reference: Reference<'_>) -> Check {
    match reference {
        Reference::Nothing | Reference::Extents(_) => Ok(()),
        Reference::Expression(e) => expression::check(module, e),
        Reference::Constant(id) => require(module.constants.is_valid(id), || Mistake::Missing(Entity::Constant(id))),
        Reference::State(id) => require(module.states.is_valid(id), || Mistake::Missing(Entity::State(id))),
        Reference::Function(id) => require(module.functions.is_valid(id), || Mistake::Missing(Entity::Function(id))),
    }
}

/// A dynamic extent of a parameter is an index parameter, or `extent_of` a parameter: that very extent, or one that is equal to it.
fn check_param_extents(function: &Function, param: Value, defined: &EntitySet<Value>) -> Check {
    let Some(ty) = function.values[param].ty.as_tensor() else { return Ok(()) };
    for (axis, extent) in ty.shape.iter().enumerate() {
        let Extent::Value(index) = *extent else { continue };
        let is_index = defined.contains(index) && matches!(function.values[index].ty, Type::Index(_));
        let sound = is_index
            && match function.values[index].definition {
                Definition::Param(_) => true,
                Definition::Result(inst, _) => measures_param(function, inst, param, index),
            };
        require(sound, || Mistake::Unmeasured { param, axis, index })?;
    }
    Ok(())
}

/// Tests whether an instruction is `extent_of` a parameter. It may measure `param` itself only along an axis whose extent it defines.
fn measures_param(function: &Function, inst: Inst, param: Value, index: Value) -> bool {
    let data = &function.insts[inst];
    let (Operation::ExtentOf(measure), &[measured]) = (&data.operation, &data.operands[..]) else { return false };
    let is_param = matches!(function.values[measured].definition, Definition::Param(_));
    let extent = || function.values[measured].ty.as_tensor().and_then(|ty| ty.shape.get(measure.axis));
    is_param && (measured != param || extent() == Some(&Extent::Value(index)))
}

/// Checks that each effect token is used at most once, so that loads and stores have one order.
fn check_tokens(function: &Function) -> Check {
    let mut used: EntitySet<Value> = EntitySet::with_capacity(function.values.len());
    let operands = function.body.iter().flat_map(|&inst| function.insts[inst].operands.iter());
    for &value in operands.chain(&function.results) {
        let again = function.values[value].ty == Type::Effect && !used.insert(value);
        require(!again, || Mistake::TokenTwice(value))?;
    }
    Ok(())
}

/// Types: every result has the type that its operator's rule gives.
pub(super) fn check_types(module: &Module, function: &Function) -> Check {
    for &param in &function.params {
        check_type(&function.values[param].ty)?;
    }
    for &inst in &function.body {
        let data = &function.insts[inst];
        check_inst_types(module, function, data).map_err(|e| e.within(Site::Inst(inst)))?;
    }
    Ok(())
}

fn check_inst_types(module: &Module, function: &Function, data: &InstData) -> Check {
    let context = Context { module, function, operands: &data.operands };
    let types = data.operation.infer(&context).map_err(|e| VerifyError::new(Mistake::Type(e)))?;
    let (expected, found) = (types.len(), data.results.len());
    require(expected == found, || Mistake::Results { expected, found })?;
    for (&result, inferred) in data.results.iter().zip(&types) {
        let stored = &function.values[result].ty;
        check_type(stored)?;
        require(equal_but_layout(stored, inferred), || Mistake::ResultType {
            value: result,
            expected: inferred.clone(),
            found: stored.clone(),
        })?;
    }
    Ok(())
}

/// Rules know no layouts; passes choose them.
fn equal_but_layout(stored: &Type, inferred: &Type) -> bool {
    match (stored, inferred) {
        (Type::Tensor(a), Type::Tensor(b)) => a.element == b.element && a.shape == b.shape,
        _ => stored == inferred,
    }
}

fn check_type(ty: &Type) -> Check {
    match ty {
        Type::Tensor(TensorType { shape, layout, .. }) => {
            let product = shape.iter().filter_map(|e| e.as_static()).filter(|&n| n != 0).try_fold(1u64, u64::checked_mul);
            require(shape.len() <= MAX_RANK, || Mistake::Rank(shape.len()))?;
            require(product.is_some_and(|n| n <= i64::MAX as u64 / 8), || Mistake::TooLarge)?;
            layout.order().map_or(Ok(()), |order| check_order(shape.len(), order.len()))
        }
        Type::Index(interval) => require(interval.low <= interval.high, || Mistake::EmptyInterval),
        Type::Effect => Ok(()),
    }
}

pub(super) fn check_order(expected: usize, found: usize) -> Check {
    require(found == expected, || Mistake::Layout { expected, found })
}
