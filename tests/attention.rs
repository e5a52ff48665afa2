//! Attention compared with the interpreter: heads that share keys, positions, one query and many. Caches are larger and smaller than a core's cache,
//! and keys and values have every type.

use modelc::compare::{Difference, Tolerance, compare};
use modelc::ir::ElementType;
use modelc::ir::interpret::Interpreter;
use modelc::ir::text::parse_module;
use modelc::jit::memory::Placement;
use modelc::jit::{Instance, Jit, JitOptions};
use modelc::lower::{Lowered, Options};
use modelc::target::host_machine;
use modelc::{ir, pipeline};

/// Attention of up to three queries to the keys before a position and at the queries.
#[derive(Clone, Copy)]
struct Case {
    heads: u64,
    groups: u64,
    depth: u64,
    room: u64,
}

/// The large case iterates over keys, because it reads more than 256 KB even for bytes. Three heads share keys, and the depth is no multiple of
/// a vector.
const LARGE: Case = Case { heads: 24, groups: 8, depth: 36, room: 1000 };
const SMALL: Case = Case { heads: 4, groups: 4, depth: 16, room: 40 };

/// Types of keys and values.
const ELEMENTS: [ElementType; 4] = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::I8];

impl Case {
    /// Returns a module of queries, keys and values, with a dynamic number of queries; the position of the first is a scalar.
    fn text(&self, position: u64, element: ElementType) -> String {
        let Self { heads, groups, depth, room } = self;
        let (mut parameters, mut operands, mut inputs) = (String::new(), String::new(), String::new());
        let (extent, result) = if element == ElementType::I8 { ("v7", "v8") } else { ("v3", "v4") };
        if element == ElementType::I8 {
            for (i, element) in (3..).zip([ElementType::F32, ElementType::I8, ElementType::F32, ElementType::I8]) {
                parameters += &format!(", v{i}: {element}[1, {room}, {groups}, 1]");
                operands += &format!(", v{i}");
                inputs += &format!("\n  input \"{i}\"");
            }
        }
        format!(
            r#"func @main(v0: f32[1, {extent}, {heads}, {depth}], v1: {element}[1, {room}, {groups}, {depth}], v2: {element}[1, {room}, {groups}, {depth}]{parameters}) {{
  {extent}: index 1..=3 = extent_of v0 {{ axis = 1 }}
  {result} = attention v0, v1, v2{operands} {{ scale = f32 0.125, keys = [{room}], causal_from = [{position}] }}
  return {result}
}}
method "main" = @main {{
  input "query"
  input "key"
  input "value"{inputs}
  output "result"
}}"#
        )
    }

    fn inputs(&self, queries: u64, element: ElementType) -> Vec<ir::Tensor> {
        let Self { heads, groups, depth, room } = *self;
        let cache = [1, room, groups, depth];
        let mut inputs = vec![numbers(&[1, queries, heads, depth], 1, ElementType::F32)];
        inputs.extend([2, 3].map(|seed| numbers(&cache, seed, element)));
        if element == ElementType::I8 {
            for seed in [4, 5] {
                inputs.push(numbers(&[1, room, groups, 1], seed, ElementType::F32));
                inputs.push(numbers(&[1, room, groups, 1], seed, ElementType::I8));
            }
        }
        inputs
    }
}

/// Makes multiples of one eighth, or bytes.
fn numbers(shape: &[u64], seed: u64, element: ElementType) -> ir::Tensor {
    let count = shape.iter().product::<u64>();
    let mut bytes = Vec::new();
    for i in 0..count {
        let step = (i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 7) % 41;
        let number = step as f32 / 8.0 - 2.5;
        match element {
            ElementType::I8 => bytes.push((step as i8 - 20) as u8),
            ElementType::F16 => bytes.extend(half::f16::from_f32(number).to_le_bytes()),
            ElementType::Bf16 => bytes.extend(half::bf16::from_f32(number).to_le_bytes()),
            _ => bytes.extend(number.to_le_bytes()),
        }
    }
    ir::Tensor { element, shape: shape.to_vec(), bytes }
}

fn lowered(text: &str) -> (ir::Module, Lowered) {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::new(host_machine().unwrap());
    let lowered = pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"));
    (module, lowered)
}

