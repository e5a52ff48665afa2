//! Methods of the calls that a command line asks for.

use super::io::Inputs;
use super::output::usage;
use crate::diagnostic::{Diagnostic, codes, did_you_mean};
use crate::ir::Module;
use clap::Args;

/// Methods of the calls.
#[derive(Args)]
pub struct Methods {
    /// Method to call [default: that of the .npz, else the first]
    #[arg(long, value_name = "METHOD", conflicts_with = "calls")]
    method: Option<String>,
    /// Methods of the calls, in order
    #[arg(long, value_name = "M,M,…", value_delimiter = ',')]
    calls: Vec<String>,
}

/// Limit of the calls of one archive. The number in an array's name is not checked before.
const MOST_CALLS: usize = 1 << 20;

impl Methods {
    /// Returns the method of a name, or the first method.
    ///
    /// # Errors
    /// A diagnostic if there is no such method.
    pub fn find(module: &Module, name: Option<&str>) -> Result<usize, Diagnostic> {
        let methods = &module.methods;
        if methods.is_empty() {
            return Err(usage("the model has no method to run"));
        }
        let Some(name) = name else { return Ok(0) };
        methods.iter().position(|m| m.name == *name).ok_or_else(|| {
            if module.left_out.iter().any(|left_out| left_out == name) {
                return Diagnostic::new(codes::PROGRAM_UNSUPPORTED, "strings cannot be outputs").in_function(name);
            }
            let known: Vec<&str> = methods.iter().map(|m| m.name.as_str()).collect();
            did_you_mean(usage(format!("the model has no method {name:?}")).expected(known.join(", "), name), name, known)
        })
    }

    /// Returns the method of `--method`, if given, for calls that already have their methods.
    ///
    /// # Errors
    /// A diagnostic if there is no such method, or if `--calls` is given.
    pub fn only(&self, module: &Module) -> Result<Option<usize>, Diagnostic> {
        if !self.calls.is_empty() {
            return Err(usage("the calls of a bundle have their methods: --calls says those of --inputs").help("--method tests one method"));
        }
        self.method.as_deref().map(|name| Self::find(module, Some(name))).transpose()
    }

    /// Returns the name of the first call's method, if the command line has one.
    pub fn first_name(&self) -> Option<&str> {
        self.calls.first().or(self.method.as_ref()).map(String::as_str)
    }

    /// Tests whether `--calls` has several methods.
    pub fn are_a_sequence(&self) -> bool {
        self.calls.len() > 1
    }

    /// Tests whether any option is given.
    pub fn are_given(&self) -> bool {
        self.method.is_some() || !self.calls.is_empty()
    }

    /// Returns the methods of random calls, in order: those of `--calls`. Otherwise every method, or the one of `--method`, `turns` times.
    ///
    /// # Errors
    /// A diagnostic if there is no such method.
    pub fn sequence(&self, module: &Module, turns: usize) -> Result<Vec<usize>, Diagnostic> {
        if !self.calls.is_empty() {
            return self.calls.iter().map(|name| Self::find(module, Some(name))).collect();
        }
        let methods = match &self.method {
            Some(name) => vec![Self::find(module, Some(name))?],
            None => (0..module.methods.len()).collect(),
        };
        Ok(methods.into_iter().flat_map(|method| std::iter::repeat_n(method, turns)).collect())
    }

    /// Returns the name of each call's method, from the command line or the archive, if given.
    ///
    /// # Errors
    /// A diagnostic if there are too many calls.
    pub fn names(&self, inputs: &Inputs) -> Result<Vec<Option<String>>, Diagnostic> {
        if !self.calls.is_empty() {
            return Ok(self.calls.iter().cloned().map(Some).collect());
        }
        let calls = inputs.calls();
        if calls > MOST_CALLS {
            let error = Diagnostic::new(codes::CALL_COUNT, "the inputs are of more calls than can be made");
            return Err(error.expected(format!("at most {MOST_CALLS}"), calls.to_string()));
        }
        let given = |call| self.method.as_deref().or_else(|| inputs.method(call)).map(str::to_owned);
        Ok((0..calls).map(given).collect())
    }
}
