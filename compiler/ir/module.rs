//! Modules, functions and instructions, held in dense maps of entities.

use super::allocation::ImportedPlan;
use super::data::Data;
use super::entities::{Constant, Func, Inst, Source, State, Value};
use super::operators::{Op, Operation};
use super::outline::Outline;
use super::port_notes::PortNotes;
use super::scalar::Scalar;
use super::source::SourceData;
use super::storage::{ConstantData, StateData};
use super::tensor::Tensor;
use super::types::{ElementType, Extent, Interval, Layout, TensorType, Type};
use super::value::{Definition, ValueData};
use cranelift_entity::PrimaryMap;

/// A model in the tensor language.
#[derive(Default, Debug)]
pub struct Module {
    /// The functions; a called function may stand before or after its caller.
    pub functions: PrimaryMap<Func, Function>,
    /// The constants.
    pub constants: PrimaryMap<Constant, ConstantData>,
    /// The variables of an instance.
    pub states: PrimaryMap<State, StateData>,
    /// The origins of instructions.
    pub sources: PrimaryMap<Source, SourceData>,
    /// The entry points that users call, in the order of the file.
    pub methods: Vec<Method>,
    /// Names of methods of the file that are left out, since they return only strings.
    pub left_out: Vec<String>,
    /// The graphs of the functions as the front end made them, before rewrites. The text form has none.
    pub outlines: Vec<Outline>,
    /// The memory plan that came with the file, if any.
    pub imported_plan: Option<ImportedPlan>,
    /// `true` if a file of weights may replace the constants' contents after compilation. Rewrites and schedules may then use types and shapes of
    /// constants, but no value that a retrained model may change.
    pub open_constants: bool,
}

/// An entry point: a function and how its parameters and results are presented to users.
#[derive(Clone, Debug)]
pub struct Method {
    /// The method or signature key, as the file spells it.
    pub name: String,
    /// The function. Its parameters are the inputs in order, then an effect token if it touches state. Its results are the outputs in order, then the
    /// effect token.
    pub function: Func,
    /// The inputs, in order.
    pub inputs: Vec<Port>,
    /// The outputs, in order.
    pub outputs: Vec<Port>,
}

/// One input or output of a method.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// The tensor's name in the file.
    pub name: String,
    /// The mapping of integers to real numbers, if there is one.
    pub quantization: Option<Quantization>,
    /// `true` if users pass a plain number (an ExecuTorch scalar argument) and not a buffer.
    pub scalar: bool,
    /// The order of the source's dimensions in the buffer that users pass. The parameter or result has the buffer's shape. Its dimension `i` is
    /// dimension `order[i]` of the source's tensor, whose order arrays in `.npz` files have, too.
    pub dim_order: Layout,
    /// The position among the source's inputs or outputs if it is not the port's own: a method may return None in between.
    pub source_index: Option<u32>,
    /// The bytes that an input must have in every call, if operators had to know its value. Nothing reads the parameter then.
    pub value: Option<Data>,
    /// Powers of two that divide the extents of the buffer's dimensions in every call. Empty if nothing is known of them.
    pub multiples: Vec<u64>,
    /// Further notes on the port.
    pub notes: PortNotes,
}

impl Port {
    /// Permutes a tensor of the source's shape to the buffer that the method takes. `None` if it has another rank.
    pub fn to_buffer(&self, tensor: &Tensor) -> Option<Tensor> {
        match self.dim_order.order() {
            Some(order) => tensor.permuted(&order.iter().map(|&d| usize::from(d)).collect::<Vec<_>>()),
            None => Some(tensor.clone()),
        }
    }

    /// Permutes a buffer that the method returned to a tensor of the source's shape. `None` if it has another rank.
    pub fn from_buffer(&self, buffer: &Tensor) -> Option<Tensor> {
        let Some(order) = self.dim_order.order() else { return Some(buffer.clone()) };
        let mut inverse = vec![0; order.len()];
        for (i, &d) in order.iter().enumerate() {
            inverse[usize::from(d)] = i;
        }
        buffer.permuted(&inverse)
    }

    /// The position among the source's inputs or outputs, for port number `index` of its method.
    pub fn position(&self, index: usize) -> usize {
        self.source_index.map_or(index, |position| position as usize)
    }
}

/// Affine quantization: `real = scale * (integer - zero_point)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// One scale, or one a slice of `axis`.
    pub scales: Vec<f32>,
    /// The zero points, as many as scales.
    pub zero_points: Vec<i64>,
    /// The dimension along which scales differ; unused with a single scale.
    pub axis: usize,
}

/// A function: straight-line SSA; control flow is instructions that name other functions.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Name, unique in the module.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Value>,
    /// Instructions in execution order.
    pub body: Vec<Inst>,
    /// Returned values.
    pub results: Vec<Value>,
    /// All instructions ever made; those not in `body` are dead.
    pub insts: PrimaryMap<Inst, InstData>,
    /// All values ever made.
    pub values: PrimaryMap<Value, ValueData>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    /// The operator with its fields.
    pub operation: Operation,
    /// Operand values.
    pub operands: Vec<Value>,
    /// Result values.
    pub results: Vec<Value>,
    /// The origin of the instruction.
    pub source: Option<Source>,
}

