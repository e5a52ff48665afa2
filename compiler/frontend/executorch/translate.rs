//! Running a method's instructions at compile time: numbers are computed, kernels become IR, memory is followed byte by byte.
//!
//! Registers that hold numbers known at compile time stay numbers, so shape arithmetic and counted loops (`map`, `scan`) run here and
//! leave no trace but the kernels of each turn. A jump on a value only known when the program runs is a branch: see `branch.rs`.

use super::control::Flow;
use super::effects::effects;
use super::fault::Fault;
use super::memory::{self, Area, ByteRange, Content, Definition, Memory, Part};
use super::ops;
use super::program::{EValue, Form, Instruction, Plan, Storage};
use super::shared::Shared;
use crate::diagnostic::Diagnostic;
use crate::ir::{Constant, Function, Module, Placement, Source, SourceData, TensorType, Value};
use crate::operators::Graph;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A number known at compile time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A float.
    Double(f64),
}

/// Where a tensor register's bytes are.
#[derive(Clone, PartialEq, Debug)]
pub enum Place {
    /// In memory, from a byte on.
    Memory(Area, u64),
    /// A constant of the module, row major.
    Constant(Constant),
    /// Nowhere: the constant could not be read.
    Missing(Fault),
}

/// What a tensor register holds: not bytes but where they are and how they read.
#[derive(Clone, PartialEq, Debug)]
pub struct Handle {
    /// Where.
    pub place: Place,
    /// How.
    pub form: Form,
}

impl Handle {
    /// The bytes in memory; `None` of constants.
    pub fn range(&self) -> Option<ByteRange> {
        match self.place {
            Place::Memory(area, start) => Some(ByteRange { area, start, end: start.saturating_add(self.form.bytes()) }),
            _ => None,
        }
    }
}

/// A register while the method runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Register {
    /// A number known at compile time.
    Number(Number),
    /// A number known when the program runs: a tensor of one element.
    Loaded(Rc<Definition>),
    /// A tensor.
    Tensor(Handle),
    /// None, a string or a list: as that register is in the file.
    AsInFile(usize),
    /// Nothing that could be read, and why.
    Unavailable(Fault),
}

/// All that instructions change.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The registers.
    pub registers: Vec<Register>,
    /// The bytes.
    pub memory: Memory,
}

/// What belongs to the function being built.
#[derive(Default)]
pub struct Scope {
    /// Values of the enclosing function and the parameters that stand for them.
    pub captures: Vec<(Value, Value)>,
    /// Where values of this function lie in the file's plan: memory id, offset, bytes. The first place of a value counts.
    pub placements: BTreeMap<Value, (u32, u64, u64)>,
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

