//! `modelc run --tap`: values of tensors inside a model.
//!
//! A tensor that the compiled model keeps in memory is read there, after the kernel that writes it. The model is compiled as without `--tap`.
//! Other tensors are computed by the interpreter: those that fusion kept out of memory, and those with run-time sizes.

use super::output::usage;
use crate::api::Loaded;
use crate::api::engine::Engine;
use crate::bisect::interpreter_failed;
use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::frontend;
use crate::ir::interpret::Interpreter;
use crate::ir::{Func, Inst, Module, Op, Tensor};
use crate::program::calls;
use std::collections::{BTreeMap, BTreeSet};

/// Origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Memory of the compiled model.
    Compiled,
    /// The interpreter.
    Interpreted,
}

impl Way {
    /// Returns the word that is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Interpreted => "interpreted",
        }
    }
}

/// The tensors to show: all, or some by name.
pub struct Taps {
    wanted: BTreeSet<String>,
    all: bool,
}

/// Values of one call by name. A tensor that is computed several times has all its values in order.
pub type Values = BTreeMap<String, (Way, Vec<Tensor>)>;

impl Taps {
    /// Selects the tensors of `--tap`; `source` is the file's model before rewrites.
    ///
    /// # Errors
    /// A diagnostic if the model has no tensor of a name.
    pub fn new(asked: &[String], source: &Module) -> Result<Self, Diagnostic> {
        let all = asked.iter().any(|name| name == "all");
        let known: BTreeSet<&str> = names(source).collect();
        match asked.iter().find(|name| *name != "all" && !known.contains(name.as_str())) {
            Some(unknown) => {
                let error = usage(format!("the model computes no tensor {unknown:?}"))
                    .help("`--tap all` shows every tensor; inputs and constants are not computed");
                Err(did_you_mean(error, unknown, known))
            }
            None => Ok(Self { wanted: asked.iter().cloned().collect(), all }),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.all || self.wanted.contains(name)
    }

    /// Reads the values that the engine's last call of a method left in memory.
    pub fn compiled(&self, engine: &mut Engine, method: usize) -> Values {
        let observations = engine.instance.observations();
        let steps = calls(&engine.program().methods[method].steps);
        let mut values = Values::new();
        for observation in observations {
            for (written, bytes) in steps[observation.call].origin.results.iter().zip(observation.results) {
                let Some(name) = written.name.as_ref().filter(|name| self.wants(name)) else { continue };
                if bytes.len() as u64 == written.bytes {
                    let tensor = Tensor { element: written.element, shape: written.shape.clone(), bytes };
                    values.entry(name.clone()).or_insert((Way::Compiled, vec![])).1.push(tensor);
                }
            }
        }
        values
    }

    /// Adds the values that a call did not leave in memory. `interpreter` runs `source`, and must have run the earlier calls.
    ///
    /// # Errors
    /// A diagnostic if the interpreter fails on these inputs.
    pub fn interpreted(
        &self,
        source: &Module,
        interpreter: &mut Interpreter<'_>,
        method: usize,
        inputs: &[Tensor],
        values: &mut Values,
    ) -> Result<(), Diagnostics> {
        let compiled: BTreeSet<String> = values.keys().cloned().collect();
        // Without variables, calls are independent, so the interpreter can skip some.
        if !self.all && self.wanted.is_subset(&compiled) && source.states.is_empty() {
            return Ok(());
        }
        let mut trace = |function: Func, inst: Inst, results: &[Tensor]| {
            let function = &source.functions[function];
            for (&value, tensor) in function.insts[inst].results.iter().zip(results) {
                let name = function.values[value].name.as_ref().filter(|name| self.wants(name) && !compiled.contains(*name));
                if let Some(name) = name.filter(|_| function.insts[inst].op() != Op::Constant) {
                    values.entry(name.clone()).or_insert((Way::Interpreted, vec![])).1.push(tensor.clone());
                }
            }
        };
        interpreter.run_with_trace(method, inputs, &mut trace).map_err(|error| interpreter_failed(&error))?;
        Ok(())
    }
}

/// Loads the file's model, before any rewrite.
///
/// # Errors
/// The errors of [`frontend::load`].
pub fn source_module(model: &Loaded) -> Result<Module, Diagnostics> {
    frontend::load(model.bytes.clone(), &model.path, &model.options)
}

/// Returns the names of the tensors that instructions compute.
fn names(module: &Module) -> impl Iterator<Item = &str> {
    module.functions.values().flat_map(|function| {
        let computed = function.body.iter().filter(|&&inst| function.insts[inst].op() != Op::Constant);
        let results = computed.flat_map(|&inst| function.insts[inst].results.iter());
        results.filter_map(|&value| function.values[value].name.as_deref())
    })
}

/// Sorts values in the order in which the file computes them.
pub fn in_order(values: Values, source: &Module) -> Vec<(String, (Way, Vec<Tensor>))> {
    let positions: BTreeMap<&str, usize> = names(source).zip(0..).collect();
    let mut list: Vec<_> = values.into_iter().collect();
    list.sort_by_key(|(name, _)| positions.get(name.as_str()).copied());
    list
}

/// Returns the name of a value in an archive: the tensor's name. With several calls, the call's number precedes it. For repeated values, the
/// turn's number follows it.
pub fn entry_name(name: &str, call: Option<usize>, turn: Option<usize>) -> String {
    let call = call.map_or(String::new(), |call| format!("call{call}/"));
    let turn = turn.map_or(String::new(), |turn| format!("#{turn}"));
    format!("{call}{name}{turn}")
}
