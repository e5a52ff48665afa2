//! Programs in memory: the same answers as from an object, the checking modes, profiles.

mod handmade;

use handmade::LENGTH;
use modelc::ir::text::parse_module;
use modelc::jit::custom::{CustomOperator, CustomTensor};
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::{Goal, Lowered, Options, PlanSource};
use modelc::program::calls;
use modelc::target::host_machine;
use modelc::{ir, pipeline};

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

/// `count_to` counts in a loop of this many rounds.
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
    // One byte too few is seen in the answer.
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
    let module = modelc::ir::text::parse_module(include_str!("files/external.mt").split(";! ---").next().unwrap()).unwrap();
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

fn lowered(text: &str) -> Lowered {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::new(host_machine().unwrap());
    pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"))
}

/// The schedules of a method's kernel calls.
fn schedules(lowered: &Lowered) -> Vec<&str> {
    calls(&lowered.program.methods[0].steps).iter().map(|call| call.origin.schedule.as_str()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|f| f.to_le_bytes()).collect()
}

/// A cache of 64 rows of which a call writes one: the kernel touches that row, and nothing is copied.
#[test]
fn a_decode_step_writes_one_row_of_its_cache() {
    let lowered = lowered(
        r#"state0 "cache": f32[64, 8]
func @main(v0: f32[1, 8], v1: i32[1], v2: effect) {
  v3, v4 = load_state v2 { state = state0 }
  v5 = scatter v4, v1, v0 { axis = 0, batch = 0, combination = set, skips_negative = false }
  v6 = store_state v3, v5 { state = state0 }
  v7 = reduce v5 { reduction = sum, axes = [0] }
  return v7, v6
}
method "main" = @main {
  input "row"
  input "position"
  output "sum"
}
"#,
    );
    let schedules = schedules(&lowered);
    assert!(
        schedules.len() == 2 && schedules[0].starts_with("scatter 1 slices of 8") && schedules[0].ends_with("in place"),
        "{schedules:?}"
    );
    assert_eq!((lowered.program.variable_bytes, lowered.plans[0].arena_bytes), (64 * 8 * 4, 0));
    let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().unwrap();
    let mut outputs = vec![];
    for (position, value, sum) in [(3i32, 1.0, 1.0), (60, 2.0, 3.0), (3, 4.0, 6.0)] {
        instance.call(0, &[&bytes(&[value; 8]), &position.to_le_bytes()], &mut outputs).unwrap();
        assert_eq!(floats(&outputs[0]), [sum; 8], "row {position}");
    }
    instance.reset().unwrap();
    instance.call(0, &[&bytes(&[7.0; 8]), &0i32.to_le_bytes()], &mut outputs).unwrap();
    assert_eq!(floats(&outputs[0]), [7.0; 8]);
}

/// A recurrent sum over five time steps: each step reads a row, adds it to what it carries, and writes a row of the output.
#[test]
fn time_steps_run_in_place() {
    let lowered = lowered(
        r#"const0: i32[1] = [0]
const1: f32[5, 3] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
const2: f32[1, 3] = [0.0, 0.0, 0.0]
func @goes_on(v0: i32[1], v1: f32[5, 3], v2: f32[5, 3], v3: f32[1, 3]) {
  v4 = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = constant 5
      n2: bool = lt n0, n1
      return n2
    }
  }
  return v4
}
func @step(v0: i32[1], v1: f32[5, 3], v2: f32[5, 3], v3: f32[1, 3]) {
  v4 = gather v1, v0 { axis = 0, batch = 0 }
  v5 = map v3, v4 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
    }
  }
  v6 = scatter v2, v0, v5 { axis = 0, batch = 0, combination = set, skips_negative = false }
  v7 = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = constant 1
      n2: i32 = add n0, n1
      return n2
    }
  }
  return v7, v1, v6, v5
}
func @main(v0: f32[5, 3]) {
  v1 = constant { data = const0 }
  v2 = constant { data = const1 }
  v3 = constant { data = const2 }
  v4, v5, v6, v7 = while v1, v0, v2, v3 { condition = @goes_on, body = @step }
  return v6
}
method "main" = @main {
  input "x"
  output "sums"
}
"#,
    );
    // What is carried starts with three copies; then the condition, and four kernels a round.
    let schedules = schedules(&lowered);
    let copies = schedules.iter().filter(|schedule| schedule.starts_with("copy")).count();
    assert!(schedules.len() == 8 && copies == 3, "{schedules:?}");
    assert!(schedules.iter().any(|schedule| schedule.starts_with("scatter 1 slices of 3") && schedule.ends_with("in place")));
    let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let mut outputs = vec![];
    let input: Vec<f32> = (0..15).map(|i| i as f32).collect();
    jit.instance().unwrap().call(0, &[&bytes(&input)], &mut outputs).unwrap();
    let sums = [[0., 1., 2.], [3., 5., 7.], [9., 12., 15.], [18., 22., 26.], [30., 35., 40.]];
    assert_eq!(floats(&outputs[0]), sums.concat());
}

