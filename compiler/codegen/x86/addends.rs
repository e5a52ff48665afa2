//! What a lowering of one instruction at a time leaves: products that are added to what others add too.

use super::inst::{Arg, Function, Op};
use super::rows;

/// Has such products take the place of a factor that nothing else uses, so that what is added needs no copy. `uses` says how often each
/// register is used.
pub(super) fn keep_addends(function: &mut Function, uses: &[u32]) {
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        let Op::Vector { row, length, zeroing, broadcast } = inst.op else { continue };
        let [result, Arg::Tied(added), Arg::Use(factor), Arg::Use(other)] = inst.args[..] else { continue };
        // The other factor would no longer come from memory.
        let stays = uses[added.vreg()] > 1 && uses[other.vreg()] > 1 && uses[factor.vreg()] == 1;
        if *row == rows::VFMADD231PS && stays {
            inst.op = Op::Vector { row: &rows::VFMADD213PS, length, zeroing, broadcast };
            inst.args = vec![result, Arg::Tied(factor), Arg::Use(other), Arg::Use(added)];
        }
    }
}
