//! A pass after lowering that keeps the sums of an innermost loop in their registers.

use super::inst::{Arg, Inst, Op};
use super::rows::{FOUR, Row};
use crate::own::Function;
use regalloc2::VReg;
use rustc_hash::FxHashSet;

/// Ties the result of a product to the register of the sum that it is added to, if nothing else uses the sum. Otherwise the allocator may move a
/// chain of sums from register to register, and leave no register to values that a loop carries. `uses` counts the uses of each register.
pub(super) fn keep_sums(function: &mut Function<Inst>, uses: &[u32]) {
    for data in function.blocks.iter_mut().filter(|data| data.hot) {
        let mut own: FxHashSet<VReg> = data.params.iter().copied().collect();
        for inst in &mut data.insts {
            if let (Op::Row(row), &[to @ Arg::Def(_), a, b, Arg::Use(sum)]) = (inst.op, &inst.args[..])
                && sums(row)
                && own.contains(&sum)
                && uses[sum.vreg()] == 1
            {
                inst.args = vec![to, Arg::Tied(sum), a, b];
            }
            own.extend(inst.args.iter().filter_map(|arg| if let Arg::Def(register) = arg { Some(*register) } else { None }));
        }
    }
}

/// Tests whether an instruction adds to its last operand. A tied sum stands before the factors.
pub(super) fn sums(row: &Row) -> bool {
    row.slots == FOUR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::count_uses;
    use crate::thumb::rows;
    use regalloc2::RegClass;

    #[test]
    fn sums_of_one_use_stay_in_their_registers() {
        let v = |n| VReg::new(n, RegClass::Int);
        let product = |to, sum| {
            let args = vec![Arg::Def(v(to)), Arg::Use(v(0)), Arg::Use(v(1)), Arg::Use(v(sum))];
            Inst { op: Op::Row(&rows::SMLAD), args }
        };
        let mut function = Function { registers: 10, ..Function::default() };
        let block = function.block();
        function.order.push(block);
        let data = function.at(block);
        (data.hot, data.params) = (true, vec![v(2), v(3)]);
        // Register 2 is used once, register 3 twice, and register 4 comes from outside.
        data.insts = vec![product(5, 2), product(6, 3), product(7, 3), product(8, 4), product(9, 5)];
        let uses = count_uses(&function);
        keep_sums(&mut function, &uses);
        let tied = |inst: &Inst| inst.args.iter().any(|arg| matches!(arg, Arg::Tied(_)));
        assert_eq!(function.at(block).insts.iter().map(tied).collect::<Vec<_>>(), [true, false, false, false, true]);
    }
}
