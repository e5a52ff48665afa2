//! A pass after lowering that lets the sums of innermost loops be in high registers. A register that any instruction limits to the low ones is there
//! in all its uses, if the allocator can. So sums that a loop carries, and its bound, are copied where the loop begins and where it has ended.

use super::inst::{Arg, Inst, Op, Own};
use crate::own::{Block, Function};
use crate::thumb::rows;
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashSet;

/// An innermost loop of one block.
struct Loop {
    head: Block,
    before: Block,
    latch: Block,
}

/// A sum that a loop carries: the number of its parameter, and its last value.
struct Sum {
    number: usize,
    last: VReg,
}

/// Copies the sums and the bounds of all innermost loops.
pub(super) fn keep_apart(function: &mut Function<Inst>) {
    let loops: Vec<Loop> = function.order.iter().filter_map(|&head| Loop::of(function, head)).collect();
    for each in loops {
        let sums = each.sums(function);
        if sums.is_empty() {
            continue;
        }
        for sum in sums {
            each.copy_first(function, sum.number);
            copy_last(function, &each, sum.last);
        }
        each.copy_bound(function);
    }
}

impl Loop {
    /// Returns the loop of a block, if it has one block and one entry.
    fn of(function: &Function<Inst>, head: Block) -> Option<Self> {
        let data = |block: Block| &function.blocks[block.0 as usize];
        let goes_to_head = |block: &&Block| data(**block).edges().iter().any(|edge| edge.to == head);
        let latch = data(head).edges().iter().map(|edge| edge.to).find(|to| goes_to_head(&to) && data(*to).insts.is_empty())?;
        let mut entries = function.order.iter().filter(goes_to_head).filter(|block| **block != latch);
        let (&before, None) = (entries.next()?, entries.next()) else { return None };
        (data(head).hot && before != head && data(before).edges().len() == 1).then_some(Self { head, before, latch })
    }

    /// Returns the sums that the loop carries, and that only sums with the same register read.
    fn sums(&self, function: &Function<Inst>) -> Vec<Sum> {
        let data = |block: Block| &function.blocks[block.0 as usize];
        let (head, [back]) = (data(self.head), data(self.latch).edges()) else { return vec![] };
        let tied = |sum: VReg| head.insts.iter().find_map(|inst| tied_sum(inst).filter(|(_, operand)| *operand == sum));
        let last = |(number, &param): (usize, &VReg)| {
            let last = std::iter::successors(Some(param), |sum| tied(*sum).map(|(to, _)| to)).last()?;
            (last != param && back.arguments.get(number) == Some(&last)).then_some(Sum { number, last })
        };
        head.params.iter().enumerate().filter_map(last).collect()
    }

    /// Copies the first value of a parameter before the loop.
    fn copy_first(&self, function: &mut Function<Inst>, number: usize) {
        let copy = function.register(RegClass::Int);
        let before = function.at(self.before);
        let Some(argument) = before.end.as_mut().and_then(|(_, edges)| edges.first_mut()?.arguments.get_mut(number)) else { return };
        let first = std::mem::replace(argument, copy);
        before.insts.push(copied(copy, first));
    }

    /// Copies the bound of the loop before it, if that is a register that the loop does not change.
    fn copy_bound(&self, function: &mut Function<Inst>) {
        let head = function.at(self.head);
        let Some((Inst { op: Op::CompareBranch(_), args }, _)) = &head.end else { return };
        let &[_, Arg::Use(bound)] = &args[..] else { return };
        let defined: FxHashSet<VReg> =
            head.insts.iter().flat_map(|inst| &inst.args).filter_map(defined).chain(head.params.iter().copied()).collect();
        if defined.contains(&bound) {
            return;
        }
        let copy = function.register(RegClass::Int);
        function.at(self.before).insts.push(copied(copy, bound));
        if let Some((inst, _)) = &mut function.at(self.head).end {
            inst.args[1] = Arg::Use(copy);
        }
    }
}

