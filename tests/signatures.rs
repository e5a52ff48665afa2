//! A TFLite file with several signatures: methods that share variables, through the command line and from C.

use flatbuffers::{FlatBufferBuilder, WIPOffset};
use modelc::ir::{ElementType, Tensor};
use modelc::npz::Archive;
use modelc::schema::tflite::{
    Buffer, BufferArgs, BuiltinOperator, BuiltinOptions, Model, ModelArgs, Operator, OperatorArgs, OperatorCode, OperatorCodeArgs,
    SignatureDef, SignatureDefArgs, SubGraph, SubGraphArgs, Tensor as Record, TensorArgs, TensorMap, TensorMapArgs, TensorType,
    VarHandleOptions, VarHandleOptionsArgs, finish_model_buffer,
};
use modelc::{Settings, compile};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

/// The operators of the file, by position.
const CODES: [BuiltinOperator; 5] = [
    BuiltinOperator::ADD,
    BuiltinOperator::MUL,
    BuiltinOperator::VAR_HANDLE,
    BuiltinOperator::READ_VARIABLE,
    BuiltinOperator::ASSIGN_VARIABLE,
];
/// The signatures, and the subgraph of each. The second and the third share a subgraph.
const SIGNATURES: [(&str, u32); 3] = [("push back", 0), ("peek", 1), ("init", 1)];

/// An operator: index of its code, inputs, outputs.
type Step<'a> = (u32, &'a [i32], &'a [i32]);

/// Makes a subgraph with input 1 and the tensors 0 (a handle) and 1 to 3 (four floats each).
fn subgraph<'a>(b: &mut FlatBufferBuilder<'a>, output: i32, steps: &[Step<'_>]) -> WIPOffset<SubGraph<'a>> {
    let mut tensors = Vec::new();
    for (name, shape, type_) in [
        ("handle", &[][..], TensorType::RESOURCE),
        ("given", &[4], TensorType::FLOAT32),
        ("inner", &[4], TensorType::FLOAT32),
        ("result", &[4], TensorType::FLOAT32),
    ] {
        let (shape, name) = (b.create_vector::<i32>(shape), b.create_string(name));
        tensors.push(Record::create(b, &TensorArgs { shape: Some(shape), name: Some(name), type_, ..Default::default() }));
    }
    let mut operators = Vec::new();
    for &(opcode_index, inputs, outputs) in steps {
        let (inputs, outputs) = (Some(b.create_vector(inputs)), Some(b.create_vector(outputs)));
        let mut arguments = OperatorArgs { opcode_index, inputs, outputs, ..Default::default() };
        if CODES[opcode_index as usize] == BuiltinOperator::VAR_HANDLE {
            let shared_name = Some(b.create_string("memory"));
            arguments.builtin_options_type = BuiltinOptions::VarHandleOptions;
            arguments.builtin_options =
                Some(VarHandleOptions::create(b, &VarHandleOptionsArgs { shared_name, ..Default::default() }).as_union_value());
        }
        operators.push(Operator::create(b, &arguments));
    }
    let (tensors, operators) = (Some(b.create_vector(&tensors)), Some(b.create_vector(&operators)));
    let (inputs, outputs) = (Some(b.create_vector(&[1])), Some(b.create_vector(&[output])));
    SubGraph::create(b, &SubGraphArgs { tensors, operators, inputs, outputs, ..Default::default() })
}

/// Makes a model. `push back` returns its input twice and keeps that; `peek` and `init` return the kept value times their input.
fn model() -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let push = subgraph(&mut b, 3, &[(0, &[1, 1], &[3]), (2, &[], &[0]), (4, &[0, 3], &[])]);
    let peek = subgraph(&mut b, 3, &[(2, &[], &[0]), (3, &[0], &[2]), (1, &[2, 1], &[3])]);
    let codes = CODES.map(|builtin_code| OperatorCode::create(&mut b, &OperatorCodeArgs { builtin_code, ..Default::default() }));
    let mut signatures = Vec::new();
    for (key, subgraph_index) in SIGNATURES {
        let mut map = |name: &str, tensor_index: u32| {
            let name = Some(b.create_string(name));
            let map = TensorMap::create(&mut b, &TensorMapArgs { name, tensor_index });
            Some(b.create_vector(&[map]))
        };
        let (inputs, outputs) = (map("argument", 1), map("answer", 3));
        let signature_key = Some(b.create_string(key));
        signatures.push(SignatureDef::create(&mut b, &SignatureDefArgs { inputs, outputs, signature_key, subgraph_index }));
    }
    let buffer = Buffer::create(&mut b, &BufferArgs::default());
    let arguments = ModelArgs {
        version: 3,
        operator_codes: Some(b.create_vector(&codes)),
        subgraphs: Some(b.create_vector(&[push, peek])),
        buffers: Some(b.create_vector(&[buffer])),
        signature_defs: Some(b.create_vector(&signatures)),
        ..Default::default()
    };
    let root = Model::create(&mut b, &arguments);
    finish_model_buffer(&mut b, root);
    b.finished_data().to_vec()
}

