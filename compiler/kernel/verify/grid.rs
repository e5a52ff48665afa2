//! What a grid asks of its kernel.

use crate::kernel::types::*;
use cranelift_entity::EntityRef;

/// Positions are fewer, so that each is an index of 32 bits.
const MOST_POSITIONS: u64 = i32::MAX as u64;

/// Checks the rules and gives the position with its type.
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

/// A kernel that may fail has a word for the status, which nothing else reads or writes.
fn check_status(kernel: &Kernel) -> Result<(), String> {
    if !kernel.may_fail() {
        return Ok(());
    }
    let status = kernel.status().ok_or("a kernel with a grid may fail, and its last pointer parameter is no output of one i32")?;
    let mut accesses = kernel.regions().flat_map(|region| &region.statements);
    match accesses.any(|statement| statement.inst.buffer() == Some(status)) {
        true => Err(format!("an access to the status {}", kernel.buffer(status).name)),
        false => Ok(()),
    }
}
