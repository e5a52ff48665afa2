//! The gate in front of everything that reads modules: a [`Verified`] module compiles or gives an error, and never panics.
//!
//! A mistake found here is ours, or stands in a text test; front ends report the mistakes of model files themselves.
//! Every walk is a loop.

mod calls;
mod expression;
mod function;

use super::module::{ConstantData, Func, Inst, Method, Module, Port, StateData};
use super::types::{Extent, TensorType, Type};
use std::collections::HashSet;
use std::fmt;
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

/// A broken rule, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function's name.
    pub function: Option<String>,
    /// The instruction.
    pub inst: Option<Inst>,
    /// What is wrong.
    pub message: String,
}

impl VerifyError {
    fn new(message: impl Into<String>) -> Self {
        Self { function: None, inst: None, message: message.into() }
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "@{function}: ")?;
        }
        if let Some(inst) = self.inst {
            write!(f, "{inst}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for VerifyError {}

type Check = Result<(), VerifyError>;

fn require(condition: bool, message: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(VerifyError::new(message())) }
}

/// Checks every rule; the first broken one is the error.
///
/// # Errors
/// When a rule is broken.
pub fn verify(module: &Module) -> Result<Verified<'_>, VerifyError> {
    for (id, constant) in module.constants.iter() {
        check_constant(constant).map_err(|e| VerifyError::new(format!("{id}: {}", e.message)))?;
    }
    for (id, state) in module.states.iter() {
        check_state(module, state).map_err(|e| VerifyError::new(format!("{id}: {}", e.message)))?;
    }
    let mut names = HashSet::new();
    for function in module.functions.values() {
        let named = |mut e: VerifyError| {
            e.function.get_or_insert_with(|| function.name.clone());
            e
        };
        require(names.insert(&function.name), || "two functions have this name".into()).map_err(named)?;
        function::check_structure(module, function).map_err(named)?;
    }
    // Rules of operators look at callees, whose structure is known to be sound from here on.
    calls::check_no_recursion(module)?;
    for function in module.functions.values() {
        function::check_types(module, function).map_err(|mut e| {
            e.function.get_or_insert_with(|| function.name.clone());
            e
        })?;
    }
    let mut names = HashSet::new();
    for method in &module.methods {
        let error = |e: VerifyError| VerifyError::new(format!("method {:?}: {}", method.name, e.message));
        require(names.insert(&method.name), || "comes twice".into()).map_err(error)?;
        check_method(module, method).map_err(error)?;
    }
    check_plan(module)?;
    Ok(Verified(module))
}

/// A shape of static extents whose bytes are countable.
fn check_static(ty: &TensorType) -> Result<u64, VerifyError> {
    let bytes = if ty.rank() <= super::infer::MAX_RANK { ty.static_bytes() } else { None };
    bytes.ok_or_else(|| VerifyError::new(format!("{} of shape {:?} has no static size", ty.element, ty.shape)))
}

fn check_constant(constant: &ConstantData) -> Check {
    let (want, have) = (check_static(&constant.ty)?, constant.data.bytes().len());
    require(want == have as u64, || format!("has {have} bytes, its type takes {want}"))
}

fn check_state(module: &Module, state: &StateData) -> Check {
    check_static(&state.ty)?;
    let Some(initial) = state.initial else { return Ok(()) };
    let Some(constant) = module.constants.get(initial) else { return Err(VerifyError::new(format!("{initial} does not exist"))) };
    require(constant.ty == state.ty, || format!("{initial} has another type"))
}

fn check_method(module: &Module, method: &Method) -> Check {
    let Some(function) = module.functions.get(method.function) else {
        return Err(VerifyError::new(format!("{} does not exist", method.function)));
    };
    for (ports, values, what) in [(&method.inputs, &function.params, "inputs"), (&method.outputs, &function.results, "outputs")] {
        let types: Vec<&Type> = values.iter().map(|&v| &function.values[v].ty).collect();
        let data = types.iter().take_while(|ty| ***ty != Type::Effect).count();
        require(types.len() <= data + 1, || format!("an effect token does not stand behind all {what}"))?;
        require(ports.len() == data, || format!("presents {} {what}, @{} has {data}", ports.len(), function.name))?;
        for (i, (port, ty)) in ports.iter().zip(types).enumerate() {
            check_port(port, ty).map_err(|e| VerifyError::new(format!("{what} {i}: {}", e.message)))?;
        }
    }
    Ok(())
}

fn check_port(port: &Port, ty: &Type) -> Check {
    let rank = ty.as_tensor().map_or(0, TensorType::rank);
    let bytes = ty.as_tensor().and_then(TensorType::static_bytes);
    let fits = |value: &super::Data| bytes == Some(value.bytes().len() as u64);
    require(port.value.as_ref().is_none_or(fits), || "the only value does not fill the type".into())?;
    require(port.dim_order.order().is_none_or(|order| order.len() == rank), || "the dimension order does not fit the rank".into())?;
    let Some(quantization) = &port.quantization else { return Ok(()) };
    let (scales, zeros) = (quantization.scales.len(), quantization.zero_points.len());
    require(scales >= 1 && scales == zeros, || format!("{scales} scales and {zeros} zero points"))?;
    let along = || ty.as_tensor().and_then(|ty| ty.shape.get(quantization.axis)).copied();
    require(scales == 1 || along() == Some(Extent::Static(scales as u64)), || format!("{scales} scales along axis {}", quantization.axis))
}

fn check_plan(module: &Module) -> Check {
    for method in module.imported_plan.iter().flat_map(|plan| &plan.methods) {
        require(module.functions.is_valid(method.function), || format!("the imported plan names {}", method.function))?;
        for placement in &method.placements {
            let value = module.functions.get(placement.function).and_then(|f| f.values.get(placement.value));
            let sound = value.is_some() && (placement.memory_id as usize) < method.area_bytes.len();
            require(sound, || format!("the imported plan places {} of {} wrongly", placement.value, placement.function))?;
        }
    }
    Ok(())
}

/// The functions that an instruction names.
pub(super) fn callees(inst: &super::module::InstData) -> impl Iterator<Item = Func> + '_ {
    inst.attributes.iter().filter_map(|a| if let super::Attribute::Function(f) = a { Some(*f) } else { None })
}
