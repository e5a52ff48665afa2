//! Sets of calls that one compiled model can run.
//!
//! The arrays of a call determine what the file leaves open: extents of inputs, and values from which shapes or axes are computed. Calls that
//! differ there need separate models. A model that keeps state between calls cannot be split.

use super::console;
use super::io::{INTEGERS_BELOW, Inputs, Source, read_model_for};
use super::methods::Methods;
use super::options::Common;
use crate::api::Loaded;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::Tensor;
use crate::jit::room;
use std::borrow::Cow;

/// A call, with inputs in the types of the method.
#[derive(Clone)]
pub struct Call {
    /// Number among all calls.
    pub number: usize,
    /// The method.
    pub method: usize,
    /// The inputs.
    pub inputs: Vec<Tensor>,
}

/// A model and the calls that it can run, in order.
pub struct Batch {
    /// The model.
    pub model: Loaded,
    /// The calls, at least one. Random inputs are not in them: [`Batch::settle`] makes them.
    pub calls: Vec<Call>,
    /// Seed of random inputs.
    seed: Option<u64>,
}

impl Batch {
    /// Passes the calls to a function, and returns them with its result. One call uses `bytes` at most. If random calls fail, it retries with
    /// smaller integers, because the model may use them as indices of tables.
    ///
    /// # Errors
    /// The error of the first attempt, if smaller integers do not help; MC0711 if there is no memory for the inputs.
    pub fn settle<T>(
        &self,
        bytes: u64,
        mut act: impl FnMut(&[Call]) -> Result<T, Diagnostics>,
    ) -> Result<(Cow<'_, [Call]>, T), Diagnostics> {
        let Some(seed) = self.seed else { return act(&self.calls).map(|done| (Cow::Borrowed(&*self.calls), done)) };
        room::check_used(bytes)?;
        let mut first: Option<Diagnostics> = None;
        for below in INTEGERS_BELOW {
            let calls = self.made_up(seed, below)?;
            match act(&calls) {
                Ok(done) => {
                    if first.is_some() {
                        console::note(&format!("made-up integers are below {below}: the model does not take larger ones"));
                    }
                    return Ok((Cow::Owned(calls), done));
                }
                Err(error) if first.is_some() || is_failed_call(&error) => drop(first.get_or_insert(error)),
                Err(error) => return Err(error),
            }
        }
        let list = first.map_or_else(Vec::new, |Diagnostics(list)| list);
        Err(Diagnostics(list.into_iter().map(|diagnostic| diagnostic.help("give the inputs: --inputs in.npz")).collect()))
    }

    /// Returns the calls with random inputs of a seed.
    fn made_up(&self, seed: u64, below: u64) -> Result<Vec<Call>, Diagnostic> {
        let inputs = Inputs { source: Source::Random { seed, below }, given_as: None };
        let made_up = |call: &Call| Ok(Call { inputs: inputs.of_call(&self.model.module, call.method, call.number)?, ..*call });
        self.calls.iter().map(made_up).collect()
    }
}

fn is_failed_call(error: &Diagnostics) -> bool {
    error.0.iter().any(|diagnostic| diagnostic.code == codes::CALL_FAILED)
}

/// Reads a model once for each set of calls that one module can run.
///
/// # Errors
/// Any diagnostic about the model or about the inputs of a call.
pub fn batches(path: &str, common: &Common, methods: &Methods, inputs: &Inputs) -> Result<Vec<Batch>, Diagnostics> {
    let names = methods.names(inputs)?;
    let seed = if let Source::Random { seed, .. } = inputs.source { Some(seed) } else { None };
    let mut left: Vec<usize> = (0..names.len()).collect();
    let mut batches: Vec<Batch> = Vec::new();
    while let Some(&first) = left.first() {
        let known = samples(&names, inputs, &left);
        let model = read_model_for(path, common, inputs, known)?;
        let (mut calls, mut others) = (Vec::new(), Vec::new());
        for number in left {
            let method = Methods::find(&model.module, names[number].as_deref())?;
            // Random inputs are made later, after a check that there is memory for them.
            let arrays = if seed.is_some() { Ok(vec![]) } else { inputs.of_call(&model.module, method, number) };
            match arrays {
                Ok(inputs) => calls.push(Call { number, method, inputs }),
                // The model was made for the first call, so an error there is final.
                Err(error) if number == first => return Err(unnamed(error, &model, names[number].as_deref()).into()),
                Err(_) => others.push(number),
            }
        }
        left = others;
        batches.push(Batch { model, calls, seed });
    }
    if batches.len() > 1 && batches.iter().any(|batch| !batch.model.module.states.is_empty()) {
        let message = "calls of other shapes or values need another model, and this one keeps state from call to call";
        return Err(Diagnostic::new(codes::STATE_BETWEEN_MODELS, message).help("give these calls apart").into());
    }
    Ok(batches)
}

/// Adds to an error about inputs how to name the method, if the model has several and none is named.
fn unnamed(error: Diagnostic, model: &Loaded, name: Option<&str>) -> Diagnostic {
    let methods = &model.module.methods;
    match (name, error.help.is_some(), methods.first()) {
        (None, false, Some(first)) if methods.len() > 1 => error.help(format!(
            "the call is taken for one of {:?}, the first method: `--calls {0},…` names the method of each call",
            first.name
        )),
        _ => error,
    }
}

/// Returns the first of the given calls of each method.
fn samples(names: &[Option<String>], inputs: &Inputs, calls: &[usize]) -> Vec<crate::frontend::given::Sample> {
    let first_of_method = |&&call: &&usize| calls.iter().find(|&&other| names[other] == names[call]) == Some(&call);
    calls.iter().filter(first_of_method).map(|&call| inputs.sample(names[call].clone(), call)).collect()
}
