//! Shapes and values that a file leaves open are taken from the call.

use super::{inputs, model, session, support};
use modelc::{Array, Settings};

#[test]
fn bounds_let_a_dimension_differ_from_call_to_call() {
    let model = model("composite.tflite");
    let mut session = model.load(&Settings::new().bound(0, 0, 4)).unwrap_or_else(|error| panic!("{error}"));
    let port = session.methods()[0].inputs[0].clone();
    assert!(port.is_dynamic() && *port.extents[0].end() == 4, "{port:?}");
    let row: u64 = port.extents[1..].iter().map(|range| *range.end()).product();
    for rows in [1, 4, 2] {
        let shape: Vec<u64> = std::iter::once(rows).chain(port.extents[1..].iter().map(|range| *range.end())).collect();
        let numbers: Vec<f32> = (0..rows * row).map(|n| n as f32 / 7.0).collect();
        let call = [Array::from_slice(&shape, &numbers), Array::from_slice(&[3], &[1.0f32, 2.0, 3.0])];
        let call = call.map(|array| array.unwrap_or_else(|error| panic!("{error}")));
        let found = session.call(&call).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found[0].shape()[0], rows);
        super::same_in_any_memory(&mut session, 0, &call, &found);
    }
    let large = [Array::from_slice(&[5, 3], &[0.0f32; 15]), Array::from_slice(&[3], &[0.0f32; 3])];
    let large = large.map(|array| array.unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(session.call(&large).unwrap_err().code(), "MC0502");
}

/// The file computes a shape from the second input.
#[test]
fn values_that_operators_must_know_are_those_of_the_call() {
    let path = support::own("tests/models/pad_by_value.tflite");
    let mut session = session("pad_by_value.tflite");
    assert!(session.methods().is_empty(), "nothing is known before the first call");
    let call = inputs(&path).remove(0);
    let found = session.call(&call).unwrap_or_else(|error| panic!("{error}"));
    assert!(session.methods()[0].inputs[1].value.is_some());
    let paddings = &call[1];
    let other: Vec<u8> = paddings.bytes().chunks_exact(4).flat_map(|word| [word[0] + 1, word[1], word[2], word[3]]).collect();
    let other = Array::new(paddings.element(), paddings.shape(), other).unwrap_or_else(|error| panic!("{error}"));
    let wider = session.call(&[call[0].clone(), other]).unwrap_or_else(|error| panic!("{error}"));
    assert!(wider[0].shape().iter().zip(found[0].shape()).all(|(wide, narrow)| *wide == narrow + 2), "{:?}", wider[0].shape());
    assert_eq!(session.call(&call).unwrap_or_else(|error| panic!("{error}")), found);
}

#[test]
fn quantized_ports_convert_real_numbers() {
    let methods = model("softmax_untrained_i8.tflite").methods().unwrap_or_else(|error| panic!("{error}"));
    let port = &methods[0].inputs[0];
    let shape: Vec<u64> = port.extents.iter().map(|range| *range.end()).collect();
    let quantization = port.quantization.clone().expect("it is quantized");
    let numbers = vec![quantization.scales[0] * 3.0; shape.iter().product::<u64>() as usize];
    let real = Array::from_slice(&shape, &numbers).unwrap_or_else(|error| panic!("{error}"));
    let integers = port.quantize(&real).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(port.dequantize(&integers), Ok(real.clone()));
    assert_eq!(port.dequantize(&real).unwrap_err().code(), "MC0503");
}
