//! Rules of kernels with a grid.

use crate::kernel::equal::Equal;
use crate::kernel::*;
use cranelift_entity::EntityRef;

/// Limit of the number of positions, so that each position is a 32-bit index.
const MOST_POSITIONS: u64 = i32::MAX as u64;

/// Checks the rules. Returns the position with its type.
pub fn check(kernel: &Kernel, grid: Grid) -> Result<(Value, Type), String> {
    let &[position] = &kernel.body.params[..] else {
        return Err(format!("a grid and {} integer parameters", kernel.body.params.len()));
    };
    let ty = kernel.types.get(position.index()).copied().ok_or_else(|| format!("{position} has no type"))?;
    if !ty.is_index() {
        return Err(format!("the position {position} is {ty}, no index"));
    }
    if !(1..=MOST_POSITIONS).contains(&grid.positions) || grid.workgroup == 0 {
        return Err(format!("a grid of {} positions in workgroups of {}", grid.positions, grid.workgroup));
    }
    check_status(kernel)?;
    Ok((position, ty))
}

/// Checks that a kernel that may fail has a status word, which nothing else reads or writes.
fn check_status(kernel: &Kernel) -> Result<(), String> {
    if !kernel.may_fail() {
        return Ok(());
    }
    let status = kernel.status().ok_or("a kernel with a grid may fail, and its last pointer parameter is no output of one i32")?;
    let mut accesses = kernel.statements();
    match accesses.any(|statement| statement.inst.buffer() == Some(status)) {
        true => Err(format!("an access to the status {}", kernel.buffer(status).name)),
        false => Ok(()),
    }
}

/// Checks that all positions of a workgroup come to the same barriers, and that only they share memory.
pub fn check_barriers(kernel: &Kernel) -> Result<(), String> {
    let shared = kernel.buffers.iter().find(|data| data.kind == BufferKind::Shared);
    let Some(grid) = kernel.grid else {
        return match shared {
            Some(data) => Err(format!("buffer {} is shared, and there is no grid", data.name)),
            None if kernel.has_barrier() => Err("a barrier, and no grid".into()),
            None => Ok(()),
        };
    };
    if shared.is_none() && !kernel.has_barrier() {
        return Ok(());
    }
    if !grid.positions.is_multiple_of(grid.workgroup.into()) {
        return Err(format!("a shared buffer or a barrier, and {} positions do not fill workgroups of {}", grid.positions, grid.workgroup));
    }
    if kernel.may_fail() {
        return Err("a shared buffer or a barrier, to which a position that has failed does not come".into());
    }
    check_region(&Equal::of(kernel), &kernel.body)
}

/// Checks a region to which all positions of a workgroup come equally often.
fn check_region(equal: &Equal<'_>, region: &Region) -> Result<(), String> {
    let is_equal = |value: &Value| equal.contains(*value);
    for inst in region.statements.iter().map(|statement| &statement.inst) {
        let inner = inst.regions();
        match inst {
            _ if !inner.iter().any(|inner| has_barrier(inner)) => {}
            Inst::For { start, end, .. } if ![start, end].into_iter().all(is_equal) => {
                return Err("a barrier in a loop that may count differently at each position".into());
            }
            Inst::If { condition, .. } if !is_equal(condition) => return Err("a barrier under a condition".into()),
            Inst::Loop { .. } => return Err("a barrier under a condition".into()),
            _ => inner.into_iter().try_for_each(|inner| check_region(equal, inner))?,
        }
    }
    Ok(())
}

fn has_barrier(region: &Region) -> bool {
    region.statements.iter().any(|statement| statement.inst == Inst::Barrier || statement.inst.regions().into_iter().any(has_barrier))
}
