//! Building functions: an instruction's result types come from the operator's own rule, so that what is built is typed.

use super::attribute::Attribute;
use super::infer::{Context, TypeError};
use super::module::{Constant, Func, Function, Module, Source, Value};
use super::op::Op;
use super::scalar::{Expression, Scalar};
use super::types::{ElementType, Extent, TensorType, Type};

/// The geometry of a sliding window; one number a spatial dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowGeometry {
    /// Steps between windows.
    pub strides: Vec<i64>,
    /// Steps between taps.
    pub dilation: Vec<i64>,
    /// Padding before the first element.
    pub padding_low: Vec<i64>,
    /// Padding behind the last element.
    pub padding_high: Vec<i64>,
    /// How many windows there are, where that is known only when the program runs, and else nothing. Then there is as much padding
    /// behind the last element as they need.
    pub positions: Vec<Extent>,
    /// How much padding is not there before the first element; nothing where `positions` is.
    pub shift: Vec<Extent>,
}

impl WindowGeometry {
    fn attributes(self) -> Vec<Attribute> {
        let numbers = [self.strides, self.dilation, self.padding_low, self.padding_high].map(Attribute::Ints);
        numbers.into_iter().chain([self.positions, self.shift].map(Attribute::Extents)).collect()
    }
}

/// Builds one function of a module.
pub struct FunctionBuilder<'m> {
    /// The module; constants and states may be added while building.
    pub module: &'m mut Module,
    /// The function as far as it is built.
    pub function: Function,
    /// The source given to instructions from now on.
    pub source: Option<Source>,
}

type Built = Result<Value, TypeError>;

impl<'m> FunctionBuilder<'m> {
    /// A function without parameters so far.
    pub fn new(module: &'m mut Module, name: impl Into<String>) -> Self {
        Self { module, function: Function { name: name.into(), ..Function::default() }, source: None }
    }

    /// Adds a parameter.
    pub fn param(&mut self, ty: Type, name: impl Into<Option<String>>) -> Value {
        self.function.add_param(ty, name.into())
    }

    /// Appends an instruction; its result types follow from the operator's rule.
    ///
    /// # Errors
    /// When operands and attributes do not fit the operator.
    pub fn inst(&mut self, op: Op, operands: &[Value], attributes: Vec<Attribute>) -> Result<Vec<Value>, TypeError> {
        let row = op.row();
        let error = |message: String| TypeError { op: row.name, message };
        if !row.operands.allows(operands.len()) {
            return Err(error(format!("takes {:?} operands, {} are given", row.operands, operands.len())));
        }
        let fits = attributes.len() == row.attributes.len() && attributes.iter().zip(row.attributes).all(|(a, (_, kind))| a.is_of(*kind));
        if !fits {
            return Err(error("attributes do not match the table".into()));
        }
        let context = Context { module: self.module, function: &self.function, op, operands, attributes: &attributes };
        let types = (row.infer)(&context)?;
        let inst = self.function.append(op, operands.to_vec(), attributes, types, self.source);
        Ok(self.function.insts[inst].results.clone())
    }

    fn single(&mut self, op: Op, operands: &[Value], attributes: Vec<Attribute>) -> Built {
        Ok(self.inst(op, operands, attributes)?[0])
    }

    /// The type of a tensor value.
    pub fn tensor(&self, value: Value) -> &TensorType {
        self.function.tensor(value)
    }

    /// A constant of the module as a value.
    pub fn constant(&mut self, constant: Constant) -> Built {
        self.single(Op::Constant, &[], vec![Attribute::Constant(constant)])
    }

    /// A new constant as a value. `bytes` are little-endian and fill the type.
    pub fn literal(&mut self, ty: TensorType, bytes: Vec<u8>) -> Built {
        let constant = self.module.add_constant(ty, bytes.into());
        self.constant(constant)
    }

    /// An element-wise expression with one result.
    pub fn map(&mut self, operands: &[Value], expression: Expression) -> Built {
        self.single(Op::Map, operands, vec![Attribute::Expression(Box::new(expression))])
    }

    /// An element-wise expression with all its results.
    pub fn map_many(&mut self, operands: &[Value], expression: Expression) -> Result<Vec<Value>, TypeError> {
        self.inst(Op::Map, operands, vec![Attribute::Expression(Box::new(expression))])
    }

    /// Convolution, channels last; see the table.
    pub fn conv(
        &mut self,
        input: Value,
        filter: Value,
        geometry: WindowGeometry,
        groups: u64,
        zero_points: (i64, i64),
        accumulator: ElementType,
    ) -> Built {
        let input_dilation = vec![1; geometry.strides.len()];
        self.dilated_conv(input, filter, (geometry, input_dilation), groups, zero_points, accumulator)
    }

