use super::*;
use crate::ir::{ElementType, PortNotes, Tensor};

const TOLERANCE: Tolerance = Tolerance { relative: 0.5, absolute: 0.25 };

fn port(element: ElementType, shape: &[u64], dynamic: bool) -> Port {
    let bytes = element.bytes_for(shape.iter().product()).unwrap_or_default();
    Port {
        name: "x".into(),
        element,
        shape: shape.to_vec(),
        dynamic: vec![dynamic; shape.len()],
        bytes,
        quantization: None,
        scalar: shape.is_empty(),
        value: None,
        notes: PortNotes::default(),
    }
}

fn program(inputs: Vec<Port>, outputs: Vec<Port>) -> Program {
    let method = Method { name: "forward".into(), inputs, outputs, optimal: true, ..Method::default() };
    Program { methods: vec![method], ..Program::default() }
}

fn floats(shape: &[u64], value: f32) -> Tensor {
    let bytes = std::iter::repeat_n(value.to_le_bytes(), shape.iter().product::<u64>() as usize).flatten().collect();
    Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes }
}

fn written(program: &Program, calls: &[(Vec<Tensor>, Vec<Option<Tensor>>)]) -> Result<String, Diagnostic> {
    let call = |(number, (inputs, expected)): (usize, &(Vec<Tensor>, Vec<Option<Tensor>>))| TestCall {
        name: format!("forward \"call\" {number}"),
        method: 0,
        inputs: inputs.clone(),
        expected: expected.clone(),
    };
    let calls: Vec<TestCall> = calls.iter().enumerate().map(call).collect();
    test_program(Tested { program, name: "net", header: "net.h", external_weights: false, has_hooks: false }, &calls, TOLERANCE)
}

#[test]
fn equal_contents_are_there_once() {
    let program = program(vec![port(ElementType::F32, &[4], false)], vec![port(ElementType::F32, &[4], false)]);
    let call = (vec![floats(&[4], 2.0)], vec![Some(floats(&[4], 2.0))]);
    let text = written(&program, &[call.clone(), call]).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains("modelc_test_words[] = {\n  0x4000000040000000,0x4000000040000000,\n}"), "{text}");
    // The largest magnitude, and the tolerance.
    assert!(text.contains("{ { 0, 0 }, 4, 2e0, 1.25e0, 'f', 32, 0 },"), "{text}");
    assert!(text.contains(r#""forward \"call\" 1""#), "{text}");
}

#[test]
fn extents_of_run_time_are_tables_too() {
    let program = program(vec![port(ElementType::F32, &[4], true)], vec![port(ElementType::I64, &[], false)]);
    let number = Tensor { element: ElementType::I64, shape: vec![], bytes: vec![7, 0, 0, 0, 0, 0, 0, 0] };
    let text = written(&program, &[(vec![floats(&[3], 0.0)], vec![Some(number)])]).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains("modelc_test_extents[] = {\n  3,\n}") && text.contains("#define MODELC_TEST_SHAPES"), "{text}");
    assert!(text.contains("found[0].data = &outputs.out0;") && !text.contains("#define MODELC_TEST_NUMBERS"), "{text}");
    assert!(text.contains(", 1, 7e0, 0e0, 'i', 64, 0 },"), "{text}");
}

#[test]
fn expected_outputs_must_be_the_method_s() {
    let program = program(vec![], vec![port(ElementType::F32, &[4], false), port(ElementType::Bf16, &[2], true)]);
    let bits = |shape: &[u64], element| Tensor { element, shape: shape.to_vec(), bytes: vec![0; 2 * shape[0] as usize] };
    let with = |first: Option<Tensor>, second: Option<Tensor>| written(&program, &[(vec![], vec![first, second])]);
    assert!(with(None, None).is_ok() && with(None, Some(bits(&[1], ElementType::U16))).is_ok());
    for (first, second) in
        [(Some(floats(&[5], 0.0)), None), (None, Some(bits(&[3], ElementType::Bf16))), (None, Some(bits(&[2], ElementType::I16)))]
    {
        assert_eq!(with(first, second).map_err(|error| error.code), Err(codes::EXPECTED_OUTPUT));
    }
}

#[test]
fn integers_that_share_bytes_are_compared_byte_by_byte() {
    let program = program(vec![], vec![port(ElementType::I4, &[3], false)]);
    let expected = Tensor { element: ElementType::I8, shape: vec![3], bytes: vec![1, 0xfe, 7] };
    let text = written(&program, &[(vec![], vec![Some(expected)])]).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains("modelc_test_words[] = {\n  0x7e1,\n}") && text.contains("'u', 8, 0 },"), "{text}");
}

#[test]
fn a_test_has_a_size() {
    let elements = (MOST_BYTES / 4 + 1) as u64;
    let program = program(vec![port(ElementType::F32, &[elements], false)], vec![]);
    assert_eq!(written(&program, &[(vec![floats(&[elements], 1.0)], vec![])]).map_err(|error| error.code), Err(codes::TEST_SIZE));
}