impl Function {
    /// The tensor type of a value that is known to be a tensor (verified code).
    ///
    /// # Panics
    /// When the value is an index or a token: a bug of the caller.
    pub fn tensor(&self, value: Value) -> &TensorType {
        self.values[value].ty.as_tensor().expect("value is a tensor")
    }

    /// The type that a value has in memory: an index is one `i64` there.
    ///
    /// # Panics
    /// When the value is a token: a bug of the caller.
    pub fn stored_type(&self, value: Value) -> &TensorType {
        const INDEX: &TensorType = &TensorType { element: ElementType::I64, shape: vec![], layout: Layout::ROW_MAJOR };
        match &self.values[value].ty {
            Type::Tensor(ty) => ty,
            Type::Index(_) => INDEX,
            Type::Effect => unreachable!("a token is nowhere in memory"),
        }
    }

    /// The instruction that defines a value, unless it is a parameter.
    pub fn defining_inst(&self, value: Value) -> Option<Inst> {
        match self.values[value].definition {
            Definition::Result(inst, _) => Some(inst),
            Definition::Param(_) => None,
        }
    }

    /// The interval of an extent.
    pub fn interval(&self, extent: Extent) -> Interval {
        match extent {
            Extent::Static(n) => Interval::exactly(i64::try_from(n).unwrap_or(i64::MAX)),
            Extent::Value(v) => match self.values[v].ty {
                Type::Index(interval) => interval,
                _ => Interval::UNBOUNDED,
            },
        }
    }

    /// The bytes that a tensor takes at its bound; `None` when unbounded or beyond 64 bits.
    pub fn bound_bytes(&self, ty: &TensorType) -> Option<u64> {
        let count = ty.shape.iter().try_fold(1u64, |product, &extent| {
            let interval = self.interval(extent);
            interval.is_bounded().then_some(())?;
            product.checked_mul(u64::try_from(interval.high).ok()?)
        })?;
        ty.element.bytes_for(count)
    }

    /// Tests whether an instruction widens bytes or halves of a tensor of several dimensions to floats. Such tensors are weights, which are stored
    /// narrow and widened where they are read. Biases and slopes have one dimension.
    pub fn widens_weights(&self, inst: Inst) -> bool {
        let data = &self.insts[inst];
        let ([operand, others @ ..], [result]) = (&data.operands[..], &data.results[..]) else { return false };
        let [Some(from), Some(to)] = [operand, result].map(|&value| self.values[value].ty.as_tensor()) else { return false };
        let is_narrow = match from.element {
            ElementType::F16 | ElementType::Bf16 => others.is_empty(),
            element => element.is_integer() && element.bits() <= 8,
        };
        let dimensions = from.shape.iter().filter(|&&extent| extent != Extent::Static(1)).count();
        data.op() == Op::Map && is_narrow && to.element == ElementType::F32 && dimensions > 1
    }

    /// Adds a parameter.
    pub fn add_param(&mut self, ty: Type, name: Option<String>) -> Value {
        let definition = Definition::Param(self.params.len() as u32);
        let value = self.values.push(ValueData { ty, definition, name });
        self.params.push(value);
        value
    }

    /// Adds an instruction with the given result types at the end of the body.
    pub fn append(&mut self, operation: impl Into<Operation>, operands: Vec<Value>, types: Vec<Type>, source: Option<Source>) -> Inst {
        let inst = self.insts.push(InstData { operation: operation.into(), operands, results: Vec::new(), source });
        let results = types
            .into_iter()
            .enumerate()
            .map(|(i, ty)| self.values.push(ValueData { ty, definition: Definition::Result(inst, i as u32), name: None }))
            .collect();
        self.insts[inst].results = results;
        self.body.push(inst);
        inst
    }

    /// Every value that an instruction reads: operands, and index values in the fields of its operator.
    pub fn uses(&self, inst: Inst) -> impl Iterator<Item = Value> + '_ {
        let data = &self.insts[inst];
        data.operands.iter().copied().chain(data.operation.index_values())
    }
}

impl Module {
    /// Adds a constant. The caller guarantees that `data` has `ty.static_bytes()` bytes.
    pub fn add_constant(&mut self, ty: TensorType, data: Data) -> Constant {
        debug_assert_eq!(ty.static_bytes(), Some(data.len() as u64));
        self.constants.push(ConstantData { ty, data })
    }

    /// Adds a one-element constant of shape `[]`.
    pub fn add_scalar(&mut self, value: Scalar) -> Constant {
        let ty = TensorType::of(value.element(), &[]);
        self.add_constant(ty, value.to_bytes().into())
    }

    /// Tests whether some of the module's operators are for a GPU.
    pub fn is_for_gpu(&self) -> bool {
        self.sources.values().any(|source| source.gpu)
    }

    /// The element type of a constant.
    pub fn constant_element(&self, constant: Constant) -> ElementType {
        self.constants[constant].ty.element
    }
}