/// Copies the last value of a sum before its first use in each block after the loop.
fn copy_last(function: &mut Function<Inst>, of: &Loop, last: VReg) {
    for block in function.order.clone().into_iter().filter(|block| ![of.head, of.latch].contains(block)) {
        let reads = |arg: &Arg| uses(arg) == Some(last);
        let data = function.at(block);
        let first = data.all().position(|inst| inst.args.iter().any(reads));
        let is_argument = data.edges().iter().any(|edge| edge.arguments.contains(&last));
        let Some(first) = first.or(is_argument.then_some(data.insts.len())) else { continue };
        let copy = function.register(RegClass::Int);
        let data = function.at(block);
        let at = first.min(data.insts.len());
        for inst in data.insts[at..].iter_mut().chain(data.end.iter_mut().map(|(inst, _)| inst)) {
            inst.args.iter_mut().for_each(|arg| rename(arg, last, copy));
        }
        if let Some((_, edges)) = &mut data.end {
            edges
                .iter_mut()
                .flat_map(|edge| &mut edge.arguments)
                .filter(|argument| **argument == last)
                .for_each(|argument| *argument = copy);
        }
        data.insts.insert(at, copied(copy, last));
    }
}

fn copied(to: VReg, from: VReg) -> Inst {
    Inst::new(Op::Own(Own::Copy), &[Arg::Def(to), Arg::Use(from)])
}

/// Returns the result of a sum, and the operand that it overwrites.
fn tied_sum(inst: &Inst) -> Option<(VReg, VReg)> {
    match (inst.op, &inst.args[..]) {
        (Op::Row(row), &[Arg::Def(to), Arg::Tied(sum), Arg::Use(_)]) if row == &rows::ADD => Some((to, sum)),
        _ => None,
    }
}

fn defined(arg: &Arg) -> Option<VReg> {
    if let Arg::Def(register) | Arg::EarlyDef(register) | Arg::FixedDef(register, _) = *arg { Some(register) } else { None }
}

/// Returns a register that an operand other than memory reads.
fn uses(arg: &Arg) -> Option<VReg> {
    match *arg {
        Arg::Use(register) | Arg::LateUse(register) | Arg::Tied(register) | Arg::FixedUse(register, _) => Some(register),
        _ => None,
    }
}

fn rename(arg: &mut Arg, from: VReg, to: VReg) {
    if let Arg::Use(register) | Arg::LateUse(register) | Arg::Tied(register) | Arg::FixedUse(register, _) = arg
        && *register == from
    {
        *register = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::Edge;
    use crate::thumb::encode::Flags;

    #[test]
    fn sums_and_bounds_of_a_loop_are_copies() {
        let v = |n| VReg::new(n, RegClass::Int);
        let mut function = Function { registers: 10, ..Function::default() };
        let [before, head, latch, after] = [(); 4].map(|()| function.block());
        function.order = vec![before, head, latch, after];
        let edge = |to, arguments: &[usize]| Edge { to, arguments: arguments.iter().map(|&n| v(n)).collect() };
        function.at(before).end = Some((Inst::new(Op::Jump, &[]), vec![edge(head, &[0, 1])]));
        // The counter is read by a sum with a constant, so it stays.
        let data = function.at(head);
        (data.hot, data.params) = (true, vec![v(2), v(3)]);
        data.insts = vec![
            Inst::row(&rows::ADD, &[Arg::Def(v(4)), Arg::Tied(v(2)), Arg::Use(v(3))]),
            Inst::row(&rows::ADD_TWELVE, &[Arg::Def(v(5)), Arg::Use(v(3)), Arg::Number(1)]),
        ];
        let compare = Inst::new(Op::CompareBranch(Flags::Less), &[Arg::Use(v(5)), Arg::Use(v(6))]);
        data.end = Some((compare, vec![edge(latch, &[]), edge(after, &[])]));
        function.at(latch).end = Some((Inst::new(Op::Jump, &[]), vec![edge(head, &[4, 5])]));
        function.at(after).insts = vec![Inst::row(&rows::MVN, &[Arg::Def(v(7)), Arg::Use(v(4))])];
        function.at(after).end = Some((Inst::new(Op::Return(0), &[]), vec![]));
        keep_apart(&mut function);
        let is_copy = |inst: &&Inst| inst.op == Op::Own(Own::Copy);
        let copies =
            |block: Block| function.blocks[block.0 as usize].insts.iter().filter(is_copy).map(|inst| inst.args[1]).collect::<Vec<_>>();
        assert_eq!([before, head, after].map(copies), [vec![Arg::Use(v(0)), Arg::Use(v(6))], vec![], vec![Arg::Use(v(4))]]);
        let data = &function.blocks[after.0 as usize];
        assert_eq!(uses(&data.insts[1].args[1]), data.insts[0].args.first().and_then(defined));
    }
}