/// Makes an instance with guard pages around its memory, in which dead memory is overwritten.
fn checking(lowered: &Lowered) -> Instance {
    let options = JitOptions { placement: Placement::AgainstGuard, live: Some(lowered.live.clone()), ..JitOptions::default() };
    let jit = Jit::with_options(&lowered.program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"));
    jit.instance().unwrap()
}

#[test]
fn one_query_and_many_compute_what_the_interpreter_does() {
    let cases =
        [(LARGE, [0, 7, 990]), (SMALL, [0, 3, 38])].into_iter().flat_map(|(case, positions)| positions.map(|position| (case, position)));
    for ((case, position), element) in cases.flat_map(|case| ELEMENTS.map(|element| (case, element))) {
        let (module, lowered) = lowered(&case.text(position, element));
        let (mut instance, mut interpreter) = (checking(&lowered), Interpreter::new(&module));
        for queries in 1..=3 {
            let inputs = case.inputs(queries, element);
            let wanted = interpreter.run(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
            let found = instance.call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
            let difference = compare(&found[0], &wanted[0], Tolerance { relative: 1e-5, absolute: 0.0 });
            assert!(matches!(difference, Difference::None { .. }), "{element}, {queries} at {position}: {difference}");
        }
    }
}

#[test]
fn a_query_has_the_same_bits_alone_and_among_others_unless_it_goes_by_key() {
    for (case, element) in [LARGE, SMALL].into_iter().flat_map(|case| ELEMENTS.map(|element| (case, element))) {
        let (_, lowered) = lowered(&case.text(30, element));
        let mut instance = checking(&lowered);
        let mut of = |queries: u64| {
            let found = instance.call_tensors(0, &case.inputs(queries, element)).unwrap_or_else(|error| panic!("{error}"));
            let first = &found[0].bytes[..(case.heads * case.depth * 4) as usize];
            ir::Tensor { element: ElementType::F32, shape: vec![case.heads, case.depth], bytes: first.to_vec() }
        };
        // By key, the weights of 31 keys and their sums are added in another order.
        let is_by_key = case.heads == LARGE.heads;
        let relative = if is_by_key { 31.0 * f64::from(f32::EPSILON) } else { 0.0 };
        let difference = compare(&of(1), &of(3), Tolerance { relative, absolute: 0.0 });
        assert!(matches!(difference, Difference::None { .. }), "{element}: {difference}");
    }
}

/// More than three blocks of keys, and a part of a fourth, which are all masked.
#[test]
fn blocks_that_are_masked_weigh_nothing() {
    let Case { heads, groups, depth, room } = LARGE;
    let text = format!(
        r#"func @main(v0: f32[1, 1, {heads}, {depth}], v1: f32[1, {room}, {groups}, {depth}], v2: f32[1, {room}, {groups}, {depth}], v3: f32[1, {room}]) {{
  v4 = attention v0, v1, v2, v3 {{ scale = f32 0.125, keys = [{room}], causal_from = [] }}
  return v4
}}
method "main" = @main {{
  input "query"
  input "key"
  input "value"
  input "mask"
  output "result"
}}"#
    );
    let (module, lowered) = lowered(&text);
    let mut inputs = LARGE.inputs(1, ElementType::F32);
    let mask = (0..room).flat_map(|key| if key < 450 { f32::NEG_INFINITY } else { 0.25 }.to_le_bytes());
    inputs.push(ir::Tensor { element: ElementType::F32, shape: vec![1, room], bytes: mask.collect() });
    let wanted = Interpreter::new(&module).run(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let found = checking(&lowered).call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let difference = compare(&found[0], &wanted[0], Tolerance { relative: 1e-5, absolute: 0.0 });
    assert!(matches!(difference, Difference::None { .. }), "{difference}");
}

#[test]
fn large_caches_are_read_key_by_key() {
    let schedules = |case: &Case, element| {
        let (_, lowered) = lowered(&case.text(0, element));
        let calls = modelc::program::calls(&lowered.program.methods[0].steps);
        calls.into_iter().map(|call| call.origin.schedule.clone()).collect::<Vec<_>>()
    };
    for element in ELEMENTS {
        let (large, small) = (schedules(&LARGE, element), schedules(&SMALL, element));
        assert!(large.iter().any(|schedule| schedule.ends_with("one key by key")), "{element}: {large:?}");
        assert!(small.iter().any(|schedule| schedule.starts_with("attention")), "{element}: {small:?}");
        assert!(!small.iter().any(|schedule| schedule.contains("key by key")), "{element}: {small:?}");
        // Only attention remains: caches are not widened in memory.
        assert!(large.len() <= 2, "{element}: {large:?}");
    }
}