/// Positions from the caller: inside, a slice is copied; outside, the call ends before anything is written.
#[test]
fn a_slice_from_a_position_of_the_caller_is_checked() {
    let lowered = lowered(
        r#"func @main(v0: f32[6], v1: i64[1]) {
  v2 = index_load v1 { interval = -5..=100 }
  v3 = index { value = 2 }
  v4 = index_binary v2, v3 { operation = mul }
  v5 = slice v0 { start = [v4], size = [2], stride = [1] }
  v6 = index_tensor v4 { element = i32 }
  return v5, v6
}
method "main" = @main {
  input "x"
  input "half"
  output "pair"
  output "position"
}
"#,
    );
    let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().unwrap();
    let (input, mut outputs) = (bytes(&[0., 1., 2., 3., 4., 5.]), vec![]);
    for half in 0..3i64 {
        instance.call(0, &[&input, &half.to_le_bytes()], &mut outputs).unwrap();
        assert_eq!(floats(&outputs[0]), [2.0 * half as f32, 2.0 * half as f32 + 1.0]);
        assert_eq!(outputs[1], (2 * half as i32).to_le_bytes());
    }
    for half in [-6i64, -1, 3, 100, 101, i64::MIN, i64::MAX] {
        let error = instance.call(0, &[&input, &half.to_le_bytes()], &mut outputs).unwrap_err();
        assert!(error.code.number() == 513 && error.message.contains("MODELC_E_INDEX"), "{half}: {error}");
    }
}

/// A table with two rows replaced, then picked again; the table itself is seen only through its sums.
const TABLE: &str = r#"
func @main(v0: f32[4, 2], v1: i32[2], v2: f32[2, 2]) {
  v3 = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = add n0, n0
      return n1
    }
  }
  v4 = scatter v3, v1, v2 { axis = 0, batch = 0, combination = set, skips_negative = false }
  v5 = gather v4, v1 { axis = 0, batch = 0 }
  v6 = reduce v4 { reduction = sum, axes = [0] }
  return v5, v6
}
method "main" = @main {
  input "table"
  input "rows"
  input "updates"
  output "picked"
  output "sums"
}
"#;

#[test]
fn indices_of_the_data_are_checked_before_anything_is_written() {
    let lowered = lowered(TABLE);
    let jit = Jit::with_options(&lowered.program, host_machine().unwrap(), JitOptions::default()).unwrap();
    let mut instance = jit.instance().unwrap();
    let (table, updates) = (bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), bytes(&[10.0, 20.0, 30.0, 40.0]));
    let mut call = |rows: [i32; 2]| {
        let rows: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        let mut outputs = vec![];
        instance.call(0, &[&table, &rows, &updates], &mut outputs).map(|()| outputs)
    };
    assert_eq!(call([3, 1]).unwrap(), [updates.clone(), bytes(&[52.0, 76.0])]);
    // Of two updates of one row the last one stays.
    assert_eq!(call([2, 2]).unwrap(), [bytes(&[30.0, 40.0, 30.0, 40.0]), bytes(&[52.0, 68.0])]);
    for rows in [[0, 4], [-1, 0], [i32::MAX, 0], [1, i32::MIN]] {
        let error = call(rows).unwrap_err();
        assert!(error.code.number() == 513 && error.message.contains("MODELC_E_INDEX"), "{rows:?}: {error}");
    }
}

