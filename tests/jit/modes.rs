//! Modes of the JIT: placement of memory, checks, counters, and custom operators.

use super::handmade::{self, LENGTH};
use modelc::jit::custom::{CustomOperator, CustomTensor};
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::{Goal, Options};
use modelc::target::host_machine;

fn inputs() -> (Vec<u8>, Vec<u8>) {
    let bytes = (0..LENGTH).map(|i| (i as i8 - 20) as u8).collect();
    let floats = [-1.0f32, -0.5, 0.0].iter().flat_map(|f| f.to_le_bytes()).collect();
    (bytes, floats)
}

fn expected(calls: i32) -> Vec<Vec<u8>> {
    let bytes = (0..LENGTH as i32).map(|i| (2 * (i - 20 + 3 * i)) as u8).collect();
    let floats = [-2.0f32, -1.0, 0.0].iter().flat_map(|f| f.to_le_bytes()).collect();
    vec![bytes, floats, (5 + calls).to_le_bytes().to_vec()]
}

fn jit(options: JitOptions) -> Jit {
    Jit::with_options(&handmade::program(), host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_placement_gives_the_same_answers() {
    let (bytes, floats) = inputs();
    for placement in [Placement::Aligned, Placement::AgainstGuard, Placement::Odd] {
        let jit = jit(JitOptions { placement, ..JitOptions::default() });
        let (mut one, mut two) = (jit.instance().unwrap(), jit.instance().unwrap());
        drop(jit);
        let mut outputs = vec![];
        for calls in 1..4 {
            one.call(0, &[&bytes, &floats], &mut outputs).unwrap();
            assert_eq!(outputs, expected(calls), "{placement:?}");
        }
        two.call(0, &[&bytes, &floats], &mut outputs).unwrap();
        assert_eq!(outputs, expected(1), "{placement:?}");
        one.reset().unwrap();
        one.call(0, &[&bytes, &floats], &mut outputs).unwrap();
        assert_eq!(outputs, expected(1), "{placement:?}");
        one.call(1, &[&7i64.to_le_bytes()], &mut outputs).unwrap();
        assert_eq!(outputs, [7i64.to_le_bytes()], "{placement:?}");
        one.call(2, &[&[0], &40i32.to_le_bytes()], &mut outputs).unwrap();
        assert_eq!(outputs, [80i32.to_le_bytes()], "{placement:?}");
    }
}

#[test]
fn bad_calls_are_errors() {
    let jit = jit(JitOptions::default());
    let mut instance = jit.instance().unwrap();
    let (bytes, _) = inputs();
    let mut outputs = vec![];
    assert_eq!(instance.call(0, &[&bytes], &mut outputs).unwrap_err().code.number(), 510);
    assert_eq!(instance.call(0, &[&bytes, &bytes], &mut outputs).unwrap_err().code.number(), 511);
    assert_eq!(instance.call(9, &[], &mut outputs).unwrap_err().code.number(), 512);
    let check = jit.method("check").unwrap();
    let error = instance.call(check, &[&[1, 255]], &mut outputs).unwrap_err();
    assert!(error.code.number() == 513 && error.message.contains("MODELC_E_INDEX"), "{error}");
    instance.call(check, &[&[1, 2]], &mut outputs).unwrap();
    assert_eq!(outputs, [[1, 2]]);
}

/// Tensors of other types or shapes than the method's are rejected with the codes of the command line, even with the same number of bytes.
#[test]
fn types_and_shapes_are_checked() {
    use modelc::ir::{ElementType, Tensor};
    let text = "func @main(v0: i8[1, 8, 8, 1], v1: f32[3]) {\n  return v0, v1\n}\n";
    let jit = Jit::new(&super::lowered(text).program, host_machine().unwrap()).unwrap();
    let mut instance = jit.instance().unwrap();
    let zeros = |element, shape: &[u64]| Tensor::zeros(element, shape).unwrap();
    let (bytes, floats) = (zeros(ElementType::I8, &[1, 8, 8, 1]), zeros(ElementType::F32, &[3]));
    let mut refused = |inputs: &[Tensor]| instance.call_tensors(0, inputs).unwrap_err().code.number();
    assert_eq!(refused(&[zeros(ElementType::U8, &[1, 8, 8, 1]), floats.clone()]), 503);
    assert_eq!(refused(&[bytes.clone(), zeros(ElementType::I32, &[3])]), 503);
    assert_eq!(refused(&[zeros(ElementType::I8, &[64]), floats.clone()]), 502);
    assert_eq!(refused(&[zeros(ElementType::I8, &[1, 64, 1, 1]), floats.clone()]), 502);
    assert_eq!(refused(&[Tensor { bytes: vec![0; 63], ..bytes.clone() }, floats.clone()]), 511);
    assert_eq!(refused(std::slice::from_ref(&bytes)), 510);
    let outputs = instance.call_tensors(0, &[bytes.clone(), floats.clone()]).unwrap();
    assert_eq!(outputs, [bytes, floats]);
}

/// `count_to` counts in a loop with this many iterations.
#[test]
fn a_loop_beyond_its_limit_is_aborted() {
    let program = modelc::program::Program { max_iterations: Some(4), ..handmade::program() };
    let jit = Jit::new(&program, host_machine().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().unwrap();
    let mut outputs = vec![];
    instance.call(1, &[&4i64.to_le_bytes()], &mut outputs).unwrap();
    assert_eq!(outputs, [4i64.to_le_bytes()]);
    let error = instance.call(1, &[&9i64.to_le_bytes()], &mut outputs).unwrap_err();
    assert!(error.code.number() == 513 && error.message.contains("MODELC_E_ABORTED"), "{error}");
}

#[test]
fn dead_memory_is_poisoned_and_live_memory_is_not() {
    let (bytes, floats) = inputs();
    let none = || vec![vec![]; 4];
    let mut right = vec![none(), none(), none(), none(), none()];
    // `forward` keeps the sums from the first kernel to the third.
    right[0][0] = vec![0..1, 1..LENGTH];
    right[0][1] = vec![0..1, 1..LENGTH];
    let mut outputs = vec![];
    let live = Some(right.clone());
    let checking = jit(JitOptions { live, placement: Placement::AgainstGuard, ..JitOptions::default() });
    checking.instance().unwrap().call(0, &[&bytes, &floats], &mut outputs).unwrap();
    assert_eq!(outputs, expected(1));
    // One byte too few changes the result.
    right[0][1] = vec![0..1, 1..LENGTH - 1];
    let checking = jit(JitOptions { live: Some(right), ..JitOptions::default() });
    checking.instance().unwrap().call(0, &[&bytes, &floats], &mut outputs).unwrap();
    let mut wrong = expected(1);
    wrong[0][LENGTH as usize - 1] = 254;
    assert_eq!(outputs, wrong);
}

#[test]
fn profiles_count_every_kernel() {
    let jit = jit(JitOptions { profile: true, ..JitOptions::default() });
    let mut instance = jit.instance().unwrap();
    let mut outputs = vec![];
    for _ in 0..3 {
        instance.call(1, &[&5i64.to_le_bytes()], &mut outputs).unwrap();
    }
    // `count_to` follows the four kernels of `forward`: zero, step, copy in the loop, copy.
    let runs: Vec<_> = instance.kernel_times().iter().map(|time| time.runs).collect();
    assert_eq!(runs[..8], [0, 0, 0, 0, 3, 15, 12, 3]);
    assert!(instance.kernel_times()[5].nanoseconds > 0);
    instance.clear_kernel_times();
    assert_eq!(instance.kernel_times()[5].runs, 0);
}

#[cfg(target_arch = "x86_64")]
macro_rules! custom {
    ($($body:tt)*) => { unsafe extern "sysv64" $($body)* };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! custom {
    ($($body:tt)*) => { unsafe extern "C" $($body)* };
}

custom! {
    fn app_scale(_: *mut u8, inputs: *const CustomTensor, n_in: u32, outputs: *mut CustomTensor, n_out: u32, options: *const u8, bytes: usize) -> i32 {
        // SAFETY: the model hands over arrays of that many tensors, each with its buffer, and that many bytes of options.
        let (inputs, outputs, options) = unsafe {
            (
                std::slice::from_raw_parts(inputs, n_in as usize),
                std::slice::from_raw_parts(outputs, n_out as usize),
                std::slice::from_raw_parts(options, bytes),
            )
        };
        // SAFETY: as above, with the types that the module says.
        let (x, q, y, n) = unsafe {
            (
                std::slice::from_raw_parts(inputs[0].data.cast::<f32>(), 6),
                *inputs[1].data.cast::<i8>(),
                std::slice::from_raw_parts_mut(outputs[0].data.cast::<f32>(), 6),
                &mut *outputs[1].data.cast::<i32>(),
            )
        };
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x * f32::from(options[0]) + f32::from(q));
        *n = inputs[1].zero_point;
        i32::from(q < 0)
    }
}

#[test]
fn a_custom_operator_is_a_function_that_is_registered() {
    let module = modelc::ir::text::parse_module(include_str!("../files/external.mt").split(";! ---").next().unwrap()).unwrap();
    let machine = host_machine().unwrap();
    let options = modelc::lower::Options::new(machine);
    let program = modelc::pipeline::lower(&module, "external", options).unwrap().program;
    let error = Jit::new(&program, machine).err().unwrap().0.remove(0);
    assert_eq!((error.code.number(), error.location.operator), (514, Some((4, "CUSTOM:Scale".into()))));
    let customs = vec![("app_scale".to_string(), app_scale as CustomOperator)];
    for placement in [Placement::Aligned, Placement::AgainstGuard, Placement::Odd] {
        let jit =
            Jit::with_options(&program, machine, JitOptions { placement, customs: customs.clone(), ..JitOptions::default() }).unwrap();
        let mut instance = jit.instance().unwrap();
        let x: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let mut outputs = vec![];
        instance.call(0, &[&x, &[1, 2]], &mut outputs).unwrap();
        let y: Vec<u8> = (0..6).flat_map(|i| (-(6.0 * i as f32 + 1.0)).to_le_bytes()).collect();
        assert_eq!(outputs, [y, (-7i32).to_le_bytes().to_vec()]);
        let error = instance.call(0, &[&x, &[255, 2]], &mut outputs).unwrap_err();
        assert!(error.message.contains("MODELC_E_CUSTOM"), "{error}");
    }
}

/// Small code is smaller on every target, needs no more memory, and computes the same integers.
#[test]
fn small_code_computes_the_same() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/digits/digits_int8.tflite");
    let file = modelc::Model::open(model).unwrap();
    let settings = |target: &str| modelc::Settings::new().target(target);
    for target in ["x86_64-unknown-linux-gnu", "aarch64-none-elf", "riscv64-none-elf"] {
        let [fast, small] =
            [settings(target), settings(target).optimize_size()].map(|it| file.compile(&it).unwrap().files.record.footprint);
        assert!(small.code_bytes < fast.code_bytes, "{target}: {} and {} bytes of code", small.code_bytes, fast.code_bytes);
        assert!(small.scratch_bytes <= fast.scratch_bytes, "{target}: {} and {} bytes", small.scratch_bytes, fast.scratch_bytes);
    }
    let machine = host_machine().unwrap();
    let bytes: std::sync::Arc<Vec<u8>> = std::sync::Arc::new(std::fs::read(model).unwrap());
    let module = modelc::pipeline::read(bytes, "digits", &Default::default()).unwrap();
    let input: Vec<u8> = (0..28 * 28u32).map(|i| (i * 37 % 256) as u8).collect();
    let mut results = vec![];
    for goal in [Goal::Speed, Goal::Size] {
        let program = modelc::pipeline::lower(&module, "digits", Options { goal, ..Options::new(machine) }).unwrap().program;
        let mut outputs = vec![];
        let bytes = program.methods[0].inputs[0].bytes as usize;
        Jit::new(&program, machine).unwrap().instance().unwrap().call(0, &[&input[..bytes]], &mut outputs).unwrap();
        results.push(outputs);
    }
    assert_eq!(results[0], results[1]);
}
