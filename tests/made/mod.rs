//! TFLite models written by tests, operator by operator.

#![allow(dead_code, reason = "each test file uses a part of it")]

mod flexbuffer;
pub mod signal;

pub use flexbuffer::{Number, options};

use flatbuffers::FlatBufferBuilder;
use modelc::schema::tflite::{
    Buffer, BufferArgs, BuiltinOperator, Metadata, MetadataArgs, Model, ModelArgs, Operator, OperatorArgs, OperatorCode, OperatorCodeArgs,
    SubGraph, SubGraphArgs, Tensor, TensorArgs, TensorType, finish_model_buffer,
};

/// A tensor: its type, its shape, and its contents if it is a constant.
struct Record {
    element: TensorType,
    shape: Vec<i32>,
    data: Vec<u8>,
}

/// An operator: its code, its name if it is a custom one, its tensors and its options.
struct Step {
    code: BuiltinOperator,
    name: String,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
    options: Vec<u8>,
}

/// A model of one subgraph under construction. Tensors are identified by number.
#[derive(Default)]
pub struct Made {
    tensors: Vec<Record>,
    steps: Vec<Step>,
    /// An entry of the model's metadata: its name and its buffer.
    metadata: Option<(String, Vec<u8>)>,
}

impl Made {
    /// Makes a model with an entry of metadata.
    pub fn with_metadata(name: &str, bytes: Vec<u8>) -> Self {
        Self { metadata: Some((name.to_owned(), bytes)), ..Self::default() }
    }

    /// Adds a tensor that is computed, or provided by the caller.
    pub fn tensor(&mut self, element: TensorType, shape: &[i32]) -> i32 {
        self.constant(element, shape, vec![])
    }

    /// Adds a constant of little-endian bytes.
    pub fn constant(&mut self, element: TensorType, shape: &[i32], data: Vec<u8>) -> i32 {
        self.tensors.push(Record { element, shape: shape.to_vec(), data });
        self.tensors.len() as i32 - 1
    }

    /// Adds a constant list of 16-bit integers.
    pub fn constant_i16(&mut self, numbers: &[i16]) -> i32 {
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.constant(TensorType::INT16, &[numbers.len() as i32], bytes)
    }

    /// Adds a built-in operator without options.
    pub fn built_in(&mut self, code: BuiltinOperator, inputs: &[i32], outputs: &[i32]) {
        self.steps.push(Step { code, name: String::new(), inputs: inputs.to_vec(), outputs: outputs.to_vec(), options: vec![] });
    }

    /// Adds a custom operator.
    pub fn custom(&mut self, name: &str, options: Vec<u8>, inputs: &[i32], outputs: &[i32]) {
        let step = Step { code: BuiltinOperator::CUSTOM, name: name.into(), inputs: inputs.to_vec(), outputs: outputs.to_vec(), options };
        self.steps.push(step);
    }

    /// Returns the file of the model with these inputs and outputs.
    pub fn finish(&self, inputs: &[i32], outputs: &[i32]) -> Vec<u8> {
        let mut b = FlatBufferBuilder::new();
        let mut buffers = vec![Buffer::create(&mut b, &BufferArgs::default())];
        let mut tensors = Vec::new();
        for (number, record) in self.tensors.iter().enumerate() {
            let (shape, name) = (b.create_vector(&record.shape), b.create_string(&format!("t{number}")));
            let buffer = if record.data.is_empty() { 0 } else { buffers.len() as u32 };
            if buffer > 0 {
                let data = b.create_vector(&record.data);
                buffers.push(Buffer::create(&mut b, &BufferArgs { data: Some(data), ..Default::default() }));
            }
            let arguments = TensorArgs { shape: Some(shape), type_: record.element, buffer, name: Some(name), ..Default::default() };
            tensors.push(Tensor::create(&mut b, &arguments));
        }
        let (mut codes, mut operators) = (Vec::new(), Vec::new());
        for (opcode_index, step) in (0..).zip(&self.steps) {
            let custom_code = (!step.name.is_empty()).then(|| b.create_string(&step.name));
            let deprecated_builtin_code = i8::try_from(step.code.0).unwrap_or(127);
            let arguments = OperatorCodeArgs { builtin_code: step.code, deprecated_builtin_code, custom_code, ..Default::default() };
            codes.push(OperatorCode::create(&mut b, &arguments));
            let (read, written) = (b.create_vector(&step.inputs), b.create_vector(&step.outputs));
            let custom_options = (!step.options.is_empty()).then(|| b.create_vector(&step.options));
            let arguments = OperatorArgs { opcode_index, inputs: Some(read), outputs: Some(written), custom_options, ..Default::default() };
            operators.push(Operator::create(&mut b, &arguments));
        }
        let (tensors, operators) = (Some(b.create_vector(&tensors)), Some(b.create_vector(&operators)));
        let (inputs, outputs) = (Some(b.create_vector(inputs)), Some(b.create_vector(outputs)));
        let graph = SubGraph::create(&mut b, &SubGraphArgs { tensors, inputs, outputs, operators, ..Default::default() });
        let (operator_codes, subgraphs) = (Some(b.create_vector(&codes)), Some(b.create_vector(&[graph])));
        let metadata = self.metadata.as_ref().map(|(name, bytes)| {
            let (name, data) = (Some(b.create_string(name)), Some(b.create_vector(bytes)));
            buffers.push(Buffer::create(&mut b, &BufferArgs { data, ..Default::default() }));
            let entry = Metadata::create(&mut b, &MetadataArgs { name, buffer: buffers.len() as u32 - 1 });
            b.create_vector(&[entry])
        });
        let buffers = Some(b.create_vector(&buffers));
        let root = Model::create(&mut b, &ModelArgs { version: 3, operator_codes, subgraphs, buffers, metadata, ..Default::default() });
        finish_model_buffer(&mut b, root);
        b.finished_data().to_vec()
    }
}
