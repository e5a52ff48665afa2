//! Rules of kernels with a grid.

use super::Rule;
use crate::equal::Equal;
use crate::*;
use cranelift_entity::EntityRef;

/// Limit of the number of positions, so that each position is a 32-bit index.
const MOST_POSITIONS: u64 = i32::MAX as u64;

/// Checks the rules. Returns the position with its type.
pub fn check(kernel: &Kernel, grid: Grid) -> Result<(Value, Type), Rule> {
    let &[position] = &kernel.body.params[..] else {
        return Err(Rule::GridParameters(kernel.body.params.len()));
    };
    let ty = kernel.types.get(position.index()).copied().ok_or(Rule::NoType(position))?;
    if !ty.is_index() {
        return Err(Rule::Position { position, ty });
    }
    if !(1..=MOST_POSITIONS).contains(&grid.positions) || grid.workgroup == 0 {
        return Err(Rule::GridSize { positions: grid.positions, workgroup: grid.workgroup });
    }
    check_status(kernel)?;
    Ok((position, ty))
}

/// Checks that a kernel that may fail has a status word, which nothing else reads or writes.
fn check_status(kernel: &Kernel) -> Result<(), Rule> {
    if !kernel.may_fail() {
        return Ok(());
    }
    let status = kernel.status().ok_or(Rule::NoStatus)?;
    let mut accesses = kernel.statements();
    match accesses.any(|statement| statement.inst.buffer() == Some(status)) {
        true => Err(Rule::StatusAccess(kernel.buffer(status).name.clone())),
        false => Ok(()),
    }
}

/// Checks that all positions of a workgroup come to the same barriers, and that only they share memory.
pub fn check_barriers(kernel: &Kernel) -> Result<(), Rule> {
    let shared = kernel.buffers.iter().find(|data| data.kind == BufferKind::Shared);
    let Some(grid) = kernel.grid else {
        return match shared {
            Some(data) => Err(Rule::SharedWithoutGrid(data.name.clone())),
            None if kernel.has_barrier() => Err(Rule::BarrierWithoutGrid),
            None => Ok(()),
        };
    };
    if shared.is_none() && !kernel.has_barrier() {
        return Ok(());
    }
    if !grid.positions.is_multiple_of(grid.workgroup.into()) {
        return Err(Rule::Workgroups { positions: grid.positions, workgroup: grid.workgroup });
    }
    if kernel.may_fail() {
        return Err(Rule::FailsBeforeBarrier);
    }
    check_region(&Equal::of(kernel), &kernel.body)
}

/// Checks a region to which all positions of a workgroup come equally often.
fn check_region(equal: &Equal<'_>, region: &Region) -> Result<(), Rule> {
    let is_equal = |value: &Value| equal.contains(*value);
    for inst in region.statements.iter().map(|statement| &statement.inst) {
        let inner = inst.regions();
        match inst {
            _ if !inner.iter().any(|inner| has_barrier(inner)) => {}
            Inst::For { start, end, .. } if ![start, end].into_iter().all(is_equal) => {
                return Err(Rule::BarrierInLoop);
            }
            Inst::If { condition, .. } if !is_equal(condition) => return Err(Rule::BarrierUnderCondition),
            Inst::Loop { .. } => return Err(Rule::BarrierUnderCondition),
            _ => inner.into_iter().try_for_each(|inner| check_region(equal, inner))?,
        }
    }
    Ok(())
}

fn has_barrier(region: &Region) -> bool {
    region.statements.iter().any(|statement| statement.inst == Inst::Barrier || statement.inst.regions().into_iter().any(has_barrier))
}
