//! States and tables that are updated in place, and positions and values from the caller that are checked first.

use super::{bytes, floats, lowered, lowered_text, numbers, parsed, schedules};
use modelc::ir;
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::target::host_machine;

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

/// Rows of a cache that come from the cache itself: the operand is a part of the result, and is not overwritten first.
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
"#;
    let module = parsed(text);
    let jit = Jit::new(&lowered(text).program, host_machine().unwrap()).unwrap();
    let (mut instance, mut interpreter) = (jit.instance().unwrap(), ir::interpret::Interpreter::new(&module));
    for call in 0..6u8 {
        let row = ir::Tensor { element: ir::ElementType::F32, shape: vec![1, 8], bytes: bytes(&[f32::from(call) + 1.0; 8]) };
        let rows = [2i32, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
        let inputs = [row, ir::Tensor { element: ir::ElementType::I32, shape: vec![2], bytes: rows }];
        assert_eq!(instance.call_tensors(0, &inputs).unwrap(), interpreter.run(0, &inputs).unwrap(), "call {call}");
    }
}

/// A recurrent sum over five time steps: each step reads a row, adds it to the carried value, and writes a row of the output.
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
"#,
    );
    // Three copies initialize the carried values; then follow the condition, and four kernels an iteration.
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

/// Positions from the caller: inside the tensor, a slice is copied; outside, the call ends before anything is written.
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

/// A table with two rows replaced, then gathered again; only its sums are used otherwise.
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
    // The last of two updates of one row wins.
    assert_eq!(call([2, 2]).unwrap(), [bytes(&[30.0, 40.0, 30.0, 40.0]), bytes(&[52.0, 68.0])]);
    for rows in [[0, 4], [-1, 0], [i32::MAX, 0], [1, i32::MIN]] {
        let error = call(rows).unwrap_err();
        assert!(error.code.number() == 513 && error.message.contains("MODELC_E_INDEX"), "{rows:?}: {error}");
    }
}

#[test]
fn a_table_that_dies_is_updated_in_place() {
    let lowered = lowered(TABLE);
    let names: Vec<&str> = lowered.program.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert!(names.contains(&"scatter_in_place"), "{names:?}");
    // The table alone: 4 × 2 numbers.
    assert_eq!(lowered.plans[0].arena_bytes, 32);
}

/// Two products of an image's pixels. The second needs a sum over the whole image that the first makes, so neither is computed in bands. The
/// second stages its rows and overwrites them.
#[test]
fn a_product_of_pixels_overwrites_the_largest_tensor() {
    let weights: Vec<String> = floats(&numbers(&[40, 40], 3).bytes).iter().map(|w| format!("{w:?}")).collect();
    let conv = "strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], \
                input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32";
    let (module, lowered) = lowered_text(&format!(
        r#"const0: f32[40, 1, 1, 40] = [{}]
func @main(v0: f32[1, 12, 16, 40]) {{
  v1 = constant {{ data = const0 }}
  v2 = conv v0, v1 {{ {conv} }}
  v3 = reduce v2 {{ reduction = sum, axes = [1, 2] }}
  v4 = reshape v3 {{ shape = [1, 1, 1, 40] }}
  v5 = conv v2, v1 {{ {conv} }}
  v6 = map v5, v4 {{
    expression = (f32, f32) {{
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
    }}
  }}
  v7 = reduce v6 {{ reduction = max, axes = [1, 2] }}
  return v7
}}
"#,
        weights.join(", ")
    ));
    let image = 12 * 16 * 40 * 4;
    let arena = lowered.plans[0].arena_bytes;
    assert!(arena > image && arena < image * 3 / 2, "{arena} B for an image of {image} B");
    let staged = schedules(&lowered).iter().filter(|schedule| schedule.contains("staged rows")).count();
    assert_eq!(staged, 1, "the first reads the caller's input: {:?}", schedules(&lowered));
    let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let input = numbers(&[1, 12, 16, 40], 1);
    let expected = ir::interpret::Interpreter::new(&module).run(0, std::slice::from_ref(&input)).unwrap();
    let found = jit.instance().unwrap().call_tensors(0, &[input]).unwrap();
    for (found, expected) in floats(&found[0].bytes).iter().zip(floats(&expected[0].bytes)) {
        // Sums of 40 products of numbers below 3, in another order.
        assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{found}, {expected}");
    }
}

/// An input with a value known at compile time is compared first.
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
    let module = parsed(text);
    let mut interpreter = ir::interpret::Interpreter::new(&module);
    let tensor = |element, shape: &[u64], bytes: &[u8]| ir::Tensor { element, shape: shape.to_vec(), bytes: bytes.to_vec() };
    let inputs = [tensor(ir::ElementType::I32, &[3], &[0; 12]), tensor(ir::ElementType::I16, &[2], &[1, 2, 3, 4])];
    assert!(interpreter.run(0, &inputs).unwrap_err().to_string().contains("input 0 has another value"));
}
