//! Buffers of a kernel that computes a part of another one.

use crate::*;
use rustc_hash::FxHashSet;

/// Removes unused buffers, and adds the status if the kernel may fail. Returns the old numbers of the pointer parameters.
pub fn only_used(kernel: &mut Kernel) -> Vec<Option<usize>> {
    let used: FxHashSet<Buffer> = kernel.statements().filter_map(|statement| statement.inst.buffer()).collect();
    let params = kernel.pointer_params().map(|(buffer, _)| buffer).enumerate();
    let mut pointers: Vec<Option<usize>> = params.filter(|(_, buffer)| used.contains(buffer)).map(|(number, _)| Some(number)).collect();
    kernel.retain_buffers(|buffer| used.contains(&buffer));
    if kernel.may_fail() {
        let status = BufferData::new("status", BufferKind::Output, Lane::I32, 1, 4);
        kernel.buffers.push(status);
        pointers.push(None);
    }
    pointers
}
