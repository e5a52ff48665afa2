//! A call of an operator: its arguments as what they should be, and its results.

use super::super::fault::Fault;
use super::super::program::{EValue, Form};
use super::super::registers::{Number, Register};
use super::super::translate::Translator;
use crate::ir::{ElementType, ExpressionBuilder, Extent, FunctionBuilder, Interval, Node, Scalar, Value};
use crate::operators::complex::{from_real, is_complex};
use crate::operators::graph::elements::ListItem;
use crate::operators::{Graph, extents};

/// One call. Arguments are registers in the order of the operator's schema, results last, then the result once more.
pub struct Call<'c, 'a, 'm> {
    /// The method.
    pub translator: &'c mut Translator<'a, 'm>,
    /// Registers.
    pub args: &'c [usize],
}

/// Translates one call: reads its arguments, defines its results.
pub type Translate = fn(&mut Call<'_, '_, '_>) -> Result<(), Fault>;

/// An integer: of sizes, positions and axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// Known at compile time.
    Known(i64),
    /// Known when the program runs: an index.
    Index(Value),
}

impl From<Whole> for ListItem {
    fn from(whole: Whole) -> Self {
        match whole {
            Whole::Known(n) => Self::Number(n),
            Whole::Index(index) => Self::Index(index),
        }
    }
}

/// A tensor or a number: what operators with scalar arguments take.
#[derive(Clone, Copy)]
pub enum Operand {
    /// A tensor.
    Tensor(Value),
    /// A number known at compile time.
    Number(Number),
}

