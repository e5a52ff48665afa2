//! The view of one operator during lowering: its operands, results and options, and the builder.

use super::error::{invalid, unsupported};
use super::subgraph::{Lowering, Slot};
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::given::value_option;
use crate::ir::{ElementType, Expression, Extent, FunctionBuilder, Scalar, Value};
use crate::operators::Graph;
pub(super) use crate::operators::extents;
pub(super) use crate::operators::quantization::Affine;
use crate::schema::tflite as schema;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// The result of lowering an operator.
pub(super) type Lowered = Result<(), Diagnostic>;

/// Turns one operator into instructions.
pub(super) type Lower = fn(&mut Operator<'_, '_, '_>) -> Lowered;

/// An operand: its value, the file's description, and its actual shape.
#[derive(Clone)]
pub(super) struct Operand {
    /// The SSA value.
    pub value: Value,
    /// The file's description; its shape may be out of date.
    pub info: Rc<TensorInfo>,
    /// The actual shape, with the bounds of run-time extents.
    pub shape: Vec<u64>,
    /// The actual extents.
    pub extents: Vec<Extent>,
}

impl Operand {
    /// Type of the elements.
    pub fn element(&self) -> ElementType {
        self.info.element
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements; shapes of values never overflow.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// One operator of a subgraph on its way into the tensor language.
pub(super) struct Operator<'l, 'a, 'm> {
    pub(super) lowering: &'l mut Lowering<'a, 'm>,
    /// The operator in the file, for its options.
    pub record: schema::Operator<'a>,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) outputs: Vec<usize>,
}

impl<'a, 'm> Operator<'_, 'a, 'm> {
    /// The function being built.
    pub fn graph(&mut self) -> &mut Graph<'m> {
        &mut self.lowering.graph
    }

    /// The builder of the function.
    pub fn builder(&mut self) -> &mut FunctionBuilder<'m> {
        &mut self.lowering.graph.builder
    }

    /// The number of operands, including missing ones.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// Number of results.
    pub fn output_count(&self) -> usize {
        self.outputs.len()
    }

    /// Checks the number of operands and results.
    pub fn arity(&self, inputs: RangeInclusive<usize>, outputs: RangeInclusive<usize>) -> Result<(), Diagnostic> {
        for (what, allowed, found) in [("inputs", inputs, self.inputs.len()), ("outputs", outputs, self.outputs.len())] {
            if !allowed.contains(&found) {
                let range = if allowed.start() == allowed.end() {
                    allowed.start().to_string()
                } else {
                    format!("{} to {}", allowed.start(), allowed.end())
                };
                return Err(
                    invalid(codes::OPERAND_COUNT, format!("the operator has a wrong number of {what}")).expected(range, found.to_string())
                );
            }
        }
        Ok(())
    }

    /// Operand number `index`, which must be there and have a known shape.
    pub fn input(&mut self, index: usize) -> Result<Operand, Diagnostic> {
        let found = self.optional_input(index)?;
        found.ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("input {index} is missing")))
    }

    /// Operand number `index`, if it is there; it must have a known shape.
    pub fn optional_input(&mut self, index: usize) -> Result<Option<Operand>, Diagnostic> {
        let Some(operand) = self.any_optional_input(index)? else { return Ok(None) };
        self.require_known(&operand, 0)?;
        Ok(Some(operand))
    }

    /// The file's description of any tensor of the subgraph.
    pub fn tensor(&self, index: usize) -> Result<Rc<TensorInfo>, Diagnostic> {
        let count = self.lowering.subgraph.tensors.len();
        if index >= count {
            return Err(
                invalid(codes::TENSOR_INDEX, "a tensor index is out of range").expected(format!("below {count}"), index.to_string())
            );
        }
        self.lowering.info(index)
    }

    /// The file's description of result number `index`.
    pub fn output(&self, index: usize) -> Result<Rc<TensorInfo>, Diagnostic> {
        let tensor = self.outputs.get(index).ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("output {index} is missing")))?;
        self.lowering.info(*tensor)
    }

    /// Sets result number `index`. The value's element type must be the one that the file declares, or hold one packed integer each.
    pub fn bind(&mut self, index: usize, value: Value) -> Lowered {
        let info = self.output(index)?;
        let element = self.lowering.graph.builder.tensor(value).element;
        if ![info.element, info.element.unpacked()].contains(&element) {
            let message = "the result's type is not the one that the operator computes";
            return Err(invalid(codes::ELEMENT_TYPE, message).about_tensor(&info.name).expected(element.name(), info.element.name()));
        }
        self.lowering.write(self.outputs[index], value);
        Ok(())
    }

    /// Makes result number `index` the handle of a variable.
    pub fn bind_variable(&mut self, index: usize, variable: usize) {
        if let Some(&tensor) = self.outputs.get(index) {
            self.lowering.write_variable(tensor, variable);
        }
    }

    /// The variable that operand number `index` is a handle of.
    pub fn variable(&self, index: usize) -> Result<usize, Diagnostic> {
        let tensor =
            self.inputs.get(index).copied().flatten().ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("input {index} is missing")))?;
        self.lowering.variable(tensor).ok_or_else(|| invalid(codes::VARIABLE, format!("input {index} is not a variable handle")))
    }

    /// The contents of the operands from number `first` on: values, or handles of variables.
    pub fn slots(&mut self, first: usize) -> Result<Vec<Slot>, Diagnostic> {
        let operands = self.inputs.get(first..).unwrap_or_default().to_vec();
        let mut slots = Vec::new();
        for (index, tensor) in operands.into_iter().enumerate() {
            let tensor = tensor.ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("input {} is missing", first + index)))?;
            slots.push(match self.lowering.variable(tensor) {
                Some(variable) => Slot::Variable(variable),
                None => Slot::Value(self.lowering.read(tensor)?),
            });
        }
        Ok(slots)
    }

    /// Sets the contents of all results.
    pub fn bind_slots(&mut self, slots: &[Slot]) -> Lowered {
        self.arity(0..=usize::MAX, slots.len()..=slots.len())?;
        for (index, slot) in slots.iter().enumerate() {
            match *slot {
                Slot::Value(value) => self.bind(index, value)?,
                Slot::Variable(variable) => self.bind_variable(index, variable),
                Slot::Unwritten | Slot::Poisoned => return Err(invalid(codes::OPERAND_COUNT, "a result has no contents")),
            }
        }
        Ok(())
    }

    /// Marks the results as depending on an operator that could not be lowered.
    pub fn poison(&mut self) {
        for &tensor in &self.outputs {
            self.lowering.slots[tensor] = Slot::Poisoned;
        }
    }

    /// The static shape of a value.
    pub fn shape(&self, value: Value) -> Result<Vec<u64>, Diagnostic> {
        Ok(self.lowering.graph.shape(value)?)
    }

    /// Appends an element-wise expression.
    pub fn map(&mut self, operands: &[Value], expression: Expression) -> Result<Value, Diagnostic> {
        Ok(self.graph().map(operands, expression)?)
    }

    /// Appends a change of shape, unless it changes nothing.
    pub fn reshape(&mut self, value: Value, shape: &[u64]) -> Result<Value, Diagnostic> {
        Ok(self.graph().reshape(value, &extents(shape))?)
    }

    /// A constant made by the compiler.
    pub fn constant(&mut self, element: ElementType, shape: &[u64], bytes: Vec<u8>) -> Result<Value, Diagnostic> {
        Ok(self.graph().constant(element, shape, bytes)?)
    }

    /// A constant of 32-bit integers.
    pub fn constant_i32(&mut self, shape: &[u64], values: &[i32]) -> Result<Value, Diagnostic> {
        Ok(self.graph().constant_i32(shape, values)?)
    }

    /// A constant of binary32.
    pub fn constant_f32(&mut self, shape: &[u64], values: &[f32]) -> Result<Value, Diagnostic> {
        Ok(self.graph().constant_f32(shape, values)?)
    }

    /// The bytes of an operand that is a constant.
    pub fn constant_bytes(&self, operand: &Operand) -> Option<&[u8]> {
        self.lowering.graph.known(operand.value)
    }

    /// The bytes of an operand that depends on constants only, however it is computed.
    pub fn evaluated(&mut self, operand: &Operand) -> Option<&[u8]> {
        self.lowering.graph.evaluated(operand.value)
    }

    /// The number of an operand of one element that depends on constants only.
    pub fn number(&mut self, operand: &Operand) -> Option<Scalar> {
        let bytes = self.evaluated(operand).filter(|bytes| operand.elements() == 1 && bytes.len() <= 8)?;
        Some(Scalar::from_bytes(operand.element(), bytes))
    }

    /// The error for an operand whose numbers must be known.
    pub fn unknown(&mut self, operand: &Operand, what: &str) -> Diagnostic {
        let error = unsupported(format!("{what} that are computed when the model runs are not supported"));
        let error = error.about_tensor(&operand.info.name);
        match self.value_help(operand) {
            Some(help) => error.help(help),
            None => error,
        }
    }

    /// Notes that an operand's numbers must be known. Returns advice how to give them, if they depend on inputs.
    pub fn value_help(&mut self, operand: &Operand) -> Option<String> {
        match self.lowering.ask(operand.value)[..] {
            [] => None,
            [input] => Some(format!("give its value with {}", value_option(input))),
            ref inputs => {
                let options: Vec<String> = inputs.iter().map(|&input| value_option(input)).collect();
                Some(format!("give the values that it is computed from with {}", options.join(" ")))
            }
        }
    }

    /// The integers of an operand that must be a constant of i16, i32 or i64, or computed from constants.
    pub fn integers(&mut self, operand: &Operand, what: &str) -> Result<Vec<i64>, Diagnostic> {
        let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&operand.info.name);
        if self.evaluated(operand).is_none() {
            return Err(self.unknown(operand, what));
        }
        let bytes = self.evaluated(operand).unwrap_or_default();
        match operand.element() {
            ElementType::I16 => Ok(bytes.chunks_exact(2).map(|b| i64::from(i16::from_le_bytes([b[0], b[1]]))).collect()),
            ElementType::I32 => Ok(bytes.chunks_exact(4).map(|b| i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()),
            ElementType::I64 => {
                Ok(bytes.chunks_exact(8).map(|b| i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])).collect())
            }
            other => Err(at(invalid(codes::ELEMENT_TYPE, format!("{what} must be integers")).expected("i16, i32 or i64", other.name()))),
        }
    }

    /// The one scale and zero point of a tensor.
    pub fn affine(&self, info: &TensorInfo) -> Result<Affine, Diagnostic> {
        let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&info.name);
        let Some(quantization) = &info.quantization else {
            return Err(at(
                invalid(codes::QUANTIZATION_MISSING, "the tensor has no quantization").expected("a scale and a zero point", "none")
            ));
        };
        if quantization.scales.len() != 1 {
            let found = format!("{} scales", quantization.scales.len());
            return Err(at(unsupported("a scale for each channel is not supported here").expected("one scale", found)));
        }
        let scale = quantization.scales[0];
        if scale <= 0.0 {
            return Err(at(invalid(codes::SCALE, "a quantization scale is not a positive number").expected("above 0", scale.to_string())));
        }
        // The zero point was checked against the element's range; only 64-bit tensors could exceed 32 bits.
        let zero_point =
            i32::try_from(quantization.zero_points[0]).map_err(|_| at(invalid(codes::ZERO_POINT, "a zero point does not fit 32 bits")))?;
        Ok(Affine { scale, zero_point })
    }

    /// The error for operand or result types that the operator is not compiled for.
    pub fn type_error(&self, operands: &[ElementType]) -> Diagnostic {
        let types: Vec<_> = operands.iter().map(|element| element.name()).collect();
        unsupported(format!("the operator is not supported on these types: {}", types.join(", ")))
    }

    /// A dimension number, counted from the end when negative.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Diagnostic> {
        let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        let found = usize::try_from(counted).ok().filter(|&a| a < rank);
        found.ok_or_else(|| {
            invalid(codes::AXIS, "an axis is out of range").expected(format!("-{rank} to {}", rank as i64 - 1), axis.to_string())
        })
    }
}
