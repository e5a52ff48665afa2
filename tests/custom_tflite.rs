//! Custom operators of TFLite files, each in a model made here, with inputs whose results follow from the operator's definition.

use flatbuffers::FlatBufferBuilder;
use modelc::frontend::{LoadOptions, load};
use modelc::ir::interpret::Interpreter;
use modelc::ir::{ElementType, Tensor};
use modelc::schema::tflite::{
    Buffer, BufferArgs, BuiltinOperator, Model, ModelArgs, Operator, OperatorArgs, OperatorCode, OperatorCodeArgs, SubGraph, SubGraphArgs,
    Tensor as Record, TensorArgs, TensorType, finish_model_buffer,
};
use std::sync::Arc;

/// Makes a model of one custom operator with binary32 tensors, whose inputs are the model's.
fn model(name: &str, options: &[u8], inputs: &[&[i32]], outputs: &[&[i32]]) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let mut tensors = Vec::new();
    for shape in inputs.iter().chain(outputs) {
        let shape = b.create_vector(shape);
        tensors.push(Record::create(&mut b, &TensorArgs { shape: Some(shape), type_: TensorType::FLOAT32, ..Default::default() }));
    }
    let numbers: Vec<i32> = (0..tensors.len() as i32).collect();
    let (read, written) = (b.create_vector(&numbers[..inputs.len()]), b.create_vector(&numbers[inputs.len()..]));
    let options = b.create_vector(options);
    let arguments = OperatorArgs { inputs: Some(read), outputs: Some(written), custom_options: Some(options), ..Default::default() };
    let operator = Operator::create(&mut b, &arguments);
    let (tensors, operators) = (b.create_vector(&tensors), b.create_vector(&[operator]));
    let arguments = SubGraphArgs {
        tensors: Some(tensors),
        inputs: Some(read),
        outputs: Some(written),
        operators: Some(operators),
        ..Default::default()
    };
    let graph = SubGraph::create(&mut b, &arguments);
    let custom_code = Some(b.create_string(name));
    let code = OperatorCode::create(&mut b, &OperatorCodeArgs { builtin_code: BuiltinOperator::CUSTOM, custom_code, ..Default::default() });
    let buffer = Buffer::create(&mut b, &BufferArgs::default());
    let (codes, graphs, buffers) = (b.create_vector(&[code]), b.create_vector(&[graph]), b.create_vector(&[buffer]));
    let arguments =
        ModelArgs { version: 3, operator_codes: Some(codes), subgraphs: Some(graphs), buffers: Some(buffers), ..Default::default() };
    let root = Model::create(&mut b, &arguments);
    finish_model_buffer(&mut b, root);
    b.finished_data().to_vec()
}

