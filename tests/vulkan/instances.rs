//! Instances of the program in the JIT, and helpers for tests.

use super::modules::LENGTH;
use super::pretend::{Host, world};
use super::program::options;
use modelc::diagnostic::Diagnostic;
use modelc::jit::gpu::GpuInfo;
use modelc::jit::{Instance, Jit, JitOptions};
use modelc::program::Program;
use modelc::target::host_machine;

/// Compiles a program with the JIT.
pub fn jit(program: &Program, required: bool) -> Jit {
    jit_with(program, JitOptions { gpu: options(required), ..JitOptions::default() })
}

/// Compiles a program with the JIT and measures all of it.
pub fn measured(program: &Program, required: bool) -> Jit {
    jit_with(program, JitOptions { gpu: options(required), profile: true, ..JitOptions::default() })
}

fn jit_with(program: &Program, options: JitOptions) -> Jit {
    Jit::with_options(program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns inputs with a given first element.
pub fn inputs(first: f32) -> Vec<f32> {
    (0..LENGTH).map(|i| first + i as f32 * 0.5).collect()
}

/// Returns the outputs of a call.
pub fn run(instance: &mut Instance, x: &[f32]) -> Vec<f32> {
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut outputs = vec![];
    instance.call(0, &[&bytes], &mut outputs).unwrap();
    outputs[0].chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Returns the side that runs.
pub fn info(instance: &mut Instance) -> GpuInfo {
    instance.gpu().unwrap().expect("the program has a part for a GPU")
}

/// Makes an instance with a device of the application.
pub fn on_device_of(jit: &Jit, host: &Host) -> Result<Instance, Diagnostic> {
    // SAFETY: the library stays in this program, and the test drops the instance before what the host has.
    unsafe { jit.instance_with_device(host.address()) }
}

/// Checks that everything made in the mock library was freed, and that no rule was broken.
pub fn assert_clean(what: &str) {
    world(|world| assert!(world.alive.is_empty() && world.mistakes.is_empty(), "{what}: {:?} {:?}", world.alive, world.mistakes));
}

/// Checks that the state reports the failure of the mock library.
pub fn assert_told(found: Option<(String, i32)>) {
    let (failed, result) = world(|world| (world.failed.clone().unwrap_or_default(), world.result));
    let (call, told) = found.expect("a call failed");
    match failed.strip_prefix("find ") {
        Some(name) => assert_eq!((call.as_str(), told), (name, -3)),
        None => assert!(call.starts_with("vk") && told == result, "{failed}: {call} {told}"),
    }
}
