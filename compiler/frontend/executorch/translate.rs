//! Running a method's instructions at compile time: numbers are computed, kernels become IR, memory is followed byte by byte.
//!
//! Registers that hold numbers known at compile time stay numbers, so shape arithmetic and counted loops (`map`, `scan`) run here and
//! leave no trace but the kernels of each turn. A jump on a value only known when the program runs is a branch: see `branch.rs`.

use super::effects::effects;
use super::fault::Fault;
use super::flow::Flow;
use super::memory::{Content, Memory};
use super::ops;
use super::program::{Instruction, Plan};
use super::registers::{Environment, Measured, Register, initial_register};
use super::shared::Shared;
use crate::diagnostic::Diagnostic;
use crate::ir::{Function, Module, Placement, Source, SourceData, Value};
use crate::operators::Graph;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What belongs to the function being built.
#[derive(Default)]
pub struct Scope {
    /// Values of the enclosing function and the parameters that stand for them.
    pub captures: Vec<(Value, Value)>,
    /// Where values of this function lie in the file's plan: memory id, offset, bytes. The first place of a value counts.
    pub placements: BTreeMap<Value, (u32, u64, u64)>,
    /// Tensors of one integer that were read as an index.
    pub loads: BTreeMap<Value, Value>,
}

/// A method on its way to IR.
pub struct Translator<'a, 'm> {
    /// What all methods share.
    pub shared: &'a mut Shared,
    /// The method.
    pub plan: &'a Plan,
    /// The function being built.
    pub graph: Graph<'m>,
    /// What belongs to that function.
    pub scope: Scope,
    /// The enclosing functions, the method's own first.
    pub outer: Vec<(Function, Scope)>,
    /// Registers and memory.
    pub environment: Environment,
    /// Registers that must keep their values to the end: outputs and states.
    pub kept: Vec<usize>,
    /// Placements of finished functions.
    pub placements: Vec<Placement>,
    /// Extents of inputs that are known only when the program runs.
    pub measured: Vec<Measured>,
    /// Everything that went wrong.
    pub faults: Vec<Diagnostic>,
    flow: Option<Rc<Flow>>,
    steps: usize,
}

impl<'a, 'm> Translator<'a, 'm> {
    /// A method about to begin.
    pub fn new(shared: &'a mut Shared, module: &'m mut Module, plan: &'a Plan) -> Self {
        let name = shared.function_name(&plan.name);
        let mut registers = Vec::with_capacity(plan.values.len());
        for (i, value) in plan.values.iter().enumerate() {
            registers.push(initial_register(shared, module, i, value));
        }
        Self {
            shared,
            plan,
            graph: Graph::new(module, name),
            scope: Scope::default(),
            outer: Vec::new(),
            environment: Environment { registers, memory: Memory::default() },
            kept: plan.outputs.clone(),
            placements: Vec::new(),
            measured: Vec::new(),
            faults: Vec::new(),
            flow: None,
            steps: 0,
        }
    }

    /// The blocks of the method.
    ///
    /// # Errors
    /// When there are too many.
    pub fn flow(&mut self) -> Result<Rc<Flow>, Fault> {
        if self.flow.is_none() {
            self.flow = Some(Rc::new(Flow::of(self.plan, &self.kept)?));
        }
        self.flow.clone().ok_or(Fault::Consequence)
    }

    /// Runs instructions from `from` on until `until` is reached.
    ///
    /// # Errors
    /// When control cannot be followed any further. Faults of single instructions are reported and what they define is unavailable.
    pub fn run(&mut self, from: usize, until: usize) -> Result<(), Fault> {
        let plan = self.plan;
        let mut pc = from;
        while pc != until && pc < plan.instructions.len() {
            let instruction = &plan.instructions[pc];
            let touched = effects(plan, instruction);
            self.steps += 1 + touched.uses.len();
            if self.steps > self.shared.most_steps {
                let fault = Fault::unsupported("the method runs through too many instructions: a loop that is long or never ends");
                return Err(self.report(pc, fault));
            }
            self.graph.builder.source = Some(self.source(pc));
            let next = match instruction {
                Instruction::JumpFalse { condition, target } => self.jump(pc, *condition, *target).map_err(|f| self.report(pc, f))?,
                _ => {
                    if let Err(fault) = self.step(instruction) {
                        let _ = self.report(pc, fault);
                        for register in touched.defines.into_iter().chain(touched.updates) {
                            self.forget(register);
                        }
                    }
                    pc + 1
                }
            };
            pc = next;
        }
        Ok(())
    }

    fn step(&mut self, instruction: &'a Instruction) -> Result<(), Fault> {
        match instruction {
            Instruction::Kernel { operator, args } => match ops::find(&self.plan.operators[*operator]) {
                Some(translate) => translate(&mut ops::Call { translator: self, args }),
                // Unknown operators are reported once a program, before any method is translated.
                None => Err(Fault::Consequence),
            },
            Instruction::Move { from, to } => {
                self.environment.registers[*to] = self.environment.registers[*from].clone();
                Ok(())
            }
            Instruction::Delegate { .. } => Err(Fault::Consequence),
            Instruction::Free | Instruction::JumpFalse { .. } => Ok(()),
        }
    }

    /// A fault that says what is to be done about it: extents that have to be equal are noted, if inputs can make them so.
    pub fn settled(&mut self, fault: Fault) -> Fault {
        match fault {
            Fault::Unequal(a, b) => self.narrow(a, b),
            other => other,
        }
    }

    /// Reports a fault at an instruction; what is left of it is that later ones may suffer.
    pub fn report(&mut self, pc: usize, fault: Fault) -> Fault {
        if let Fault::Reported(diagnostic) = self.settled(fault) {
            let placed = diagnostic.at_operator(pc as u32, self.plan.instruction_name(pc)).in_function(&self.plan.name);
            self.faults.push(placed);
        }
        Fault::Consequence
    }

    fn source(&mut self, pc: usize) -> Source {
        let data = SourceData {
            function: self.plan.name.clone(),
            operator: pc as u32,
            operator_name: self.plan.instruction_name(pc).to_owned(),
            tensor: self.plan.result_of(pc).map(|register| self.plan.register_name(register)).unwrap_or_default(),
        };
        self.graph.builder.module.sources.push(data)
    }

    /// Makes a register and the bytes it names unavailable, silently.
    pub fn forget(&mut self, register: usize) {
        self.withdraw(register, Fault::Consequence);
    }

    /// Makes a register's content unavailable for a reason that is reported if something reads it.
    pub fn withdraw(&mut self, register: usize, fault: Fault) {
        match &self.environment.registers[register] {
            Register::Tensor(handle) => {
                if let Some(range) = handle.range() {
                    self.environment.memory.write(range, Content::Unavailable(fault));
                }
            }
            _ => self.environment.registers[register] = Register::Unavailable(fault),
        }
    }
}