fn run(model: Vec<u8>, inputs: &[(&[u64], &[f32])]) -> Vec<Vec<f32>> {
    let module = load(Arc::new(model), "custom.tflite", &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    modelc::ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let tensor = |&(shape, numbers): &(&[u64], &[f32])| Tensor {
        element: ElementType::F32,
        shape: shape.to_vec(),
        bytes: numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    let inputs: Vec<Tensor> = inputs.iter().map(tensor).collect();
    let outputs = Interpreter::new(&module).run(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let numbers = |tensor: &Tensor| tensor.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    outputs.iter().map(numbers).collect()
}

/// Makes the structure of pooling parameters: padding (1 same, 2 valid), strides and window (width, height), activation.
fn pooling(numbers: [i32; 6]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[test]
fn unpooling_puts_back_what_pooling_took() {
    let image = [1.0, 5.0, 2.0, 0.0, 3.0, 4.0, 8.0, 7.0, 0.0, 0.0, -1.0, -2.0, 9.0, 0.0, -3.0, -4.0];
    let pool = model("MaxPoolingWithArgmax2D", &pooling([2, 2, 2, 2, 2, 0]), &[&[1, 4, 4, 1]], &[&[1, 2, 2, 1], &[1, 2, 2, 1]]);
    let pooled = run(pool, &[(&[1, 4, 4, 1], &image)]);
    assert_eq!(pooled, [[5.0, 8.0, 9.0, -1.0], [1.1, 2.1, 2.1, 0.1]]);
    let unpool = model("MaxUnpooling2D", &pooling([2, 2, 2, 2, 2, 0]), &[&[1, 2, 2, 1], &[1, 2, 2, 1]], &[&[1, 4, 4, 1]]);
    let shape: &[u64] = &[1, 2, 2, 1];
    let unpooled = run(unpool, &[(shape, &pooled[0]), (shape, &pooled[1])]);
    let expected = [0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, -1.0, 0.0, 9.0, 0.0, 0.0, 0.0];
    assert_eq!(unpooled, [expected]);
}

#[test]
fn positions_outside_the_image_are_left_out() {
    let unpool = model("MaxUnpooling2D", &pooling([2, 2, 2, 2, 2, 0]), &[&[1, 1, 1, 1], &[1, 1, 1, 1]], &[&[1, 2, 2, 1]]);
    let shape: &[u64] = &[1, 1, 1, 1];
    for place in [4.1, 1e9, f32::NEG_INFINITY, -1.0] {
        assert_eq!(run(unpool.clone(), &[(shape, &[7.0]), (shape, &[place])]), [[0.0; 4]], "{place}");
    }
}

/// Options as the format's own library writes them: at most 3 detections of 1 class each, 5 of a class, 2 classes. The score threshold is 0.3, the
/// overlap threshold 0.5, the scales are 10, 10, 5, 5. `use_regular_nms` is false.
const DETECTION: &str = "6d61785f646574656374696f6e73006d61785f636c61737365735f7065725f646574656374696f6e00646574656374696f6e735f7065725f636c617373007573655f726567756c61725f6e6d73006e6d735f73636f72655f7468726573686f6c64006e6d735f696f755f7468726573686f6c64006e756d5f636c617373657300795f7363616c6500785f7363616c6500685f7363616c6500775f7363616c65000b781294a44358336a11222b000000000f0000000000000001000000000000000b000000000000000500000000000000000000000000144001000000000000000300000000000000000000000000e03f333333333333d33f02000000000000000000000000000000000000000000144000000000000024400000000000002440070f07070f0f076b0f0f0f632701";

fn detections(regular: bool) -> Vec<Vec<f32>> {
    let mut options: Vec<u8> =
        (0..DETECTION.len()).step_by(2).map(|i| u8::from_str_radix(&DETECTION[i..i + 2], 16).expect("two digits")).collect();
    // Values are in the order of their names, 8 bytes each, before 11 types and 3 bytes; this is the eighth.
    let values = options.len() - 3 - 11 - 11 * 8;
    options[values + 7 * 8] = u8::from(regular);
    let outputs: [&[i32]; 4] = [&[1, 3, 4], &[1, 3], &[1, 3], &[1]];
    let bytes = model("TFLite_Detection_PostProcess", &options, &[&[1, 3, 4], &[1, 3, 3], &[3, 4]], &outputs);
    // Encodings of zero give the anchors themselves: two that overlap by 0.81, and a separate one.
    let anchors = [0.5, 0.5, 1.0, 1.0, 0.5, 0.5, 0.9, 0.9, 2.0, 2.0, 1.0, 1.0];
    // Scores of background and two classes for each anchor.
    let scores = [0.0, 0.9, 0.1, 0.0, 0.8, 0.3, 0.0, 0.2, 0.7];
    run(bytes, &[(&[1, 3, 4], &[0.0; 12]), (&[1, 3, 3], &scores), (&[3, 4], &anchors)])
}

#[test]
fn the_best_class_of_each_box_decides() {
    let [boxes, classes, scores, count] = &detections(false)[..] else { panic!("four outputs") };
    assert_eq!(boxes[..8], [0.0, 0.0, 1.0, 1.0, 1.5, 1.5, 2.5, 2.5]);
    assert_eq!(boxes[8..], [0.0; 4]);
    assert_eq!((classes, scores, count), (&vec![0.0, 1.0, 0.0], &vec![0.9, 0.7, 0.0], &vec![2.0]));
}

#[test]
fn classes_are_suppressed_by_themselves() {
    let [boxes, classes, scores, count] = &detections(true)[..] else { panic!("four outputs") };
    assert_eq!(boxes[..8], [0.0, 0.0, 1.0, 1.0, 1.5, 1.5, 2.5, 2.5]);
    // A score that equals the threshold is kept.
    assert_eq!((classes, scores, count), (&vec![0.0, 1.0, 1.0], &vec![0.9, 0.7, 0.3], &vec![3.0]));
}
