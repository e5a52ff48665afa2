//! Imports of an object in this process: custom operators, and the system's functions that open libraries.

use super::custom::{self, CustomOperator};
use super::failure::failed;
use crate::codegen::clif::code::Known;
use crate::codegen::clif::driver::compile_driver;
use crate::codegen::driver::{Import, ImportKind, external};
use crate::codegen::{Code, CompiledModel};
use crate::diagnostic::Diagnostic;
use crate::program::Program;
use cranelift_codegen::isa::TargetIsa;

/// Compiles a forwarding function for each import, which may be far away in the address space.
///
/// # Errors
/// A diagnostic if a function is missing.
pub(super) fn forwards(
    program: &Program,
    compiled: &CompiledModel,
    customs: &[(String, CustomOperator)],
    isa: &dyn TargetIsa,
) -> Result<Vec<Code>, Diagnostic> {
    let known = Known::default();
    let code = |Import { symbol, kind, signature }: &Import| {
        let address = match kind {
            ImportKind::Custom => custom::address(program, symbol, customs)?,
            ImportKind::System => system(symbol).ok_or_else(|| failed(&format!("this process has no {symbol}")))?,
            ImportKind::Runtime => return Err(failed(&"the runtime stands in another object")),
        };
        let forward = external::forward(compiled.interface.layout, signature, address);
        compile_driver(&forward, isa, &known).map_err(|error| failed(&error))
    };
    compiled.imports.iter().map(code).collect()
}

/// Returns the address of a function of the system.
#[cfg(unix)]
fn system(symbol: &str) -> Option<u64> {
    use std::ffi::{c_char, c_int, c_void};
    // SAFETY: the declarations are POSIX's.
    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    match symbol {
        "dlopen" => Some(dlopen as *const () as u64),
        "dlsym" => Some(dlsym as *const () as u64),
        _ => None,
    }
}

/// Finds no function: generated code uses the System V convention, which this system's functions do not. So there is no library and no device.
#[cfg(not(unix))]
fn system(_: &str) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    extern "sysv64" fn nothing(_: usize, _: usize) -> usize {
        0
    }
    #[cfg(not(target_arch = "x86_64"))]
    extern "C" fn nothing(_: usize, _: usize) -> usize {
        0
    }
    Some(nothing as *const () as u64)
}
