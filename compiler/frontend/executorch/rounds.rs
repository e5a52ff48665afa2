//! Loops with a run-time number of iterations (rounds). A round becomes a function, and a `while` calls it.
//!
//! A tensor that a round writes, and that a later round or the code after the loop reads, is carried from round to round. It is read before the loop,
//! and at the end of a round. Tensors that grow by a row in each round have all their rows from the beginning, and a round writes one of them. All
//! other bytes that a round wrote are unreadable in the next round and after the loop.

use super::branch::MAX_DEPTH;
use super::callee::Callee;
use super::counted::Counted;
use super::fault::Fault;
use super::memory::{Area, Content};
use super::registers::{Handle, Register, TensorPlace};
use super::translate::{Round, Row, Translator};
use super::written::Written;
use crate::ir::{Combination, Comparison, ElementType, Extent, Func, Interval, Scalar, ScalarOp, Scatter, TensorType, Type, Value};
use crate::operators::promotion::Number;
use crate::operators::{Graph, extents};
use std::collections::BTreeSet;

/// A loop, the registers that a round reads, and the registers that the code after the loop reads.
struct Loop<'c> {
    counted: &'c Counted,
    /// The number of rounds, an index of the function around the loop.
    count: Value,
    /// The maximum number of rounds.
    most: i64,
    written: Written,
    in_round: BTreeSet<usize>,
    afterwards: BTreeSet<usize>,
}

/// A tensor that is carried from round to round.
struct Going {
    register: usize,
    /// Its value in the first round; `None` if no round reads it.
    initial: Option<Value>,
    /// Its value in a round.
    param: Value,
    /// Its value after a round.
    next: Value,
    /// Its shape in the function around the loop.
    shape: Vec<Extent>,
    grows: bool,
}

/// The counter, and all carried tensors.
struct Rounds {
    number: Value,
    next: Value,
    going: Vec<Going>,
}

impl Translator<'_, '_> {
    /// The loop that begins at an instruction, if its number of rounds is known only at run time.
    pub fn loop_at(&self, pc: usize) -> Option<Counted> {
        let is_in_it = self.scope.round.as_ref().is_some_and(|round| round.begin == pc);
        let counted = self.loops.iter().find(|counted| counted.begin == pc && !is_in_it)?;
        matches!(self.environment.registers[counted.count], Register::Index(..)).then(|| counted.clone())
    }

    /// Translates such a loop. Returns the instruction after it.
    ///
    /// # Errors
    /// A round that cannot be translated, or carried contents that cannot be followed.
    pub fn repeat(&mut self, counted: &Counted) -> Result<usize, Fault> {
        if self.outer.len() >= MAX_DEPTH {
            return Err(Fault::unsupported("branches and loops are nested too deeply").expected(format!("at most {MAX_DEPTH}"), "more"));
        }
        let rounds = self.rounds(counted)?;
        let entering = self.entering(&rounds);
        let log = std::mem::take(&mut self.environment.memory.log);
        let before = self.environment.clone();
        let begun = self.begin("round");
        let outcome = match self.round(&rounds, entering) {
            Ok(outcome) => Ok(outcome),
            // Conditions on extents of the round's own function must be noted there.
            Err(fault) => Err(self.settled(fault)),
        };
        let live = rounds.in_round.union(&rounds.afterwards).copied().collect();
        let callee = self.end(&begun, &live);
        self.environment = before;
        self.environment.memory.log = log;
        self.after(&rounds, callee, outcome?)?;
        Ok(counted.jump + 1)
    }

