//! Kernels over run-time extents in parallel ranges: the same bits on any number of threads, in any order.

mod support;

use modelc::ir::text::parse_module;
use modelc::ir::{ElementType, Module, Tensor, verify};
use modelc::jit::Jit;
use modelc::kernel::dependence::footprint::footprint;
use modelc::lower::{Options, Threads};
use modelc::machine::machine;
use modelc::program::{Call, Step, calls, calls_in_streams, calls_together};
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

/// Checks that a module computes the same in ranges as on one thread. Returns the calls that can be divided if everything possible is.
fn is_the_same_in_ranges(text: &str, shapes: &[&[&[u64]]]) -> Vec<Call> {
    let (module, options) = (module(text), Options::new(host_machine().expect("a machine")));
    let alone = pipeline::lower(&module, "model", options).unwrap_or_else(|error| panic!("{error}"));
    let jit = Jit::new(&alone.program, options.machine).unwrap_or_else(|error| panic!("{error}"));
    for shapes in shapes {
        let inputs: Vec<Tensor> = (0..).zip(*shapes).map(|(i, shape)| numbers(shape, i)).collect();
        let expected = jit.instance().unwrap().call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
        support::ranges::check_in_ranges(&module, options, &inputs, &[expected]).unwrap_or_else(|error| panic!("{shapes:?}: {error}"));
    }
    let threads = Threads { count: 3, least_instructions: 0 };
    let lowered = pipeline::lower(&module, "model", Options { threads, ..options }).unwrap_or_else(|error| panic!("{error}"));
    calls(&lowered.program.methods[0].steps).into_iter().filter(|call| call.division.divided().is_some()).cloned().collect()
}

#[test]
fn a_batch_of_any_size_is_the_same_in_ranges() {
    let cut = is_the_same_in_ranges(include_str!("link/batch.mt"), &[&[&[2, 4, 4, 2], &[2, 3]], &[&[37, 4, 4, 2], &[37, 3]]]);
    assert!(cut.iter().any(|call| call.division.blocks().is_some()), "no call over slices is cut");
}

#[test]
fn a_sequence_of_any_length_is_the_same_in_ranges() {
    is_the_same_in_ranges(include_str!("link/sequence.mt"), &[&[&[1, 1, 6]], &[&[2, 40, 6]], &[&[5, 17, 6]]]);
}

#[test]
fn attention_of_one_and_of_many_is_the_same_in_ranges() {
    let text = r#"func @main(v0: f32[1, v3, 6, 36], v1: f32[1, 1000, 3, 36], v2: f32[1, 1000, 3, 36]) {
  v3: index 1..=5 = extent_of v0 { axis = 1 }
  v4 = attention v0, v1, v2 { scale = f32 0.125, keys = [1000], causal_from = [400] }
  return v4
}
method "main" = @main {
  input "query"
  input "key"
  input "value"
  output "result"
}"#;
    let caches: [&[u64]; 2] = [&[1, 1000, 3, 36]; 2];
    let shapes: [[&[u64]; 3]; 2] = [[&[1, 1, 6, 36], caches[0], caches[1]], [&[1, 5, 6, 36], caches[0], caches[1]]];
    let cut = is_the_same_in_ranges(text, &[&shapes[0], &shapes[1]]);
    assert!(cut.iter().any(|call| call.origin.schedule.starts_with("attention")), "attention is not cut");
}

