//! A call of an operator: its arguments, converted to the expected kinds, and its results.

use super::super::fault::Fault;
use super::super::program::{EValue, Form};
use super::super::registers::Register;
use super::super::translate::Translator;
use crate::ir::{ElementType, Extent, FunctionBuilder, Value};
use crate::operators::Graph;
use crate::operators::promotion::{Number, Operand};

/// One call. Arguments are registers in the order of the operator's schema, results last, then the result once more.
pub struct Call<'c, 'a, 'm> {
    /// The method.
    pub translator: &'c mut Translator<'a, 'm>,
    /// Registers.
    pub args: &'c [usize],
}

/// Translates one call: reads its arguments, defines its results.
pub type Translate = fn(&mut Call<'_, '_, '_>) -> Result<(), Fault>;

pub(super) fn wrong_kind(index: usize, expected: &str, found: &str) -> Fault {
    Fault::invalid(format!("argument {index} is of the wrong kind")).expected(expected, found)
}

impl<'m> Call<'_, '_, 'm> {
    /// The function being built.
    pub fn graph(&mut self) -> &mut Graph<'m> {
        &mut self.translator.graph
    }

    /// Its builder.
    pub fn builder(&mut self) -> &mut FunctionBuilder<'m> {
        &mut self.translator.graph.builder
    }

    /// The register of an argument.
    ///
    /// # Errors
    /// When there are fewer arguments.
    pub fn register(&self, index: usize) -> Result<usize, Fault> {
        self.args
            .get(index)
            .copied()
            .ok_or_else(|| Fault::invalid("too few arguments").expected(format!("at least {}", index + 1), self.args.len().to_string()))
    }

    pub(super) fn state(&self, index: usize) -> Result<&Register, Fault> {
        match &self.translator.environment.registers[self.register(index)?] {
            Register::Unavailable(fault) => Err(fault.clone()),
            register => Ok(register),
        }
    }

    pub(super) fn in_file(&self, index: usize) -> Result<Option<&EValue>, Fault> {
        match self.state(index)? {
            Register::AsInFile(origin) => Ok(Some(&self.translator.plan.values[*origin])),
            _ => Ok(None),
        }
    }

    /// Tests whether an argument is None.
    ///
    /// # Errors
    /// A call with fewer arguments.
    pub fn is_none(&self, index: usize) -> Result<bool, Fault> {
        Ok(matches!(self.in_file(index)?, Some(EValue::None)))
    }

    /// A tensor argument.
    ///
    /// # Errors
    /// When it is no tensor or cannot be read.
    pub fn tensor(&mut self, index: usize) -> Result<Value, Fault> {
        let register = self.register(index)?;
        self.translator.read(register)
    }

    /// A tensor argument that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_tensor(&mut self, index: usize) -> Result<Option<Value>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.tensor(index).map(Some) }
    }

    /// The registers of a list of tensors.
    ///
    /// # Errors
    /// An argument of another kind.
    pub fn tensor_registers(&self, index: usize) -> Result<Vec<Option<usize>>, Fault> {
        match self.in_file(index)? {
            Some(EValue::Tensors(items)) => Ok(items.iter().copied().map(Some).collect()),
            Some(EValue::OptionalTensors(items)) => Ok(items.clone()),
            _ => Err(wrong_kind(index, "a list of tensors", "something else")),
        }
    }

    /// A list of tensors.
    ///
    /// # Errors
    /// An argument of another kind, or a tensor that cannot be read.
    pub fn tensors(&mut self, index: usize) -> Result<Vec<Value>, Fault> {
        let registers = self.tensor_registers(index)?;
        let missing = || wrong_kind(index, "a list of tensors", "a list with None in it");
        registers.into_iter().map(|register| self.translator.read(register.ok_or_else(missing)?)).collect()
    }

    /// A tensor or a number.
    ///
    /// # Errors
    /// When it is neither.
    pub fn operand(&mut self, index: usize) -> Result<Operand, Fault> {
        match self.state(index)? {
            Register::Number(number) => Ok(Operand::Number(*number)),
            Register::Loaded(definition) => {
                let definition = definition.clone();
                Ok(Operand::Tensor(self.translator.localize(&definition)))
            }
            Register::Index(depth, index) => {
                let (depth, index) = (*depth, *index);
                let index = self.translator.localize_index(depth, index)?;
                Ok(Operand::Tensor(self.graph().extent_tensor(Extent::Value(index), ElementType::I64)?))
            }
            _ => self.tensor(index).map(Operand::Tensor),
        }
    }

    /// A number, known at compile time.
    ///
    /// # Errors
    /// When it is none, or only known when the program runs.
    pub fn number(&self, index: usize) -> Result<Number, Fault> {
        match self.state(index)? {
            Register::Number(number) => Ok(*number),
            Register::Loaded(_) | Register::Index(..) => Err(Fault::unsupported(format!("argument {index} must be known at compile time"))),
            Register::Tensor(_) => Err(wrong_kind(index, "a number", "a tensor")),
            _ => Err(wrong_kind(index, "a number", "something else")),
        }
    }

    /// A number that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_number(&self, index: usize) -> Result<Option<Number>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.number(index).map(Some) }
    }

    /// An integer.
    ///
    /// # Errors
    /// When it is none.
    pub fn int(&self, index: usize) -> Result<i64, Fault> {
        match self.number(index)? {
            Number::Int(n) => Ok(n),
            Number::Bool(b) => Ok(i64::from(b)),
            Number::Double(x) => Err(wrong_kind(index, "an integer", &x.to_string())),
        }
    }

    /// An integer that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_int(&self, index: usize) -> Result<Option<i64>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.int(index).map(Some) }
    }

    /// A truth value.
    ///
    /// # Errors
    /// When it is none.
    pub fn flag(&self, index: usize) -> Result<bool, Fault> {
        Ok(self.int(index)? != 0)
    }

    /// A float.
    ///
    /// # Errors
    /// When it is no number.
    pub fn double(&self, index: usize) -> Result<f64, Fault> {
        Ok(self.number(index)?.as_f64())
    }

    /// A list of integers.
    ///
    /// # Errors
    /// An argument of another kind, or a member that is known only at run time.
    pub fn ints(&self, index: usize) -> Result<Vec<i64>, Fault> {
        let Some(EValue::Ints(items)) = self.in_file(index)? else { return Err(wrong_kind(index, "a list of integers", "something else")) };
        let member = |&register: &usize| match &self.translator.environment.registers[register] {
            Register::Number(Number::Int(n)) => Ok(*n),
            Register::Loaded(_) | Register::Index(..) => Err(Fault::unsupported(format!("argument {index} must be known at compile time"))),
            Register::Unavailable(fault) => Err(fault.clone()),
            _ => Err(wrong_kind(index, "a list of integers", "a list of something else")),
        };
        items.iter().map(member).collect()
    }

    /// A list of integers that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_ints(&self, index: usize) -> Result<Option<Vec<i64>>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.ints(index).map(Some) }
    }

    /// A list of integers with one number for each of `count` dimensions. A single number stands for all.
    ///
    /// # Errors
    /// An argument of another kind.
    pub fn per_dimension(&self, index: usize, count: usize) -> Result<Vec<i64>, Fault> {
        let list = self.ints(index)?;
        match list[..] {
            [one] => Ok(vec![one; count]),
            _ if list.len() == count => Ok(list),
            _ => {
                Err(Fault::invalid(format!("argument {index} has a wrong length"))
                    .expected(format!("1 or {count}"), list.len().to_string()))
            }
        }
    }

    /// A list of booleans.
    ///
    /// # Errors
    /// An argument of another kind.
    pub fn flags(&self, index: usize) -> Result<Vec<bool>, Fault> {
        match self.in_file(index)? {
            Some(EValue::Bools(list)) => Ok(list.clone()),
            _ => Err(wrong_kind(index, "a list of booleans", "something else")),
        }
    }

    /// A list of floats that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_doubles(&self, index: usize) -> Result<Option<Vec<f64>>, Fault> {
        match self.in_file(index)? {
            Some(EValue::Doubles(list)) => Ok(Some(list.clone())),
            Some(EValue::None) => Ok(None),
            _ => Err(wrong_kind(index, "a list of floats", "something else")),
        }
    }

    /// A string that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn text(&self, index: usize) -> Result<Option<String>, Fault> {
        match self.in_file(index)? {
            Some(EValue::String(text)) => Ok(Some(text.clone())),
            Some(EValue::None) => Ok(None),
            _ => Err(wrong_kind(index, "a string", "something else")),
        }
    }

    /// The place of the result in calls with one result.
    pub fn out(&self) -> usize {
        self.args.len().saturating_sub(2)
    }

    /// The form that the file gives a result.
    ///
    /// # Errors
    /// When it is no tensor.
    pub fn out_form(&self, index: usize) -> Result<Form<Extent>, Fault> {
        Ok(self.translator.resolved(&self.translator.handle(self.register(index)?)?.form))
    }

    /// The shape of a tensor argument, whose contents are not read.
    ///
    /// # Errors
    /// When it is no tensor, or has no shape yet.
    pub fn shape_of(&self, index: usize) -> Result<Vec<Extent>, Fault> {
        self.translator.shape_of(self.register(index)?)
    }

    /// Defines a result, converted to its element type.
    ///
    /// # Errors
    /// When the shape is not the result's.
    pub fn define(&mut self, index: usize, value: Value) -> Result<(), Fault> {
        let register = self.register(index)?;
        let element = self.out_form(index)?.element;
        let value = self.cast(value, element)?;
        self.translator.define(register, value)
    }

    /// Defines the result of a call with one result.
    ///
    /// # Errors
    /// When the shape is not the result's.
    pub fn finish(&mut self, value: Value) -> Result<(), Fault> {
        self.define(self.out(), value)
    }
}
