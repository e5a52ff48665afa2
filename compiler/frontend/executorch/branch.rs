//! Branches on run-time conditions: both ways become functions, and an `if` calls one of them.
//!
//! Both ways run from the same registers and memory to the point where they meet. There `merge.rs` combines their effects.

use super::callee::Callee;
use super::fault::Fault;
use super::registers::Register;
use super::translate::Translator;
use crate::ir::{ElementType, Value};
use crate::operators::promotion::Number;
use std::collections::BTreeSet;

/// The maximum nesting depth of branches and loops.
pub const MAX_DEPTH: usize = 32;

impl Translator<'_, '_> {
    /// The instruction after a jump.
    ///
    /// # Errors
    /// A condition that is no truth value, or a jump of a loop with a run-time condition.
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
                self.localize(&definition)
            }
            _ => self.read(condition)?,
        };
        let ty = self.graph.builder.tensor(value);
        if ty.element != ElementType::Bool || ty.static_elements() != Some(1) {
            return Err(Fault::invalid("the condition of a jump is not a boolean").expected("one bool", ty.to_string()));
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
        let live: BTreeSet<usize> = self.flow()?.live(join).collect();
        let log = std::mem::take(&mut self.environment.memory.log);
        let before = self.environment.clone();
        let mut ways = Vec::with_capacity(2);
        for (start, suffix) in starts.into_iter().zip(["then", "otherwise"]) {
            self.environment = before.clone();
            let begun = self.begin(suffix);
            let outcome = self.run(start, join);
            ways.push(self.end(&begun, &live));
            outcome?;
        }
        let ways = <[Callee; 2]>::try_from(ways).map_err(|_| Fault::Consequence)?;
        self.environment = before;
        self.environment.memory.log = log;
        self.merge(condition, ways, &live)
    }
}