/// Returns a chain of a depthwise layer, two pointwise layers and another depthwise layer. The method returns the tensors in `outputs`.
fn chain(outputs: &[&str]) -> String {
    let constant = |number: usize, shape: [usize; 4]| {
        let numbers: Vec<String> = (0..shape.iter().product()).map(|i: usize| format!("{:?}", (i * 7 % 11) as f32 / 4.0 - 1.25)).collect();
        format!("const{number}: f32[{}, {}, {}, {}] = [{}]\n", shape[0], shape[1], shape[2], shape[3], numbers.join(", "))
    };
    let conv = |result: usize, from: usize, weights: usize, padding: usize, groups: usize| {
        format!(
            "  v{result} = conv v{from}, v{weights} {{ strides = [1, 1], dilation = [1, 1], padding_low = [{padding}, {padding}], \
             padding_high = [{padding}, {padding}], positions = [], shift = [], input_dilation = [1, 1], groups = {groups}, \
             input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }}\n"
        )
    };
    let weights = [constant(0, [8, 3, 3, 1]), constant(1, [16, 1, 1, 8]), constant(2, [8, 1, 1, 16])].concat();
    let layers = [conv(4, 0, 1, 1, 8), conv(5, 4, 2, 0, 1), conv(6, 5, 3, 0, 1), conv(7, 6, 1, 1, 8)].concat();
    let constants: String = (0..3).map(|i| format!("  v{} = constant {{ data = const{i} }}\n", i + 1)).collect();
    let ports: String = outputs.iter().map(|name| format!("  output \"{name}\"\n")).collect();
    format!(
        "{weights}func @main(v0: f32[1, 32, 4, 8]) {{\n{constants}{layers}  return {}\n}}\n\
         method \"main\" = @main {{\n  input \"x\"\n{ports}}}",
        outputs.join(", ")
    )
}

/// Returns the steps of a module for some threads.
fn steps(text: &str, threads: Threads) -> Vec<Step> {
    let options = Options { threads, ..Options::new(host_machine().expect("a machine")) };
    let mut lowered = pipeline::lower(&module(text), "model", options).unwrap_or_else(|error| panic!("{error}"));
    lowered.program.methods.remove(0).steps
}

#[test]
fn pointwise_layers_run_together_with_the_depthwise_one_before() {
    // If all tensors are outputs, nothing can be computed in bands.
    let text = chain(&["v4", "v5", "v6", "v7"]);
    assert_eq!(is_the_same_in_ranges(&text, &[&[&[1, 32, 4, 8]]]).len(), 4);
    let together = |threads: Threads| calls_together(&steps(&text, threads));
    assert!(together(Threads { count: 3, least_instructions: 0 }).iter().sum::<usize>() >= 2, "every call is by itself");
    assert!(together(Threads::ALONE).is_empty());
}

#[test]
fn bands_are_computed_side_by_side() {
    let text = chain(&["v7"]);
    is_the_same_in_ranges(&text, &[&[&[1, 32, 4, 8]]]);
    for count in [2, 3] {
        let streams = calls_in_streams(&steps(&text, Threads::new(count)));
        assert!(matches!(&streams[..], [streams] if streams.len() == count as usize), "{streams:?} on {count} threads");
    }
    assert!(calls_in_streams(&steps(&text, Threads::ALONE)).is_empty());
}

#[test]
fn an_odd_number_of_rows_in_pairs_stays_in_its_range() {
    let weights: Vec<String> = (0..16 * 9).map(|i: i32| (i * 7 % 11 - 5).to_string()).collect();
    let text = format!(
        "const0: i8[16, 3, 3, 1] = [{}]
         func @main(v0: i8[1, 14, 14, 16]) {{
           v1 = constant {{ data = const0 }}
           v2 = conv v0, v1 {{ strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], \
             shift = [], input_dilation = [1, 1], groups = 16, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }}
           return v2
         }}
         method \"main\" = @main {{
           input \"x\"
           output \"y\"
         }}",
        weights.join(", ")
    );
    let options = Options::new(machine("x86-64-v3").expect("a machine"));
    let threads = Threads { count: 2, least_instructions: 0 };
    let lowered = pipeline::lower(&module(&text), "model", Options { threads, ..options }).unwrap_or_else(|error| panic!("{error}"));
    let [call] = calls(&lowered.program.methods[0].steps)[..] else { panic!("one call") };
    assert!(call.origin.schedule.ends_with("paired rows") && call.division.integers() == [0, 14], "{call:?}");
    let written = |rows: [i64; 2]| {
        let touched = footprint(&lowered.program.kernels[call.kernel], &rows);
        touched.into_iter().find(|touched| touched.writes).expect("a result").elements
    };
    let row = 14 * 16;
    assert_eq!([written([0, 7]), written([7, 14]), written([13, 14])], [0..7 * row, 7 * row..14 * row, 13 * row..14 * row]);
}
