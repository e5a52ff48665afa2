//! Loops, branches and failures.

use super::held::Held;
use super::lower::Lowering;
use crate::CodegenError;
use crate::bug::{Mistake, Route};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, types};
use modelc_kernel::{Inst, Lane, Region, Value};

/// The range of a counted loop.
struct Counter {
    start: Value,
    end: Value,
    step: i64,
}

impl Lowering<'_> {
    /// Lowers an instruction with regions, or one that may leave the kernel.
    pub fn control(&mut self, inst: &Inst, results: &[Value]) -> Result<(), CodegenError> {
        match inst {
            Inst::For { start, end, step, carried, body, .. } => {
                self.counted_loop(&Counter { start: *start, end: *end, step: *step }, carried, body, results)
            }
            Inst::Loop { carried, body } => self.repeat_while(carried, body, results),
            Inst::If { condition, then, otherwise } => self.either(*condition, then, otherwise, results),
            Inst::FailIf { condition, status } => {
                let condition = self.get_scalar(*condition)?;
                let failure = self.failure(*status);
                let go_on = self.builder.create_block();
                self.builder.ins().brif(condition, failure, &[], go_on, &[]);
                self.builder.switch_to_block(go_on);
                Ok(())
            }
            _ => self.bug(Mistake::Route(Route::Control)),
        }
    }

    /// Returns values as block arguments, in the shape of block parameters of their types.
    fn arguments(&mut self, values: &[Value]) -> Result<Vec<BlockArg>, CodegenError> {
        let mut arguments = vec![];
        for &value in values {
            let held = self.get(value)?;
            let held = if self.ty(value).lane == Lane::Mask && !held.scalar { self.mask_at(&held, 32) } else { held };
            arguments.extend(held.parts.into_iter().map(BlockArg::Value));
        }
        Ok(arguments)
    }

    /// Adds block parameters with the types of the values `like`.
    fn params(&mut self, block: Block, like: &[Value]) -> Vec<Held> {
        like.iter().map(|&value| self.block_params(block, self.ty(value))).collect()
    }

    /// Lowers a counted loop with its test at the end. A first test guards it unless its bounds are known to be in order.
    fn counted_loop(&mut self, counter: &Counter, carried: &[Value], body: &Region, results: &[Value]) -> Result<(), CodegenError> {
        let (start, end) = (self.get_scalar(counter.start)?, self.get_scalar(counter.end)?);
        let certain = matches!((self.indices.number(counter.start), self.indices.number(counter.end)), (Some(s), Some(e)) if s < e);
        let first = self.arguments(carried)?;
        let (head, exit) = (self.builder.create_block(), self.builder.create_block());
        let i = self.builder.append_block_param(head, types::I64);
        let inside = self.params(head, carried);
        let after = self.params(exit, carried);
        let entry_arguments: Vec<_> = std::iter::once(BlockArg::Value(start)).chain(first.iter().copied()).collect();
        if certain {
            self.builder.ins().jump(head, &entry_arguments);
        } else {
            let some = self.builder.ins().icmp(IntCC::SignedLessThan, start, end);
            self.builder.ins().brif(some, head, &entry_arguments, exit, &first);
        }
        self.builder.switch_to_block(head);
        let Some(&index) = body.params.first() else { return self.bug(Mistake::NoCounter) };
        self.define(index, Held::of_scalar(types::I64, i));
        for (&param, held) in body.params.iter().skip(1).zip(inside) {
            self.define(param, held);
        }
        self.region(body)?;
        let last = self.arguments(&body.yields)?;
        let next = self.builder.ins().iadd_imm_s(i, counter.step);
        let more = self.builder.ins().icmp(IntCC::SignedLessThan, next, end);
        let again: Vec<_> = std::iter::once(BlockArg::Value(next)).chain(last.iter().copied()).collect();
        self.builder.ins().brif(more, head, &again, exit, &last);
        self.builder.switch_to_block(exit);
        for (&result, held) in results.iter().zip(after) {
            self.define(result, held);
        }
        Ok(())
    }

    /// Lowers a loop that repeats while the region's first yield is true.
    fn repeat_while(&mut self, carried: &[Value], body: &Region, results: &[Value]) -> Result<(), CodegenError> {
        let first = self.arguments(carried)?;
        let (head, exit) = (self.builder.create_block(), self.builder.create_block());
        let inside = self.params(head, carried);
        let after = self.params(exit, carried);
        self.builder.ins().jump(head, &first);
        self.builder.switch_to_block(head);
        for (&param, held) in body.params.iter().zip(inside) {
            self.define(param, held);
        }
        self.region(body)?;
        let Some((&condition, next)) = body.yields.split_first() else { return self.bug(Mistake::NoCondition) };
        let condition = self.get_scalar(condition)?;
        let next = self.arguments(next)?;
        self.builder.ins().brif(condition, head, &next, exit, &next);
        self.builder.switch_to_block(exit);
        for (&result, held) in results.iter().zip(after) {
            self.define(result, held);
        }
        Ok(())
    }

    fn either(&mut self, condition: Value, then: &Region, otherwise: &Region, results: &[Value]) -> Result<(), CodegenError> {
        let condition = self.get_scalar(condition)?;
        let (yes, no, after) = (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let held = self.params(after, results);
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        for (block, region) in [(yes, then), (no, otherwise)] {
            self.builder.switch_to_block(block);
            self.region(region)?;
            let arguments: Vec<BlockArg> = self.arguments(&region.yields)?;
            self.builder.ins().jump(after, &arguments);
        }
        self.builder.switch_to_block(after);
        for (&result, held) in results.iter().zip(held) {
            self.define(result, held);
        }
        Ok(())
    }
}