fn wrong_kind(index: usize, expected: &str, found: &str) -> Fault {
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

    fn in_file(&self, index: usize) -> Result<Option<&EValue>, Fault> {
        match self.state(index)? {
            Register::AsInFile(origin) => Ok(Some(&self.translator.plan.values[*origin])),
            _ => Ok(None),
        }
    }

    /// Whether an argument is None.
    ///
    /// # Errors
    /// When there is no such argument.
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
    /// When it is no such list.
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
    /// When it is no such list or a tensor cannot be read.
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
                Ok(Operand::Tensor(self.translator.localize(&definition)?))
            }
            Register::Index(depth, index) => {
                let index = self.translator.localize_index(*depth, *index)?;
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
    /// When it is no such list, or a member is only known when the program runs.
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

    /// The integer in a register; one that a tensor holds is read as an index.
    fn whole_in(&mut self, register: usize) -> Result<Whole, Fault> {
        match &self.translator.environment.registers[register] {
            Register::Number(Number::Int(n)) => Ok(Whole::Known(*n)),
            Register::Number(Number::Bool(b)) => Ok(Whole::Known(i64::from(*b))),
            Register::Index(depth, index) => Ok(Whole::Index(self.translator.localize_index(*depth, *index)?)),
            Register::Loaded(definition) => {
                let definition = definition.clone();
                let value = self.translator.localize(&definition)?;
                self.loaded(value).map(Whole::Index)
            }
            Register::Unavailable(fault) => Err(fault.clone()),
            _ => Err(Fault::invalid("an argument is of the wrong kind").expected("an integer", "something else")),
        }
    }

    /// The integer that a tensor holds as an index, the same for every reader.
    fn loaded(&mut self, value: Value) -> Result<Value, Fault> {
        if let Some(&index) = self.translator.scope.loads.get(&value) {
            return Ok(index);
        }
        if !self.element(value).is_integer() {
            return Err(Fault::unsupported("a size or position is no integer").expected("an integer", self.element(value).to_string()));
        }
        let index = self.graph().load_integer(value, Interval { low: i64::MIN, high: i64::MAX })?;
        self.translator.scope.loads.insert(value, index);
        Ok(index)
    }

    /// An integer, perhaps one that is known only when the program runs.
    ///
    /// # Errors
    /// When it is none.
    pub fn whole(&mut self, index: usize) -> Result<Whole, Fault> {
        let register = self.register(index)?;
        self.whole_in(register)
    }

    /// An integer that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_whole(&mut self, index: usize) -> Result<Option<Whole>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.whole(index).map(Some) }
    }

    /// A list of integers, some of which may be known only when the program runs.
    ///
    /// # Errors
    /// When it is no such list.
    pub fn wholes(&mut self, index: usize) -> Result<Vec<Whole>, Fault> {
        let Some(EValue::Ints(items)) = self.in_file(index)? else { return Err(wrong_kind(index, "a list of integers", "something else")) };
        let items = items.clone();
        items.into_iter().map(|register| self.whole_in(register)).collect()
    }

    /// An integer as an index.
    ///
    /// # Errors
    /// Never.
    pub fn index(&mut self, n: Whole) -> Result<Value, Fault> {
        match n {
            Whole::Known(n) => Ok(self.graph().integer(n)?),
            Whole::Index(index) => Ok(index),
        }
    }

    /// An integer as an extent.
    ///
    /// # Errors
    /// When it is negative.
    pub fn extent(&mut self, n: Whole) -> Result<Extent, Fault> {
        match n {
            Whole::Known(n) => {
                u64::try_from(n).map(Extent::Static).map_err(|_| Fault::invalid("a size is negative").expected("0 or more", n.to_string()))
            }
            Whole::Index(index) => Ok(self.graph().max(Extent::Value(index), Extent::Static(0))?),
        }
    }

    /// A list of integers that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_ints(&self, index: usize) -> Result<Option<Vec<i64>>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.ints(index).map(Some) }
    }

    /// A list of integers as one number for each of `count` dimensions: one number stands for all.
    ///
    /// # Errors
    /// When it is no such list.
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

    /// The shape of a tensor argument, which need not be read for it.
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

    /// The element type of a value.
    pub fn element(&self, value: Value) -> ElementType {
        self.translator.graph.element(value)
    }

    /// The shape of a value.
    ///
    /// # Errors
    /// When it is not known at compile time.
    pub fn shape(&self, value: Value) -> Result<Vec<u64>, Fault> {
        Ok(self.translator.graph.shape(value)?)
    }

    /// The extents of a value.
    pub fn extents(&self, value: Value) -> Vec<Extent> {
        self.translator.graph.extents(value)
    }

    /// The number of dimensions of a value.
    pub fn rank(&self, value: Value) -> usize {
        self.translator.graph.rank(value)
    }

    /// A dimension argument: negative ones count from the end. A scalar has dimension 0 too.
    ///
    /// # Errors
    /// When it is outside.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Fault> {
        let count = rank.max(1) as i64;
        if !(-count..count).contains(&axis) {
            return Err(Fault::invalid("a dimension is out of range").expected(format!("{} to {}", -count, count - 1), axis.to_string()));
        }
        Ok(axis.rem_euclid(count) as usize)
    }

    /// An element-wise expression of one result over broadcast operands.
    ///
    /// # Errors
    /// When operand types or shapes do not fit.
    pub fn map(
        &mut self,
        operands: &[Value],
        build: impl FnOnce(&mut ExpressionBuilder, &[Node]) -> Result<Node, Fault>,
    ) -> Result<Value, Fault> {
        let types: Vec<ElementType> = operands.iter().map(|&value| self.element(value)).collect();
        let mut expression = ExpressionBuilder::new(&types);
        let inputs: Vec<Node> = (0..operands.len()).map(|i| expression.input(i)).collect();
        let result = build(&mut expression, &inputs)?;
        if let Some(i) = inputs.iter().position(|&input| input == result)
            && operands.len() == 1
        {
            return Ok(operands[i]);
        }
        Ok(self.graph().map(operands, expression.finish(vec![result]))?)
    }

    /// A value converted to another element type: integers wrap, floats truncate, to bool whether it is not zero.
    ///
    /// # Errors
    /// Never for the element types that files have.
    pub fn cast(&mut self, value: Value, element: ElementType) -> Result<Value, Fault> {
        if is_complex(element) && !is_complex(self.element(value)) {
            return Ok(from_real(self.graph(), value, element)?);
        }
        let wraps = matches!(element, ElementType::I8 | ElementType::U8 | ElementType::I16 | ElementType::U16);
        if wraps && self.element(value).is_float() {
            // As C++ converts in practice: to an integer of a register, whose low bits are taken.
            return self.map(&[value], |b, n| {
                let whole = b.convert(n[0], ElementType::I32);
                Ok(b.convert(whole, element))
            });
        }
        self.map(&[value], |b, n| Ok(b.convert(n[0], element)))
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape(&mut self, value: Value, shape: &[u64]) -> Result<Value, Fault> {
        Ok(self.graph().reshape(value, &extents(shape))?)
    }

    /// The same elements under another shape, some of whose extents may be known only when the program runs.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Fault> {
        let from = self.extents(value);
        if from.iter().chain(shape).any(|extent| extent.as_static().is_none()) {
            self.translator.fill(&from, shape)?;
        }
        Ok(self.graph().reshape(value, shape)?)
    }

    /// Repetition along new leading dimensions and those of extent 1; other extents have to be those of the shape.
    ///
    /// # Errors
    /// When they are not.
    pub fn expand_to(&mut self, value: Value, shape: &[Extent]) -> Result<Value, Fault> {
        let own = self.extents(value);
        let added = shape.len().saturating_sub(own.len());
        for (&from, &to) in own.iter().zip(&shape[added..]) {
            if from != Extent::Static(1) && (from.as_static().is_none() || to.as_static().is_none()) {
                self.translator.equate(from, to)?;
            }
        }
        let shape: Vec<Extent> = shape.iter().map(|&extent| self.graph().function().resolved(extent)).collect();
        Ok(self.graph().broadcast(value, &shape)?)
    }

    /// Makes some extents of a value numbers: those that may vary are what they are at most.
    ///
    /// # Errors
    /// [`Fault::Consequence`] when that was not known and holds from the next translation on.
    pub fn settle(&mut self, value: Value, axes: impl IntoIterator<Item = usize>) -> Result<(), Fault> {
        let shape = self.extents(value);
        for extent in axes.into_iter().filter_map(|axis| shape.get(axis).copied()) {
            if extent.as_static().is_none() {
                let most = Extent::Static(self.graph().bound(extent));
                self.translator.equate(extent, most)?;
            }
        }
        Ok(())
    }

    /// Permuted dimensions.
    ///
    /// # Errors
    /// When the permutation does not fit.
    pub fn transpose(&mut self, value: Value, permutation: &[usize]) -> Result<Value, Fault> {
        Ok(self.graph().transpose(value, permutation)?)
    }
}

