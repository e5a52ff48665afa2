//! Operators in TFLite models made here, in the interpreter and compiled.

mod made;
mod support;

use made::{Made, Number, options};
use modelc::frontend::{Bound, LoadOptions, Reference};
use modelc::ir::interpret::Interpreter;
use modelc::ir::{ElementType, Module, Tensor};
use modelc::jit::Jit;
use modelc::lower::Options;
use modelc::schema::tflite::{BuiltinOperator, TensorType};
use modelc::{passes, pipeline, target};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::bless::Blessing;

fn load(model: Vec<u8>) -> Result<Module, String> {
    load_bounded(model, &[])
}

/// Loads a module in which dimension `d` of input `i` is dynamic with bound `n`, for each `(i, d, n)`.
fn load_bounded(model: Vec<u8>, open: &[(usize, usize, u64)]) -> Result<Module, String> {
    let bound = |&(port, dimension, most): &(usize, usize, u64)| Bound { is_output: false, port, dimension, most };
    let options = LoadOptions { bounds: open.iter().map(bound).collect(), ..LoadOptions::default() };
    let module = modelc::frontend::load(Arc::new(model), "made.tflite", &options).map_err(|error| error.to_string())?;
    modelc::ir::verify::verify(&module).map_err(|error| format!("verifier: {error}"))?;
    Ok(module)
}

/// Compiles a module with the JIT.
fn compiled(module: &mut Module) -> Jit {
    passes::run_all(module);
    let machine = target::host_machine().expect("the host has a machine description");
    let options = Options::new(machine);
    let lowered = pipeline::lower(module, "model", options).unwrap_or_else(|error| panic!("{error}"));
    Jit::new(&lowered.program, machine).unwrap_or_else(|error| panic!("{error}"))
}

fn tensor_f32(shape: &[u64], numbers: impl IntoIterator<Item = f32>) -> Tensor {
    Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes: numbers.into_iter().flat_map(f32::to_le_bytes).collect() }
}

fn tensor_i32(numbers: &[i32]) -> Tensor {
    let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    Tensor { element: ElementType::I32, shape: vec![numbers.len() as u64], bytes }
}

/// Makes SLICE of a 4 × 5 matrix with positions and sizes from the caller.
fn slice() -> Vec<u8> {
    let mut model = Made::default();
    let matrix = model.tensor(TensorType::FLOAT32, &[4, 5]);
    let [begin, size] = [0, 1].map(|_| model.tensor(TensorType::INT32, &[2]));
    let result = model.tensor(TensorType::FLOAT32, &[1, 1]);
    model.built_in(BuiltinOperator::SLICE, &[matrix, begin, size], &[result]);
    model.finish(&[matrix, begin, size], &[result])
}

#[test]
fn a_size_of_minus_one_is_the_rest_also_when_it_is_read() {
    let mut module = load(slice()).expect("the slice is sound");
    let matrix = tensor_f32(&[4, 5], (0..20u8).map(f32::from));
    let whole = load(slice()).expect("the slice is sound");
    let jit = compiled(&mut module);
    let cases = [
        ([1, 2], [2, 3], Some([2, 3])),
        ([1, 2], [-1, -1], Some([3, 3])),
        ([0, 4], [4, -1], Some([4, 1])),
        ([3, 0], [-1, 2], Some([1, 2])),
        ([2, 5], [1, -1], Some([1, 0])),
        ([1, 2], [-2, 1], None),
        ([1, 2], [4, 1], None),
        ([5, 0], [-1, 1], None),
        ([-1, 0], [1, 1], None),
        ([1, 2], [i32::MAX, 1], None),
    ];
    for (begin, size, shape) in cases {
        let inputs = [matrix.clone(), tensor_i32(&begin), tensor_i32(&size)];
        let interpreted = Interpreter::new(&whole).run(0, &inputs).ok();
        let called = jit.instance().and_then(|mut instance| instance.call_tensors(0, &inputs)).ok();
        let expected = shape.map(|[rows, columns]: [u64; 2]| {
            let row = |y: u64| (0..columns).map(move |x| ((begin[0] as u64 + y) * 5 + begin[1] as u64 + x) as f32);
            vec![tensor_f32(&[rows, columns], (0..rows).flat_map(row))]
        });
        assert_eq!(interpreted, expected, "interpreter, {size:?} from {begin:?}");
        assert_eq!(called, expected, "compiled, {size:?} from {begin:?}");
    }
}

/// Returns the result of a model with dynamic dimensions, which the interpreter and the JIT agree on.
fn answer(model: &[u8], open: &[(usize, usize, u64)], inputs: &[Tensor]) -> Tensor {
    computed(load_bounded(model.to_vec(), open).expect("the model is sound"), inputs)
}

