//! The public API: sessions return the recorded results, check their inputs, and work on the caller's memory.

#[path = "../support/mod.rs"]
mod support;

mod allocations;
mod checks;
mod shapes;
mod state;

use modelc::compare::{Tolerance, compare};
use modelc::{Array, ArrayView, Model, Session, Settings};
use std::path::Path;

/// Opens a model of the repository.
fn model(name: &str) -> Model {
    Model::open(support::own("tests/models").join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Opens and loads a model of the repository.
fn session(name: &str) -> Session {
    model(name).load(&Settings::new()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the arrays of recorded calls.
fn recorded(path: &Path, what: &str, array: impl Fn(&modelc::npz::Archive, usize, usize) -> Option<Array>) -> Vec<Vec<Array>> {
    let archive = support::recorded(path, what).unwrap_or_else(|error| panic!("{error}"));
    let of_call = |call| (0..).map_while(|index| array(&archive, call, index)).collect();
    (0..archive.calls().max(1)).map(of_call).collect()
}

fn inputs(path: &Path) -> Vec<Vec<Array>> {
    recorded(path, "inputs.npz", |archive, call, index| archive.input(call, index).cloned().map(Array::from))
}

/// Copies bytes to unaligned memory.
fn misaligned(bytes: &[u8]) -> Vec<u8> {
    let mut memory = vec![0; bytes.len() + 1];
    memory[1..].copy_from_slice(bytes);
    memory
}

/// Checks that calls give the same bytes with arrays, with the caller's memory, and with unaligned memory.
fn same_in_any_memory(session: &mut Session, method: usize, call: &[Array], expected: &[Array]) {
    let moved: Vec<Vec<u8>> = call.iter().map(|array| misaligned(array.bytes())).collect();
    let views = call.iter().zip(&moved).map(|(array, bytes)| ArrayView { bytes: &bytes[1..], ..array.view() });
    let sizes: Vec<usize> = session.methods()[method].outputs.iter().map(|port| port.max_bytes() as usize).collect();
    for (start, views) in [(0, call.iter().map(Array::view).collect()), (1, views.collect::<Vec<_>>())] {
        let mut memory: Vec<Vec<u8>> = sizes.iter().map(|bytes| vec![0; bytes + 1]).collect();
        let mut outputs: Vec<&mut [u8]> = memory.iter_mut().map(|bytes| &mut bytes[start..]).collect();
        session.call_into(method, &views, &mut outputs).unwrap_or_else(|error| panic!("{error}"));
        for (number, expected) in expected.iter().enumerate() {
            assert_eq!(session.output_shape(number), expected.shape());
            assert_eq!(&memory[number][start..][..expected.bytes().len()], expected.bytes());
        }
    }
}

/// Counts the outputs that agree with the recorded ones, over the calls of a model in order. Returns 0 if the record has several methods.
fn agreeing(path: &Path, tolerance: f64) -> usize {
    let data = path.with_extension("ptd");
    let settings = if data.exists() { Settings::new().data(&data.to_string_lossy()) } else { Settings::new() };
    let session = Model::open(path).and_then(|model| model.load(&settings));
    let mut session = session.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if session.methods().len() > 1 {
        return 0;
    }
    let archive = support::recorded(path, "expected.npz").unwrap_or_else(|error| panic!("{error}"));
    let (mut compared, mut keeps_state) = (0, false);
    for (number, call) in inputs(path).iter().enumerate() {
        let before = session.state();
        let found = session.call(call).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        keeps_state |= session.state() != before;
        for (index, found) in found.iter().enumerate() {
            let Some(expected) = archive.output(number, index) else { continue };
            let difference = compare(found.tensor(), expected, Tolerance { relative: tolerance, absolute: 0.0 });
            assert!(difference.agrees(), "{} call {number} out{index}: {difference}", path.display());
            compared += 1;
        }
        if !keeps_state {
            same_in_any_memory(&mut session, 0, call, &found);
        }
    }
    compared
}

#[test]
fn sessions_give_what_was_recorded() {
    let folders = ["tests/models", "tests/models/packed"];
    let models = folders.iter().flat_map(|folder| support::models_in(&support::own(folder), "tflite"));
    let models = models.filter(|path| path.with_extension("inputs.npz").exists());
    let compared: usize = models.map(|path| agreeing(&path, support::tolerance(&path, support::FLOAT_TOLERANCE))).sum();
    assert!(compared > 60, "{compared}");
}

/// Some models have scalar inputs, dynamic dimensions, or channels in the last dimension.
#[test]
fn sessions_of_programs_give_what_was_recorded() {
    let Some(folder) = support::corpus("executorch") else { return };
    // Delegates round differently than the record; other tests have their tolerances.
    let is_plain = |path: &std::path::PathBuf| support::stem(path).ends_with(".portable") && path.with_extension("inputs.npz").exists();
    let models = support::models_in(&folder, "pte").into_iter().filter(is_plain).step_by(2);
    let compared: usize = models.map(|path| agreeing(&path, support::tolerance(&path, support::FLOAT_TOLERANCE))).sum();
    assert!(compared > 10, "{compared}");
}