    /// Reports a fault at an instruction; what is left of it is that later ones may suffer.
    pub fn report(&mut self, pc: usize, fault: Fault) -> Fault {
        if let Fault::Reported(diagnostic) = fault {
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

    /// A value that belongs to the function being built, for one of an enclosing function: a parameter through every level between.
    pub fn localize(&mut self, definition: &Definition) -> Value {
        let mut value = definition.value;
        for depth in definition.depth + 1..=self.outer.len() {
            let ty = self.outer[depth - 1].0.values[value].ty.clone();
            let (function, scope) = match self.outer.get_mut(depth) {
                Some((function, scope)) => (function, scope),
                None => (&mut self.graph.builder.function, &mut self.scope),
            };
            let known = scope.captures.iter().find(|(outer, _)| *outer == value).map(|(_, inner)| *inner);
            value = known.unwrap_or_else(|| {
                let inner = function.add_param(ty, None);
                scope.captures.push((value, inner));
                inner
            });
        }
        value
    }

    /// The tensor in a register.
    ///
    /// # Errors
    /// When the register is no tensor or its bytes cannot be resolved.
    pub fn read(&mut self, register: usize) -> Result<Value, Fault> {
        let handle = self.handle(register)?.clone();
        self.read_handle(&handle)
    }

    fn read_handle(&mut self, handle: &Handle) -> Result<Value, Fault> {
        match &handle.place {
            Place::Constant(constant) => return Ok(self.graph.builder.constant(*constant)?),
            Place::Missing(fault) => return Err(fault.clone()),
            Place::Memory(..) => {}
        }
        let range = handle.range().ok_or(Fault::Consequence)?;
        if handle.form.bytes() == 0 {
            return Ok(self.graph.builder.literal(TensorType::of(handle.form.element, &handle.form.shape), Vec::new())?);
        }
        let mut parts = Vec::new();
        for piece in self.environment.memory.pieces(range)? {
            match piece.content {
                Content::Defined(d) => {
                    parts.push(Part { value: self.localize(&d), form: d.form.clone(), first: piece.first, bytes: piece.bytes });
                }
                Content::Unavailable(fault) => return Err(fault),
            }
        }
        memory::assemble(&mut self.graph, &parts, &handle.form)
    }

    /// The handle in a register.
    ///
    /// # Errors
    /// When the register is no tensor.
    pub fn handle(&self, register: usize) -> Result<&Handle, Fault> {
        match &self.environment.registers[register] {
            Register::Tensor(handle) => Ok(handle),
            Register::Unavailable(fault) => Err(fault.clone()),
            _ => Err(Fault::invalid("an argument is of the wrong kind").expected("a tensor", format!("value {register}, which is none"))),
        }
    }

    /// Writes a tensor to a register's memory.
    ///
    /// # Errors
    /// When the register is no tensor in memory, or is one of another type or shape.
    pub fn define(&mut self, register: usize, value: Value) -> Result<(), Fault> {
        let handle = self.handle(register)?.clone();
        let ty = self.graph.builder.tensor(value).clone();
        let shape = self.graph.shape(value)?;
        if ty.element != handle.form.element {
            return Err(Fault::unsupported("the result has another element type than the operator gives")
                .expected(ty.element.to_string(), handle.form.element.to_string()));
        }
        let form = Form { shape, ..handle.form.clone() };
        if form.shape != handle.form.shape {
            self.resize(register, &form)?;
        }
        let Place::Memory(area, start) = handle.place else { return Err(Fault::invalid("an operator writes to a constant")) };
        let range = ByteRange { area, start, end: start + form.bytes() };
        self.graph.builder.function.values[value].name.get_or_insert_with(|| self.plan.register_name(register));
        if let Area::Planned(memory_id) = area {
            self.place(value, memory_id, start, form.bytes());
        }
        self.environment.memory.write(range, self.content(value, form));
        Ok(())
    }

    /// A value of the function being built as the content of memory.
    pub fn content(&self, value: Value, form: Form) -> Content {
        Content::Defined(Rc::new(Definition { depth: self.outer.len(), value, form }))
    }

    /// The bytes that a tensor register has at most.
    pub fn bound_of(&self, register: usize) -> Option<u64> {
        match &self.plan.values[register] {
            EValue::Tensor(meta) => Some(meta.form.bytes()),
            _ => None,
        }
    }

    /// Gives a dynamic tensor another shape within its bound.
    fn resize(&mut self, register: usize, form: &Form) -> Result<(), Fault> {
        let wrong = |bound: &Form| {
            Fault::invalid("the result has another shape than the operator gives")
                .expected(format!("{:?}", form.shape), format!("{:?}", bound.shape))
        };
        let EValue::Tensor(meta) = &self.plan.values[register] else { return Err(wrong(form)) };
        let fits = form.shape.len() == meta.form.shape.len() && form.bytes() <= meta.form.bytes();
        if !meta.dynamic || !fits {
            return Err(wrong(&meta.form));
        }
        if let Register::Tensor(handle) = &mut self.environment.registers[register] {
            handle.form = form.clone();
        }
        Ok(())
    }

    /// Notes where the file's plan puts a value.
    pub fn place(&mut self, value: Value, memory_id: u32, offset: u64, bytes: u64) {
        if bytes > 0 {
            self.scope.placements.entry(value).or_insert((memory_id, offset, bytes));
        }
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

fn initial_register(shared: &mut Shared, module: &mut Module, index: usize, value: &EValue) -> Register {
    match value {
        EValue::Int(n) => Register::Number(Number::Int(*n)),
        EValue::Bool(b) => Register::Number(Number::Bool(*b)),
        EValue::Double(x) => Register::Number(Number::Double(*x)),
        EValue::Tensor(meta) => {
            let place = match &meta.storage {
                Storage::Planned { memory_id, offset, .. } => Place::Memory(Area::Planned(*memory_id), *offset),
                Storage::Unplanned => Place::Memory(Area::Private(index), 0),
                Storage::Constant(buffer) => match shared.constant(module, *buffer, &meta.form) {
                    Ok(constant) => Place::Constant(constant),
                    Err(diagnostic) => Place::Missing(diagnostic.about_tensor(format!("value {index}")).into()),
                },
                Storage::External(name) => match shared.external(module, name, &meta.form) {
                    Ok(constant) => Place::Constant(constant),
                    Err(diagnostic) => Place::Missing(diagnostic.about_tensor(name).into()),
                },
            };
            Register::Tensor(Handle { place, form: meta.form.clone() })
        }
        _ => Register::AsInFile(index),
    }
}
