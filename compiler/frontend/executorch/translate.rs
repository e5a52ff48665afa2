//! The state of a method's translation: registers, memory, the function under construction, and faults.

use super::counted::{Counted, counted_loops};
use super::fault::Fault;
use super::flow::Flow;
use super::memory::{Content, Memory};
use super::program::Plan;
use super::registers::{Environment, Register, initial_register};
use super::shared::Shared;
use crate::diagnostic::Diagnostic;
use crate::ir::{Extent, Function, Module, Placement, Value};
use crate::operators::Graph;
use crate::operators::graph::Compared;
use crate::operators::graph::facts::Measured;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The scope of a function under construction.
#[derive(Default)]
pub struct Scope {
    /// Values of the enclosing function, with the parameters for them.
    pub captures: Vec<(Value, Value)>,
    /// The places of this function's values in the file's plan: memory id, offset, bytes. The first place of a value counts.
    pub placements: BTreeMap<Value, (u32, u64, u64)>,
    /// Tensors of one integer that were read as an index.
    pub loads: BTreeMap<Value, Value>,
    /// The round of a loop, if the function is one.
    pub round: Option<Round>,
}

/// A round of a loop while it is translated.
pub struct Round {
    /// The first instruction of the loop.
    pub begin: usize,
    /// The number of the round, from 0 on: an index.
    pub counter: Value,
    /// The rows that it writes so far.
    pub rows: Vec<Row>,
}

/// A row of a tensor that gets one in each round of a loop, at the number of the round.
pub struct Row {
    /// The tensor.
    pub register: usize,
    /// The row.
    pub value: Value,
}

/// An extent that is one of two, as a branch was taken.
pub struct Chosen {
    /// Nesting depth of the function that it belongs to.
    pub depth: usize,
    /// The extent.
    pub index: Value,
    /// The two, in that function.
    pub among: [Extent; 2],
}

/// A method on its way to IR.
pub struct Translator<'a, 'm> {
    /// The data that all methods share.
    pub shared: &'a mut Shared,
    /// The method.
    pub plan: &'a Plan,
    /// The function being built.
    pub graph: Graph<'m>,
    /// The scope of this function.
    pub scope: Scope,
    /// The enclosing functions, the method's own first.
    pub outer: Vec<(Function, Scope)>,
    /// Registers and memory.
    pub environment: Environment,
    /// Registers that must keep their values to the end: outputs and states.
    pub kept: Vec<usize>,
    /// Placements of finished functions.
    pub placements: Vec<Placement>,
    /// The run-time extents of inputs.
    pub measured: Vec<Measured>,
    /// Extents that depend on a branch.
    pub chosen: Vec<Chosen>,
    /// The faults found so far.
    pub faults: Vec<Diagnostic>,
    flow: Option<Rc<Flow>>,
    /// The loops of the method that count their rounds.
    pub loops: Rc<[Counted]>,
    /// Instructions that ran, and operands that they took.
    pub steps: usize,
}

impl<'a, 'm> Translator<'a, 'm> {
    /// A method about to begin.
    pub fn new(shared: &'a mut Shared, module: &'m mut Module, plan: &'a Plan) -> Self {
        let name = shared.function_name(&plan.name);
        let mut registers = Vec::with_capacity(plan.values.len());
        for (i, value) in plan.values.iter().enumerate() {
            registers.push(initial_register(shared, module, i, value));
        }
        let mut graph = Graph::new(module, name);
        graph.compares = if shared.checks_extents { Compared::All } else { Compared::None };
        Self {
            shared,
            plan,
            graph,
            scope: Scope::default(),
            outer: Vec::new(),
            environment: Environment { registers, memory: Memory::default() },
            kept: plan.outputs.clone(),
            placements: Vec::new(),
            measured: Vec::new(),
            chosen: Vec::new(),
            faults: Vec::new(),
            flow: None,
            loops: counted_loops(plan).into(),
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

    /// Notes extents that must be equal, if inputs can make them so. Returns the fault to report.
    pub fn settled(&mut self, fault: Fault) -> Fault {
        match fault {
            Fault::Unequal(a, b) => self.narrow(a, b),
            other => other,
        }
    }

    /// Reports a fault at an instruction. Returns the fault for values that depend on it.
    pub fn report(&mut self, pc: usize, fault: Fault) -> Fault {
        if let Fault::Reported(diagnostic) = self.settled(fault) {
            let placed = diagnostic.at_operator(pc as u32, self.plan.instruction_name(pc)).in_function(&self.plan.name);
            self.faults.push(placed);
        }
        Fault::Consequence
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
