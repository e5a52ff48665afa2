//! Lowering of the functions of [`crate::support`], and their loops.

use super::held::Held;
use super::inst::{Inst, Operations};
use super::ops::{Operand, Ops, WordOp, Words};
use super::set::{WordSet, leave_with};
use super::soft;
use crate::own::{Function, Lowering, Select};
use crate::support::Support;
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;
use regalloc2::VReg;

/// Lowers a support function.
pub fn lower_support<S: WordSet>(what: Support, machine: &CpuMachine, set: S) -> Function<Inst<S::Own>>
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    let nothing = Kernel::default();
    let mut words = Lowering::new(&nothing, machine, set);
    let parameters = words.parameters(what.arguments().iter().sum());
    let result = soft::compute(&mut words, what, &parameters);
    words.end(leave_with::<S>(&result), vec![]);
    words.function
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Emits a loop with a constant number of rounds. `state` are the words that it carries.
    pub fn repeat_words<const N: usize>(
        &mut self,
        count: i32,
        state: [VReg; N],
        body: impl FnOnce(&mut Self, [VReg; N]) -> [VReg; N],
    ) -> [VReg; N] {
        let [head, inside, after] = [(); 3].map(|()| self.function.block());
        let first = self.word(count);
        let arguments = [&[first], &state[..]].concat();
        self.jump(head, arguments);
        let carried: Vec<VReg> = (0..=N).map(|_| self.scalar()).collect();
        self.function.at(head).params.extend(&carried);
        self.start(head);
        self.branch(S::branch_if(carried[0]), [inside, after]);
        self.start(inside);
        let now = std::array::from_fn(|i| carried[i + 1]);
        let next = body(self, now);
        let left = self.two(WordOp::Sub, carried[0], Operand::Number(1));
        let arguments = [&[left], &next[..]].concat();
        self.jump(head, arguments);
        self.start(after);
        now
    }
}
