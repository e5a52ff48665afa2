//! One function: entities, order of definitions, types.

use super::{Check, VerifyError, expression, require};
use crate::ir::attribute::Attribute;
use crate::ir::infer::{Context, MAX_RANK};
use crate::ir::module::{Definition, Function, Inst, InstData, Module, Value};
use crate::ir::op::Op;
use crate::ir::types::{Extent, TensorType, Type};
use cranelift_entity::EntitySet;

/// Everything that indexing relies on: entities exist, definitions point back, attributes are of the row's kinds, expressions
/// are sound, and every value is defined before it is used.
pub(super) fn check_structure(module: &Module, function: &Function) -> Check {
    let mut defined: EntitySet<Value> = EntitySet::with_capacity(function.values.len());
    for (i, &param) in function.params.iter().enumerate() {
        let sound = function.values.get(param).is_some_and(|v| v.definition == Definition::Param(i as u32));
        require(sound && defined.insert(param), || format!("parameter {i} is not defined as such"))?;
    }
    let mut seen: EntitySet<Inst> = EntitySet::with_capacity(function.insts.len());
    for &inst in &function.body {
        require(function.insts.is_valid(inst) && seen.insert(inst), || format!("{inst} does not exist or comes twice"))?;
        check_inst(module, function, inst, &mut defined).map_err(|mut e| {
            e.inst = Some(inst);
            e
        })?;
    }
    require(function.results.iter().all(|&v| defined.contains(v)), || "a result is not defined".into())?;
    for &param in &function.params {
        check_param_extents(function, param, &defined)?;
    }
    check_tokens(function)
}

fn check_inst(module: &Module, function: &Function, inst: Inst, defined: &mut EntitySet<Value>) -> Check {
    let data = &function.insts[inst];
    let row = data.op.row();
    require(row.operands.allows(data.operands.len()), || format!("{} has {} operands", row.name, data.operands.len()))?;
    for value in function.uses(inst) {
        require(defined.contains(value), || format!("{value} is used before it is defined"))?;
    }
    for index in data.attributes.iter().flat_map(Attribute::index_values) {
        require(matches!(function.values[index].ty, Type::Index(_)), || format!("{index} is an extent but no index"))?;
    }
    require(data.attributes.len() == row.attributes.len(), || format!("{} has {} attributes", row.name, data.attributes.len()))?;
    for (attribute, (name, kind)) in data.attributes.iter().zip(row.attributes) {
        require(attribute.is_of(*kind), || format!("attribute {name} is {attribute:?}"))?;
        check_attribute(module, attribute).map_err(|e| VerifyError::new(format!("attribute {name}: {}", e.message)))?;
    }
    for (i, &result) in data.results.iter().enumerate() {
        let sound = function.values.get(result).is_some_and(|v| v.definition == Definition::Result(inst, i as u32));
        require(sound && defined.insert(result), || format!("result {i} is not defined as such"))?;
    }
    require(data.source.is_none_or(|s| module.sources.is_valid(s)), || "the source does not exist".into())
}

fn check_attribute(module: &Module, attribute: &Attribute) -> Check {
    let exists = match attribute {
        Attribute::Expression(e) => return expression::check(module, e),
        Attribute::Constant(id) => module.constants.is_valid(*id),
        Attribute::State(id) => module.states.is_valid(*id),
        Attribute::Function(id) => module.functions.is_valid(*id),
        _ => true,
    };
    require(exists, || format!("{attribute:?} does not exist"))
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
        require(sound, || format!("extent {axis} of parameter {param} is {index}, which does not measure it"))?;
    }
    Ok(())
}

/// Whether an instruction is `extent_of` a parameter; of `param` itself only along an axis whose extent it is.
fn measures_param(function: &Function, inst: Inst, param: Value, index: Value) -> bool {
    let data = &function.insts[inst];
    let Some(&measured) = data.operands.first().filter(|_| data.op == Op::ExtentOf) else { return false };
    let is_param = matches!(function.values[measured].definition, Definition::Param(_));
    let axis = usize::try_from(data.int("axis")).unwrap_or(usize::MAX);
    let extent = || function.values[measured].ty.as_tensor().and_then(|ty| ty.shape.get(axis));
    is_param && (measured != param || extent() == Some(&Extent::Value(index)))
}

/// An effect token is used at most once, so that loads and stores have one order.
fn check_tokens(function: &Function) -> Check {
    let mut used: EntitySet<Value> = EntitySet::with_capacity(function.values.len());
    let operands = function.body.iter().flat_map(|&inst| function.insts[inst].operands.iter());
    for &value in operands.chain(&function.results) {
        let again = function.values[value].ty == Type::Effect && !used.insert(value);
        require(!again, || format!("the effect token {value} is used twice"))?;
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
        check_inst_types(module, function, data).map_err(|mut e| {
            e.inst = Some(inst);
            e
        })?;
    }
    Ok(())
}

fn check_inst_types(module: &Module, function: &Function, data: &InstData) -> Check {
    let context = Context { module, function, op: data.op, operands: &data.operands, attributes: &data.attributes };
    let types = (data.op.row().infer)(&context).map_err(|e| VerifyError::new(e.to_string()))?;
    require(types.len() == data.results.len(), || format!("has {} results, the rule gives {}", data.results.len(), types.len()))?;
    for (&result, inferred) in data.results.iter().zip(&types) {
        let stored = &function.values[result].ty;
        check_type(stored)?;
        require(equal_but_layout(stored, inferred), || format!("{result} is {stored:?}, the rule gives {inferred:?}"))?;
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
            require(shape.len() <= MAX_RANK, || format!("rank {} is above {MAX_RANK}", shape.len()))?;
            require(product.is_some_and(|n| n <= i64::MAX as u64 / 8), || "the shape has too many elements".into())?;
            require(layout.order().is_none_or(|order| order.len() == shape.len()), || "the layout does not fit the rank".into())
        }
        Type::Index(interval) => require(interval.low <= interval.high, || "the interval is empty".into()),
        Type::Effect => Ok(()),
    }
}
