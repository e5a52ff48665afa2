//! Results of the interpreter against hand-computed ones. Whole models are compared elsewhere.

use super::{InterpretError, Interpreter};
use crate::*;

fn tensor_f32(shape: &[u64], values: &[f32]) -> Tensor {
    Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
}

fn tensor_i32(shape: &[u64], values: &[i32]) -> Tensor {
    Tensor { element: ElementType::I32, shape: shape.to_vec(), bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
}

fn tensor_i8(shape: &[u64], values: &[i8]) -> Tensor {
    Tensor { element: ElementType::I8, shape: shape.to_vec(), bytes: values.iter().map(|&x| x as u8).collect() }
}

fn tensor_type(element: ElementType, shape: &[u64]) -> Type {
    Type::Tensor(TensorType::of(element, shape))
}

fn method(module: &mut Module, function: Func) {
    module.methods.push(Method { name: "main".into(), function, inputs: vec![], outputs: vec![] });
}

#[test]
fn convolution_leaves_padded_taps_out_and_subtracts_zero_points() {
    let mut module = Module::default();
    let mut b = FunctionBuilder::new(&mut module, "main");
    let x = b.param(tensor_type(ElementType::I8, &[1, 2, 2, 1]), None);
    let w = b.param(tensor_type(ElementType::I8, &[1, 3, 3, 1]), None);
    let geometry = WindowGeometry {
        strides: vec![1, 1],
        dilation: vec![1, 1],
        padding_low: vec![1, 1],
        padding_high: vec![1, 1],
        ..WindowGeometry::default()
    };
    let y = b.conv(x, w, geometry, 1, ZeroPoints { left: -128, right: 1 }, ElementType::I32).unwrap();
    let function = b.finish(vec![y]);
    method(&mut module, function);
    let x = tensor_i8(&[1, 2, 2, 1], &[-127, -126, -125, 127]);
    let w = tensor_i8(&[1, 3, 3, 1], &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let outputs = Interpreter::new(&module).run(0, &[x, w]).unwrap();
    // Inputs 1 2 3 255 around filter taps 0..=8: at (0, 0) the taps 4 5 7 8 are inside.
    let expected = [4 + 2 * 5 + 3 * 7 + 255 * 8, 3 + 2 * 4 + 3 * 6 + 255 * 7, 1 + 2 * 2 + 3 * 4 + 255 * 5, 2 + 3 * 3 + 255 * 4];
    assert_eq!(outputs, [tensor_i32(&[1, 2, 2, 1], &expected)]);
}

#[test]
fn grouped_convolution_equals_its_definition() {
    // Two groups of two channels, three outputs each, stride 2, dilation 2.
    let mut module = Module::default();
    let mut b = FunctionBuilder::new(&mut module, "main");
    let (input, filter) = ([2u64, 5, 6, 4], [6u64, 2, 2, 2]);
    let x = b.param(tensor_type(ElementType::F32, &input), None);
    let w = b.param(tensor_type(ElementType::F32, &filter), None);
    let geometry = WindowGeometry {
        strides: vec![2, 1],
        dilation: vec![2, 2],
        padding_low: vec![0, 1],
        padding_high: vec![1, 0],
        ..WindowGeometry::default()
    };
    let y = b.conv(x, w, geometry, 2, ZeroPoints::NONE, ElementType::F32).unwrap();
    let function = b.finish(vec![y]);
    method(&mut module, function);
    let xs: Vec<f32> = (0..240).map(|i| ((i * 37) % 19) as f32 - 9.0).collect();
    let ws: Vec<f32> = (0..48).map(|i| ((i * 23) % 17) as f32 - 8.0).collect();
    let outputs = Interpreter::new(&module).run(0, &[tensor_f32(&input, &xs), tensor_f32(&filter, &ws)]).unwrap();
    assert_eq!(outputs[0].shape, [2, 2, 5, 6]);
    let mut expected = Vec::new();
    for (n, y, x, o) in indices(&[2, 2, 5, 6]) {
        let mut sum = 0.0;
        for (ky, kx, c, _) in indices(&[2, 2, 2, 1]) {
            let (row, column) = (2 * y + 2 * ky, x + 2 * kx - 1);
            if (0..5).contains(&row) && (0..6).contains(&column) {
                let channel = o / 3 * 2 + c;
                sum += xs[(((n * 5 + row) * 6 + column) * 4 + channel) as usize] * ws[(((o * 2 + ky) * 2 + kx) * 2 + c) as usize];
            }
        }
        expected.push(sum);
    }
    assert_eq!(outputs, [tensor_f32(&[2, 2, 5, 6], &expected)]);
}

fn indices(shape: &[i64; 4]) -> impl Iterator<Item = (i64, i64, i64, i64)> + '_ {
    let total: i64 = shape.iter().product();
    let digits = |i: i64| {
        let (d, i) = (i % shape[3], i / shape[3]);
        let (c, i) = (i % shape[2], i / shape[2]);
        (i / shape[1], i % shape[1], c, d)
    };
    (0..total).map(digits)
}

#[test]
fn maps_broadcast_as_numpy_does() {
    let mut module = Module::default();
    let mut b = FunctionBuilder::new(&mut module, "main");
    let x = b.param(tensor_type(ElementType::I32, &[2, 1, 3]), None);
    let y = b.param(tensor_type(ElementType::I32, &[2, 1]), None);
    let mut e = ExpressionBuilder::new(&[ElementType::I32, ElementType::I32]);
    let (p, q) = (e.input(0), e.input(1));
    let sum = e.op(ScalarOp::Add, &[p, q]).unwrap();
    let z = b.map(&[x, y], e.finish(vec![sum])).unwrap();
    let function = b.finish(vec![z]);
    method(&mut module, function);
    let outputs = Interpreter::new(&module).run(0, &[tensor_i32(&[2, 1, 3], &[1, 2, 3, 4, 5, 6]), tensor_i32(&[2, 1], &[10, 20])]).unwrap();
    assert_eq!(outputs, [tensor_i32(&[2, 2, 3], &[11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26])]);
}

/// A module whose method counts a state up by its input, in a loop, until the state reaches 10.
fn counting_module() -> Module {
    let mut module = Module::default();
    let number = TensorType::of(ElementType::I32, &[]);
    let state = module.states.push(StateData { name: "count".into(), ty: number.clone(), initial: None });
    let mut e = ExpressionBuilder::new(&[ElementType::I32]);
    let (x, ten) = (e.input(0), e.constant(Scalar::i32(10)));
    let less = e.op(ScalarOp::Compare(Comparison::Less), &[x, ten]).unwrap();
    let below_ten = e.finish(vec![less]);
    let mut e = ExpressionBuilder::new(&[ElementType::I32, ElementType::I32]);
    let (x, y) = (e.input(0), e.input(1));
    let sum = e.op(ScalarOp::Add, &[x, y]).unwrap();
    let add = e.finish(vec![sum]);

    let mut b = FunctionBuilder::new(&mut module, "condition");
    b.param(Type::Tensor(number.clone()), None);
    let token = b.param(Type::Effect, None);
    let loaded = b.load_state(token, state).unwrap();
    let verdict = b.map(&[loaded[1]], below_ten).unwrap();
    let condition = b.finish(vec![verdict]);

    let mut b = FunctionBuilder::new(&mut module, "body");
    let step = b.param(Type::Tensor(number.clone()), None);
    let token = b.param(Type::Effect, None);
    let loaded = b.load_state(token, state).unwrap();
    let sum = b.map(&[loaded[1], step], add).unwrap();
    let token = b.store_state(loaded[0], sum, state).unwrap();
    let body = b.finish(vec![step, token]);

    let mut b = FunctionBuilder::new(&mut module, "main");
    let step = b.param(Type::Tensor(number), None);
    let token = b.param(Type::Effect, None);
    let end = b.while_loop(&[step, token], condition, body).unwrap();
    let loaded = b.load_state(end[1], state).unwrap();
    let function = b.finish(vec![loaded[1], loaded[0]]);
    method(&mut module, function);
    module
}

#[test]
fn loops_and_states() {
    let module = counting_module();
    let mut interpreter = Interpreter::new(&module);
    assert_eq!(interpreter.run(0, &[tensor_i32(&[], &[4])]), Ok(vec![tensor_i32(&[], &[12])]));
    assert_eq!(interpreter.run(0, &[tensor_i32(&[], &[100])]), Ok(vec![tensor_i32(&[], &[12])]), "the state stays");
    interpreter.reset();
    interpreter.limits.iterations = 5;
    let error: InterpretError = interpreter.run(0, &[tensor_i32(&[], &[1])]).unwrap_err();
    assert_eq!(error.to_string(), "while: the loop did not end after 5 iterations");
}

#[test]
fn inputs_are_checked() {
    let module = counting_module();
    let mut interpreter = Interpreter::new(&module);
    assert_eq!(interpreter.run(0, &[]).unwrap_err().message, "too few inputs");
    assert_eq!(interpreter.run(0, &[tensor_i32(&[1], &[0])]).unwrap_err().message, "input 0 is i32[1], the method takes i32[]");
    let short = Tensor { element: ElementType::I32, shape: vec![], bytes: vec![0; 3] };
    assert_eq!(interpreter.run(0, &[short]).unwrap_err().message, "input 0: 3 bytes do not fill i32[]");
    assert!(interpreter.run(1, &[]).is_err());
}