    fn rounds<'c>(&mut self, counted: &'c Counted) -> Result<Loop<'c>, Fault> {
        let registers = &self.environment.registers;
        let number = |register: usize, n: i64| registers[register] == Register::Number(Number::Int(n));
        if !number(counted.counter, 0) || !number(counted.step, 1) {
            return Err(Fault::unsupported("a loop over a number of rounds known only when the program runs must count from 0 by 1"));
        }
        let Register::Index(depth, index) = registers[counted.count] else { return Err(Fault::Consequence) };
        let written = Written::of(self.plan, counted, registers);
        let count = self.localize_index(depth, index)?;
        let interval = self.graph.interval(Extent::Value(count));
        if !interval.is_bounded() || interval.high < 1 {
            return Err(Fault::unsupported("a loop over a number of rounds without a bound is not supported"));
        }
        let flow = self.flow()?;
        let (in_round, afterwards) = (flow.live(counted.begin).collect(), flow.live(counted.jump + 1).collect());
        Ok(Loop { counted, count, most: interval.high, written, in_round, afterwards })
    }

    /// The tensors that a round may read and change, with their values before the loop. Unreadable ones are left out, since they may never be needed.
    fn entering(&mut self, rounds: &Loop<'_>) -> Vec<(usize, Value)> {
        let written = &rounds.written;
        let may_go = |register: &&usize| !written.grown.contains(*register);
        let mut entering = Vec::new();
        for &register in rounds.in_round.union(&rounds.afterwards).filter(may_go) {
            let Register::Tensor(handle) = &self.environment.registers[register] else { continue };
            if (written.registers.contains(&register) || handle.range().is_some_and(|range| written.overlaps(range)))
                && let Ok(value) = self.read(register)
            {
                entering.push((register, value));
            }
        }
        entering
    }

    /// Translates one round in a function that has begun.
    fn round(&mut self, rounds: &Loop<'_>, entering: Vec<(usize, Value)>) -> Result<Rounds, Fault> {
        let Loop { counted, written, .. } = rounds;
        let depth = self.outer.len();
        let number = self.graph.builder.param(Type::Tensor(TensorType::of(ElementType::I64, &[1])), "round".to_owned());
        let counter = self.graph.load_integer(number, Interval { low: 0, high: rounds.most - 1 })?;
        self.scope.round = Some(Round { begin: counted.begin, counter, rows: Vec::new() });
        self.forget_round(written);
        let mut carried = Vec::new();
        for (register, initial) in entering {
            carried.push((register, initial, self.carry(register, initial, written)));
        }
        self.environment.registers[counted.counter] = Register::Index(depth, counter);
        self.environment.memory.log.clear();
        let numbers = self.environment.registers.clone();
        self.run(counted.begin, counted.jump)?;
        self.check_round(rounds, &numbers)?;
        let (mut going, mut overwritten) = (Vec::new(), Vec::new());
        for (register, initial, param) in carried {
            match self.carried_on(register, param) {
                Ok(next) => {
                    let shape = self.shape_around(param)?;
                    going.push(Going { register, initial: Some(initial), param, next, shape, grows: false });
                }
                Err(fault) => overwritten.push((param, fault)),
            }
        }
        self.left(rounds, &mut going)?;
        self.rows(rounds, number, &mut going)?;
        // Unsound contents that a round leaves are a fault only if a round reads them.
        if let Some((_, fault)) = overwritten.into_iter().find(|&(param, _)| self.is_read(param, &going)) {
            return Err(fault);
        }
        let one = self.graph.numbers(ElementType::I64, &[1], &[Scalar::int(ElementType::I64, 1)])?;
        let next = self.graph.compute(&[number, one], |terms, x| Ok::<_, Fault>(terms.builder().op(ScalarOp::Add, x)?))?;
        Ok(Rounds { number, next, going })
    }

    /// Makes contents that the previous round wrote unreadable, except the carried ones.
    fn forget_round(&mut self, written: &Written) {
        let lost = || Fault::unsupported("reads what the round before of a loop left, which cannot be followed");
        for &range in &written.ranges {
            self.environment.memory.write(range, Content::Unavailable(lost()));
        }
        for &register in &written.moved {
            if !matches!(self.environment.registers[register], Register::Tensor(_)) {
                self.environment.registers[register] = Register::Unavailable(lost());
            }
        }
    }

    /// Carries a tensor: its value before the loop becomes a parameter, which its register then holds. A moved register gets memory of its own.
    fn carry(&mut self, register: usize, initial: Value, written: &Written) -> Value {
        let ty = self.captured_type(self.outer.len(), initial);
        let param = self.graph.builder.param(ty, None);
        if let Register::Tensor(handle) = self.environment.registers[register].clone() {
            let handle = own_place(register, handle, written);
            if let Some(range) = handle.range() {
                let content = self.content(param, handle.form.clone(), handle.bytes);
                self.environment.memory.write(range, content);
            }
            self.environment.registers[register] = Register::Tensor(handle);
        }
        param
    }

    /// Checks that a round wrote only foreseen memory, and that no number changes from round to round.
    fn check_round(&mut self, rounds: &Loop<'_>, before: &[Register]) -> Result<(), Fault> {
        if !self.environment.memory.log.iter().all(|&range| rounds.written.allows(range)) {
            return Err(Fault::unsupported("a round of a loop writes memory that depends on a branch"));
        }
        let numbers = rounds.written.registers.iter().filter(|&register| rounds.in_round.contains(register));
        for &register in numbers.filter(|&&register| register != rounds.counted.counter) {
            let (first, last) = (&before[register], &self.environment.registers[register]);
            let is_tensor = matches!((first, last), (Register::Tensor(_), Register::Tensor(_)));
            let pair = if let (&Register::Index(a, x), &Register::Index(b, y)) = (first, last) { Some([(a, x), (b, y)]) } else { None };
            let is_same = first == last
                || match pair {
                    Some([(a, x), (b, y)]) => self.localize_index(a, x)? == self.localize_index(b, y)?,
                    None => false,
                };
            if !is_tensor && !is_same {
                return Err(Fault::unsupported("a number that changes from round to round of a loop is not supported"));
            }
        }
        Ok(())
    }

    /// Returns a register's contents at the end of a round, with which the next round begins.
    fn carried_on(&mut self, register: usize, param: Value) -> Result<Value, Fault> {
        let value = self.read(register)?;
        let [after, before] = [value, param].map(|value| (self.graph.element(value), self.graph.rank(value)));
        let changes = || Fault::unsupported("a tensor changes its shape from round to round of a loop");
        if after != before {
            return Err(changes());
        }
        for (after, before) in self.graph.extents(value).into_iter().zip(self.graph.extents(param)) {
            if after.as_static().zip(before.as_static()).is_some_and(|(after, before)| after != before) {
                return Err(changes());
            }
            self.equate(after, before)?;
        }
        if self.graph.extents(value) == self.graph.extents(param) { Ok(value) } else { Err(changes()) }
    }

    /// Tests whether a round reads a tensor that it begins with, or carries it on.
    fn is_read(&self, param: Value, going: &[Going]) -> bool {
        let function = self.graph.function();
        let is_operand = function.body.iter().any(|&inst| function.uses(inst).any(|value| value == param));
        is_operand || going.iter().any(|going| going.next == param)
    }

    /// The shape of a tensor in the function around the loop.
    fn shape_around(&mut self, value: Value) -> Result<Vec<Extent>, Fault> {
        let shape = self.graph.extents(value);
        let around: Option<Vec<Extent>> = shape.into_iter().map(|extent| self.lift_extent(extent)).collect();
        around.ok_or_else(|| Fault::unsupported("the shape of a tensor differs from round to round of a loop"))
    }

    /// Adds the tensors that only the code after the loop reads. They are carried, too, so that the last round leaves them.
    fn left(&mut self, rounds: &Loop<'_>, going: &mut Vec<Going>) -> Result<(), Fault> {
        let grown: Vec<usize> = self.scope.round.iter().flat_map(|round| &round.rows).map(|row| row.register).collect();
        for &register in &rounds.afterwards {
            let Register::Tensor(handle) = &self.environment.registers[register] else { continue };
            let is_written =
                rounds.written.registers.contains(&register) || handle.range().is_some_and(|range| rounds.written.overlaps(range));
            if !is_written || grown.contains(&register) || going.iter().any(|going| going.register == register) {
                continue;
            }
            if let Ok(next) = self.read(register) {
                let shape = self.shape_around(next)?;
                let ty = TensorType::new(self.graph.element(next), self.graph.extents(next));
                let param = self.graph.builder.param(Type::Tensor(ty), None);
                going.push(Going { register, initial: None, param, next, shape, grows: false });
            }
        }
        Ok(())
    }

    /// Rows that a round writes into tensors that have one for each round.
    fn rows(&mut self, rounds: &Loop<'_>, number: Value, going: &mut Vec<Going>) -> Result<(), Fault> {
        let count = self.localize_index(self.outer.len() - 1, rounds.count)?;
        let rows = self.scope.round.as_mut().map(|round| std::mem::take(&mut round.rows)).unwrap_or_default();
        for Row { register, value } in rows {
            let shape: Vec<Extent> = [Extent::Value(count)].into_iter().chain(self.graph.extents(value)).collect();
            let ty = TensorType::new(self.graph.element(value), shape.clone());
            let param = self.graph.builder.param(Type::Tensor(ty), None);
            let row = self.graph.reshape(value, &[&[Extent::Static(1)][..], &shape[1..]].concat())?;
            let scatter = Scatter { axis: 0, batch: 0, combination: Combination::Set, skips_negative: false };
            let next = self.graph.builder.scatter([param, number, row], scatter)?;
            let shape = self.shape_around(param)?;
            going.push(Going { register, initial: None, param, next, shape, grows: true });
        }
        Ok(())
    }

    /// Builds the loop, and stores its results in registers and memory.
    fn after(&mut self, rounds: &Loop<'_>, mut callee: Callee, Rounds { number, next, going }: Rounds) -> Result<(), Fault> {
        callee.results = std::iter::once(next).chain(going.iter().map(|going| going.next)).collect();
        self.close(&mut callee)?;
        let mut captured = self.common(&[&callee]);
        if !captured.contains(&rounds.count) {
            captured.insert(0, rounds.count);
        }
        let kept = self.parameters(&mut callee, &captured);
        let mut operands = captured.clone();
        operands.push(self.graph.numbers(ElementType::I64, &[1], &[Scalar::int(ElementType::I64, 0)])?);
        for tensor in &going {
            operands.push(match tensor.initial {
                Some(initial) => initial,
                None => self.blank(callee.element(tensor.param), &tensor.shape)?,
            });
        }
        let own: Vec<Value> = going.iter().map(|going| going.param).collect();
        let params = [&kept[..], &[number][..], &own[..]].concat();
        callee.results.splice(0..0, kept);
        let outside = callee.outside.clone();
        let log = callee.environment.memory.log.clone();
        let body = self.finish(callee, params);
        let position = captured.iter().position(|&value| value == rounds.count).ok_or(Fault::Consequence)?;
        let condition = self.more_rounds(body, position, captured.len())?;
        let results = self.graph.builder.while_loop(&operands, condition, body)?;
        self.forget_loop(rounds, &outside);
        for range in log {
            self.environment.memory.write(range, Content::Unavailable(lost()));
        }
        for (tensor, &value) in going.iter().zip(&results[captured.len() + 1..]) {
            self.leave_behind(tensor, value, &outside, &rounds.written)?;
        }
        Ok(())
    }

    /// A tensor that is written before it is read.
    fn blank(&mut self, element: ElementType, shape: &[Extent]) -> Result<Value, Fault> {
        let zero = self.graph.constant(element, &[], vec![0; element.bytes_for(1).unwrap_or(1) as usize])?;
        Ok(self.graph.broadcast(zero, shape)?)
    }

    /// The loop's condition: the number of the next round is below the count. Index parameters stand before others.
    fn more_rounds(&mut self, body: Func, count: usize, number: usize) -> Result<Func, Fault> {
        let name = self.shared.function_name(&format!("{}.more_rounds", self.plan.name));
        let function = &self.graph.builder.module.functions[body];
        let params: Vec<(Value, Type)> = function.params.iter().map(|&param| (param, function.values[param].ty.clone())).collect();
        let mut test = Graph::new(self.graph.builder.module, name);
        let mut own: Vec<Value> = Vec::with_capacity(params.len());
        for (_, ty) in &params {
            let mut ty = ty.clone();
            if let Type::Tensor(tensor) = &mut ty {
                for extent in &mut tensor.shape {
                    let position = params.iter().position(|&(param, _)| Extent::Value(param) == *extent);
                    *extent = position.and_then(|position| own.get(position)).map_or(*extent, |&value| Extent::Value(value));
                }
            }
            own.push(test.builder.param(ty, None));
        }
        let rounds = test.extent_tensor(Extent::Value(own[count]), ElementType::I64)?;
        let rounds = test.reshape(rounds, &extents(&[1]))?;
        let less = ScalarOp::Compare(Comparison::Less);
        let more = test.compute(&[own[number], rounds], |terms, x| Ok::<_, Fault>(terms.builder().op(less, x)?))?;
        Ok(test.finish(vec![more]))
    }

    /// Makes contents that rounds wrote unreadable after the loop, except carried ones and registers that are the same after every round.
    fn forget_loop(&mut self, rounds: &Loop<'_>, outside: &[Register]) {
        for &range in &rounds.written.ranges {
            self.environment.memory.write(range, Content::Unavailable(lost()));
        }
        for &register in &rounds.written.registers {
            let seen = &mut self.environment.registers[register];
            let names_bytes = matches!(seen, Register::Tensor(_)) && !rounds.written.moved.contains(&register);
            if !names_bytes && *seen != outside[register] {
                *seen = Register::Unavailable(lost());
            }
        }
        self.environment.registers[rounds.counted.counter] = Register::Index(self.outer.len(), rounds.count);
        self.environment.registers[rounds.counted.done] = Register::Number(Number::Bool(true));
    }

    /// Stores a result of the loop at the place of its register's bytes.
    fn leave_behind(&mut self, going: &Going, value: Value, outside: &[Register], written: &Written) -> Result<(), Fault> {
        let register = going.register;
        let Register::Tensor(handle) = &outside[register] else { return Ok(()) };
        let mut handle = own_place(register, handle.clone(), written);
        handle.form.shape.clone_from(&going.shape);
        if going.grows {
            self.environment.registers[register] = Register::Tensor(handle.clone());
            self.resize(register, &handle.form)?;
            let bound = self.graph.function().bound_bytes(self.graph.builder.tensor(value));
            if bound.is_none_or(|bytes| self.bound_of(register).is_some_and(|most| bytes > most)) {
                return Err(Fault::invalid("the rows of all rounds of a loop do not fit the tensor that they are written to"));
            }
            handle = self.handle(register)?.clone();
        }
        if let Some(range) = handle.range() {
            if let Area::Planned(memory_id) = range.area {
                self.place(value, memory_id, range.start, range.end - range.start);
            }
            let content = self.content(value, handle.form.clone(), handle.bytes);
            self.environment.memory.write(range, content);
        }
        self.environment.registers[register] = Register::Tensor(handle);
        Ok(())
    }
}

/// A handle that is the same in every round.
fn own_place(register: usize, handle: Handle, written: &Written) -> Handle {
    if written.moved.contains(&register) {
        return Handle { place: TensorPlace::Memory(Area::Private(register), 0), ..handle };
    }
    handle
}

fn lost() -> Fault {
    Fault::unsupported("reads what a round of a loop left, which cannot be followed")
}
