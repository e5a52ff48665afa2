//! Messages for TFLite models with a single error each: they are made here, so that everything else is valid.

#[path = "support/bless.rs"]
mod bless;

use flatbuffers::FlatBufferBuilder;
use modelc::frontend::{LoadOptions, load};
use modelc::schema::tflite::{
    Buffer, BufferArgs, BuiltinOperator, BuiltinOptions, Conv2DOptions, Conv2DOptionsArgs, Model, ModelArgs, Operator, OperatorArgs,
    OperatorCode, OperatorCodeArgs, QuantizationParameters, QuantizationParametersArgs, SubGraph, SubGraphArgs, Tensor, TensorArgs,
    TensorType, finish_model_buffer,
};
use std::fmt::Write;
use std::sync::Arc;

#[derive(Clone)]
struct TensorPlan {
    name: &'static str,
    shape: Vec<i32>,
    ty: TensorType,
    data: Option<usize>,
    buffer: Option<u32>,
    scales: Vec<f32>,
    zero_points: Vec<i64>,
    axis: i32,
}

#[derive(Clone)]
struct OperatorPlan {
    code: u32,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
    strides: [i32; 2],
    dilation: i32,
    options: bool,
}

/// A model with one int8 convolution, 4×4 pixels of 2 channels to 3 channels, then a RELU.
#[derive(Clone)]
struct Plan {
    version: u32,
    codes: Vec<(BuiltinOperator, Option<&'static str>)>,
    tensors: Vec<TensorPlan>,
    operators: Vec<OperatorPlan>,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
}

fn tensor(name: &'static str, shape: &[i32], ty: TensorType, data: Option<usize>, scales: &[f32]) -> TensorPlan {
    let zero_points = vec![0; scales.len()];
    TensorPlan { name, shape: shape.to_vec(), ty, data, buffer: None, scales: scales.to_vec(), zero_points, axis: 0 }
}

fn sound() -> Plan {
    let convolution = OperatorPlan { code: 0, inputs: vec![0, 1, 2], outputs: vec![3], strides: [1, 1], dilation: 1, options: true };
    let relu = OperatorPlan { code: 1, inputs: vec![3], outputs: vec![4], strides: [1, 1], dilation: 1, options: false };
    Plan {
        version: 3,
        codes: vec![(BuiltinOperator::CONV_2D, None), (BuiltinOperator::RELU, None)],
        tensors: vec![
            tensor("image", &[1, 4, 4, 2], TensorType::INT8, None, &[0.5]),
            tensor("filter", &[3, 2, 2, 2], TensorType::INT8, Some(24), &[0.1, 0.2, 0.3]),
            tensor("bias", &[3], TensorType::INT32, Some(12), &[0.05, 0.1, 0.15]),
            tensor("features", &[1, 4, 4, 3], TensorType::INT8, None, &[0.25]),
            tensor("result", &[1, 4, 4, 3], TensorType::INT8, None, &[0.25]),
        ],
        operators: vec![convolution, relu],
        inputs: vec![0],
        outputs: vec![4],
    }
}

impl Plan {
    fn bytes(&self) -> Vec<u8> {
        let mut b = FlatBufferBuilder::new();
        let mut buffers = vec![Buffer::create(&mut b, &BufferArgs::default())];
        let mut tensors = Vec::new();
        for plan in &self.tensors {
            let buffer = plan.data.map_or(0, |_| buffers.len() as u32);
            if let Some(length) = plan.data {
                let data = b.create_vector(&vec![1u8; length]);
                buffers.push(Buffer::create(&mut b, &BufferArgs { data: Some(data), ..Default::default() }));
            }
            let (scale, zero_point) = (b.create_vector(&plan.scales), b.create_vector(&plan.zero_points));
            let arguments = QuantizationParametersArgs {
                scale: Some(scale),
                zero_point: Some(zero_point),
                quantized_dimension: plan.axis,
                ..Default::default()
            };
            let quantization = QuantizationParameters::create(&mut b, &arguments);
            let (name, shape) = (b.create_string(plan.name), b.create_vector(&plan.shape));
            let arguments = TensorArgs {
                shape: Some(shape),
                type_: plan.ty,
                buffer: plan.buffer.unwrap_or(buffer),
                name: Some(name),
                quantization: Some(quantization),
                ..Default::default()
            };
            tensors.push(Tensor::create(&mut b, &arguments));
        }
        let operators: Vec<_> = self.operators.iter().map(|plan| plan.write(&mut b)).collect();
        let mut codes = Vec::new();
        for (code, custom) in &self.codes {
            let custom_code = custom.map(|name| b.create_string(name));
            codes.push(OperatorCode::create(&mut b, &OperatorCodeArgs { builtin_code: *code, custom_code, ..Default::default() }));
        }
        let arguments = SubGraphArgs {
            tensors: Some(b.create_vector(&tensors)),
            inputs: Some(b.create_vector(&self.inputs)),
            outputs: Some(b.create_vector(&self.outputs)),
            operators: Some(b.create_vector(&operators)),
            name: Some(b.create_string("main")),
            ..Default::default()
        };
        let subgraph = SubGraph::create(&mut b, &arguments);
        let arguments = ModelArgs {
            version: self.version,
            operator_codes: Some(b.create_vector(&codes)),
            subgraphs: Some(b.create_vector(&[subgraph])),
            buffers: Some(b.create_vector(&buffers)),
            ..Default::default()
        };
        let model = Model::create(&mut b, &arguments);
        finish_model_buffer(&mut b, model);
        b.finished_data().to_vec()
    }
}

impl OperatorPlan {
    fn write<'a>(&self, b: &mut FlatBufferBuilder<'a>) -> flatbuffers::WIPOffset<Operator<'a>> {
        let arguments = Conv2DOptionsArgs {
            stride_h: self.strides[0],
            stride_w: self.strides[1],
            dilation_h_factor: self.dilation,
            dilation_w_factor: self.dilation,
            ..Default::default()
        };
        let options = self.options.then(|| Conv2DOptions::create(b, &arguments).as_union_value());
        let arguments = OperatorArgs {
            opcode_index: self.code,
            inputs: Some(b.create_vector(&self.inputs)),
            outputs: Some(b.create_vector(&self.outputs)),
            builtin_options_type: if self.options { BuiltinOptions::Conv2DOptions } else { BuiltinOptions::NONE },
            builtin_options: options,
            ..Default::default()
        };
        Operator::create(b, &arguments)
    }
}