/// Returns the result of a module, which the interpreter and the JIT agree on.
fn computed(mut module: Module, inputs: &[Tensor]) -> Tensor {
    let interpreted = Interpreter::new(&module).run(0, inputs).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = compiled(&mut module).instance().expect("an instance");
    let called = instance.call_tensors(0, inputs).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(called, interpreted);
    interpreted.into_iter().next().expect("a result")
}

#[test]
fn slices_are_gathered_from_as_many_rows_as_there_are() {
    let mut model = Made::default();
    let (table, indices) = (model.tensor(TensorType::FLOAT32, &[1, 3, 2]), model.tensor(TensorType::INT32, &[2, 2]));
    let result = model.tensor(TensorType::FLOAT32, &[2, 2]);
    model.built_in(BuiltinOperator::GATHER_ND, &[table, indices], &[result]);
    let model = model.finish(&[table, indices], &[result]);
    let places = Tensor { shape: vec![2, 2], ..tensor_i32(&[1, 2, 0, 1]) };
    for rows in [2, 5] {
        let table = tensor_f32(&[rows, 3, 2], (0..6 * rows as u8).map(f32::from));
        assert_eq!(answer(&model, &[(0, 0, 5)], &[table, places.clone()]), tensor_f32(&[2, 2], [10.0, 11.0, 2.0, 3.0]));
    }
}

#[test]
fn operands_of_one_shape_have_open_extents() {
    let sum_of = |shapes: &[&[i32]]| {
        let mut model = Made::default();
        let operands: Vec<i32> = shapes.iter().map(|shape| model.tensor(TensorType::FLOAT32, shape)).collect();
        let result = model.tensor(TensorType::FLOAT32, shapes[0]);
        model.built_in(BuiltinOperator::ADD_N, &operands, &[result]);
        model.finish(&operands, &[result])
    };
    let model = sum_of(&[&[5], &[5], &[5]]);
    for count in [2, 4] {
        let row = tensor_f32(&[count], (0..count as u8).map(f32::from));
        let expected = tensor_f32(&[count], (0..count as u8).map(|i| 3.0 * f32::from(i)));
        assert_eq!(answer(&model, &[(0, 0, 6), (1, 0, 6), (2, 0, 6)], &vec![row; 3]), expected);
    }
    // Extents that must be equal have the smallest of their bounds.
    let open = [(0, 0, 6), (1, 0, 4), (2, 0, 5)];
    let rows = |count: u64| vec![tensor_f32(&[count], (0..count as u8).map(f32::from)); 3];
    assert_eq!(answer(&model, &open, &rows(4)), tensor_f32(&[4], [0.0, 3.0, 6.0, 9.0]));
    let mut module = load_bounded(model.clone(), &open).expect("the model is sound");
    assert!(Interpreter::new(&module).run(0, &rows(5)).is_err());
    let mut instance = compiled(&mut module).instance().expect("an instance");
    assert!(instance.call_tensors(0, &rows(5)).is_err());
    let error = load_bounded(model, &[(0, 0, 6), (2, 0, 6)]).unwrap_err();
    assert!(error.contains("would always have to be 5"), "{error}");
    let error = load(sum_of(&[&[5], &[4]])).unwrap_err();
    assert!(error.contains("the operands must have one shape"), "{error}");
}

