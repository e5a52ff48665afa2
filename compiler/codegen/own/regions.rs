//! Lowering of loops, branches and failures. Only jumps pass values along an edge, so that no edge must be split later.

use super::arg::Arg;
use super::function::{Block, Edge};
use super::inst::{Inst, Opcode};
use super::lowering::{Lowering, Select};
use super::scope::Scope;
use crate::CodegenError;
use crate::bug::{Mistake, Route};
use modelc_kernel::{Inst as KernelInst, Region, Value};
use regalloc2::VReg;

/// Bounds and step of a counted loop.
struct Counter {
    start: Value,
    end: Value,
    step: i64,
}

impl<S: Select> Lowering<'_, S> {
    /// Lowers an instruction with regions, or one that may leave the kernel.
    pub(super) fn control(&mut self, inst: &KernelInst, results: &[Value]) -> Result<(), CodegenError> {
        match inst {
            KernelInst::For { start, end, step, carried, body, .. } => {
                self.counted_loop(&Counter { start: *start, end: *end, step: *step }, carried, body, results)
            }
            KernelInst::Loop { carried, body } => self.repeat_while(carried, body, results),
            KernelInst::If { condition, then, otherwise } => self.either(*condition, then, otherwise, results),
            KernelInst::FailIf { condition, status } => {
                let failure = self.failure(*status);
                let (go_on, fail) = (self.function.block(), self.function.block());
                let branch = S::branch_on(self, *condition)?;
                self.branch(branch, [fail, go_on]);
                self.start(fail);
                self.jump(failure, vec![]);
                self.start(go_on);
                Ok(())
            }
            _ => self.bug(Mistake::Route(Route::Control)),
        }
    }

    /// Ends the current block with a jump.
    pub(super) fn jump(&mut self, to: Block, arguments: Vec<VReg>) {
        self.end(Inst::new(S::Op::JUMP, &[]), vec![Edge { to, arguments }]);
    }

    /// Ends the current block with a branch.
    pub(super) fn branch(&mut self, inst: Inst<S::Op>, to: [Block; 2]) {
        let edges = to.map(|to| Edge { to, arguments: vec![] });
        self.end(inst, edges.to_vec());
    }

    /// Moves values to registers in which an edge can pass them. `results` are the values of the instruction that they become.
    fn arguments(&mut self, values: &[Value], results: &[Value]) -> Result<Vec<VReg>, CodegenError> {
        let mut arguments = vec![];
        for (&value, &result) in values.iter().zip(results) {
            let held = self.get(value)?;
            arguments.extend(S::registers(self, result, held)?);
        }
        Ok(arguments)
    }

    /// Adds block parameters for values that become the results of an instruction.
    fn params(&mut self, block: Block, results: &[Value]) -> Vec<S::Held> {
        let param = |&value: &Value| {
            let ty = self.ty(value);
            let parts: Vec<VReg> = self.set.classes(value, ty).into_iter().map(|class| self.register(class)).collect();
            self.function.at(block).params.extend(&parts);
            self.set.held(value, ty, parts)
        };
        results.iter().map(param).collect()
    }

    /// Opens the scope of a region whose code is in other blocks. `carried` are the values that it carries to its next round.
    fn open(&mut self, carried: &[Value]) {
        let block = self.block;
        if let Some(scope) = self.scopes.last_mut() {
            scope.outlet = Some(block);
        }
        self.scopes.push(Scope::new(!carried.is_empty()));
    }

    fn close(&mut self) {
        self.scopes.pop();
    }

    /// Lowers a counted loop with its test at the end. Another test guards the loop, unless the bounds are known to be in order.
    fn counted_loop(&mut self, counter: &Counter, carried: &[Value], body: &Region, results: &[Value]) -> Result<(), CodegenError> {
        let (first, last) = (self.known(counter.start), self.known(counter.end));
        let certain = first.zip(last).is_some_and(|(first, last)| first < last);
        let start = self.general(counter.start)?;
        let end = match last.filter(|&number| S::compares_with(number)) {
            Some(number) => Arg::Number(S::Op::NUMBER(number)),
            None => Arg::Use(self.general(counter.end)?),
        };
        let begin = self.arguments(carried, results)?;
        let (head, exit) = (self.function.block(), self.function.block());
        let entry: Vec<VReg> = std::iter::once(start).chain(begin.iter().copied()).collect();
        let inner_loops = std::mem::take(&mut self.inner_loops);
        self.open(carried);
        if certain {
            self.jump(head, entry);
        } else {
            let (enter, skip) = (self.function.block(), self.function.block());
            self.branch(Inst::new(S::Op::BRANCH_IF_LESS, &[Arg::Use(start), end]), [enter, skip]);
            self.start(skip);
            self.jump(exit, begin);
            self.start(enter);
            self.jump(head, entry);
        }
        self.start(head);
        let i = self.scalar();
        let data = self.function.at(head);
        data.counted = true;
        data.params.push(i);
        let inside = self.params(head, results);
        let Some((&index, rest)) = body.params.split_first() else { return self.bug(Mistake::NoCounter) };
        self.define(index, S::held_scalar(i));
        for (&param, held) in rest.iter().zip(inside) {
            self.define(param, held);
        }
        self.statements(body)?;
        let yields = self.arguments(&body.yields, results)?;
        let next = self.scalar();
        match S::advance(next, i, counter.step) {
            Some(inst) => self.push(inst),
            None => {
                let step = self.scalar();
                self.push(S::number(step, counter.step));
                self.push(S::sum(next, i, step));
            }
        }
        let again: Vec<VReg> = std::iter::once(next).chain(yields.iter().copied()).collect();
        self.leave(Inst::new(S::Op::BRANCH_IF_LESS, &[Arg::Use(next), end]), (head, again), (exit, yields));
        self.finish_loop(head, exit, inner_loops, results);
        Ok(())
    }

    /// Ends a loop's body with a branch: to its next round, or out of the loop.
    fn leave(&mut self, inst: Inst<S::Op>, again: (Block, Vec<VReg>), out: (Block, Vec<VReg>)) {
        let (latch, leave) = (self.function.block(), self.function.block());
        self.branch(inst, [latch, leave]);
        self.start(latch);
        self.jump(again.0, again.1);
        self.start(leave);
        self.jump(out.0, out.1);
    }

    /// Closes a loop, and defines its results in the exit block.
    fn finish_loop(&mut self, head: Block, exit: Block, inner_loops: usize, results: &[Value]) {
        self.close();
        self.function.at(head).hot = self.inner_loops == 0;
        self.inner_loops = inner_loops + 1;
        self.start(exit);
        let after = self.params(exit, results);
        for (&result, held) in results.iter().zip(after) {
            self.define(result, held);
        }
    }

    /// Lowers a do-while loop. The body's first yield is the condition.
    fn repeat_while(&mut self, carried: &[Value], body: &Region, results: &[Value]) -> Result<(), CodegenError> {
        let begin = self.arguments(carried, results)?;
        let (head, exit) = (self.function.block(), self.function.block());
        let inner_loops = std::mem::take(&mut self.inner_loops);
        self.open(carried);
        self.jump(head, begin);
        self.start(head);
        let inside = self.params(head, results);
        for (&param, held) in body.params.iter().zip(inside) {
            self.define(param, held);
        }
        self.statements(body)?;
        let Some((&condition, next)) = body.yields.split_first() else { return self.bug(Mistake::NoCondition) };
        let branch = S::branch_on(self, condition)?;
        let next = self.arguments(next, results)?;
        self.leave(branch, (head, next.clone()), (exit, next));
        self.finish_loop(head, exit, inner_loops, results);
        Ok(())
    }

    fn either(&mut self, condition: Value, then: &Region, otherwise: &Region, results: &[Value]) -> Result<(), CodegenError> {
        let branch = S::branch_on(self, condition)?;
        let (yes, no, after) = (self.function.block(), self.function.block(), self.function.block());
        self.branch(branch, [yes, no]);
        for (block, region) in [(yes, then), (no, otherwise)] {
            self.open(&[]);
            self.start(block);
            self.statements(region)?;
            let arguments = self.arguments(&region.yields, results)?;
            self.jump(after, arguments);
            self.close();
            // Both regions move invariant code to the same block.
            self.block = self.scopes.last().and_then(|scope| scope.outlet).unwrap_or(self.block);
        }
        self.start(after);
        let held = self.params(after, results);
        for (&result, held) in results.iter().zip(held) {
            self.define(result, held);
        }
        Ok(())
    }
}