fn message(bytes: Vec<u8>) -> String {
    match load(Arc::new(bytes), "net.tflite", &LoadOptions::default()) {
        Ok(_) => "loads".into(),
        Err(diagnostics) => diagnostics.to_string(),
    }
}

type Change = fn(&mut Plan);

/// Errors by name, each with a function that introduces it.
const CASES: &[(&str, Change)] = &[
    ("nothing", |_| {}),
    ("a schema version to come", |p| p.version = 4),
    ("a negative dimension", |p| p.tensors[0].shape[1] = -4),
    ("a shape beyond memory", |p| p.tensors[0].shape = vec![i32::MAX; 4]),
    ("too many dimensions", |p| p.tensors[0].shape = vec![1; 17]),
    ("weights shorter than their shape", |p| p.tensors[1].data = Some(20)),
    ("packed weights shorter than their shape", |p| (p.tensors[1].ty, p.tensors[1].data) = (TensorType::INT2, Some(5))),
    ("packed weights of a type that the operator does not take", |p| (p.tensors[1].ty, p.tensors[1].data) = (TensorType::UINT4, Some(12))),
    ("a zero point outside a packed type", |p| {
        (p.tensors[1].ty, p.tensors[1].scales, p.tensors[1].zero_points) = (TensorType::INT2, vec![0.1], vec![2]);
    }),
    ("a buffer that is not there", |p| p.tensors[1].buffer = Some(9)),
    ("a scale that is no number", |p| p.tensors[0].scales = vec![f32::NAN]),
    ("a negative scale", |p| p.tensors[1].scales[2] = -0.3),
    ("a scale of zero", |p| p.tensors[3].scales = vec![0.0]),
    ("as many scales as no dimension has", |p| (p.tensors[1].scales, p.tensors[1].zero_points) = (vec![0.1; 2], vec![0; 2])),
    ("scales along another dimension", |p| {
        (p.tensors[1].scales, p.tensors[1].zero_points) = (vec![0.1; 2], vec![0; 2]);
        p.tensors[1].axis = 3;
    }),
    ("fewer zero points than scales", |p| p.tensors[1].zero_points = vec![0; 2]),
    ("a zero point outside the type", |p| p.tensors[0].zero_points = vec![200]),
    ("a zero point of int8 weights", |p| (p.tensors[1].scales, p.tensors[1].zero_points) = (vec![0.1], vec![3])),
    ("no quantization", |p| (p.tensors[3].scales, p.tensors[3].zero_points) = (vec![], vec![])),
    ("a stride of zero", |p| p.operators[0].strides = [0, 1]),
    ("a negative dilation", |p| p.operators[0].dilation = -2),
    ("options missing", |p| p.operators[0].options = false),
    ("an empty window", |p| p.tensors[1].shape = vec![3, 0, 2, 2]),
    ("channels that do not divide", |p| p.tensors[0].shape[3] = 3),
    ("three dimensions for an image", |p| p.tensors[0].shape = vec![4, 4, 2]),
    ("a bias of another length", |p| (p.tensors[2].shape, p.tensors[2].scales, p.tensors[2].zero_points) = (vec![2], vec![], vec![])),
    ("a bias of another type", |p| {
        (p.tensors[2].ty, p.tensors[2].scales, p.tensors[2].zero_points) = (TensorType::FLOAT32, vec![], vec![])
    }),
    ("types that do not go together", |p| (p.tensors[0].ty, p.tensors[0].zero_points) = (TensorType::UINT8, vec![0])),
    ("an input missing", |p| p.operators[0].inputs = vec![-1, 1, 2]),
    ("too few inputs", |p| p.operators[0].inputs = vec![0]),
    ("a tensor index out of range", |p| p.operators[0].inputs[0] = 40),
    ("an operator code out of range", |p| p.operators[1].code = 7),
    ("a tensor read before it is written", |p| p.operators.reverse()),
    ("a tensor written twice", |p| p.operators[1].outputs = vec![3]),
    ("a constant written", |p| p.operators[1].outputs = vec![1]),
    ("an input written", |p| p.operators[1].outputs = vec![0]),
    ("an input given twice", |p| p.inputs = vec![0, 0]),
    ("an output that nothing writes", |p| p.operators.truncate(1)),
    ("unsupported operators, all of them at once", |p| {
        p.codes[0] = (BuiltinOperator::CUSTOM, Some("Mystery"));
        p.codes[1].0 = BuiltinOperator::HASHTABLE;
    }),
    ("the same unsupported operator at several places", |p| {
        p.codes[1].0 = BuiltinOperator::HASHTABLE;
        let mut again = p.operators[1].clone();
        p.tensors.push(p.tensors[4].clone());
        again.outputs = vec![5];
        p.operators.push(again);
    }),
    ("an operator from the future", |p| p.codes[1].0 = BuiltinOperator(100_000)),
    ("a type that is not compiled", |p| p.tensors[4].ty = TensorType::STRING),
    ("another type than is computed", |p| p.tensors[4].ty = TensorType::INT16),
];

