//! Calls of a profiler before and after each kernel call or region of a device.

use super::language::{Builder, Callee, Signature, Value, Width};
use modelc_interface::E_ABORTED;
use modelc_program::{Program, calls};

/// `phase` of `on_kernel` before a kernel runs.
pub const BEFORE: u32 = 0;
/// `phase` of `on_kernel` after a kernel has run.
pub const AFTER: u32 = 1;

/// Returns the number that measurements of a region have: regions follow all kernel calls.
pub fn measured_as(program: &Program, region: usize) -> u32 {
    let kernels: usize = program.methods.iter().map(|method| calls(&method.steps).len()).sum();
    (kernels + region) as u32
}

/// A profiler: `on_kernel` and `user`.
#[derive(Clone, Copy)]
pub(super) struct Hooks {
    pub(super) callback: Value,
    pub(super) user: Value,
}

/// Calls the profiler, if there is one; it may abort the method: `int on_kernel(void *user, uint32_t call,
/// uint32_t phase)`.
pub(super) fn notify(e: &mut Builder, hooks: Option<Hooks>, call: u32, phase: u32) {
    let Some(Hooks { callback, user }) = hooks else {
        return;
    };
    e.when(callback, |e| {
        let signature = Signature::new(&[Width::Word, Width::Single, Width::Single], Some(Width::Single));
        let arguments = vec![user.into(), u64::from(call).into(), u64::from(phase).into()];
        let stop = e.call(Callee::Pointer(callback.into()), signature, arguments);
        e.leave_if(stop, E_ABORTED);
    });
}
