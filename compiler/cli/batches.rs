//! Calls that one compiled model can run.
//!
//! The arrays of a call decide what the file leaves open: extents of inputs, and values that shapes or axes are computed from. Calls
//! that differ there need models of their own; one that keeps state from call to call cannot be several.

use super::io::{Inputs, Model, read_model_for};
use super::options::Common;
use super::run::Methods;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::Tensor;

/// A call with its inputs as the model takes them.
pub struct Call {
    /// Its number among all calls.
    pub number: usize,
    /// The method.
    pub method: usize,
    /// The inputs.
    pub inputs: Vec<Tensor>,
}

/// A model and the calls that it can run, in order.
pub struct Batch {
    /// The model.
    pub model: Model,
    /// At least one.
    pub calls: Vec<Call>,
}

/// Reads a model once for each set of calls that one module can run.
///
/// # Errors
/// Whatever is wrong with the model, or with the inputs of a call.
pub fn batches(path: &str, common: &Common, methods: &Methods, inputs: &Inputs) -> Result<Vec<Batch>, Diagnostics> {
    let names = methods.names(inputs)?;
    let mut left: Vec<usize> = (0..names.len()).collect();
    let mut batches: Vec<Batch> = Vec::new();
    while let Some(&first) = left.first() {
        let model = read_model_for(path, common, inputs, samples(&names, inputs, &left))?;
        let (mut calls, mut others) = (Vec::new(), Vec::new());
        for number in left {
            let method = Methods::find(&model.module, names[number].as_deref())?;
            match inputs.of_call(&model.module, method, number) {
                Ok(inputs) => calls.push(Call { number, method, inputs }),
                // The model is made for the first call: whatever does not fit there fits nowhere.
                Err(error) if number == first => return Err(unnamed(error, &model, names[number].as_deref()).into()),
                Err(_) => others.push(number),
            }
        }
        left = others;
        batches.push(Batch { model, calls });
    }
    if batches.len() > 1 && batches.iter().any(|batch| !batch.model.module.states.is_empty()) {
        let message = "calls of other shapes or values need another model, and this one keeps state from call to call";
        return Err(Diagnostic::new(codes::STATE_BETWEEN_MODELS, message).help("give these calls apart").into());
    }
    Ok(batches)
}

/// An error about the inputs of a call says how its method is named, where it is not and there are several.
fn unnamed(error: Diagnostic, model: &Model, name: Option<&str>) -> Diagnostic {
    let methods = &model.module.methods;
    match (name, error.help.is_some(), methods.first()) {
        (None, false, Some(first)) if methods.len() > 1 => error.help(format!(
            "the call is taken for one of {:?}, the first method: `--calls {0},…` names the method of each call",
            first.name
        )),
        _ => error,
    }
}

/// The first of these calls of each method.
fn samples(names: &[Option<String>], inputs: &Inputs, calls: &[usize]) -> Vec<crate::frontend::given::Sample> {
    let first_of_method = |&&call: &&usize| calls.iter().find(|&&other| names[other] == names[call]) == Some(&call);
    calls.iter().filter(first_of_method).map(|&call| inputs.sample(names[call].clone(), call)).collect()
}
