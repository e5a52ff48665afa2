//! Kernels as text: in Cranelift's language, and as machine instructions.

use super::clif::{self, Optimise, isa_for};
use super::compile::guarded_text;
use super::{CodegenError, wide};
use crate::diagnostic::Diagnostic;
use crate::program::Level;
use crate::target::Target;
use std::fmt::Write;

/// What to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Cranelift's language, as it is handed over.
    Cranelift,
    /// The instructions that come out.
    Machine,
}

/// All kernels of a program for a CPU level, each below its name.
///
/// # Errors
/// As [`super::compile`].
pub fn listing(&Level { machine, program }: &Level<'_>, target: &Target, what: Listing) -> Result<String, Diagnostic> {
    let mut text = String::new();
    for kernel in &program.kernels {
        let body = guarded_text(&kernel.name, || {
            let isa = isa_for(&target.triple(), machine, Optimise::Kernel)?;
            Ok(match what {
                Listing::Machine if machine.vector_bits > 128 => wide::listing(kernel, machine)?,
                Listing::Cranelift if machine.vector_bits > 128 => {
                    return Err(CodegenError::Unsupported(format!("kernels for {} do not go through Cranelift", machine.level)));
                }
                Listing::Cranelift => clif::lower(kernel, &*isa, machine)?.display().to_string(),
                Listing::Machine => clif::listing(kernel, &*isa, machine)?,
            })
        })?;
        let _ = writeln!(text, "; {} for {}\n{}", kernel.name, machine.level, body.trim_end());
    }
    Ok(text)
}