/// An input that had to be known when compiling is compared before anything else happens.
#[test]
fn a_call_with_another_value_than_the_known_one_ends() {
    let text = r#"func @main(v0: i32[3], v1: i16[2]) {
  return v1
}
method "main" = @main {
  input "sizes" value hex "0100000000000000ffffffff"
  input "x"
  output "y"
}
"#;
    let lowered = lowered(text);
    for placement in [Placement::Aligned, Placement::AgainstGuard] {
        let options = JitOptions { placement, ..JitOptions::default() };
        let jit = Jit::with_options(&lowered.program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"));
        let mut instance = jit.instance().unwrap();
        let (x, mut outputs) = (vec![1, 2, 3, 4], vec![]);
        let sizes: Vec<u8> = [1i32, 0, -1].iter().flat_map(|n| n.to_le_bytes()).collect();
        instance.call(0, &[&sizes, &x], &mut outputs).unwrap();
        assert_eq!(outputs, [[1, 2, 3, 4]]);
        for position in 0..sizes.len() {
            let mut other = sizes.clone();
            other[position] ^= 1 << (position % 8);
            let error = instance.call(0, &[&other, &x], &mut outputs).unwrap_err();
            assert!(error.code.number() == 513 && error.message.contains("MODELC_E_SHAPE"), "{error}");
        }
    }
    let module = parse_module(text).unwrap();
    let mut interpreter = ir::interpret::Interpreter::new(&module);
    let tensor = |element, shape: &[u64], bytes: &[u8]| ir::Tensor { element, shape: shape.to_vec(), bytes: bytes.to_vec() };
    let inputs = [tensor(ir::ElementType::I32, &[3], &[0; 12]), tensor(ir::ElementType::I16, &[2], &[1, 2, 3, 4])];
    assert!(interpreter.run(0, &inputs).unwrap_err().to_string().contains("input 0 has another value"));
}

#[test]
fn a_table_that_dies_is_updated_in_place() {
    let lowered = lowered(TABLE);
    let names: Vec<&str> = lowered.program.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert!(names.contains(&"scatter_in_place"), "{names:?}");
    // The table alone: 4 × 2 numbers.
    assert_eq!(lowered.plans[0].arena_bytes, 32);
}

/// A module in the text form, lowered for this computer.
fn lowered_text(text: &str) -> (ir::Module, Lowered) {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::new(host_machine().unwrap());
    let lowered = pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"));
    (module, lowered)
}

fn numbers(shape: &[u64], seed: u64) -> ir::Tensor {
    let count = shape.iter().product::<u64>();
    let number = |i: u64| ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 7) % 41) as f32 / 8.0 - 2.5;
    ir::Tensor { element: ir::ElementType::F32, shape: shape.to_vec(), bytes: (0..count).flat_map(|i| number(i).to_le_bytes()).collect() }
}

