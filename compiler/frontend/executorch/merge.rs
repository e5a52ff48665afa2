//! Registers and memory after a branch, merged from its two ways.
//!
//! A live register whose contents differ between the ways becomes a result of the `if`. All other bytes that a way wrote become unreadable.
//!
//! An extent that both ways compute alike is computed before the branch. Otherwise it is one of two numbers, chosen by the branch's condition, and
//! each way returns its tensor with this shape.

use super::callee::{Callee, is_dynamic};
use super::fault::Fault;
use super::memory::{Area, ByteRange, Content, Piece};
use super::program::{EValue, Form};
use super::registers::{Handle, Register, TensorPlace};
use super::translate::{Chosen, Translator};
use crate::ir::{ElementType, Extent, Interval, ScalarOp, Value};
use crate::operators::promotion::Number;
use std::collections::BTreeSet;

/// A register that differs after the two ways.
struct Merge {
    register: usize,
    /// The handle after the branch.
    handle: Handle,
}

impl Translator<'_, '_> {
    /// Calls one of two ways, and sets the live registers to their merged contents.
    ///
    /// # Errors
    /// Contents that cannot be merged in one function.
    pub fn merge(&mut self, condition: Value, mut ways: [Callee; 2], live: &BTreeSet<usize>) -> Result<(), Fault> {
        let (mut merges, mut numbers) = (Vec::new(), Vec::new());
        for &register in live {
            match [0, 1].map(|i| ways[i].outside[register].clone()) {
                [Register::Tensor(a), Register::Tensor(b)] => merges.extend(self.merge_tensors(condition, register, [a, b], &mut ways)?),
                [a, b] => numbers.extend(self.merge_integers(condition, [&a, &b])?.map(|merged| (register, merged))),
            }
        }
        self.settle_environment(&ways);
        let results = self.if_instruction(condition, ways)?;
        for (register, number) in numbers {
            self.environment.registers[register] = number;
        }
        for (merge, value) in merges.into_iter().zip(results) {
            let content = self.content(value, merge.handle.form.clone(), merge.handle.bytes);
            if let Some(range) = merge.handle.range() {
                if let Area::Planned(memory_id) = range.area {
                    self.place(value, memory_id, range.start, range.end - range.start);
                }
                self.environment.memory.write(range, content);
            }
            self.environment.registers[merge.register] = Register::Tensor(merge.handle);
        }
        Ok(())
    }

    /// Makes a register's contents after each way a result of the ways, unless they are unchanged or cannot be read.
    fn merge_tensors(
        &mut self,
        condition: Value,
        register: usize,
        [a, b]: [Handle; 2],
        ways: &mut [Callee; 2],
    ) -> Result<Option<Merge>, Fault> {
        let is_open = matches!(&self.plan.values[register], EValue::Tensor(meta) if meta.dynamic);
        let may_differ = is_open || is_dynamic(&a.form) || is_dynamic(&b.form);
        let fits = (a.form.element, a.form.shape.len(), &a.form.layout) == (b.form.element, b.form.shape.len(), &b.form.layout);
        if (a.form != b.form && !(may_differ && fits)) || self.is_unchanged(register, &a, &b, ways) {
            return Ok(None);
        }
        let values = [0, 1].map(|i| self.read_in(&mut ways[i], register));
        let [Some(x), Some(y)] = values else { return Ok(None) };
        let mut shape = Vec::with_capacity(a.form.shape.len());
        for (&first, &second) in a.form.shape.iter().zip(&b.form.shape) {
            shape.push(self.either_extent(condition, first, second)?);
        }
        for (way, value) in ways.iter_mut().zip([x, y]) {
            let given = self.inside(way, |t| t.as_outside(value, &shape))?;
            way.results.push(given);
        }
        let place = if a.place == b.place { a.place } else { TensorPlace::Memory(Area::Private(register), 0) };
        let handle = Handle { place, form: Form { shape, ..a.form }, bytes: a.bytes.max(b.bytes) };
        Ok(Some(Merge { register, handle }))
    }

