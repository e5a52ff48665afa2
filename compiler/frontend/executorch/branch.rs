//! Branches on what is only known when the program runs: both ways become functions, and an `if` calls one of them.
//!
//! Both ways run from the same registers and memory to where they meet. A register that is read from there on and holds something
//! else on one of the ways becomes a result of the `if`. All other bytes that a way wrote cannot be read any more.

use super::fault::Fault;
use super::graph;
use super::memory::{Area, ByteRange, Content, Piece};
use super::registers::{Environment, Handle, Register, TensorPlace};
use super::translate::{Scope, Translator};
use crate::ir::{Definition, ElementType, Func, Function, Placement, Type, Value, ValueData};
use crate::operators::promotion::Number;

/// How deep branches may nest.
const MAX_DEPTH: usize = 32;

/// A function whose instructions have run, and the registers and memory after them.
struct Way {
    function: Function,
    scope: Scope,
    environment: Environment,
    results: Vec<Value>,
}

/// A register that differs after the two ways.
struct Merge {
    register: usize,
    /// The handle after the branch.
    handle: Handle,
}

impl Translator<'_, '_> {
    /// The instruction after a jump.
    ///
    /// # Errors
    /// When the condition is no truth value, or the jump belongs to a loop on data.
    pub fn jump(&mut self, pc: usize, condition: usize, target: usize) -> Result<usize, Fault> {
        let known = match self.environment.registers[condition] {
            Register::Number(Number::Bool(truth)) => Some(truth),
            Register::Number(Number::Int(n)) => Some(n != 0),
            _ => None,
        };
        if let Some(truth) = known {
            return Ok(if truth { pc + 1 } else { target });
        }
        if target <= pc {
            return Err(Fault::unsupported("a loop that ends depending on data is not supported"));
        }
        let value = match &self.environment.registers[condition] {
            Register::Loaded(definition) => {
                let definition = definition.clone();
                self.localize(&definition)?
            }
            _ => self.read(condition)?,
        };
        let ty = self.graph.builder.tensor(value);
        if ty.element != ElementType::Bool || ty.static_elements() != Some(1) {
            return Err(Fault::invalid("the condition of a jump is no truth value").expected("one bool", format!("{ty:?}")));
        }
        let join = self.flow()?.join(pc);
        let join = join.ok_or_else(|| Fault::unsupported("the two ways of a jump never meet: the control flow cannot be structured"))?;
        if self.outer.len() >= MAX_DEPTH {
            return Err(Fault::unsupported("branches are nested too deeply").expected(format!("at most {MAX_DEPTH}"), "more"));
        }
        self.branch(value, [pc + 1, target], join)?;
        Ok(join)
    }

    fn branch(&mut self, condition: Value, starts: [usize; 2], join: usize) -> Result<(), Fault> {
        let log = std::mem::take(&mut self.environment.memory.log);
        let before = self.environment.clone();
        let mut ways = Vec::with_capacity(2);
        for (start, suffix) in starts.into_iter().zip(["then", "otherwise"]) {
            self.environment = before.clone();
            let name = self.shared.function_name(&format!("{}.{suffix}", self.plan.name));
            self.enter(Function { name, ..Function::default() }, Scope::default());
            let outcome = self.run(start, join);
            ways.push(self.leave());
            outcome?;
        }
        let [then, otherwise] = <[Way; 2]>::try_from(ways).map_err(|_| Fault::Consequence)?;
        self.environment = before;
        self.environment.memory.log = log;
        self.merge(condition, then, otherwise, join)
    }

    fn enter(&mut self, function: Function, scope: Scope) {
        let function = self.graph.exchange(function);
        let scope = std::mem::replace(&mut self.scope, scope);
        self.outer.push((function, scope));
    }

    fn leave(&mut self) -> Way {
        let (function, scope) = self.outer.pop().unwrap_or_default();
        Way {
            function: self.graph.exchange(function),
            scope: std::mem::replace(&mut self.scope, scope),
            environment: self.environment.clone(),
            results: Vec::new(),
        }
    }