impl Number {
    /// As a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Bool(b) => f64::from(u8::from(b)),
            Self::Double(x) => x,
        }
    }

    /// As a number of a type: integers wrap, floats are rounded.
    pub fn to_scalar(self, element: ElementType) -> Scalar {
        match self {
            Self::Double(x) if element == ElementType::Bool => Scalar::bool(x != 0.0),
            Self::Int(n) if element == ElementType::Bool => Scalar::bool(n != 0),
            Self::Int(n) => Scalar::int(element, n),
            Self::Bool(b) => Scalar::int(element, i64::from(b)),
            Self::Double(x) => Scalar::float(element, x),
        }
    }
}

/// The type that arithmetic on an element type is done in: half precision computes in single.
pub fn compute_type(element: ElementType) -> ElementType {
    match element {
        ElementType::F16 | ElementType::Bf16 => ElementType::F32,
        other => other,
    }
}

/// The floating-point type that functions of real numbers compute in: integers become single precision.
pub fn float_type(element: ElementType) -> ElementType {
    if element.is_float() { compute_type(element) } else { ElementType::F32 }
}

impl Call<'_, '_, '_> {
    /// An element-wise expression over tensors and numbers, all converted to one type first. Without any tensor the result is of
    /// shape `[]`.
    ///
    /// # Errors
    /// When types or shapes do not fit.
    pub fn map_operands(
        &mut self,
        operands: &[Operand],
        ty: ElementType,
        build: impl FnOnce(&mut ExpressionBuilder, &[Node]) -> Result<Node, Fault>,
    ) -> Result<Value, Fault> {
        let mut values: Vec<Value> = Vec::new();
        let mut inputs: Vec<Result<usize, Number>> = Vec::new();
        for operand in operands {
            match operand {
                Operand::Number(number) => inputs.push(Err(*number)),
                Operand::Tensor(value) => {
                    let known = values.iter().position(|v| v == value);
                    inputs.push(Ok(known.unwrap_or(values.len())));
                    if known.is_none() {
                        values.push(*value);
                    }
                }
            }
        }
        self.map(&values, |b, nodes| {
            let node = |b: &mut ExpressionBuilder, input: &Result<usize, Number>| match input {
                Ok(i) => b.convert(nodes[*i], ty),
                Err(number) => b.constant(number.to_scalar(ty)),
            };
            let converted: Vec<Node> = inputs.iter().map(|input| node(b, input)).collect();
            build(b, &converted)
        })
    }
}
