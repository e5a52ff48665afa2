//! Building of functions. An instruction's result types come from the operator's own rule, so every function built is typed.

use super::entities::{Constant, Func, Source, State, Value};
use super::module::{Function, InstData, Method, Module, Port};
use super::operators::{
    self, Context, External, IndexOperation, Operation, Order, Reduction, Scan, Scatter, Search, Summation, WindowGeometry,
};
use super::scalar::{Expression, Scalar};
use super::type_error::TypeError;
use super::types::{ElementType, Extent, Interval, TensorType, Type, ZeroPoints};

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
    /// When operands and fields do not fit the operator.
    pub fn inst(&mut self, operation: impl Into<Operation>, operands: &[Value]) -> Result<Vec<Value>, TypeError> {
        let operation = operation.into();
        let context = Context { module: self.module, function: &self.function, operands };
        let types = operation.infer(&context)?;
        let inst = self.function.append(operation, operands.to_vec(), types, self.source);
        Ok(self.function.insts[inst].results.clone())
    }

    fn single(&mut self, operation: impl Into<Operation>, operands: &[Value]) -> Built {
        Ok(self.inst(operation, operands)?[0])
    }

    /// The type of a tensor value.
    pub fn tensor(&self, value: Value) -> &TensorType {
        self.function.tensor(value)
    }

    /// A constant of the module as a value.
    pub fn constant(&mut self, constant: Constant) -> Built {
        self.single(operators::Constant { data: constant }, &[])
    }

    /// A new constant as a value. `bytes` are little-endian and fill the type.
    pub fn literal(&mut self, ty: TensorType, bytes: Vec<u8>) -> Built {
        let constant = self.module.add_constant(ty, bytes.into());
        self.constant(constant)
    }

    /// An element-wise expression with one result.
    pub fn map(&mut self, operands: &[Value], expression: Expression) -> Built {
        self.single(operators::Map { expression }, operands)
    }

    /// An element-wise expression with all its results.
    pub fn map_many(&mut self, operands: &[Value], expression: Expression) -> Result<Vec<Value>, TypeError> {
        self.inst(operators::Map { expression }, operands)
    }

    /// Convolution, channels last; see the table.
    pub fn conv(
        &mut self,
        input: Value,
        filter: Value,
        geometry: WindowGeometry,
        groups: u64,
        zero_points: ZeroPoints,
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
        zero_points: ZeroPoints,
        accumulator: ElementType,
    ) -> Built {
        let ZeroPoints { left: input_zero_point, right: filter_zero_point } = zero_points;
        let conv =
            operators::Conv { geometry, input_dilation, groups, input_zero_point, filter_zero_point, accumulator, ..Default::default() };
        self.single(conv, &[input, filter])
    }

    /// `left [… M, K] × transpose(right [… N, K])`.
    pub fn matmul(&mut self, left: Value, right: Value, zero_points: ZeroPoints, accumulator: ElementType) -> Built {
        let ZeroPoints { left: left_zero_point, right: right_zero_point } = zero_points;
        self.single(operators::Matmul { left_zero_point, right_zero_point, accumulator, ..Default::default() }, &[left, right])
    }

    /// A reduction over a sliding window.
    pub fn window(&mut self, input: Value, reduction: Reduction, size: Vec<i64>, geometry: WindowGeometry) -> Built {
        self.window_in(input, reduction, Summation::Rows, size, geometry)
    }

    /// A reduction over a sliding window, with elements combined in a given order.
    pub fn window_in(
        &mut self,
        input: Value,
        reduction: Reduction,
        summation: Summation,
        size: Vec<i64>,
        geometry: WindowGeometry,
    ) -> Built {
        self.single(operators::Window { reduction, summation, size, geometry }, &[input])
    }

    /// A reduction over axes, which keep extent 1.
    pub fn reduce(&mut self, input: Value, reduction: Reduction, axes: Vec<usize>) -> Built {
        self.single(operators::Reduce { reduction, axes }, &[input])
    }

    /// The first position of the extreme element along an axis, which keeps extent 1.
    pub fn arg_reduce(&mut self, input: Value, search: Search, axis: usize, element: ElementType) -> Built {
        self.single(operators::ArgReduce { search, axis, element }, &[input])
    }

    /// Fourier transforms of complex numbers, given as floats with a last dimension of two.
    pub fn fourier(&mut self, input: Value) -> Built {
        self.single(operators::Fourier, &[input])
    }

    /// The first half and the middle of Fourier transforms of real numbers.
    pub fn real_fourier(&mut self, input: Value) -> Built {
        self.single(operators::RealFourier, &[input])
    }

    /// A reshape: the elements in the same row-major order under another shape.
    pub fn reshape(&mut self, input: Value, shape: Vec<Extent>) -> Built {
        self.single(operators::Reshape { shape }, &[input])
    }

    /// Packed integers in bytes, unpacked to one a byte.
    pub fn unpack(&mut self, bytes: Value, element: ElementType) -> Built {
        self.single(operators::Unpack { element }, &[bytes])
    }

    /// A packed tensor as one integer a byte, or bytes as a packed tensor.
    pub fn repack(&mut self, input: Value, element: ElementType) -> Built {
        self.single(operators::Repack { element }, &[input])
    }

    /// A reinterpretation of the bytes as elements of another type.
    pub fn bitcast(&mut self, input: Value, element: ElementType) -> Built {
        self.single(operators::Bitcast { element }, &[input])
    }

    /// Permuted dimensions: result dimension i is operand dimension `permutation[i]`.
    pub fn transpose(&mut self, input: Value, permutation: Vec<usize>) -> Built {
        self.single(operators::Transpose { permutation }, &[input])
    }

    /// Repetition along axes of extent 1 and new leading axes.
    pub fn broadcast(&mut self, input: Value, shape: Vec<Extent>) -> Built {
        self.single(operators::Broadcast { shape }, &[input])
    }

    /// A strided box.
    pub fn slice(&mut self, input: Value, start: Vec<Extent>, size: Vec<Extent>, stride: Vec<i64>) -> Built {
        self.single(operators::Slice { start, size, stride }, &[input])
    }

    /// A border of one value around known extents.
    pub fn pad(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, value: Scalar) -> Built {
        self.pad_to(input, low, high, value, vec![])
    }

    /// The product of i8 rows and i4 weights in blocks, each with a scale: left, right and scales.
    pub fn block_matmul(&mut self, operands: [Value; 3], product: operators::BlockMatmul) -> Built {
        self.single(product, &operands)
    }

    /// Attention: query, key, value, and a mask if there is one.
    pub fn attention(&mut self, operands: &[Value], attention: operators::Attention) -> Built {
        self.single(attention, operands)
    }

    /// A border of one value. `padded` are the extents with it where some are known only when the program runs, and else nothing.
    pub fn pad_to(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, value: Scalar, padded: Vec<Extent>) -> Built {
        self.single(operators::Pad { low, high, value, padded }, &[input])
    }

    /// A mirrored border, which repeats the edge element itself if `edge`; `padded` as [`Self::pad_to`] has it.
    pub fn mirror_pad(&mut self, input: Value, low: Vec<i64>, high: Vec<i64>, edge: bool, padded: Vec<Extent>) -> Built {
        self.single(operators::MirrorPad { low, high, edge, padded }, &[input])
    }

    /// A number of the largest or smallest elements of the last dimension, and their positions.
    pub fn top_k(&mut self, input: Value, order: Order, count: Extent) -> Result<[Value; 2], TypeError> {
        let results = self.inst(operators::TopK { order, count }, &[input])?;
        Ok([results[0], results[1]])
    }

    /// The best `count` of overlapping boxes: positions, their scores, and how many. Operands: boxes, scores, overlap threshold, score
    /// threshold, sigma.
    pub fn non_max_suppression(&mut self, operands: [Value; 5], count: i64) -> Result<[Value; 3], TypeError> {
        let results = self.inst(operators::NonMaxSuppression { count }, &operands)?;
        Ok([results[0], results[1], results[2]])
    }

    /// Tensors joined along an axis.
    pub fn concat(&mut self, inputs: &[Value], axis: usize) -> Built {
        self.single(operators::Concat::along(axis), inputs)
    }

    /// Tensors joined along an axis whose extent is known only when the program runs, and given.
    pub fn concat_to(&mut self, inputs: &[Value], axis: usize, extent: Extent) -> Built {
        self.single(operators::Concat { axis, extent: Some(extent) }, inputs)
    }

    /// Slices of `data` along `axis`, picked by integers; the first `batch` dimensions of both are common.
    pub fn gather(&mut self, data: Value, indices: Value, axis: usize, batch: usize) -> Built {
        self.single(operators::Gather { axis, batch }, &[data, indices])
    }

    /// `data` with updates: the slices that `gather` would pick are combined with the slices of `updates`.
    pub fn scatter(&mut self, [data, indices, updates]: [Value; 3], scatter: Scatter) -> Built {
        self.single(scatter, &[data, indices, updates])
    }

    /// Partial results of a reduction along an axis.
    pub fn scan(&mut self, input: Value, scan: Scan) -> Built {
        self.single(scan, &[input])
    }

    /// 0, 1, 2, … along an axis of a shape.
    pub fn iota(&mut self, shape: Vec<Extent>, axis: usize, element: ElementType) -> Built {
        self.single(operators::Iota { shape, axis, element }, &[])
    }

    /// An extent of a tensor as an index.
    pub fn extent_of(&mut self, input: Value, axis: usize) -> Built {
        self.single(operators::ExtentOf { axis }, &[input])
    }

    /// Makes an extent of a parameter one that is known when the program runs, within an interval; gives its index.
    pub fn measure(&mut self, param: Value, axis: usize, interval: Interval) -> Value {
        let inst = self.function.append(operators::ExtentOf { axis }, vec![param], vec![Type::Index(interval)], None);
        let index = self.function.insts[inst].results[0];
        if let Type::Tensor(ty) = &mut self.function.values[param].ty {
            ty.shape[axis] = Extent::Value(index);
        }
        index
    }

    /// An index number.
    pub fn index_constant(&mut self, value: i64) -> Built {
        self.single(operators::IndexConstant { value }, &[])
    }

    /// Arithmetic on two index values.
    pub fn index_binary(&mut self, operation: IndexOperation, left: Value, right: Value) -> Built {
        self.single(operators::IndexBinary { operation }, &[left, right])
    }

    /// The index in a one-element integer tensor; a value outside the interval is an error when the program runs.
    pub fn index_load(&mut self, input: Value, interval: Interval) -> Built {
        self.single(operators::IndexLoad { interval }, &[input])
    }

    /// A zero-dimensional integer tensor holding an index.
    pub fn index_tensor(&mut self, index: Value, element: ElementType) -> Built {
        self.single(operators::IndexTensor { element }, &[index])
    }

    /// One of two functions called on the operands after the first, which is the condition.
    pub fn if_else(&mut self, operands: &[Value], then: Func, otherwise: Func) -> Result<Vec<Value>, TypeError> {
        self.inst(operators::If { then, otherwise }, operands)
    }

    /// The body applied to the operands as long as the condition on them is true.
    pub fn while_loop(&mut self, operands: &[Value], condition: Func, body: Func) -> Result<Vec<Value>, TypeError> {
        self.inst(operators::While { condition, body }, operands)
    }

    /// A function called on the operands.
    pub fn call(&mut self, operands: &[Value], function: Func) -> Result<Vec<Value>, TypeError> {
        self.inst(operators::Call { function }, operands)
    }

    /// The effect token after reading a state, and its contents.
    pub fn load_state(&mut self, effect: Value, state: State) -> Result<[Value; 2], TypeError> {
        let results = self.inst(operators::LoadState { state }, &[effect])?;
        Ok([results[0], results[1]])
    }

    /// New contents of a state; the effect token after writing it.
    pub fn store_state(&mut self, effect: Value, value: Value, state: State) -> Built {
        self.single(operators::StoreState { state }, &[effect, value])
    }

    /// A function of the application on whole tensors.
    pub fn external(&mut self, operands: &[Value], external: External) -> Result<Vec<Value>, TypeError> {
        self.inst(external, operands)
    }

    /// An instruction as another one, on other operands.
    pub fn repeat(&mut self, inst: &InstData, operands: &[Value]) -> Result<Vec<Value>, TypeError> {
        self.inst(inst.operation.clone(), operands)
    }

    /// Ends the function and adds it to the module.
    pub fn finish(mut self, results: Vec<Value>) -> Func {
        self.function.results = results;
        self.module.functions.push(self.function)
    }

    /// Ends the function and adds it with a method that calls it, whose ports have no names.
    pub fn finish_method(mut self, name: impl Into<String>, results: Vec<Value>) -> Func {
        let ports = |values: &[Value]| vec![Port::default(); values.len()];
        let (inputs, outputs) = (ports(&self.function.params), ports(&results));
        self.function.results = results;
        let function = self.module.functions.push(self.function);
        self.module.methods.push(Method { name: name.into(), function, inputs, outputs });
        function
    }
}