    fn merge(&mut self, condition: Value, then: Way, otherwise: Way, join: usize) -> Result<(), Fault> {
        let live: Vec<usize> = self.flow()?.live(join).collect();
        let mut merges = Vec::new();
        let mut ways = [then, otherwise];
        for register in live {
            let handles = [0, 1].map(|i| ways[i].environment.registers[register].clone());
            let [Register::Tensor(a), Register::Tensor(b)] = handles else { continue };
            // An extent that is known only when the program runs is one of each way's own.
            if a.form.known().is_none() || a.form != b.form || self.is_unchanged(register, &a, &b, &ways) {
                continue;
            }
            let [first, second] = &mut ways;
            if let (Some(x), Some(y)) = (self.read_in(first, register), self.read_in(second, register)) {
                first.results.push(x);
                second.results.push(y);
                let handle = if a == b { a } else { Handle { place: TensorPlace::Memory(Area::Private(register), 0), ..a } };
                merges.push(Merge { register, handle });
            }
        }
        self.settle_environment(&ways);
        let results = self.if_instruction(condition, ways)?;
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

    /// Whether a register names the same content on both ways, and it is what it named before.
    fn is_unchanged(&self, register: usize, a: &Handle, b: &Handle, ways: &[Way; 2]) -> bool {
        if a != b || self.environment.registers[register] != Register::Tensor(a.clone()) {
            return false;
        }
        let Some(range) = a.range() else { return true };
        let before: Option<Vec<Piece>> = self.environment.memory.pieces(range).ok();
        before.is_some() && ways.iter().all(|way| way.environment.memory.pieces(range).ok() == before)
    }

    /// Reads a register at the end of a way, in the way's function. What cannot be read is left out: it may never be needed.
    fn read_in(&mut self, way: &mut Way, register: usize) -> Option<Value> {
        let here = std::mem::replace(&mut self.environment, way.environment.clone());
        self.enter(std::mem::take(&mut way.function), std::mem::take(&mut way.scope));
        let value = self.read(register).ok();
        let left = self.leave();
        way.function = left.function;
        way.scope = left.scope;
        self.environment = here;
        value
    }

    /// What both ways agree on stays; what they wrote is unavailable until the results of the `if` are put there.
    fn settle_environment(&mut self, ways: &[Way; 2]) {
        let [a, b] = [0, 1].map(|i| &ways[i].environment);
        let differs = || Fault::unsupported("reads what has different contents on the two ways of a branch");
        for (register, (x, y)) in a.registers.iter().zip(&b.registers).enumerate() {
            self.environment.registers[register] =
                if x == y && !is_inside(x, self.outer.len()) { x.clone() } else { Register::Unavailable(differs()) };
        }
        let written: Vec<ByteRange> = a.memory.log.iter().chain(&b.memory.log).copied().collect();
        for range in written {
            self.environment.memory.write(range, Content::Unavailable(differs()));
        }
    }

    fn if_instruction(&mut self, condition: Value, ways: [Way; 2]) -> Result<Vec<Value>, Fault> {
        let mut captured: Vec<Value> = Vec::new();
        for (outer, _) in ways.iter().flat_map(|way| &way.scope.captures) {
            if !captured.contains(outer) {
                captured.push(*outer);
            }
        }
        let types: Vec<Type> = captured.iter().map(|&value| self.graph.builder.function.values[value].ty.clone()).collect();
        let [then, otherwise] = ways.map(|way| self.finish(way, &captured, &types));
        let operands: Vec<Value> = std::iter::once(condition).chain(captured).collect();
        Ok(self.graph.builder.if_else(&operands, then, otherwise)?)
    }

    /// Gives a way the common parameters and adds it to the module.
    fn finish(&mut self, way: Way, captured: &[Value], types: &[Type]) -> Func {
        let Way { mut function, scope, results, .. } = way;
        function.params.clear();
        for (i, (outer, ty)) in captured.iter().zip(types).enumerate() {
            let definition = Definition::Param(i as u32);
            let known = scope.captures.iter().find(|(o, _)| o == outer).map(|(_, inner)| *inner);
            let param = known.unwrap_or_else(|| function.values.push(ValueData { ty: ty.clone(), definition, name: None }));
            function.values[param].definition = definition;
            function.params.push(param);
        }
        function.results = results;
        let live = graph::sweep(&mut function);
        let func = self.graph.builder.module.functions.push(function);
        for (value, (memory_id, offset, bytes)) in scope.placements.into_iter().filter(|(value, _)| live.contains(value)) {
            self.placements.push(Placement { function: func, value, memory_id, offset, bytes });
        }
        func
    }
}

/// Whether a register holds a value of a function deeper than `depth`.
fn is_inside(register: &Register, depth: usize) -> bool {
    match register {
        Register::Loaded(definition) => definition.depth > depth,
        Register::Index(of, _) => *of > depth,
        _ => false,
    }
}