/// Method, input and output of each call, one after another.
const CALLS: [(&str, [f32; 4], [f32; 4]); 5] = [
    ("peek", [1.0, 2.0, 3.0, 4.0], [0.0; 4]),
    ("push back", [1.0, 2.0, 3.0, -4.0], [2.0, 4.0, 6.0, -8.0]),
    ("peek", [1.0, 10.0, 100.0, 3.0], [2.0, 40.0, 600.0, -24.0]),
    ("push back", [0.5, 0.25, 0.0, 1.0], [1.0, 0.5, 0.0, 2.0]),
    ("init", [1.0, 1.0, 1.0, 7.0], [1.0, 0.5, 0.0, 14.0]),
];

/// Makes an archive of the inputs, or of the outputs; with `named`, also of the methods.
fn archive(letters: &str, named: bool, numbers: impl Fn(usize) -> [f32; 4]) -> Vec<u8> {
    let mut archive = Archive::default();
    for (call, (method, _, _)) in CALLS.iter().enumerate() {
        let bytes = numbers(call).iter().flat_map(|x| x.to_le_bytes()).collect();
        archive.tensors.insert(format!("{letters}{call}_0"), Tensor { element: ElementType::F32, shape: vec![4], bytes });
        if named {
            archive.texts.insert(format!("method{call}"), (*method).into());
        }
    }
    archive.to_bytes().expect("an archive")
}

fn modelc(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_modelc")).current_dir(folder).args(arguments).output().expect("the command runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn calls_go_to_the_signature_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes).expect("a file");
    write("net.tflite", model());
    write("in.npz", archive("in", true, |call| CALLS[call].1));
    write("unnamed.npz", archive("in", false, |call| CALLS[call].1));
    write("out.npz", archive("out", false, |call| CALLS[call].2));
    write("wrong.npz", archive("out", false, |call| if call == 4 { [0.0; 4] } else { CALLS[call].2 }));
    let verify = |inputs: &str, expected: &str, more: &[&str]| {
        let output = modelc(folder.path(), &[&["verify", "net.tflite", "--inputs", inputs, "--expected", expected], more].concat());
        (output.status.code(), said(&output))
    };
    let (status, text) = verify("in.npz", "out.npz", &[]);
    assert_eq!((status, text.as_str()), (Some(0), "5 outputs of 5 calls agree\n"));
    assert_eq!(verify("in.npz", "out.npz", &["--bisect"]).0, Some(0));
    assert_eq!(verify("in.npz", "wrong.npz", &[]).0, Some(3), "another output of the last call is not noticed");
    assert_eq!(verify("unnamed.npz", "out.npz", &[]).0, Some(3), "without names every call is one of the first method");
    let calls = CALLS.map(|(method, _, _)| method).join(",");
    assert_eq!(verify("unnamed.npz", "out.npz", &["--calls", &calls]).0, Some(0), "names on the command line");

    let output = modelc(folder.path(), &["run", "net.tflite", "--inputs", "in.npz", "--outputs", "found.npz"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let found = Archive::read(&folder.path().join("found.npz")).expect("the outputs are an archive");
    for (call, (_, _, expected)) in CALLS.iter().enumerate() {
        let bytes: Vec<u8> = expected.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(found.output(call, 0).map(|tensor| &tensor.bytes), Some(&bytes), "call {call}");
    }
}

/// Every signature is a function. A name that is no identifier, or is taken, is changed to a free one.
#[test]
fn each_signature_is_a_function_in_c() {
    let compiled =
        compile::compile(&Settings::new().name("net"), Arc::new(model()), "net.tflite").unwrap_or_else(|error| panic!("{error}"));
    let header = &compiled.files.header;
    for text in [
        "int net_push_back(void *arena",
        "int net_peek(void *arena",
        "NET_PUSH_BACK_IN0_NAME \"argument\"",
        "NET_PEEK_OUT0_NAME \"answer\"",
    ] {
        assert!(header.contains(text), "{text} is not in\n{header}");
    }
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    compiled.write(folder.path().join("net.o")).unwrap_or_else(|error| panic!("{error}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link/signatures.c");
    let (object, program) = (folder.path().join("net.o"), folder.path().join("signatures"));
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]).arg(folder.path()).arg(source).arg(object);
    for command in [compile.arg("-o").arg(&program), &mut Command::new(&program)] {
        let output = command.output().expect("`cargo xtask setup` installs what the tests use");
        assert!(output.status.success(), "{command:?}: {}", said(&output));
    }
}
