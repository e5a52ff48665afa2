//! Custom operators in the JIT: functions of this process in place of an application's.

use crate::diagnostic::{Diagnostic, codes};
use crate::program::{Program, externals};

/// `modelc_tensor`: a tensor as a custom operator sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CustomTensor {
    /// Dense elements in row-major order; read-only for inputs.
    pub data: *mut u8,
    /// Size in bytes.
    pub bytes: usize,
    /// `rank` extents; null for rank 0.
    pub shape: *const usize,
    /// Number of dimensions.
    pub rank: u32,
    /// Index in [`crate::interface::ELEMENTS`].
    pub element: u32,
    /// `real = scale * (integer - zero_point)`; 0 without one scale for all elements.
    pub scale: f32,
    /// Zero point, for the formula of `scale`.
    pub zero_point: i32,
}

macro_rules! custom_operator {
    ($abi:literal) => {
        /// A custom operator's function: user, inputs and their number, outputs and their number, options and their bytes. 0 means success.
        pub type CustomOperator =
            unsafe extern $abi fn(*mut u8, *const CustomTensor, u32, *mut CustomTensor, u32, *const u8, usize) -> i32;
    };
}
// The calling convention of generated code.
#[cfg(target_arch = "x86_64")]
custom_operator!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
custom_operator!("C");

/// Returns the address of the function of a custom operator.
///
/// # Errors
/// A diagnostic if no function is registered under the name.
pub(super) fn address(program: &Program, symbol: &str, registered: &[(String, CustomOperator)]) -> Result<u64, Diagnostic> {
    let found = registered.iter().find(|(name, _)| name == symbol);
    found.map(|(_, function)| *function as usize as u64).ok_or_else(|| unregistered(program, symbol))
}

fn unregistered(program: &Program, symbol: &str) -> Diagnostic {
    let message = format!("the custom operator's function {symbol} is not here, so the model cannot run in this process");
    let diagnostic = Diagnostic::new(codes::CUSTOM_FUNCTION, message)
        .help("compile the model to an object and link it with the function, or register one in JitOptions::customs");
    let called = program.methods.iter().flat_map(|method| externals(&method.steps)).find(|external| external.symbol == symbol);
    match called.and_then(|external| external.origin.operators.first()) {
        Some((index, name)) => diagnostic.at_operator(*index, name),
        None => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::CustomTensor;
    use crate::interface::{Layout, TENSOR};
    use std::mem::offset_of;

    #[test]
    fn tensors_are_laid_out_as_the_driver_writes_them() {
        let here = Layout { pointer: size_of::<usize>() as u64 };
        let offsets = [
            offset_of!(CustomTensor, data),
            offset_of!(CustomTensor, bytes),
            offset_of!(CustomTensor, shape),
            offset_of!(CustomTensor, rank),
            offset_of!(CustomTensor, element),
            offset_of!(CustomTensor, scale),
            offset_of!(CustomTensor, zero_point),
        ];
        assert!(TENSOR.members(here).map(|place| place.2 as usize).eq(offsets));
        assert_eq!(size_of::<CustomTensor>() as u64, TENSOR.bytes(here));
    }
}
