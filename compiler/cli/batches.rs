//! Calls that one compiled model can run.
//!
//! The arrays of a call decide what the file leaves open: extents of inputs, and values that shapes or axes are computed from. Calls
//! that differ there need models of their own; one that keeps state from call to call cannot be several.

use super::console;
use super::io::{INTEGERS_BELOW, Inputs, Source, read_model_for};
use super::options::Common;
use super::progress;
use super::run::Methods;
use crate::api::Loaded;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::Tensor;
use crate::jit::room;
use std::borrow::Cow;

/// A call with its inputs as the model takes them.
#[derive(Clone)]
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
    pub model: Loaded,
    /// At least one. Made-up inputs are not in them: [`Batch::settle`] makes them.
    pub calls: Vec<Call>,
    /// The seed of numbers that are made up.
    seed: Option<u64>,
}

impl Batch {
    /// Does something with the calls, of which one uses `bytes` at most; gives the calls and what it gave. Where their numbers are made up and the
    /// model takes a call for failed, it is done again with smaller integers, which may be positions in tables.
    ///
    /// # Errors
    /// The error of the first attempt, where no smaller numbers helped; MC0711 where there is no memory for numbers.
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

    /// The calls with numbers of a seed.
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
/// Whatever is wrong with the model, or with the inputs of a call.
pub fn batches(path: &str, common: &Common, methods: &Methods, inputs: &Inputs) -> Result<Vec<Batch>, Diagnostics> {
    let names = methods.names(inputs)?;
    let seed = if let Source::Random { seed, .. } = inputs.source { Some(seed) } else { None };
    let mut left: Vec<usize> = (0..names.len()).collect();
    let mut batches: Vec<Batch> = Vec::new();
    while let Some(&first) = left.first() {
        let known = samples(&names, inputs, &left);
        let model = progress::during(&format!("reading {path}"), || read_model_for(path, common, inputs, known))?;
        let (mut calls, mut others) = (Vec::new(), Vec::new());
        for number in left {
            let method = Methods::find(&model.module, names[number].as_deref())?;
            // Numbers are made up when it is known that there is memory for them.
            let arrays = if seed.is_some() { Ok(vec![]) } else { inputs.of_call(&model.module, method, number) };
            match arrays {
                Ok(inputs) => calls.push(Call { number, method, inputs }),
                // The model is made for the first call: whatever does not fit there fits nowhere.
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

/// An error about the inputs of a call says how its method is named, where it is not and there are several.
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

/// The first of these calls of each method.
fn samples(names: &[Option<String>], inputs: &Inputs, calls: &[usize]) -> Vec<crate::frontend::given::Sample> {
    let first_of_method = |&&call: &&usize| calls.iter().find(|&&other| names[other] == names[call]) == Some(&call);
    calls.iter().filter(first_of_method).map(|&call| inputs.sample(names[call].clone(), call)).collect()
}
