//! Arguments that do not fit a method give errors with the codes of the command line.

use super::{model, session};
use modelc::{Array, ArrayView, ElementType, ErrorKind, Session, Settings};

/// Compiles only if a session may move to another thread.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Session>();
    is_send::<modelc::Model>();
    is_send::<modelc::Compiled>();
    is_send::<modelc::Error>();
};

fn code(session: &mut Session, inputs: &[Array]) -> String {
    session.call(inputs).expect_err("it does not fit").code()
}

fn zeros(element: ElementType, shape: &[u64]) -> Array {
    let bytes = element.bytes_for(shape.iter().product()).expect("a small array") as usize;
    Array::new(element, shape, vec![0; bytes]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn type_rank_extents_and_number_are_checked() {
    let mut session = session("../../examples/digits/digits_int8.tflite");
    let fitting = zeros(ElementType::I8, &[1, 8, 8, 1]);
    assert!(session.call(std::slice::from_ref(&fitting)).is_ok());
    for (element, shape, expected) in [
        (ElementType::U8, &[1, 8, 8, 1][..], "MC0503"),
        (ElementType::F32, &[1, 8, 8, 1], "MC0503"),
        (ElementType::I8, &[64], "MC0502"),
        (ElementType::I8, &[1, 8, 8], "MC0502"),
        (ElementType::I8, &[2, 8, 8, 1], "MC0502"),
        (ElementType::I8, &[1, 8, 0, 1], "MC0502"),
    ] {
        assert_eq!(code(&mut session, &[zeros(element, shape)]), expected, "{element} {shape:?}");
    }
    assert_eq!(code(&mut session, &[]), "MC0510");
    assert_eq!(code(&mut session, &[fitting.clone(), fitting.clone()]), "MC0510");
    assert_eq!(session.call_method(1, std::slice::from_ref(&fitting)).unwrap_err().code(), "MC0512");
    // An int32 array has as many bytes as a float32 array.
    let mut floats = super::session("svdf_f32_r2.tflite");
    let shape: Vec<u64> = floats.methods()[0].inputs[0].extents.iter().map(|range| *range.end()).collect();
    assert_eq!(code(&mut floats, &[zeros(ElementType::I32, &shape)]), "MC0503");
    // A rejected call has no effect.
    assert!(session.call(&[fitting]).is_ok());
}

#[test]
fn memory_of_the_caller_is_checked() {
    let mut session = session("../../examples/digits/digits_int8.tflite");
    let (image, mut scores) = ([0; 64], [0; 9]);
    let view = ArrayView { element: ElementType::I8, shape: &[1, 8, 8, 1], bytes: &image };
    let short = session.call_into(0, &[view], &mut [&mut scores]).unwrap_err();
    assert_eq!((short.code().as_str(), short.expected(), short.found()), ("MC0511", Some("10 bytes"), Some("9 bytes")));
    let missing = ArrayView { bytes: &image[1..], ..view };
    assert_eq!(session.call_into(0, &[missing], &mut [&mut [0; 10]]).unwrap_err().code(), "MC0511");
    assert_eq!(session.call_into(0, &[view], &mut []).unwrap_err().code(), "MC0510");
    assert_eq!(session.call_into(9, &[view], &mut []).unwrap_err().code(), "MC0512");
}

#[test]
fn errors_say_where_and_what_next() {
    let error = session("../../examples/digits/digits_int8.tflite").call(&[zeros(ElementType::F32, &[1, 8, 8, 1])]).unwrap_err();
    assert_eq!((error.kind(), error.expected(), error.found()), (ErrorKind::Invalid, Some("int8"), Some("float32")));
    assert!(error.tensor().is_some() && error.method().is_some(), "{error:?}");
    assert_eq!(error.all().count(), 1);
    let error = model("composite.tflite").load(&Settings::new().cpu("x86-64-v9")).expect_err("there is no such level");
    assert_eq!((error.code().as_str(), error.kind()), ("MC0703", ErrorKind::Usage));
    let error = session("composite.tflite").method("bakward").unwrap_err();
    assert_eq!(error.code(), "MC0512");
}