/// Returns the standard error and the exit status of a command, in a folder with an invalid model.
fn said(folder: &std::path::Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_modelc")).args(arguments).current_dir(folder).output();
    let output = output.expect("the compiler can be run");
    (String::from_utf8(output.stderr).expect("messages are text"), output.status.code())
}

#[test]
fn every_command_tells_its_diagnostics_as_json() {
    let folder = std::env::temp_dir().join(format!("modelc-diagnostics-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let mut plan = sound();
    plan.codes[1].0 = BuiltinOperator::HASHTABLE;
    std::fs::write(folder.join("unsupported.tflite"), plan.bytes()).expect("a file can be written");
    std::fs::write(folder.join("invalid.tflite"), b"no model at all").expect("a file can be written");
    let mut text = String::new();
    for model in ["unsupported.tflite", "invalid.tflite", "missing.tflite"] {
        for command in [&["run"][..], &["bench"], &["verify"], &["inspect"], &["-o", "net.o"]] {
            let arguments = [command, &[model, "--message-format", "json"]].concat();
            let (stderr, status) = said(&folder, &arguments);
            for line in stderr.lines() {
                let json: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(json["schema"], "modelc.diagnostic/1", "{line}");
            }
            writeln!(text, "## {}\n{status:?}\n{stderr}", arguments.join(" ")).expect("a string takes any text");
        }
    }
    let wrong = ["run", "unsupported.tflite", "--message-format=json", "--no-such-option"];
    let (stderr, status) = said(&folder, &wrong);
    writeln!(text, "## {}\n{status:?}\n{stderr}", wrong.join(" ")).expect("a string takes any text");
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    bless::text("tests/snapshots/diagnostics_as_json.txt", &text);
}

#[test]
fn messages_name_what_and_where() {
    let mut text = String::new();
    for (what, change) in CASES {
        let mut plan = sound();
        change(&mut plan);
        writeln!(text, "## {what}\n{}\n", message(plan.bytes())).expect("a string takes any text");
    }
    let whole = sound().bytes();
    let mut renamed = whole.clone();
    renamed[4..8].copy_from_slice(b"TFL2");
    for (what, bytes) in [("an empty file", vec![]), ("half a file", whole[..whole.len() / 2].to_vec()), ("another identifier", renamed)] {
        writeln!(text, "## {what}\n{}\n", message(bytes)).expect("a string takes any text");
    }
    bless::text("tests/snapshots/messages.txt", &text);
}

/// `inspect` prints everything that is known without compiling, and then the errors of compiling.
#[test]
fn inspect_lists_every_operator_of_a_model_that_does_not_compile() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut plan = sound();
    plan.codes[1].0 = BuiltinOperator::HASHTABLE;
    std::fs::write(folder.path().join("m.tflite"), plan.bytes()).expect("a file can be written");
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_modelc")).args(arguments).current_dir(folder.path()).output();
        let output = output.expect("the compiler can be run");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("MC0401"), "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = run(&["inspect", "m.tflite"]);
    for line in ["CONV_2D       1  yes", "HASHTABLE     1  no", "  in0  \"image\"", "  out0  \"result\""] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&run(&["inspect", "m.tflite", "--json"])).expect("JSON");
    assert_eq!(json["operators"][1], serde_json::json!({ "name": "HASHTABLE", "count": 1, "compiles": false, "failing": 1 }));
    assert_eq!(json["operators"][0]["compiles"], true);
}
