//! The stages of compilation, on one screen: bytes → tensor language → rewrites → groups, schedules and plan → program.

use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend;
use crate::ir::data::Bytes;
use crate::ir::{Module, Outline, Verified, verify};
use crate::lower::{self, Lowered};
use crate::machine::CpuMachine;
use crate::passes;
use std::sync::Arc;

/// Reads a model into the tensor language, verifies and rewrites it, ready to be interpreted or lowered.
///
/// # Errors
/// The front end's diagnostics; a bug's diagnostic if the front end or a rewrite broke a rule of the language.
pub fn read(bytes: Arc<dyn Bytes>, file: &str, options: &frontend::LoadOptions) -> Result<Module, Diagnostics> {
    let mut module = frontend::load(bytes, file, options)?;
    module.open_constants = options.open_constants;
    gate(&module, "the front end")?;
    module.outlines = Outline::all(&module);
    passes::run_all(&mut module);
    gate(&module, "a rewrite")?;
    Ok(module)
}

/// Lowers a module to kernels and steps.
///
/// # Errors
/// The errors of [`read`], and one diagnostic for each operator without a lowering.
pub fn lower(module: &Module, file: &str, options: lower::Options) -> Result<Lowered, Diagnostics> {
    lower_levels(module, file, options, &[])
}

/// Lowers a module for the machine of the options, and for `others` in the same object.
///
/// # Errors
/// The errors of [`lower`].
pub fn lower_levels(module: &Module, file: &str, options: lower::Options, others: &[&'static CpuMachine]) -> Result<Lowered, Diagnostics> {
    let in_file = |Diagnostics(list): Diagnostics| Diagnostics(list.into_iter().map(|d| d.in_file(file)).collect()).grouped();
    lower::lower_levels(gate(module, "whoever made the module")?, options, others).map_err(in_file)
}

/// Verifies a module; lowering requires this proof.
fn gate<'m>(module: &'m Module, who: &str) -> Result<Verified<'m>, Diagnostics> {
    verify::verify(module).map_err(|error| {
        let message = format!("{who} made code that breaks the rules of the tensor language: {error}");
        Diagnostic::new(codes::OWN_CHECK, message).help("please report this, with the model if you can share it").into()
    })
}
