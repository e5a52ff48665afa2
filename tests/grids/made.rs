//! CPU kernels as grids of one position.

use super::*;
use cranelift_entity::EntityRef;

/// Converts a kernel to a grid of one position, in which no work is divided. `None` if it has integer parameters, which grids do not have.
pub fn as_grid(kernel: &Kernel) -> Option<Kernel> {
    if kernel.integers > 0 {
        return None;
    }
    let mut kernel = modelc::kernel::passes::WHOLE.of(kernel);
    kernel.types.push(Type::INDEX);
    kernel.body.params = vec![Value::new(kernel.types.len() - 1)];
    kernel.integers = 1;
    kernel.grid = Some(Grid { positions: 1, workgroup: 1 });
    if has(&kernel.body, &|inst| matches!(inst, Inst::FailIf { .. })) {
        // The last buffer, because no code counts buffers from the end.
        kernel.buffers.push(BufferData::new("status", BufferKind::Output, Lane::I32, 1, 4));
    }
    Some(kernel)
}