    /// Convolution of an input with its elements so far apart; see the table.
    pub fn dilated_conv(
        &mut self,
        input: Value,
        filter: Value,
        (geometry, input_dilation): (WindowGeometry, Vec<i64>),
        groups: u64,
        zero_points: (i64, i64),
        accumulator: ElementType,
    ) -> Built {
        let mut attributes = geometry.attributes();
        attributes.extend([
            Attribute::Ints(input_dilation),
            Attribute::Int(groups as i64),
            Attribute::Int(zero_points.0),
            Attribute::Int(zero_points.1),
            Attribute::Element(accumulator),
        ]);
        self.single(Op::Conv, &[input, filter], attributes)
    }

    /// `left [… M, K] × transpose(right [… N, K])`.
    pub fn matmul(&mut self, left: Value, right: Value, zero_points: (i64, i64), accumulator: ElementType) -> Built {
        let attributes = vec![Attribute::Int(zero_points.0), Attribute::Int(zero_points.1), Attribute::Element(accumulator)];
        self.single(Op::Matmul, &[left, right], attributes)
    }

    /// A reduction over a sliding window; `reduction` is one of [`super::op::REDUCTIONS`].
    pub fn window(&mut self, input: Value, reduction: &str, size: Vec<i64>, geometry: WindowGeometry) -> Built {
        let mut attributes = vec![word(super::op::REDUCTIONS, reduction), Attribute::Ints(size)];
        attributes.extend(geometry.attributes());
        self.single(Op::Window, &[input], attributes)
    }

    /// A reduction over axes, which keep extent 1; `reduction` is one of [`super::op::REDUCTIONS`].
    pub fn reduce(&mut self, input: Value, reduction: &str, axes: Vec<i64>) -> Built {
        self.single(Op::Reduce, &[input], vec![word(super::op::REDUCTIONS, reduction), Attribute::Ints(axes)])
    }

    /// The same elements under another shape.
    pub fn reshape(&mut self, input: Value, shape: Vec<Extent>) -> Built {
        self.single(Op::Reshape, &[input], vec![Attribute::Extents(shape)])
    }

    /// Permuted dimensions: result dimension i is operand dimension `permutation[i]`.
    pub fn transpose(&mut self, input: Value, permutation: Vec<i64>) -> Built {
        self.single(Op::Transpose, &[input], vec![Attribute::Ints(permutation)])
    }

    /// A strided box.
    pub fn slice(&mut self, input: Value, start: Vec<Extent>, size: Vec<Extent>, stride: Vec<i64>) -> Built {
        self.single(Op::Slice, &[input], vec![Attribute::Extents(start), Attribute::Extents(size), Attribute::Ints(stride)])
    }

    /// A border of one value around known extents.
    pub fn pad(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, value: Scalar) -> Built {
        self.pad_to(input, low, high, value, vec![])
    }

    /// A border of one value. `padded` are the extents with it where some are known only when the program runs, and else nothing.
    pub fn pad_to(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, value: Scalar, padded: Vec<Extent>) -> Built {
        let attributes = vec![Attribute::Ints(low), Attribute::Ints(high), Attribute::Scalar(value), Attribute::Extents(padded)];
        self.single(Op::Pad, &[input], attributes)
    }

    /// So many of the largest or smallest elements of the last dimension, and their positions; `order` is one of [`super::op::ORDERS`].
    pub fn top_k(&mut self, input: Value, order: &str, count: Extent) -> Result<[Value; 2], TypeError> {
        let results = self.inst(Op::TopK, &[input], vec![word(super::op::ORDERS, order), Attribute::Extents(vec![count])])?;
        Ok([results[0], results[1]])
    }

    /// Tensors joined along an axis.
    pub fn concat(&mut self, inputs: &[Value], axis: usize) -> Built {
        self.single(Op::Concat, inputs, vec![Attribute::Int(axis as i64), Attribute::Extents(vec![])])
    }

    /// Tensors joined along an axis whose extent is known only when the program runs, and given.
    pub fn concat_to(&mut self, inputs: &[Value], axis: usize, extent: Extent) -> Built {
        self.single(Op::Concat, inputs, vec![Attribute::Int(axis as i64), Attribute::Extents(vec![extent])])
    }

    /// Ends the function and adds it to the module.
    pub fn finish(mut self, results: Vec<Value>) -> Func {
        self.function.results = results;
        self.module.functions.push(self.function)
    }
}

fn word(words: &[&str], word: &str) -> Attribute {
    let position = words.iter().position(|w| *w == word).unwrap_or_else(|| panic!("{word} is none of {words:?}"));
    Attribute::Word(position as u8)
}
