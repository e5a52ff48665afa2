//! A peephole pass after lowering: products whose addend has other uses.

use super::inst::{Arg, Function, Op};
use super::rows;

/// Lets such a product overwrite a factor without other uses, so that the addend needs no copy. `uses` counts the uses of each register.
pub(super) fn keep_addends(function: &mut Function, uses: &[u32]) {
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        let Op::Vector { row, length, zeroing, broadcast } = inst.op else { continue };
        let [result, Arg::Tied(added), Arg::Use(factor), Arg::Use(other)] = inst.args[..] else { continue };
        // Otherwise the other factor could no longer come from memory.
        let stays = uses[added.vreg()] > 1 && uses[other.vreg()] > 1 && uses[factor.vreg()] == 1;
        if *row == rows::VFMADD231PS && stays {
            inst.op = Op::Vector { row: &rows::VFMADD213PS, length, zeroing, broadcast };
            inst.args = vec![result, Arg::Tied(factor), Arg::Use(other), Arg::Use(added)];
        }
    }
}
