//! The gate in front of everything that reads modules: a [`Verified`] module compiles or gives an error, and never panics.
//!
//! A mistake found here is ours, or stands in a text test; front ends report the mistakes of model files themselves.
//! Every walk is a loop.

mod calls;
mod check;
mod expression;
mod function;
mod mistake;

pub use mistake::{Entity, Mistake, Side, Site, VerifyError};

use super::module::{Method, Module, Port};
use super::storage::{ConstantData, StateData};
use super::types::{Extent, TensorType, Type};
use check::{Check, require};
use std::collections::HashSet;
use std::ops::Deref;

/// A module that keeps every rule of the tensor language.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'m>(&'m Module);

impl<'m> Verified<'m> {
    /// The module, for as long as it was borrowed.
    pub fn module(self) -> &'m Module {
        self.0
    }
}

impl Deref for Verified<'_> {
    type Target = Module;
    fn deref(&self) -> &Module {
        self.0
    }
}

/// Checks every rule; the first broken one is the error.
///
/// # Errors
/// When a rule is broken.
pub fn verify(module: &Module) -> Result<Verified<'_>, VerifyError> {
    for (id, constant) in module.constants.iter() {
        check_constant(constant).map_err(|e| e.within(Site::Constant(id)))?;
    }
    for (id, state) in module.states.iter() {
        check_state(module, state).map_err(|e| e.within(Site::State(id)))?;
    }
    let mut names = HashSet::new();
    for function in module.functions.values() {
        let named = |e: VerifyError| e.within(Site::Function(function.name.clone()));
        require(names.insert(&function.name), || Mistake::Name).map_err(named)?;
        function::check_structure(module, function).map_err(named)?;
    }
    // Rules of operators look at callees, whose structure is known to be sound from here on.
    calls::check_no_recursion(module)?;
    for function in module.functions.values() {
        function::check_types(module, function).map_err(|e| e.within(Site::Function(function.name.clone())))?;
    }
    let mut names = HashSet::new();
    for method in &module.methods {
        let error = |e: VerifyError| e.within(Site::Method(method.name.clone()));
        require(names.insert(&method.name), || Mistake::Name).map_err(error)?;
        check_method(module, method).map_err(error)?;
    }
    check_plan(module).map_err(|e| e.within(Site::Plan))?;
    Ok(Verified(module))
}

/// A shape of static extents whose bytes are countable.
fn check_static(ty: &TensorType) -> Result<u64, VerifyError> {
    let bytes = if ty.rank() <= super::operators::MAX_RANK { ty.static_bytes() } else { None };
    bytes.ok_or_else(|| VerifyError::new(Mistake::NoStaticSize(ty.clone())))
}

fn check_constant(constant: &ConstantData) -> Check {
    let (expected, found) = (check_static(&constant.ty)?, constant.data.len());
    require(expected == found as u64, || Mistake::Bytes { expected, found })
}

fn check_state(module: &Module, state: &StateData) -> Check {
    check_static(&state.ty)?;
    let Some(initial) = state.initial else { return Ok(()) };
    let missing = || VerifyError::new(Mistake::Missing(Entity::Constant(initial)));
    let found = &module.constants.get(initial).ok_or_else(missing)?.ty;
    require(*found == state.ty, || Mistake::InitialType { constant: initial, expected: state.ty.clone(), found: found.clone() })
}

fn check_method(module: &Module, method: &Method) -> Check {
    let missing = || VerifyError::new(Mistake::Missing(Entity::Function(method.function)));
    let function = module.functions.get(method.function).ok_or_else(missing)?;
    for (ports, values, side) in [(&method.inputs, &function.params, Side::Inputs), (&method.outputs, &function.results, Side::Outputs)] {
        let types: Vec<&Type> = values.iter().map(|&v| &function.values[v].ty).collect();
        let data = types.iter().take_while(|ty| ***ty != Type::Effect).count();
        require(types.len() <= data + 1, || Mistake::TokenPlace(side))?;
        let found = ports.len();
        require(found == data, || Mistake::Ports { side, function: function.name.clone(), expected: data, found })?;
        for (i, (port, ty)) in ports.iter().zip(types).enumerate() {
            check_port(port, ty).map_err(|e| e.within(Site::Port(side, i)))?;
        }
    }
    Ok(())
}

fn check_port(port: &Port, ty: &Type) -> Check {
    let rank = ty.as_tensor().map_or(0, TensorType::rank);
    let bytes = ty.as_tensor().and_then(TensorType::static_bytes);
    let fits = |value: &super::Data| bytes == Some(value.bytes().len() as u64);
    require(port.value.as_ref().is_none_or(fits), || Mistake::PortValue)?;
    let multiples = &port.multiples;
    let sound = multiples.is_empty() || multiples.len() == rank && multiples.iter().all(|multiple| multiple.is_power_of_two());
    require(sound, || Mistake::PortMultiples)?;
    port.dim_order.order().map_or(Ok(()), |order| function::check_order(rank, order.len()))?;
    let Some(quantization) = &port.quantization else { return Ok(()) };
    let (scales, zeros) = (quantization.scales.len(), quantization.zero_points.len());
    require(scales >= 1 && scales == zeros, || Mistake::Quantization { scales, zero_points: zeros })?;
    let axis = quantization.axis;
    let expected = ty.as_tensor().and_then(|ty| ty.shape.get(axis)).copied();
    let fits = scales == 1 || expected == Some(Extent::Static(scales as u64));
    require(fits, || Mistake::Scales { axis, expected, found: scales })
}

fn check_plan(module: &Module) -> Check {
    for method in module.imported_plan.iter().flat_map(|plan| &plan.methods) {
        require(module.functions.is_valid(method.function), || Mistake::Missing(Entity::Function(method.function)))?;
        for placement in &method.placements {
            let value = module.functions.get(placement.function).and_then(|f| f.values.get(placement.value));
            let sound = value.is_some() && (placement.memory_id as usize) < method.area_bytes.len();
            require(sound, || Mistake::Placement(placement.value))?;
        }
    }
    Ok(())
}