/// The JIT against the interpreter, on inputs of several shapes in one instance; all memory against guard pages, dead memory overwritten.
fn computes_what_the_interpreter_does(text: &str, shapes: &[&[&[u64]]]) {
    let (module, lowered) = lowered_text(text);
    let options = JitOptions { placement: Placement::AgainstGuard, live: Some(lowered.live.clone()), ..JitOptions::default() };
    let jit = Jit::with_options(&lowered.program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().unwrap();
    let mut interpreter = ir::interpret::Interpreter::new(&module);
    for shapes in shapes {
        let inputs: Vec<_> = (0..).zip(*shapes).map(|(i, shape)| numbers(shape, i)).collect();
        let wanted = interpreter.run(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
        let found = instance.call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{shapes:?}: {error}"));
        let tolerance = modelc::compare::Tolerance { relative: 1e-5, absolute: 0.0 };
        for (found, wanted) in found.iter().zip(&wanted) {
            let difference = modelc::compare::compare(found, wanted, tolerance);
            assert!(matches!(difference, modelc::compare::Difference::None { .. }), "{shapes:?}: {difference}");
        }
    }
}

/// A convolution, a pooling, a dense layer and a normalization of as many images as come.
const BATCH: &str = include_str!("link/batch.mt");

#[test]
fn a_dynamic_batch_is_computed_slice_by_slice() {
    let shapes = |n: u64| [vec![n, 4, 4, 2], vec![n, 3]];
    for n in [1, 40, 16, 17, 3] {
        let shapes = shapes(n);
        computes_what_the_interpreter_does(BATCH, &[&[&shapes[0], &shapes[1]]]);
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let (_, lowered) = lowered_text(BATCH);
    let mut instance = Jit::new(&lowered.program, host_machine().unwrap()).unwrap().instance().unwrap();
    for (first, second) in [([41, 4, 4, 2], [41, 3]), ([2, 4, 4, 2], [3, 3]), ([2, 4, 2, 4], [2, 3]), ([0, 4, 4, 2], [0, 3])] {
        let error = instance.call_tensors(0, &[numbers(&first, 0), numbers(&second, 1)]).unwrap_err();
        assert!(error.code.number() == 511 || error.message.contains("MODELC_E_SHAPE"), "{error}");
    }
    let found = instance.call_tensors(0, &[numbers(&[2, 4, 4, 2], 0), numbers(&[2, 3], 1)]).unwrap();
    assert_eq!(found.iter().map(|t| t.shape.clone()).collect::<Vec<_>>(), [[2, 2], [2, 3], [2, 3]]);
}

/// Attention over a sequence and a batch of any length: reshapes, transposes, products of matrices all of whose
/// extents are dynamic, a softmax over a dynamic extent, the last element of each sequence.
const SEQUENCE: &str = include_str!("link/sequence.mt");

#[test]
fn attention_over_a_dynamic_sequence() {
    let shapes: Vec<Vec<u64>> = [(1, 1), (2, 40), (5, 17), (3, 4), (1, 33)].map(|(b, s)| vec![b, s, 6]).into();
    let inputs: Vec<Vec<&[u64]>> = shapes.iter().map(|shape| vec![shape.as_slice()]).collect();
    let inputs: Vec<&[&[u64]]> = inputs.iter().map(Vec::as_slice).collect();
    computes_what_the_interpreter_does(SEQUENCE, &inputs);
    let (_, lowered) = lowered_text(SEQUENCE);
    assert!(schedules(&lowered).contains(&"rows nxn, 3 passes"), "the softmax is one kernel");
}

/// What is left of a row after whole vectors is computed together where lanes can be counted: rows of every length about those of vectors.
#[test]
fn rows_end_anywhere() {
    let text = r#"func @main(v0: f32[3, v1]) {
  v1: index 0..=80 = extent_of v0 { axis = 1 }
  v2 = reduce v0 { reduction = max, axes = [1] }
  v3 = map v0, v2 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      n3: f32 = exp n2
      return n3
    }
  }
  v4 = reduce v3 { reduction = sum, axes = [1] }
  v5 = map v3, v4 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = div n0, n1
      return n2
    }
  }
  v6 = reduce v0 { reduction = sum, axes = [1] }
  return v5, v6
}
method "main" = @main {
  input "x"
  output "shares"
  output "sums"
}"#;
    let shapes: Vec<[u64; 2]> = [1, 2, 7, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 80].map(|n| [3, n]).into();
    let inputs: Vec<[&[u64]; 1]> = shapes.iter().map(|shape| [&shape[..]]).collect();
    computes_what_the_interpreter_does(text, &inputs.iter().map(|inputs| &inputs[..]).collect::<Vec<_>>());
}

/// Blocks of rows, smaller blocks of what they leave, and single rows.
#[test]
fn rows_of_a_product_come_in_blocks() {
    let weights: Vec<String> = (0..10 * 36).map(|i| format!("{:?}", (i * 37 % 19) as f32 * 0.37 - 3.1)).collect();
    let text = format!(
        r#"const0: f32[10, 36] = [{}]
func @main(v0: f32[v1, 36]) {{
  v1: index 0..=40 = extent_of v0 {{ axis = 0 }}
  v2 = constant {{ data = const0 }}
  v3 = matmul v0, v2 {{ left_zero_point = 0, right_zero_point = 0, accumulator = f32 }}
  return v3
}}
method "main" = @main {{
  input "x"
  output "y"
}}"#,
        weights.join(", ")
    );
    let shapes: Vec<[u64; 2]> = [0, 1, 3, 4, 7, 16, 21, 40].map(|n| [n, 36]).into();
    let inputs: Vec<[&[u64]; 1]> = shapes.iter().map(|shape| [&shape[..]]).collect();
    computes_what_the_interpreter_does(&text, &inputs.iter().map(|inputs| &inputs[..]).collect::<Vec<_>>());
    let (_, lowered) = lowered_text(&text);
    let calls = calls(&lowered.program.methods[0].steps);
    let blocks: Vec<u64> = calls.iter().filter_map(|call| call.slices.as_ref()).map(|slices| slices.block).collect();
    assert_eq!(blocks, [16, 4, 1]);
}

