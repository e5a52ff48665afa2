//! Failures of code generation, as diagnostics.

use super::{Bug, CodegenError};
use modelc_diagnostic::Diagnostic;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes the diagnostic for a failure to generate code for `what`.
pub(super) fn diagnostic(error: &CodegenError, what: &str) -> Diagnostic {
    match error {
        CodegenError::Unsupported(why) => Diagnostic::new(error.code(), format!("no machine code for {what}: {why}")),
        bug => Diagnostic::new(bug.code(), format!("code generation for {what} went wrong: {bug}"))
            .help("this is a mistake in modelc; please report it with the model"),
    }
}

/// Runs work for `what`, and makes a diagnostic of an error. Cranelift and our own code generation panic on internal mistakes; a panic becomes a
/// diagnostic too.
pub(super) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T, CodegenError>) -> Result<T, Diagnostic> {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = (panic.downcast_ref::<&str>().map(ToString::to_string)).or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Bug::Panic(text.unwrap_or_else(|| "a panic".into())).into())
    });
    result.map_err(|error| diagnostic(&error, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unsupported;
    use crate::driver::language::Rule;
    use modelc_diagnostic::codes;

    #[test]
    fn errors_and_panics_say_whose_fault_they_are() {
        let of = |work: fn() -> Result<(), CodegenError>| guarded("k", work).map_err(|d| (d.code, d.message));
        assert_eq!(of(|| Ok(())), Ok(()));
        let missing = (codes::NO_BACK_END, "no machine code for k: Vulkan is called on machines of 64 bits only".to_string());
        assert_eq!(of(|| Err(Unsupported::Vulkan.into())), Err(missing));
        let wrong = (codes::CODE_GENERATION, "code generation for k went wrong: 3 of 2".to_string());
        assert_eq!(of(|| panic!("{} of 2", 3)), Err(wrong));
        let text = "code generation for k went wrong: a function of the driver: nothing after a branch can be reached";
        assert_eq!(of(|| Err(CodegenError::Driver(Rule::Unreachable))), Err((codes::DRIVER_RULE, text.to_string())));
    }
}
