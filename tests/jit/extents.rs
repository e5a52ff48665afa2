//! Run-time extents.

use super::{lowered_text, numbers, schedules};
use modelc::ir;
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::program::calls;
use modelc::target::host_machine;

/// Compares the JIT with the interpreter, on inputs of several shapes on one instance. Memory has guard pages, and dead memory is overwritten.
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

/// A convolution, a pooling, a dense layer and a normalization of any number of images.
const BATCH: &str = include_str!("../link/batch.mt");

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
        assert!(error.code.number() == 502 || error.message.contains("MODELC_E_SHAPE"), "{error}");
    }
    let found = instance.call_tensors(0, &[numbers(&[2, 4, 4, 2], 0), numbers(&[2, 3], 1)]).unwrap();
    assert_eq!(found.iter().map(|t| t.shape.clone()).collect::<Vec<_>>(), [[2, 2], [2, 3], [2, 3]]);
}

/// Attention with dynamic sequence and batch: reshapes, transposes, matrix products with only dynamic extents, a softmax over a dynamic extent. It
/// returns the last element of each sequence.
const SEQUENCE: &str = include_str!("../link/sequence.mt");

#[test]
fn attention_over_a_dynamic_sequence() {
    let shapes: Vec<Vec<u64>> = [(1, 1), (2, 40), (5, 17), (3, 4), (1, 33)].map(|(b, s)| vec![b, s, 6]).into();
    let inputs: Vec<Vec<&[u64]>> = shapes.iter().map(|shape| vec![shape.as_slice()]).collect();
    let inputs: Vec<&[&[u64]]> = inputs.iter().map(Vec::as_slice).collect();
    computes_what_the_interpreter_does(SEQUENCE, &inputs);
    let (_, lowered) = lowered_text(SEQUENCE);
    assert!(schedules(&lowered).contains(&"row by row, n of n, 3 passes"), "the softmax is one kernel");
}

/// The tail of a row is computed in one vector on machines with masked lanes; rows have every length around vector lengths.
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
"#;
    let shapes: Vec<[u64; 2]> = [1, 2, 7, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 80].map(|n| [3, n]).into();
    let inputs: Vec<[&[u64]; 1]> = shapes.iter().map(|shape| [&shape[..]]).collect();
    computes_what_the_interpreter_does(text, &inputs.iter().map(|inputs| &inputs[..]).collect::<Vec<_>>());
}

/// Blocks of rows, smaller blocks for the remainder, and single rows.
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
"#,
        weights.join(", ")
    );
    let shapes: Vec<[u64; 2]> = [0, 1, 3, 4, 7, 16, 21, 40].map(|n| [n, 36]).into();
    let inputs: Vec<[&[u64]; 1]> = shapes.iter().map(|shape| [&shape[..]]).collect();
    computes_what_the_interpreter_does(&text, &inputs.iter().map(|inputs| &inputs[..]).collect::<Vec<_>>());
    let (_, lowered) = lowered_text(&text);
    let calls = calls(&lowered.program.methods[0].steps);
    let blocks: Vec<u64> = calls.iter().filter_map(|call| call.division.blocks()).map(|blocks| blocks.block).collect();
    assert_eq!(blocks, [16, 4, 1]);
}

/// An extent with only one possible value is not read at run time, and index arithmetic uses the value.
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
"#;
    computes_what_the_interpreter_does(text, &[&[&[4, 3, 2]], &[&[4, 5, 2]], &[&[4, 1, 2]]]);
}

/// A result's extent that comes from a scalar and not from an operand, so that no operand determines slices.
#[test]
fn top_k_takes_its_count_from_a_number() {
    let text = r#"func @main(v0: f32[6], v1: i32[]) {
  v2 = index_load v1 { interval = 0..=6 }
  v3, v4 = top_k v0 { order = largest, count = [v2] }
  return v3, v4
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