    /// Reshapes a tensor of a way to a shape of the outer function with as many elements.
    fn as_outside(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Fault> {
        let depth = self.outer.len();
        let shape: Vec<Extent> = shape.iter().map(|&extent| self.capture_extent(depth, extent)).collect();
        Ok(self.graph.reshape(value, &shape)?)
    }

    /// Returns an extent that a branch sets to one of two values.
    fn either_extent(&mut self, condition: Value, a: Extent, b: Extent) -> Result<Extent, Fault> {
        let [a, b] = [a, b].map(|extent| self.graph.function().resolved(extent));
        if a == b || self.are_always_equal(a, b) {
            return Ok(self.graph.function().resolved(a));
        }
        let pair = [self.graph.index(a)?, self.graph.index(b)?];
        let index = self.either_index(condition, pair)?;
        self.chosen.push(Chosen { depth: self.outer.len(), index, among: [a, b] });
        Ok(Extent::Value(index))
    }

    /// Tests whether two extents are computed differently and always equal.
    fn are_always_equal(&self, a: Extent, b: Extent) -> bool {
        self.graph.equal_where(a, b).is_some_and(|assumed| assumed.is_empty())
    }

    fn either_index(&mut self, condition: Value, [a, b]: [Value; 2]) -> Result<Value, Fault> {
        let intervals = [a, b].map(|index| self.graph.interval(Extent::Value(index)));
        let interval = Interval { low: intervals[0].low.min(intervals[1].low), high: intervals[0].high.max(intervals[1].high) };
        let mut operands = vec![self.graph.reshape(condition, &[])?];
        for index in [a, b] {
            operands.push(self.graph.extent_tensor(Extent::Value(index), ElementType::I64)?);
        }
        let chosen = self.graph.compute(&operands, |terms, x| Ok::<_, Fault>(terms.builder().op(ScalarOp::Select, x)?))?;
        Ok(self.graph.load_integer(chosen, interval)?)
    }

    /// An integer that is one number or another, if both are known in the function being built.
    fn merge_integers(&mut self, condition: Value, pair: [&Register; 2]) -> Result<Option<Register>, Fault> {
        let depth = self.outer.len();
        let is_integer = |register: &Register| matches!(register, Register::Number(Number::Int(_)) | Register::Index(..));
        if pair[0] == pair[1] || !pair.iter().all(|register| is_integer(register)) {
            return Ok(None);
        }
        let mut indices = Vec::with_capacity(2);
        for register in pair {
            indices.push(match register {
                Register::Number(Number::Int(n)) => self.graph.integer(*n)?,
                Register::Index(depth, index) => self.localize_index(*depth, *index)?,
                _ => return Ok(None),
            });
        }
        let (a, b) = (indices[0], indices[1]);
        let index = if self.are_always_equal(Extent::Value(a), Extent::Value(b)) { a } else { self.either_index(condition, [a, b])? };
        Ok(Some(Register::Index(depth, index)))
    }

    /// Tests whether a register names the same content on both ways, and the same as before.
    fn is_unchanged(&self, register: usize, a: &Handle, b: &Handle, ways: &[Callee; 2]) -> bool {
        if a != b || self.environment.registers[register] != Register::Tensor(a.clone()) {
            return false;
        }
        let Some(range) = a.range() else { return true };
        let before: Option<Vec<Piece>> = self.environment.memory.pieces(range).ok();
        before.is_some() && ways.iter().all(|way| way.environment.memory.pieces(range).ok() == before)
    }

    /// Keeps registers and memory that are equal on both ways. Everything else that they wrote is unavailable until the results of the `if` are
    /// stored.
    fn settle_environment(&mut self, ways: &[Callee; 2]) {
        let [a, b] = [0, 1].map(|i| &ways[i]);
        let differs = || Fault::unsupported("reads what has different contents on the two ways of a branch");
        for (register, (x, y)) in a.outside.iter().zip(&b.outside).enumerate() {
            self.environment.registers[register] = match (x, y) {
                _ if x == y && !is_inside(x, self.outer.len()) => x.clone(),
                (Register::Unavailable(fault), _) | (_, Register::Unavailable(fault)) => Register::Unavailable(fault.clone()),
                _ => Register::Unavailable(differs()),
            };
        }
        let written: Vec<ByteRange> = a.environment.memory.log.iter().chain(&b.environment.memory.log).copied().collect();
        for range in written {
            self.environment.memory.write(range, Content::Unavailable(differs()));
        }
    }

    fn if_instruction(&mut self, condition: Value, mut ways: [Callee; 2]) -> Result<Vec<Value>, Fault> {
        for way in &mut ways {
            self.close(way)?;
        }
        let captured = self.common(&[&ways[0], &ways[1]]);
        let [then, otherwise] = ways.map(|mut way| {
            let params = self.parameters(&mut way, &captured);
            self.finish(way, params)
        });
        let operands: Vec<Value> = std::iter::once(condition).chain(captured).collect();
        Ok(self.graph.builder.if_else(&operands, then, otherwise)?)
    }
}

/// Tests whether a register holds a value of a function deeper than `depth`.
fn is_inside(register: &Register, depth: usize) -> bool {
    match register {
        Register::Loaded(definition) => definition.depth > depth,
        Register::Index(of, _) => *of > depth,
        _ => false,
    }
}