/// A convolution of 4,608 products, each of whose bands has less than are added without fused operations: its sums are those of the whole.
#[test]
fn a_small_convolution_in_bands_has_the_sums_of_the_whole() {
    let weights: Vec<String> = (0..72).map(|i| format!("{:?}", (i * 37 % 19) as f32 * 0.37 - 3.1)).collect();
    let weights = weights.join(", ");
    let text = format!(
        r#"const0: f32[8, 3, 3, 1] = [{weights}]
func @main(v0: f32[1, 8, 8, 1]) {{
  v1 = constant {{ data = const0 }}
  v2 = conv v0, v1 {{ strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }}
  v3 = window v2 {{ reduction = max, size = [2, 2], strides = [2, 2], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [] }}
  return v3
}}
method "main" = @main {{
  input "image"
  output "most"
}}"#
    );
    let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::new(host_machine().unwrap());
    let [cut, whole] = [PlanSource::Smallest, PlanSource::Program].map(|plan| {
        let lowered = pipeline::lower(&module, "text", Options { plan, ..options }).unwrap_or_else(|error| panic!("{error}"));
        let outputs =
            Jit::new(&lowered.program, options.machine).unwrap().instance().unwrap().call_tensors(0, &[numbers(&[1, 8, 8, 1], 0)]);
        (schedules(&lowered).len(), outputs.unwrap_or_else(|error| panic!("{error}")))
    });
    assert!(cut.0 > whole.0, "{} kernels in bands, {} of the whole", cut.0, whole.0);
    assert_eq!(cut.1, whole.1);
}

/// Nobody measures an extent that can only be one number, and index arithmetic reads the number.
#[test]
fn an_extent_of_one_possible_value_is_a_number() {
    let text = r#"func @main(v0: f32[4, v1, v2]) {
  v1: index 0..=5 = extent_of v0 { axis = 1 }
  v2: index 2..=2 = extent_of v0 { axis = 2 }
  v3: index 4..=4 = index { value = 4 }
  v4: index 0..=20 = index_binary v3, v1 { operation = mul }
  v5: index 0..=40 = index_binary v4, v2 { operation = mul }
  v6 = reshape v0 { shape = [v5] }
  v7: index 2..=42 = index_binary v5, v2 { operation = add }
  v8 = pad v6 { low = [1], high = [1], value = f32 1.0, padded = [v7] }
  return v8
}
method "main" = @main {
  input "x"
  output "padded"
}"#;
    computes_what_the_interpreter_does(text, &[&[&[4, 3, 2]], &[&[4, 5, 2]], &[&[4, 1, 2]]]);
}

/// Sums of floats of 16 bits are rounded where they are stored, as the interpreter rounds them.
#[test]
fn sums_of_halves_are_rounded_where_they_are_stored() {
    for element in ["f16", "bf16"] {
        let module = parse_module(&format!(
            r#"func @main(v0: {element}[2, 12], v1: i32[3], v2: {element}[3, 12]) {{
  v3 = scan v0 {{ reduction = sum, axis = 1, exclusive = false, reverse = false }}
  v4 = scatter v3, v1, v2 {{ axis = 0, batch = 0, combination = sum, skips_negative = false }}
  return v3, v4
}}
method "main" = @main {{
  input "x"
  input "rows"
  input "updates"
  output "scanned"
  output "scattered"
}}"#
        ))
        .unwrap_or_else(|error| panic!("{error}"));
        ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
        let ty = if element == "f16" { ir::ElementType::F16 } else { ir::ElementType::Bf16 };
        // Numbers between 1 and 2 with all digits in use, so that no sum is exact.
        let one = if element == "f16" { 0x3C00u16 } else { 0x3F80 };
        let mask = if element == "f16" { 0x3FF } else { 0x7F };
        let numbers = |count: u16| (0..count).flat_map(|i| (one | (i.wrapping_mul(37) & mask)).to_le_bytes()).collect();
        let inputs = [
            ir::Tensor { element: ty, shape: vec![2, 12], bytes: numbers(24) },
            ir::Tensor {
                element: ir::ElementType::I32,
                shape: vec![3],
                bytes: [1i32, 0, 1].iter().flat_map(|i| i.to_le_bytes()).collect(),
            },
            ir::Tensor { element: ty, shape: vec![3, 12], bytes: numbers(36) },
        ];
        let options = Options::new(host_machine().unwrap());
        let lowered = pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"));
        let found = Jit::new(&lowered.program, options.machine).unwrap().instance().unwrap().call_tensors(0, &inputs).unwrap();
        let expected = ir::interpret::Interpreter::new(&module).run(0, &inputs).unwrap();
        assert_eq!(found, expected, "{element}");
    }
}

