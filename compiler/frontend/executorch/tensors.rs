//! Tensor registers: reading the bytes that they name, and writing them.

use super::fault::Fault;
use super::memory::{self, Area, ByteRange, Content, Definition, Part};
use super::program::{EValue, Form};
use super::registers::{Handle, Register, TensorPlace};
use super::translate::Translator;
use crate::ir::{Extent, Type, Value, list_text};
use std::rc::Rc;

impl Translator<'_, '_> {
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
            TensorPlace::Constant(constant) => return Ok(self.graph.builder.constant(*constant)?),
            TensorPlace::Missing(fault) => return Err(fault.clone()),
            TensorPlace::Memory(..) => {}
        }
        let range = handle.range().ok_or(Fault::Consequence)?;
        let known = handle.form.known();
        if let Some(form) = known.as_ref().filter(|form| form.bytes() == 0) {
            return Ok(self.graph.constant(form.element, &form.shape, Vec::new())?);
        }
        if known.is_none() && handle.bytes == 0 {
            return self.nothing(&handle.form);
        }
        // The size of a tensor with run-time extents is not known. It is the tensor whose bytes begin here.
        let range = if known.is_some() { range } else { ByteRange { end: range.start + 1, ..range } };
        let mut parts = Vec::new();
        for piece in self.environment.memory.pieces(range)? {
            let definition = match piece.content {
                Content::Defined(definition) => definition,
                Content::Unavailable(fault) => return Err(fault),
            };
            let bytes = if known.is_none() && piece.first == 0 { definition.bytes } else { piece.bytes };
            let value = self.localize(&definition);
            let form = self.localize_form(definition.depth, &definition.form);
            parts.push(Part { value, form: self.resolved(&form), of: definition.bytes, first: piece.first, bytes });
        }
        let want = self.resolved(&handle.form);
        memory::assemble(&mut self.graph, &parts, &want)
    }

    /// Returns an empty tensor with some run-time extents, for which there are no bytes.
    fn nothing(&mut self, form: &Form<Extent>) -> Result<Value, Fault> {
        let form = self.resolved(form);
        let known: Vec<u64> = form.shape.iter().map(|extent| extent.as_static().unwrap_or(1)).collect();
        if !known.contains(&0) {
            return Err(Fault::unsupported("a tensor that is empty only for some dynamic dimensions has no memory"));
        }
        let empty = self.graph.constant(form.element, &known, Vec::new())?;
        Ok(self.graph.broadcast(empty, &form.shape)?)
    }

    /// Returns a form with its extents resolved to all that is known by now.
    pub fn resolved(&self, form: &Form<Extent>) -> Form<Extent> {
        let function = self.graph.function();
        Form { shape: form.shape.iter().map(|&extent| function.resolved(extent)).collect(), ..form.clone() }
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

    /// The shape of a tensor register. A dynamic tensor has none until it is written: the file only has a bound.
    ///
    /// # Errors
    /// When the register is no tensor, or a dynamic one that was not written.
    pub fn shape_of(&self, register: usize) -> Result<Vec<Extent>, Fault> {
        let handle = self.handle(register)?;
        if let (EValue::Tensor(meta), Some(range)) = (&self.plan.values[register], handle.range())
            && meta.dynamic
            && range.start < range.end
        {
            for piece in self.environment.memory.pieces(ByteRange { end: range.start + 1, ..range })? {
                if let Content::Unavailable(fault) = piece.content {
                    return Err(fault);
                }
            }
        }
        Ok(self.resolved(&handle.form).shape)
    }

    /// Writes a tensor to a register's memory.
    ///
    /// # Errors
    /// When the register is no tensor in memory, or is one of another type or shape.
    pub fn define(&mut self, register: usize, value: Value) -> Result<(), Fault> {
        let handle = self.handle(register)?.clone();
        let element = self.graph.element(value);
        if element != handle.form.element {
            return Err(Fault::unsupported("the element type of the result does not match the operator")
                .expected(element.to_string(), handle.form.element.to_string()));
        }
        let form = Form { shape: self.graph.extents(value), ..handle.form.clone() };
        if form.shape != handle.form.shape {
            self.resize(register, &form)?;
        }
        let handle = self.handle(register)?;
        let (bytes, range) = (handle.bytes, handle.range());
        let range = range.ok_or_else(|| Fault::invalid("an operator writes to a constant"))?;
        self.graph.builder.function.values[value].name.get_or_insert_with(|| self.plan.register_name(register));
        if let Area::Planned(memory_id) = range.area {
            self.place(value, memory_id, range.start, bytes);
        }
        self.environment.memory.write(range, self.content(value, form, bytes));
        Ok(())
    }

    /// A value of the function being built as the content of memory.
    pub fn content(&self, value: Value, form: Form<Extent>, bytes: u64) -> Content {
        Content::Defined(Rc::new(Definition { depth: self.outer.len(), value, form, bytes }))
    }

    /// The bytes that a tensor register has at most.
    pub fn bound_of(&self, register: usize) -> Option<u64> {
        match &self.plan.values[register] {
            EValue::Tensor(meta) => Some(meta.form.bytes()),
            _ => None,
        }
    }

    /// Gives a dynamic tensor another shape within its bound. A static tensor requires its own shape, so the extents of `form` are made equal to it.
    ///
    /// # Errors
    /// A shape that the tensor cannot have.
    pub fn resize(&mut self, register: usize, form: &Form<Extent>) -> Result<(), Fault> {
        let wrong = |bound: &[u64]| {
            Fault::invalid("the shape of the result does not match the operator").expected(shape_text(&form.shape), format!("{bound:?}"))
        };
        let EValue::Tensor(meta) = &self.plan.values[register] else { return Err(wrong(&[])) };
        let known = form.known();
        if form.shape.len() != meta.form.shape.len() || known.as_ref().is_some_and(|form| !meta.dynamic || form.bytes() > meta.form.bytes())
        {
            return Err(wrong(&meta.form.shape));
        }
        if meta.dynamic {
            for (&extent, &most) in form.shape.iter().zip(&meta.form.shape) {
                self.fit(extent, most)?;
            }
        } else {
            for (&extent, &n) in form.shape.iter().zip(&meta.form.shape) {
                self.equate(extent, Extent::Static(n))?;
            }
        }
        let bytes = known.map_or(meta.form.bytes(), |form| form.bytes());
        if let Register::Tensor(handle) = &mut self.environment.registers[register] {
            (handle.form, handle.bytes) = (form.clone(), bytes);
        }
        Ok(())
    }

    /// Notes the place of a value in the file's plan, and the number of bytes that it may occupy there.
    pub fn place(&mut self, value: Value, memory_id: u32, offset: u64, bytes: u64) {
        let function = self.graph.function();
        let needed = match &function.values[value].ty {
            Type::Tensor(ty) => function.bound_bytes(ty),
            _ => None,
        };
        if let Some(needed) = needed.filter(|&needed| (1..=bytes).contains(&needed)) {
            self.scope.placements.entry(value).or_insert((memory_id, offset, needed));
        }
    }
}

/// A shape for a message: `?` for an extent that is known only when the program runs.
pub fn shape_text(shape: &[Extent]) -> String {
    list_text(shape)
}
