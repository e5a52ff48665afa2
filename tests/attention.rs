//! Attention beside the interpreter: heads that share keys, masks, positions, one query and many, caches that fit a core's cache and that do not.

use modelc::compare::{Difference, Tolerance, compare};
use modelc::ir::interpret::Interpreter;
use modelc::ir::text::parse_module;
use modelc::jit::memory::Placement;
use modelc::jit::{Instance, Jit, JitOptions};
use modelc::lower::{Lowered, Options};
use modelc::target::host_machine;
use modelc::{ir, pipeline};

/// Attention of up to three queries to the keys before a position and their own.
struct Case {
    heads: u64,
    groups: u64,
    depth: u64,
    room: u64,
}

/// The one goes by key, for it reads more than 256 KB: three heads share one of keys, and the depth is no whole number of vectors.
const LARGE: Case = Case { heads: 6, groups: 2, depth: 36, room: 1000 };
const SMALL: Case = Case { heads: 4, groups: 4, depth: 16, room: 40 };

impl Case {
    /// Queries, keys and values whose number of queries is dynamic; the position of the first is a number.
    fn text(&self, position: u64) -> String {
        let Self { heads, groups, depth, room } = self;
        format!(
            r#"func @main(v0: f32[1, v3, {heads}, {depth}], v1: f32[1, {room}, {groups}, {depth}], v2: f32[1, {room}, {groups}, {depth}]) {{
  v3: index 1..=3 = extent_of v0 {{ axis = 1 }}
  v4 = attention v0, v1, v2 {{ scale = f32 0.125, keys = [{room}], causal_from = [{position}] }}
  return v4
}}
method "main" = @main {{
  input "query"
  input "key"
  input "value"
  output "result"
}}"#
        )
    }

    fn inputs(&self, queries: u64) -> Vec<ir::Tensor> {
        let Self { heads, groups, depth, room } = *self;
        vec![numbers(&[1, queries, heads, depth], 1), numbers(&[1, room, groups, depth], 2), numbers(&[1, room, groups, depth], 3)]
    }
}

fn numbers(shape: &[u64], seed: u64) -> ir::Tensor {
    let count = shape.iter().product::<u64>();
    let number = |i: u64| ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 7) % 41) as f32 / 8.0 - 2.5;
    ir::Tensor { element: ir::ElementType::F32, shape: shape.to_vec(), bytes: (0..count).flat_map(|i| number(i).to_le_bytes()).collect() }
}

fn lowered(text: &str) -> (ir::Module, Lowered) {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::new(host_machine().unwrap());
    let lowered = pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"));
    (module, lowered)
}

/// An instance all of whose memory lies against guard pages, and whose dead memory is overwritten.
fn checking(lowered: &Lowered) -> Instance {
    let options = JitOptions { placement: Placement::AgainstGuard, live: Some(lowered.live.clone()), ..JitOptions::default() };
    let jit = Jit::with_options(&lowered.program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"));
    jit.instance().unwrap()
}

#[test]
fn one_query_and_many_compute_what_the_interpreter_does() {
    for (case, positions) in [(LARGE, [0, 7, 990]), (SMALL, [0, 3, 38])] {
        for position in positions {
            let (module, lowered) = lowered(&case.text(position));
            let (mut instance, mut interpreter) = (checking(&lowered), Interpreter::new(&module));
            for queries in 1..=3 {
                let inputs = case.inputs(queries);
                let wanted = interpreter.run(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
                let found = instance.call_tensors(0, &inputs).unwrap_or_else(|error| panic!("{error}"));
                let difference = compare(&found[0], &wanted[0], Tolerance { relative: 1e-5, absolute: 0.0 });
                assert!(matches!(difference, Difference::None { .. }), "{queries} at {position}: {difference}");
            }
        }
    }
}

#[test]
fn a_query_has_the_same_bits_alone_and_among_others() {
    for case in [LARGE, SMALL] {
        let (_, lowered) = lowered(&case.text(30));
        let mut instance = checking(&lowered);
        let mut of = |queries: u64| {
            let found = instance.call_tensors(0, &case.inputs(queries)).unwrap_or_else(|error| panic!("{error}"));
            found[0].bytes[..(case.heads * case.depth * 4) as usize].to_vec()
        };
        assert_eq!(of(1), of(3));
    }
}

#[test]
fn large_caches_are_read_key_by_key() {
    let schedules = |case: &Case| {
        let (_, lowered) = lowered(&case.text(0));
        let calls = modelc::program::calls(&lowered.program.methods[0].steps);
        calls.into_iter().map(|call| call.origin.schedule.clone()).collect::<Vec<_>>()
    };
    assert!(schedules(&LARGE).iter().any(|schedule| schedule.ends_with("one key by key")), "{:?}", schedules(&LARGE));
    assert!(schedules(&SMALL).iter().any(|schedule| schedule.starts_with("attention")), "{:?}", schedules(&SMALL));
    assert!(!schedules(&SMALL).iter().any(|schedule| schedule.contains("key by key")), "{:?}", schedules(&SMALL));
}