/// Rows of a cache that come from the cache itself: what is read is a part of what is written, and is not overwritten first.
#[test]
fn a_cache_takes_its_own_rows() {
    let text = r#"state0 "cache": f32[4, 8]
func @main(v0: f32[1, 8], v1: i32[2], v2: effect) {
  v3, v4 = load_state v2 { state = state0 }
  v5 = slice v4 { start = [1, 0], size = [2, 8], stride = [1, 1] }
  v6 = scatter v4, v1, v5 { axis = 0, batch = 0, combination = set, skips_negative = false }
  v7 = slice v6 { start = [1, 0], size = [3, 8], stride = [1, 1] }
  v8 = concat v7, v0 { axis = 0, extent = [] }
  v9 = store_state v3, v8 { state = state0 }
  v10 = reduce v8 { reduction = sum, axes = [0] }
  return v10, v9
}
method "main" = @main {
  input "row"
  input "rows"
  output "sum"
}
"#;
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    let jit = Jit::new(&lowered(text).program, host_machine().unwrap()).unwrap();
    let (mut instance, mut interpreter) = (jit.instance().unwrap(), ir::interpret::Interpreter::new(&module));
    for call in 0..6u8 {
        let row = ir::Tensor { element: ir::ElementType::F32, shape: vec![1, 8], bytes: bytes(&[f32::from(call) + 1.0; 8]) };
        let rows = [2i32, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
        let inputs = [row, ir::Tensor { element: ir::ElementType::I32, shape: vec![2], bytes: rows }];
        assert_eq!(instance.call_tensors(0, &inputs).unwrap(), interpreter.run(0, &inputs).unwrap(), "call {call}");
    }
}

/// A result's extent that comes from a number and not from an operand: there are no slices to go by.
#[test]
fn top_k_takes_its_count_from_a_number() {
    let text = r#"func @main(v0: f32[6], v1: i32[]) {
  v2 = index_load v1 { interval = 0..=6 }
  v3, v4 = top_k v0 { order = largest, count = [v2] }
  return v3, v4
}
method "main" = @main {
  input "x"
  input "count"
  output "largest"
  output "positions"
}
"#;
    let (module, lowered) = lowered_text(text);
    let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap();
    let (mut instance, mut interpreter) = (jit.instance().unwrap(), ir::interpret::Interpreter::new(&module));
    for count in [0i32, 1, 4, 6] {
        let count = ir::Tensor { element: ir::ElementType::I32, shape: vec![], bytes: count.to_le_bytes().to_vec() };
        let inputs = [numbers(&[6], 3), count];
        assert_eq!(instance.call_tensors(0, &inputs).unwrap(), interpreter.run(0, &inputs).unwrap());
    }
}

/// The bits of half precision are not in the order of its numbers.
#[test]
fn top_k_orders_half_precision() {
    for (element, bits) in [
        ("f16", [0xbc00u16, 0x3c00, 0xc000, 0x0000, 0x8000, 0x7e00, 0xfc00]),
        ("bf16", [0xbf80, 0x3f80, 0xc000, 0, 0x8000, 0x7fc0, 0xff80]),
    ] {
        for order in ["largest", "smallest"] {
            let text = format!(
                "func @main(v0: {element}[7]) {{\n  v1, v2 = top_k v0 {{ order = {order}, count = [7] }}\n  return v1, v2\n}}\n\
                 method \"main\" = @main {{\n  input \"x\"\n  output \"sorted\"\n  output \"positions\"\n}}\n"
            );
            let (module, lowered) = lowered_text(&text);
            let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap();
            let ty = if element == "f16" { ir::ElementType::F16 } else { ir::ElementType::Bf16 };
            let input = ir::Tensor { element: ty, shape: vec![7], bytes: bits.iter().flat_map(|n| n.to_le_bytes()).collect() };
            let found = jit.instance().unwrap().call_tensors(0, std::slice::from_ref(&input)).unwrap();
            assert_eq!(found, ir::interpret::Interpreter::new(&module).run(0, &[input]).unwrap(), "{element} {order}");
        }
    }
}

/// Small code is smaller on every target, takes no more memory, and computes the same integers.
#[test]
fn small_code_computes_the_same() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/digits/digits_int8.tflite");
    let compiler = |target: &str| modelc::Compiler::new().target(target);
    for target in ["x86_64-unknown-linux-gnu", "aarch64-none-elf", "riscv64-none-elf"] {
        let [fast, small] = [compiler(target), compiler(target).small()].map(|it| it.compile_file(model).unwrap().files.record.footprint);
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
