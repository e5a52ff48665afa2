//! Data that need not be transferred to a device, which is simulated by the interpreter of kernels: variables that live there, and unwritten
//! outputs.

use super::support;
use super::support::harness::{self, Needs, Test};
use super::support::program::Memory;
use modelc::frontend::GpuOperators;
use modelc::ir::text::parse_module;
use modelc::ir::{ElementType, Module, Tensor};
use modelc::lower::{Lowered, Options};
use modelc::machine::{GPUS, GpuMachine, MACHINES};
use modelc::pipeline;
use modelc::program::{Address, DeviceRegion, Variable, calls};

/// The tests of this module.
pub const TESTS: &[Test] = &[
    (
        "variables_that_the_host_does_not_touch_live_on_the_device",
        Needs::Nothing,
        variables_that_the_host_does_not_touch_live_on_the_device,
    ),
    ("caches_of_decoders_do_not_cross", Needs::Corpus("executorch"), caches_of_decoders_do_not_cross),
    ("the_host_has_nothing_of_what_the_device_does", Needs::Corpus("executorch"), the_host_has_nothing_of_what_the_device_does),
    ("outputs_do_not_enter_before_they_are_written", Needs::Corpus("executorch"), outputs_do_not_enter_before_they_are_written),
];

/// Lowers a module with its GPU part, for a device that is required or optional.
pub fn lowered(module: &Module, gpu: &'static GpuMachine, needs_device: bool) -> Lowered {
    let options = Options { gpu: Some(gpu), needs_device, ..Options::new(&MACHINES[0]) };
    pipeline::lower(module, "model", options).unwrap_or_else(|error| panic!("{error}"))
}

/// Makes three methods with three variables of 96 bytes. "sum" adds x to each, and "again" to the first one. In "turn" the host subtracts x
/// from the second one.
fn module() -> Module {
    let numbers: Vec<String> = (0..24).map(|i| format!("{i}.5")).collect();
    let binary = |result: u32, operands: [u32; 2], operation: &str, source: u32| {
        let [a, b] = operands;
        format!(
            "  v{result} = map v{a}, v{b} {{
    expression = (f32, f32) {{
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = {operation} n0, n1
      return n2
    }}
  }} @ src{source}\n"
        )
    };
    let load = |token: u32, state: u32| format!("  v{}, v{} = load_state v{token} {{ state = state{state} }}\n", token + 1, token + 2);
    let store =
        |token: u32, value: u32, state: u32| format!("  v{} = store_state v{token}, v{value} {{ state = state{state} }}\n", value + 1);
    let adds: String = (0..3u32)
        .map(|state| {
            let token = 1 + 4 * state;
            [load(token, state), binary(token + 3, [0, token + 2], "add", 0), store(token + 1, token + 3, state)].concat()
        })
        .collect();
    let sums = [binary(14, [4, 8], "add", 0), binary(15, [14, 12], "add", 0)].concat();
    let turn = [load(1, 1), binary(4, [3, 0], "sub", 1), store(2, 4, 1)].concat();
    let again = [load(1, 0), binary(4, [3, 0], "add", 0), store(2, 4, 0), binary(6, [4, 0], "add", 0)].concat();
    let text = format!(
        "const0: f32[24] = [{}]
state0 \"first\": f32[24] = const0
state1 \"second\": f32[24] = const0
state2 \"third\": f32[24]
src0 = \"sum\" 0 \"ADD\" \"y\"
src1 = \"turn\" 1 \"SUB\" \"z\"
func @sum(v0: f32[24], v1: effect) {{
{adds}{sums}  return v15, v13
}}
func @turn(v0: f32[24], v1: effect) {{
{turn}  return v4, v5
}}
func @again(v0: f32[24], v1: effect) {{
{again}  return v6, v5
}}
method \"sum\" = @sum {{
  input \"x\"
  output \"y\"
}}
method \"turn\" = @turn {{
  input \"x\"
  output \"z\"
}}
method \"again\" = @again {{
  input \"x\"
  output \"y\"
}}
",
        numbers.join(", ")
    );
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    GpuOperators::parse("ADD").and_then(|adds| adds.mark(&mut module)).unwrap_or_else(|error| panic!("{error}"));
    modelc::passes::run_all(&mut module);
    module
}

fn names(variables: &[Variable]) -> Vec<&str> {
    variables.iter().map(|variable| variable.name.as_str()).collect()
}