#[test]
fn a_box_is_written_into_as_many_rows_as_there_are() {
    let mut model = Made::default();
    let (table, update) = (model.tensor(TensorType::FLOAT32, &[4, 2]), model.tensor(TensorType::FLOAT32, &[1, 2]));
    let start = model.tensor(TensorType::INT32, &[2]);
    let result = model.tensor(TensorType::FLOAT32, &[4, 2]);
    model.built_in(BuiltinOperator::DYNAMIC_UPDATE_SLICE, &[table, update, start], &[result]);
    let model = model.finish(&[table, update, start], &[result]);
    for (rows, from, place) in [(3, 1, 1), (3, 9, 2), (4, -5, 0)] {
        let numbers: Vec<f32> = (0..2 * rows as u8).map(f32::from).collect();
        let mut expected = numbers.clone();
        expected[2 * place..2 * place + 2].copy_from_slice(&[-1.0, -2.0]);
        let inputs = [tensor_f32(&[rows, 2], numbers), tensor_f32(&[1, 2], [-1.0, -2.0]), tensor_i32(&[from, 0])];
        assert_eq!(answer(&model, &[(0, 0, 6)], &inputs), tensor_f32(&[rows, 2], expected), "{rows} rows, from {from}");
    }
    // A box whose extent may exceed the tensor's.
    let open = [(0, 0, 4), (1, 0, 3)];
    let start = tensor_i32(&[1, 0]);
    let boxed = |rows: u64, count: u64| {
        [tensor_f32(&[rows, 2], vec![0.0; 2 * rows as usize]), tensor_f32(&[count, 2], vec![1.0; 2 * count as usize])]
    };
    let [table, update] = boxed(3, 2);
    let expected = tensor_f32(&[3, 2], [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(answer(&model, &open, &[table, update, start.clone()]), expected);
    let [table, update] = boxed(2, 3);
    let mut module = load_bounded(model, &open).expect("the model is sound");
    assert!(Interpreter::new(&module).run(0, &[table.clone(), update.clone(), start.clone()]).is_err());
    let mut instance = compiled(&mut module).instance().expect("an instance");
    assert!(instance.call_tensors(0, &[table, update, start]).is_err());
}

/// Makes packed integers of some width, partly negative if they are signed.
fn tensor_packed(element: ElementType, shape: &[u64], step: u64) -> (Tensor, Vec<i8>) {
    let bits = element.bits();
    let number = |i: u64| {
        let low = (i * step) as u8 & ((1 << bits) - 1);
        if element.is_signed_integer() { (low << (8 - bits)) as i8 >> (8 - bits) } else { low as i8 }
    };
    let numbers: Vec<i8> = (0..shape.iter().product()).map(number).collect();
    let bytes: Vec<u8> = numbers.iter().map(|&n| n as u8).collect();
    (Tensor { element, shape: shape.to_vec(), bytes: modelc::ir::packed::pack(element, &bytes) }, numbers)
}

#[test]
fn ports_of_packed_integers_have_dynamic_dimensions() {
    let types = [(TensorType::INT2, ElementType::I2), (TensorType::INT4, ElementType::I4), (TensorType::UINT4, ElementType::U4)];
    for (ty, element) in types {
        let mut model = Made::default();
        let (given, axis) = (model.tensor(ty, &[4, 5]), model.constant(TensorType::INT32, &[1], 1i32.to_le_bytes().to_vec()));
        let (turned, floats) = (model.tensor(ty, &[4, 5]), model.tensor(TensorType::FLOAT32, &[4, 5]));
        model.built_in(BuiltinOperator::REVERSE_V2, &[given, axis], &[turned]);
        model.built_in(BuiltinOperator::CAST, &[given], &[floats]);
        let [packed, plain] = [turned, floats].map(|result| model.finish(&[given], &[result]));
        // 13 × 31 integers end within a byte.
        for shape in [[1, 1], [3, 7], [13, 31], [5, 2], [40, 32]] {
            let (input, numbers) = tensor_packed(element, &shape, 7);
            let expected = tensor_f32(&shape, numbers.iter().map(|&n| f32::from(n)));
            assert_eq!(answer(&plain, &[(0, 0, 40), (0, 1, 32)], std::slice::from_ref(&input)), expected, "{element} {shape:?}");
            let reversed = numbers.chunks(shape[1] as usize).flat_map(|row| row.iter().rev()).map(|&n| n as u8).collect::<Vec<u8>>();
            let expected = Tensor { bytes: modelc::ir::packed::pack(element, &reversed), ..input.clone() };
            assert_eq!(answer(&packed, &[(0, 0, 40), (0, 1, 32)], &[input]), expected, "{element} {shape:?}");
        }
    }
}

#[test]
fn the_place_of_the_largest_of_nothing_is_an_error_of_the_call() {
    let mut model = Made::default();
    let (table, mask) = (model.tensor(TensorType::FLOAT32, &[3, 2]), model.tensor(TensorType::BOOL, &[3]));
    let places = model.tensor(TensorType::INT64, &[1, 1]);
    model.built_in(BuiltinOperator::WHERE, &[mask], &[places]);
    let chosen = model.tensor(TensorType::FLOAT32, &[1, 2]);
    model.built_in(BuiltinOperator::GATHER_ND, &[table, places], &[chosen]);
    let axis = model.constant(TensorType::INT32, &[1], 0i32.to_le_bytes().to_vec());
    let result = model.tensor(TensorType::INT64, &[2]);
    model.built_in(BuiltinOperator::ARG_MAX, &[chosen, axis], &[result]);
    let model = model.finish(&[table, mask], &[result]);
    let table = tensor_f32(&[3, 2], [1.0, 5.0, 4.0, 0.0, 2.0, 3.0]);
    let mask = |bytes: [u8; 3]| Tensor { element: ElementType::Bool, shape: vec![3], bytes: bytes.to_vec() };
    let places = |list: [i64; 2]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let found = answer(&model, &[], &[table.clone(), mask([1, 0, 1])]);
    assert_eq!(found.bytes, places([1, 0]));
    let mut module = load(model).expect("the model is sound");
    assert!(Interpreter::new(&module).run(0, &[table.clone(), mask([0; 3])]).is_err());
    let mut instance = compiled(&mut module).instance().expect("an instance");
    assert!(instance.call_tensors(0, &[table, mask([0; 3])]).is_err());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/signal")
}

/// `MODELC_BLESS=1` rewrites the files; `record.py` beside them then records the outputs of TFLite Micro.
#[test]
fn models_of_signal_operators_are_those_that_were_recorded() {
    let mut blessing = Blessing::default();
    for (name, model) in made::signal::models() {
        blessing.bytes(&folder().join(&name).with_extension("tflite"), &model);
    }
    blessing.finish();
}

/// The outputs of TFLite Micro, bit for bit for integers.
#[test]
fn signal_operators_answer_as_recorded() {
    let mut failures = Vec::new();
    for (name, _) in made::signal::models() {
        let path = folder().join(&name).with_extension("tflite");
        if let Err(error) = answers(&path) {
            failures.push(format!("{name}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

/// Checks all recorded calls: the interpreter against the record, and the JIT against the interpreter, twice from the initial state.
fn answers(path: &Path) -> Result<(), String> {
    let mut module = support::load(path).map_err(|error| error.to_string())?;
    modelc::ir::verify::verify(&module).map_err(|error| format!("verifier: {error}"))?;
    let runs = support::interpreted(path, &module)?;
    support::check_runs(path, &module, &runs, 1e-6)?;
    let jit = compiled(&mut module);
    let mut instance = jit.instance().map_err(|error| error.to_string())?;
    for _ in 0..2 {
        for (call, run) in runs.iter().enumerate() {
            let outputs = instance.call_tensors(run.method, &run.arguments).map_err(|error| error.to_string())?;
            for (index, (found, expected)) in outputs.iter().zip(&run.outputs).enumerate() {
                support::compare(found, expected, 1e-6).map_err(|error| format!("output {index} of call {call}, compiled: {error}"))?;
            }
        }
        instance.reset().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Returns the error for one operator.
fn refused(name: &str, entries: &[(&str, Number)], inputs: &[(TensorType, &[i32])], outputs: &[(TensorType, &[i32])]) -> String {
    let mut model = Made::default();
    let mut tensors = |list: &[(TensorType, &[i32])]| -> Vec<i32> { list.iter().map(|(ty, shape)| model.tensor(*ty, shape)).collect() };
    let (inputs, outputs) = (tensors(inputs), tensors(outputs));
    model.custom(name, options(entries), &inputs, &outputs);
    load(model.finish(&inputs, &outputs)).expect_err("an operator that is not sound")
}

#[test]
fn options_that_cannot_be_are_errors_that_name_the_operator() {
    use Number::{Bool, Int};
    let i16 = TensorType::INT16;
    let frames: [(TensorType, &[i32]); 2] = [(i16, &[1, 2, 5]), (TensorType::BOOL, &[])];
    let cases = [
        (refused("SignalDelay", &[("delay", Int(1))], &[(i16, &[4])], &[(i16, &[4])]), "`delay_length` of the operator is missing"),
        (refused("SignalDelay", &[("delay_length", Int(-1))], &[(i16, &[4])], &[(i16, &[4])]), "out of range"),
        (
            refused("SignalRfft", &[("T", Int(7)), ("fft_length", Int(7))], &[(i16, &[4])], &[(i16, &[8])]),
            "the length of the transform must be even",
        ),
        (refused("SignalRfft", &[("T", Int(2)), ("fft_length", Int(8))], &[(i16, &[4])], &[(i16, &[10])]), "another type than its input's"),
        (refused("SignalRfft", &[("T", Int(7)), ("fft_length", Int(8))], &[(i16, &[9])], &[(i16, &[10])]), "longer than the transform"),
        (
            refused("SignalRfft", &[("T", Int(7)), ("fft_length", Int(28))], &[(i16, &[9])], &[(i16, &[30])]),
            "other prime factors than 2, 3 and 5",
        ),
        (
            refused(
                "SignalFramer",
                &[("frame_size", Int(5)), ("frame_step", Int(3)), ("prefill", Bool(false))],
                &[(i16, &[1, 8])],
                &frames,
            ),
            "not a multiple of the step",
        ),
        (
            refused("SignalEnergy", &[("start_index", Int(0)), ("end_index", Int(5))], &[(i16, &[8])], &[(TensorType::UINT32, &[4])]),
            "`end_index` of the operator is out of range",
        ),
        (refused("SignalWindow", &[("shift", Int(12))], &[(i16, &[8]), (i16, &[3])], &[(i16, &[8])]), "not a multiple of the window"),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected) && error.contains("CUSTOM:Signal"), "{expected:?}: {error}");
    }
}

/// Makes a fully connected layer of int8 with one weight, 1, and the scales 0.5 × 0.25 and 1. So the factor is 1/8.
fn eighths() -> Vec<u8> {
    use modelc::schema::tflite::*;
    let mut b = flatbuffers::FlatBufferBuilder::new();
    let empty = Buffer::create(&mut b, &BufferArgs::default());
    let data = b.create_vector(&[1u8]);
    let weights = Buffer::create(&mut b, &BufferArgs { data: Some(data), ..Default::default() });
    let mut tensor = |name: &str, shape: &[i32], buffer: u32, scale: f32| {
        let (scale, zero_point) = (b.create_vector(&[scale]), b.create_vector(&[0i64]));
        let quantization = QuantizationParametersArgs { scale: Some(scale), zero_point: Some(zero_point), ..Default::default() };
        let quantization = QuantizationParameters::create(&mut b, &quantization);
        let (name, shape) = (b.create_string(name), b.create_vector(shape));
        let (name, shape, quantization) = (Some(name), Some(shape), Some(quantization));
        Tensor::create(&mut b, &TensorArgs { name, shape, buffer, quantization, type_: TensorType::INT8, ..Default::default() })
    };
    let tensors = [tensor("x", &[256, 1], 0, 0.5), tensor("weights", &[1, 1], 1, 0.25), tensor("y", &[256, 1], 0, 1.0)];
    let options = FullyConnectedOptions::create(&mut b, &FullyConnectedOptionsArgs::default());
    let operator = OperatorArgs {
        inputs: Some(b.create_vector(&[0, 1, -1])),
        outputs: Some(b.create_vector(&[2])),
        builtin_options_type: BuiltinOptions::FullyConnectedOptions,
        builtin_options: Some(options.as_union_value()),
        ..Default::default()
    };
    let operator = Operator::create(&mut b, &operator);
    let code = OperatorCode::create(&mut b, &OperatorCodeArgs { builtin_code: BuiltinOperator::FULLY_CONNECTED, ..Default::default() });
    let subgraph = SubGraphArgs {
        tensors: Some(b.create_vector(&tensors)),
        inputs: Some(b.create_vector(&[0])),
        outputs: Some(b.create_vector(&[2])),
        operators: Some(b.create_vector(&[operator])),
        ..Default::default()
    };
    let subgraph = SubGraph::create(&mut b, &subgraph);
    let model = ModelArgs {
        version: 3,
        operator_codes: Some(b.create_vector(&[code])),
        subgraphs: Some(b.create_vector(&[subgraph])),
        buffers: Some(b.create_vector(&[empty, weights])),
        ..Default::default()
    };
    let model = Model::create(&mut b, &model);
    finish_model_buffer(&mut b, model);
    b.finished_data().to_vec()
}

/// LiteRT rounds x / 8 once. TFLite Micro rounds half of x first, and then a quarter of that: 11 becomes 6, and then 2 instead of 1.
#[test]
fn fully_connected_layers_round_as_the_reference_does() {
    let half_away = |number: f64| number.abs().mul_add(1.0, 0.5).floor().copysign(number) as i8;
    let twice = |x: i8| {
        // The doubling high product adds half of its unit, so halves go up.
        let half = (i32::from(x) + 1).div_euclid(2);
        half_away(f64::from(half) / 4.0)
    };
    let inputs: Vec<i8> = (-128..=127).collect();
    let litert: Vec<u8> = inputs.iter().map(|&x| half_away(f64::from(x) / 8.0) as u8).collect();
    let tflm: Vec<u8> = inputs.iter().map(|&x| twice(x) as u8).collect();
    assert_eq!((litert[128 + 11], tflm[128 + 11]), (1, 2));
    for (reference, expected) in [(Reference::Litert, litert), (Reference::Tflm, tflm)] {
        let options = LoadOptions { reference, ..LoadOptions::default() };
        let module = modelc::frontend::load(Arc::new(eighths()), "made.tflite", &options).unwrap();
        let x = Tensor { element: ElementType::I8, shape: vec![256, 1], bytes: inputs.iter().map(|&x| x as u8).collect() };
        let output = computed(module, &[x]);
        assert_eq!(output.bytes, expected, "{reference:?}");
    }
}
