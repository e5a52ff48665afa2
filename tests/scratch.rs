//! Scratch memory that depends on the extents of a call: calls that get exactly the memory they ask for match the interpreter.

use modelc::compare::{Difference, Tolerance, compare};
use modelc::ir::interpret::Interpreter;
use modelc::ir::text::parse_module;
use modelc::ir::{ElementType, Module, Tensor, verify};
use modelc::jit::memory::Placement;
use modelc::jit::{Instance, Jit, JitOptions};
use modelc::lower::{Lowered, Options, PlanSource};
use modelc::target::host_machine;
use modelc::{passes, pipeline};

fn numbers(shape: &[u64], seed: u64) -> Tensor {
    let count = shape.iter().product::<u64>();
    let number = |i: u64| ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 7) % 41) as f32 / 8.0 - 2.5;
    Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes: (0..count).flat_map(|i| number(i).to_le_bytes()).collect() }
}

fn module(text: &str) -> Module {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    verify(&module).unwrap_or_else(|error| panic!("{error}"));
    passes::run_all(&mut module);
    module
}

fn lowered(module: &Module, plan: PlanSource) -> Lowered {
    let options = Options { plan, ..Options::new(host_machine().expect("a machine")) };
    pipeline::lower(module, "model", options).unwrap_or_else(|error| panic!("{error}"))
}

/// Makes an instance whose calls get only the scratch bytes that they ask for, before a guard page. Dead memory is overwritten, and bytes
/// before the scratch memory must stay.
fn checking(lowered: &Lowered) -> Instance {
    let options = JitOptions { placement: Placement::AgainstGuard, live: Some(lowered.live.clone()), ..JitOptions::default() };
    let jit = Jit::with_options(&lowered.program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"));
    jit.instance().unwrap()
}

/// Compares calls with the interpreter. Returns the scratch memory of each.
fn is_right(text: &str, shapes: &[&[&[u64]]]) -> Vec<u64> {
    let module = module(text);
    let lowered = lowered(&module, PlanSource::Own);
    let (mut instance, mut interpreter) = (checking(&lowered), Interpreter::new(&module));
    let mut bytes = Vec::new();
    for shapes in shapes {
        let inputs: Vec<Tensor> = (0..).zip(*shapes).map(|(i, shape)| numbers(shape, i)).collect();
        let wanted = interpreter.run(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
        let found = instance.call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{shapes:?}: {error}"));
        for (found, wanted) in found.iter().zip(&wanted) {
            let difference = compare(found, wanted, Tolerance { relative: 1e-5, absolute: 0.0 });
            assert!(matches!(difference, Difference::None { .. }), "{shapes:?}: {difference}");
        }
        bytes.push(instance.scratch_bytes(0).unwrap());
        let bound = lowered.program.methods[0].scratch_bytes.next_multiple_of(64);
        assert!(*bytes.last().unwrap() <= bound, "{bytes:?} of {bound}");
    }
    bytes
}

#[test]
fn a_short_sequence_takes_less_than_a_long_one() {
    let bytes = is_right(include_str!("link/sequence.mt"), &[&[&[1, 1, 6]], &[&[1, 40, 6]], &[&[5, 40, 6]], &[&[2, 7, 6]]]);
    assert!(bytes[0] * 8 < bytes[1] && bytes[1] * 3 < bytes[2], "{bytes:?}");
    assert!(bytes[0] < bytes[3] && bytes[3] < bytes[1], "{bytes:?}");
}

#[test]
fn a_small_batch_takes_less_than_a_large_one() {
    let bytes = is_right(include_str!("link/batch.mt"), &[&[&[1, 4, 4, 2], &[1, 3]], &[&[40, 4, 4, 2], &[40, 3]]]);
    assert!(bytes[0] < bytes[1], "{bytes:?}");
}

#[test]
fn a_plan_of_the_file_stays() {
    let module = module(include_str!("link/sequence.mt"));
    assert!(!lowered(&module, PlanSource::Own).program.methods[0].moving.is_empty());
    assert!(lowered(&module, PlanSource::Program).program.methods[0].moving.is_empty());
}