fn variables_that_the_host_does_not_touch_live_on_the_device() {
    let module = module();
    for gpu in GPUS {
        let [alike, kept] = [false, true].map(|keeps| lowered(&module, gpu, keeps).program);
        let [device, own] = [&alike, &kept].map(|program| program.device.as_ref().expect("a device"));
        assert_eq!((&device.residents, alike.variable_bytes), (&None, 3 * 96));
        let residents = own.residents.as_ref().expect("variables live there");
        assert_eq!((names(&residents.variables), names(&kept.variables)), (vec!["first", "third"], vec!["second"]));
        // Its offset keeps the same remainder by the alignment.
        assert_eq!((kept.variables[0].offset, kept.variable_bytes, residents.bytes()), (32, 32 + 96, 2 * 96));
        let crossing = |regions: &[DeviceRegion]| regions.iter().map(|region| region.bytes_in() + region.bytes_out()).sum::<u64>();
        assert!(crossing(own.regions_of_calls()) + 4 * 96 <= crossing(&device.regions));
        assert_eq!(own.regions[residents.region].dispatches().count(), 2);

        let mut memories = [Memory::new(&alike), Memory::with_device(&alike), Memory::with_device(&kept)];
        for (call, method) in [0, 1, 2, 0, 2, 1, 0].into_iter().enumerate() {
            let bytes = (0..24).flat_map(|i| (i as f32 * 0.25 - call as f32).to_le_bytes()).collect();
            let x = [Tensor { element: ElementType::F32, shape: vec![24], bytes }];
            let programs = [&alike, &alike, &kept];
            let answers: Vec<_> =
                memories.iter_mut().zip(programs).map(|(memory, program)| memory.call(&program.methods[method], &x)).collect();
            assert!(answers[0].is_ok() && answers.iter().all(|answer| *answer == answers[0]), "call {call}: {answers:?}");
        }
    }
}

/// Decoders with the bytes of their caches, which are otherwise transferred.
const DECODERS: [(&str, u64); 3] =
    [("llama_tiny_dyn.vulkan", 65_536), ("llama_tiny_dyn_8da4w.vulkan", 65_536), ("llama_tiny_dyn.portable", 65_536)];

/// Loads a program of the corpus with all operators on the device.
fn program(name: &str) -> Module {
    let path = support::corpus("executorch").expect("skipped without it").join(format!("{name}.pte"));
    let mut module = support::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    if !name.ends_with(".vulkan") {
        GpuOperators::All.mark(&mut module).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    modelc::passes::run_all(&mut module);
    module
}

fn caches_of_decoders_do_not_cross() {
    for (name, bytes) in DECODERS {
        let module = program(name);
        let [alike, kept] = [false, true].map(|keeps| lowered(&module, &GPUS[0], keeps).program);
        let regions = [&alike, &kept].map(|program| program.device.as_ref().expect("a device").regions_of_calls());
        let residents = kept.device.as_ref().and_then(|device| device.residents.as_ref()).expect("caches live on the device");
        harness::progress(|| format!("{name}: {:?}", names(&residents.variables)));
        assert_eq!((residents.bytes(), kept.variable_bytes), (bytes, alike.variable_bytes - bytes), "{name}");
        let of_all = |regions: &[DeviceRegion], bytes_of: fn(&DeviceRegion) -> u64| regions.iter().map(bytes_of).sum::<u64>();
        let saved = |bytes_of| of_all(regions[0], bytes_of) - of_all(regions[1], bytes_of);
        assert_eq!([saved(DeviceRegion::bytes_in), saved(DeviceRegion::bytes_out)], [bytes; 2], "{name}");
    }
}

/// Limit of scratch memory: more than a few extents, tokens and a row of angles.
const LITTLE_SCRATCH: u64 = 8192;

fn the_host_has_nothing_of_what_the_device_does() {
    for (name, _) in DECODERS {
        let module = program(name);
        let [with_host, alone] = [false, true].map(|needs_device| lowered(&module, &GPUS[0], needs_device).program);
        let [of_both, of_one] = [&with_host, &alone].map(|program| calls(&program.methods[0].steps));
        let on_host = alone.device.as_ref().expect("a device").host_calls.len();
        assert_eq!((of_one.len(), of_both.len() > 10 * on_host), (on_host, true), "{name}");
        assert!(
            (0..alone.kernels.len()).all(|kernel| of_one.iter().any(|call| call.kernel == kernel)),
            "{name}: a kernel that nothing calls"
        );
        let scratch = [&with_host, &alone].map(|program| program.methods[0].scratch_bytes);
        assert!(scratch[1] < LITTLE_SCRATCH && scratch[0] > 10 * scratch[1], "{name}: {scratch:?}");
    }
}

/// Programs whose output has a run-time extent and is written by two calls: one for blocks of slices, one for the remaining slices.
const OF_BLOCKS: [&str; 3] = ["llama_tiny_dyn.vulkan", "llama_tiny_dyn_8da4w.vulkan", "dyn_batch.portable"];

fn outputs_do_not_enter_before_they_are_written() {
    for name in OF_BLOCKS {
        let module = program(name);
        let [with_host, alone] = [false, true].map(|needs_device| lowered(&module, &GPUS[0], needs_device).program);
        let writers = calls(&with_host.methods[0].steps).into_iter().filter(|call| call.arguments.iter().any(is_output)).count();
        assert!(writers > 1, "{name}: {writers} calls write the output");
        let regions = alone.device.as_ref().expect("a device").regions_of_calls();
        let entering: Vec<_> = regions.iter().flat_map(|region| &region.enter).filter(|crossing| is_output(&crossing.host)).collect();
        assert!(entering.is_empty(), "{name}: {entering:?}");
    }
}

fn is_output(address: &Address) -> bool {
    matches!(address, Address::Output(..))
}
