//! Conditions on kernels that every CPU back end relies on.

use super::bug::Mistake;
use super::{CodegenError, Unsupported};
use modelc_kernel::{Inst, Kernel, Type};

/// Checks that indices and counters are as wide as the machine's registers, and that the kernel has no grid.
///
/// # Errors
/// [`CodegenError::Bug`] if an index has another width: the kernel was written for other machines. [`CodegenError::Unsupported`] if the kernel has a
/// grid.
pub fn check(kernel: &Kernel, index: Type) -> Result<(), CodegenError> {
    if kernel.grid.is_some() {
        return Err(Unsupported::Grid(kernel.name.clone()).into());
    }
    let mut statements = kernel.statements();
    let index_of = |inst: &Inst| match inst {
        Inst::Load { index: at, .. }
        | Inst::LoadSplat { index: at, .. }
        | Inst::LoadSplatGroup { index: at, .. }
        | Inst::Store { index: at, .. } => Some(kernel.ty(*at)),
        Inst::For { start, .. } => Some(kernel.ty(*start)),
        _ => None,
    };
    match statements.find_map(|statement| index_of(&statement.inst).filter(|&ty| ty != index)) {
        Some(other) => Err(CodegenError::lowering(kernel, Mistake::Index { index: other, machine: index })),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::intervals::Assumed;
    use modelc_kernel::passes::narrow;
    use modelc_kernel::{BufferKind, Grid, KernelBuilder, Lane};

    #[test]
    fn grids_are_refused() {
        let mut b = KernelBuilder::new("k");
        b.grid(Grid { positions: 8, workgroup: 8 });
        let error = check(&b.finish(), Type::INDEX).map_err(|error| error.to_string());
        assert_eq!(error, Err("kernel k has a grid, which a CPU does not run".into()));
    }

    #[test]
    fn narrow_indices_are_refused() {
        let mut b = KernelBuilder::new("k");
        let x = b.buffer("x", BufferKind::Output, Lane::I8, 8, 1);
        b.for_range(0, 8, 1, |b, i| {
            let seven = b.int(Type::scalar(Lane::I8), 7);
            b.store(x, i, 0, seven);
        });
        let kernel = b.finish();
        let narrowed = narrow(&kernel, &Assumed::default());
        let word = Type::scalar(Lane::I32);
        assert_eq!((check(&kernel, Type::INDEX), check(&narrowed, word)), (Ok(()), Ok(())));
        let error = check(&narrowed, Type::INDEX).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("an index of type i32 on a machine with indices of type i64")));
        let error = check(&kernel, word).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("an index of type i64 on a machine with indices of type i32")));
    }
}
