//! A pass after lowering for operations whose result is also the first operand: they overwrite an operand that nothing else uses. Sums that a loop
//! carries stay in their registers, too, because a sum of high registers overwrites its first operand.

use super::inst::{Arg, Inst, Op};
use crate::own::Function;
use crate::thumb::rows::{self, Row, Short};
use regalloc2::VReg;
use rustc_hash::FxHashSet;

/// Gives results the register of an operand that dies. Otherwise the operand is copied first. `uses` counts the uses of each register.
pub(super) fn tie_operands(function: &mut Function<Inst>, uses: &[u32]) {
    for data in &mut function.blocks {
        let mut defined: FxHashSet<VReg> = data.params.iter().copied().collect();
        let mut carried = if data.hot { defined.clone() } else { FxHashSet::default() };
        for inst in &mut data.insts {
            let dies = |v: VReg| uses[v.vreg()] == 1 && defined.contains(&v);
            // Three bits hold a small constant, and eight one that is added to the result.
            if let Op::Row(Row { short: Short::Small(..), .. }) = inst.op
                && let [to, Arg::Use(a), number @ Arg::Number(8..)] = inst.args[..]
                && dies(a)
            {
                inst.args = vec![to, Arg::Tied(a), number];
            }
            if let Op::Row(row) = inst.op
                && let [to, Arg::Use(a), Arg::Use(b) | Arg::LateUse(b)] = inst.args[..]
            {
                match row.short {
                    Short::Either(_) | Short::Same(_) if dies(a) => inst.args = vec![to, Arg::Tied(a), Arg::Use(b)],
                    Short::Either(_) if dies(b) => inst.args = vec![to, Arg::Tied(b), Arg::Use(a)],
                    Short::Three(_) if row == &rows::ADD => {
                        let kept = [(a, b), (b, a)].into_iter().find(|(sum, _)| dies(*sum) && carried.contains(sum));
                        if let (Some((sum, other)), Arg::Def(result)) = (kept, to) {
                            inst.args = vec![to, Arg::Tied(sum), Arg::Use(other)];
                            carried.insert(result);
                        }
                    }
                    _ => {}
                }
            }
            defined.extend(inst.args.iter().filter_map(|arg| if let Arg::Def(v) | Arg::EarlyDef(v) = arg { Some(*v) } else { None }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::count_uses;
    use regalloc2::RegClass;

    #[test]
    fn operands_that_die_are_overwritten() {
        let v = |n| VReg::new(n, RegClass::Int);
        let inst = |op, args: &[Arg]| Inst { op, args: args.to_vec() };
        let number = |n| inst(Op::Constant(n), &[Arg::Def(v(n as usize))]);
        let two = |row, to, a, b| inst(Op::Row(row), &[Arg::Def(v(to)), Arg::Use(v(a)), Arg::Use(v(b))]);
        let mut function = Function { registers: 10, ..Function::default() };
        let block = function.block();
        function.order.push(block);
        function.at(block).insts = vec![
            number(0),
            number(1),
            two(&rows::MUL, 2, 0, 1),
            two(&rows::LSL, 3, 2, 0),
            two(&rows::AND, 4, 0, 3),
            two(&rows::LSR, 5, 0, 4),
        ];
        let uses = count_uses(&function);
        tie_operands(&mut function, &uses);
        let tied = |inst: &Inst| inst.args.iter().find_map(|arg| if let Arg::Tied(v) = arg { Some(v.vreg()) } else { None });
        let found: Vec<Option<usize>> = function.at(block).insts.iter().map(tied).collect();
        assert_eq!(found, [None, None, Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn sums_that_a_loop_carries_stay_in_their_registers() {
        let v = |n| VReg::new(n, RegClass::Int);
        let two = |row, to, a, b| Inst::new(Op::Row(row), &[Arg::Def(v(to)), Arg::Use(v(a)), Arg::Use(v(b))]);
        let mut function = Function { registers: 10, ..Function::default() };
        let block = function.block();
        function.order.push(block);
        let data = function.at(block);
        (data.hot, data.params) = (true, vec![v(0), v(1)]);
        // Register 1 is used twice, register 2 comes from outside.
        data.insts = vec![two(&rows::ADD, 3, 2, 0), two(&rows::ADD, 4, 3, 2), two(&rows::ADD, 5, 1, 1)];
        let uses = count_uses(&function);
        tie_operands(&mut function, &uses);
        let tied = |inst: &Inst| inst.args.iter().find_map(|arg| if let Arg::Tied(v) = arg { Some(v.vreg()) } else { None });
        assert_eq!(function.at(block).insts.iter().map(tied).collect::<Vec<_>>(), [Some(0), Some(3), None]);
    }
}
