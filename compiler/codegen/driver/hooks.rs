//! What a profiler is told: that a kernel call or a region of a device begins, and that it has ended.

use super::language::{Builder, Callee, Signature, Value, Width};
use crate::interface::E_ABORTED;
use crate::program::{Program, calls};

/// `phase` of `on_kernel` before a kernel runs.
pub const BEFORE: u32 = 0;
/// `phase` of `on_kernel` after a kernel has run.
pub const AFTER: u32 = 1;

/// The number under which a region is measured: regions come after all kernel calls.
pub fn measured_as(program: &Program, region: usize) -> u32 {
    let kernels: usize = program.methods.iter().map(|method| calls(&method.steps).len()).sum();
    (kernels + region) as u32
}

/// Tells the profiler, where there is one; it may stop the call. `hooks` are `on_kernel` and `user`:
/// `int on_kernel(void *user, uint32_t call, uint32_t phase)`.
pub(super) fn notify(e: &mut Builder, hooks: Option<(Value, Value)>, call: u32, phase: u32) {
    let Some((callback, user)) = hooks else {
        return;
    };
    e.when(callback, |e| {
        let signature = Signature::new(&[Width::Word, Width::Single, Width::Single], Some(Width::Single));
        let arguments = vec![user.into(), u64::from(call).into(), u64::from(phase).into()];
        let stop = e.call(Callee::Pointer(callback.into()), signature, arguments);
        e.leave_if(stop, E_ABORTED);
    });
}
